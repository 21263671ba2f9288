//! What begins a line of Markdown: quotes, list items, headings, fences, rules. Every function looks at one line.

/// What stands before a list item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mark {
    /// `None` is a bullet.
    pub(super) number: Option<Number>,
    /// It is a task: open or done.
    pub(super) task: Option<bool>,
}

/// The number of a list item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Number {
    written: u64,
    shown: u64,
    /// What follows it.
    sign: char,
}

/// The begin of a list item.
pub(super) struct Item<'a> {
    pub(super) mark: Mark,
    /// Columns from the begin of the line to the text of the item.
    pub(super) indent: usize,
    pub(super) rest: &'a str,
}

/// A fence that opens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fence {
    sign: char,
    length: usize,
    /// Spaces before it, which its lines may have, too.
    pub(super) indent: usize,
    /// What stands behind it.
    pub(super) info: String,
}

pub(super) fn spaces(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// What is quoted.
pub(super) fn quoted(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches(' ').strip_prefix('>').filter(|_| spaces(line) < 4)?;
    Some(rest.strip_prefix(' ').unwrap_or(rest))
}

/// `---`, `* * *`, `___`.
pub(super) fn is_rule(line: &str) -> bool {
    let bare: String = line.chars().filter(|one| *one != ' ').collect();
    let all = |sign: char| bare.chars().all(|one| one == sign);
    spaces(line) < 4 && bare.len() >= 3 && (all('-') || all('*') || all('_'))
}

/// A line below a paragraph that makes a heading of it.
pub(super) fn underline(line: &str) -> Option<usize> {
    let bare = line.trim();
    let all = |sign: char| !bare.is_empty() && bare.chars().all(|one| one == sign);
    match spaces(line) < 4 {
        true if all('=') => Some(1),
        true if all('-') => Some(2),
        _ => None,
    }
}

/// `## Words`: the level and the words.
pub(super) fn heading(line: &str) -> Option<(usize, &str)> {
    let bare = line.trim();
    let level = bare.len() - bare.trim_start_matches('#').len();
    let words = &bare[level..];
    let fits = spaces(line) < 4 && (1..=6).contains(&level) && (words.is_empty() || words.starts_with(' '));
    fits.then(|| {
        let words = words.trim();
        let open = words.trim_end_matches('#');
        (level, if open.is_empty() || open.ends_with(' ') { open.trim_end() } else { words })
    })
}

/// A fence that opens.
pub(super) fn fence(line: &str) -> Option<Fence> {
    let bare = line.trim();
    let sign = bare.chars().next().filter(|sign| matches!(sign, '`' | '~'))?;
    let info = bare.trim_start_matches(sign);
    let length = bare.len() - info.len();
    let fits = spaces(line) < 4 && length >= 3 && !(sign == '`' && info.contains('`'));
    fits.then(|| Fence { sign, length, indent: spaces(line), info: info.trim().to_owned() })
}

impl Fence {
    /// This line ends it.
    pub(super) fn is_closed_by(&self, line: &str) -> bool {
        let bare = line.trim();
        spaces(line) < 4 && bare.len() >= self.length && bare.chars().all(|one| one == self.sign)
    }
}

/// `[name]: address`, which is shown as it is.
pub(super) fn is_definition(line: &str) -> bool {
    let bare = line.trim_start();
    bare.starts_with('[') && bare.find("]:").is_some_and(|at| at > 1 && !bare[1..at].contains(['[', ']']))
}

/// A list item. Within a paragraph only what can hardly be meant otherwise begins one.
pub(super) fn item(line: &str, in_paragraph: bool) -> Option<Item<'_>> {
    let lead = spaces(line);
    let bare = &line[lead..];
    let digits = bare.bytes().take_while(u8::is_ascii_digit).count();
    let sign = bare[digits..].chars().next()?;
    let number = match (digits, sign) {
        (0, '-' | '*' | '+') => None,
        (1..=9, '.' | ')') => {
            let written = bare[..digits].parse().ok()?;
            Some(Number { written, shown: written, sign })
        }
        _ => return None,
    };
    let behind = &bare[digits + 1..];
    let empty = behind.trim().is_empty();
    let may_interrupt = !empty && number.is_none_or(|number| number.written == 1);
    if lead > 3 || (in_paragraph && !may_interrupt) || !(empty || behind.starts_with(' ')) {
        return None;
    }
    // Much space behind the mark belongs to what follows: it is code.
    let gap = if empty || spaces(behind) > 4 { 1 } else { spaces(behind) };
    let rest = behind.get(gap..).unwrap_or_default();
    let (task, rest) = task(rest);
    Some(Item { mark: Mark { number, task }, indent: lead + digits + 1 + gap, rest })
}

/// `[ ] words` and `[x] words`.
fn task(rest: &str) -> (Option<bool>, &str) {
    let known = [("[ ] ", false), ("[x] ", true), ("[X] ", true)];
    let found = known.into_iter().find_map(|(sign, done)| Some((Some(done), rest.strip_prefix(sign)?)));
    found.unwrap_or((None, rest))
}

impl Mark {
    /// The mark of an item that follows this one: a list that counts `1. 1. 1.` is numbered.
    pub(super) fn next(&self, mut mark: Mark) -> Mark {
        if let (Some(before), Some(number)) = (self.number, &mut mark.number)
            && number.written == before.written
        {
            number.shown = before.shown + 1;
        }
        mark
    }

    /// As it is written, at this depth of lists, with the space behind it.
    pub(super) fn text(&self, depth: usize) -> String {
        let number = self.number.map(|number| format!("{}{} ", number.shown, number.sign)).unwrap_or_default();
        let sign = match (self.task, self.number) {
            (Some(false), _) => "☐ ",
            (Some(true), _) => "☑ ",
            (None, Some(_)) => "",
            (None, None) if depth.is_multiple_of(2) => "• ",
            (None, None) => "◦ ",
        };
        format!("{number}{sign}")
    }
}
