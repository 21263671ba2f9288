//! How keys of well-known providers look: a beginning that nothing else has, and enough of the right characters after it.

/// How a key begins and goes on.
pub(super) struct Shape {
    /// How it begins.
    pub(super) prefix: &'static str,
    /// Whose it is.
    pub(super) what: &'static str,
    rest: Rest,
}

enum Rest {
    /// Between so many characters of a kind.
    Run { fits: fn(u8) -> bool, least: usize, most: usize },
    /// The value of a setting: the mark stands for the value alone.
    Value { fits: fn(u8) -> bool, least: usize },
    /// The lines up to the end of a block.
    Block,
}

/// What of a text has a shape.
pub(super) struct Measured {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) whole: bool,
    pub(super) open: bool,
}

/// Most characters of a key; what goes on longer is something else.
const MOST: usize = 512;

/// Most bytes of a block.
const MOST_BLOCK: usize = 32 << 10;

/// Between the name of a setting and its value.
const BETWEEN: &[u8] = b" \t=:\"'";

pub(super) const SHAPES: &[Shape] = &[
    run("sk-", "API key", word, 20),
    run("gsk_", "Groq key", alnum, 40),
    run("xai-", "xAI key", alnum, 40),
    run("pplx-", "Perplexity key", alnum, 40),
    run("nvapi-", "NVIDIA key", word, 50),
    run("hf_", "Hugging Face token", alnum, 30),
    run("r8_", "Replicate token", alnum, 36),
    exact("AIza", "Google key", word, 35),
    run("ya29.", "Google token", word, 40),
    exact("AKIA", "AWS key id", capitals, 16),
    exact("ASIA", "AWS key id", capitals, 16),
    value("aws_secret_access_key", "AWS key", base64, 40),
    value("AWS_SECRET_ACCESS_KEY", "AWS key", base64, 40),
    value("aws_session_token", "AWS token", base64, 60),
    value("AWS_SESSION_TOKEN", "AWS token", base64, 60),
    value("AccountKey", "Azure key", base64, 60),
    run("ghp_", "GitHub token", alnum, 36),
    run("gho_", "GitHub token", alnum, 36),
    run("ghu_", "GitHub token", alnum, 36),
    run("ghs_", "GitHub token", alnum, 36),
    run("ghr_", "GitHub token", alnum, 36),
    run("github_pat_", "GitHub token", word, 40),
    run("glpat-", "GitLab token", word, 20),
    run("xoxb-", "Slack token", word, 20),
    run("xoxp-", "Slack token", word, 20),
    run("xoxa-", "Slack token", word, 20),
    run("xoxs-", "Slack token", word, 20),
    run("xapp-", "Slack token", word, 20),
    run("sk_live_", "Stripe key", alnum, 16),
    run("rk_live_", "Stripe key", alnum, 16),
    run("whsec_", "Stripe key", base64, 24),
    run("SG.", "SendGrid key", dotted, 60),
    run("npm_", "npm token", alnum, 36),
    run("pypi-AgE", "PyPI token", word, 50),
    run("dop_v1_", "DigitalOcean token", alnum, 60),
    run("shpat_", "Shopify token", alnum, 32),
    run("AGE-SECRET-KEY-1", "age key", capitals, 50),
    Shape { prefix: "-----BEGIN ", what: "private key", rest: Rest::Block },
];

const fn run(prefix: &'static str, what: &'static str, fits: fn(u8) -> bool, least: usize) -> Shape {
    Shape { prefix, what, rest: Rest::Run { fits, least, most: MOST } }
}

const fn exact(prefix: &'static str, what: &'static str, fits: fn(u8) -> bool, length: usize) -> Shape {
    Shape { prefix, what, rest: Rest::Run { fits, least: length, most: length } }
}

const fn value(prefix: &'static str, what: &'static str, fits: fn(u8) -> bool, least: usize) -> Shape {
    Shape { prefix, what, rest: Rest::Value { fits, least } }
}

fn alnum(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

fn word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

fn dotted(byte: u8) -> bool {
    word(byte) || byte == b'.'
}

fn capitals(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit()
}

fn base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

impl Shape {
    /// Looks at what begins at `start`; the beginning ends at `end`. `None` when it is no key and will not become one.
    pub(super) fn measure(&self, text: &[u8], start: usize, end: usize) -> Option<Measured> {
        match self.rest {
            _ if start > 0 && alnum(text[start - 1]) => None,
            Rest::Run { fits, least, most } => {
                let length = text[end..].iter().take(most + 1).take_while(|byte| fits(**byte)).count();
                let open = end + length == text.len() && length <= most;
                let key = &text[end..end + length];
                let whole = (least..=most).contains(&length) && is_random(key);
                (whole || open).then_some(Measured { start, end: end + length, whole, open })
            }
            Rest::Value { fits, least } => {
                let gap = text[end..].iter().take(8).take_while(|byte| BETWEEN.contains(byte)).count();
                let from = end + gap;
                let length = text[from..].iter().take(2 * MOST).take_while(|byte| fits(**byte)).count();
                let open = from + length == text.len() && length < 2 * MOST;
                let whole = gap > 0 && length >= least;
                (whole || open).then_some(Measured { start: from, end: from + length, whole, open })
            }
            Rest::Block => block(text, start, end),
        }
    }
}

/// A name made of words has few digits.
fn is_random(key: &[u8]) -> bool {
    key.iter().filter(|byte| byte.is_ascii_digit()).count() >= 2
}

/// A block of a private key, from the dashes before `BEGIN` to those behind `END`; numbers of lines may stand in it, and
/// it may be one line of a JSON text. A block without an end goes as far as it looks like one.
fn block(text: &[u8], start: usize, end: usize) -> Option<Measured> {
    const KEY: &[u8] = b"PRIVATE KEY";
    let open = |whole| Some(Measured { start, end: text.len(), whole, open: true });
    let header = text[end..].iter().take(48).take_while(|byte| capitals(**byte) || **byte == b' ').count();
    let name = &text[end..end + header];
    let rest = &text[end + header..];
    if rest.len() < 5 && rest.iter().all(|byte| *byte == b'-') && header < 48 {
        return open(false);
    }
    let is_key = name.windows(KEY.len()).any(|part| part == KEY);
    if !is_key || !rest.starts_with(b"-----") {
        return None;
    }
    let body = &rest[5..rest.len().min(MOST_BLOCK)];
    let from = end + header + 5;
    let fits = |byte: u8| base64(byte) || byte.is_ascii_whitespace() || b"\\:,|\"'.-_".contains(&byte);
    let length = body.iter().take_while(|byte| fits(**byte)).count();
    let inside = &body[..length];
    let longest = inside.split(|byte| !base64(*byte)).map(<[u8]>::len).max().unwrap_or_default();
    let closes =
        find(inside, b"-----END ").and_then(|at| find(&inside[at + 9..], b"-----").map(|end| at + 9 + end + 5));
    if let Some(closes) = closes {
        return Some(Measured { start, end: from + closes, whole: true, open: false });
    }
    if from + length == text.len() && length < MOST_BLOCK - 5 {
        return open(longest >= 24);
    }
    (longest >= 24).then_some(Measured { start, end: from + length, whole: true, open: false })
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}
