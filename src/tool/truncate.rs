//! Keeps a tool's output within what a model should read. What is cut stays in a file that the cut text names. Cuts
//! are made between lines, and inside of a line only where a single one is too long.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use super::ToolContext;

/// Which part of a long output a model reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// The beginning.
    Head,
    /// The end.
    Tail,
    /// Half of the room for each.
    HeadTail,
}

/// How much of an output a model reads; both limits hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutputPolicy {
    /// Which part.
    pub keep: Keep,
    /// Most lines.
    pub lines: usize,
    /// Most bytes, without the note about the cut.
    pub bytes: usize,
}

/// An output, perhaps known only by its beginning and its end.
#[derive(Debug, Clone, Copy)]
pub struct Whole<'a> {
    /// The beginning, or all of it.
    pub head: &'a str,
    /// The end, or all of it.
    pub tail: &'a str,
    /// Bytes of all of it.
    pub bytes: u64,
    /// Lines of all of it; the last need not end.
    pub lines: u64,
}

/// An output as a model reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fitted {
    /// The text, with a note where it was cut.
    pub text: String,
    /// It was cut.
    pub cut: bool,
    /// Where all of it is, when it was cut and could be kept.
    pub file: Option<PathBuf>,
}

impl OutputPolicy {
    /// Of commands: the last 2000 lines, at most 50 KB (S0-37).
    pub const TAIL: OutputPolicy = OutputPolicy { keep: Keep::Tail, lines: 2000, bytes: 50 * 1024 };
    /// Of files and searches: the first 2000 lines, at most 50 KB (S0-38).
    pub const HEAD: OutputPolicy = OutputPolicy { keep: Keep::Head, lines: 2000, bytes: 50 * 1024 };

    /// Whether an output needs no cut.
    pub fn takes(&self, whole: &Whole<'_>) -> bool {
        whole.bytes <= self.bytes as u64 && whole.lines <= self.lines as u64
    }

    /// The text within the limits; when it is cut, all of it goes to a file of the call's artifacts.
    ///
    /// A file that cannot be written costs the cut part and nothing else.
    pub fn fit(&self, text: &str, cx: &ToolContext) -> Fitted {
        let whole = Whole::of(text);
        let file = (!self.takes(&whole)).then(|| keep(text, cx).ok()).flatten();
        self.cut(&whole, file.as_deref())
    }

    /// The output within the limits, with a note that `file` has all of it. The text must reach as far as the limits.
    pub fn cut(&self, whole: &Whole<'_>, file: Option<&Path>) -> Fitted {
        if self.takes(whole) {
            return Fitted { text: whole.head.to_owned(), cut: false, file: None };
        }
        let (head, tail) = match self.keep {
            Keep::Head => (first(whole.head, self.lines, self.bytes), ""),
            Keep::Tail => ("", last(whole.tail, self.lines, self.bytes)),
            Keep::HeadTail => {
                let half = |of: usize| of.div_ceil(2);
                let head = first(whole.head, half(self.lines), half(self.bytes));
                (head, last(whole.tail, self.lines / 2, self.bytes / 2))
            }
        };
        let note = self.note(whole, head, tail, file);
        let before = if head.is_empty() || head.ends_with('\n') { "" } else { "\n" };
        let after = if tail.is_empty() { "" } else { "\n" };
        let text = format!("{head}{before}{note}{after}{tail}");
        Fitted { text, cut: true, file: file.map(Path::to_owned) }
    }

    fn note(&self, whole: &Whole<'_>, head: &str, tail: &str, file: Option<&Path>) -> String {
        let bytes = whole.bytes.saturating_sub((head.len() + tail.len()) as u64);
        let lines = whole.lines.saturating_sub(Whole::of(head).lines + Whole::of(tail).lines);
        let where_ = match self.keep {
            Keep::Head => "the last ",
            Keep::Tail => "the first ",
            Keep::HeadTail => "here ",
        };
        let what = if lines > 0 { format!("{lines} lines, {}", size(bytes)) } else { size(bytes) };
        let kept = file.map(|file| format!("; the whole output is in {}", file.display())).unwrap_or_default();
        format!("[{where_}{what} are cut{kept}]")
    }
}

impl<'a> Whole<'a> {
    /// An output that is all there.
    pub fn of(text: &'a str) -> Whole<'a> {
        let open = u64::from(!text.is_empty() && !text.ends_with('\n'));
        let lines = text.bytes().filter(|byte| *byte == b'\n').count() as u64 + open;
        Whole { head: text, tail: text, bytes: text.len() as u64, lines }
    }
}

/// A number of bytes as people read it.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} bytes"),
        1024..1_048_576 => format!("{:.1} KB", bytes as f64 / 1024.0),
        _ => format!("{:.1} MB", bytes as f64 / 1_048_576.0),
    }
}

/// A file of the call's artifacts that does not exist yet. Calls of different turns may have the same id.
pub fn artifact(cx: &ToolContext) -> PathBuf {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let name: String = cx.call.0.chars().take(64).map(plain).collect();
    let first = cx.artifacts.join(format!("{name}.txt"));
    let more = (2..).map(|count| cx.artifacts.join(format!("{name}-{count}.txt")));
    [first.clone()].into_iter().chain(more).find(|path| !path.exists()).unwrap_or(first)
}

/// Puts a whole text into a file of the call's artifacts and answers where it is.
///
/// # Errors
/// What the system said; the file may then have a part of it.
pub fn keep(text: &str, cx: &ToolContext) -> io::Result<PathBuf> {
    DirBuilder::new().recursive(true).mode(0o700).create(&cx.artifacts)?;
    let path = artifact(cx);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
    file.write_all(cx.secrets.hide(text).as_bytes())?;
    Ok(path)
}

/// As many lines of the beginning as fit; of a first line that is too long, as many characters.
fn first(text: &str, lines: usize, bytes: usize) -> &str {
    if lines == 0 {
        return "";
    }
    let most = floor(text, bytes.min(text.len()));
    let ends = text[..most].match_indices('\n').map(|(at, _)| at + 1);
    let end = if most == text.len() && Whole::of(text).lines <= lines as u64 {
        most
    } else {
        ends.take(lines).last().unwrap_or(most)
    };
    &text[..end]
}

/// As many lines of the end as fit; of a last line that is too long, as many characters.
fn last(text: &str, lines: usize, bytes: usize) -> &str {
    if lines == 0 {
        return "";
    }
    let most = ceil(text, text.len().saturating_sub(bytes));
    let body = text.strip_suffix('\n').unwrap_or(text);
    let starts = body.rmatch_indices('\n').map(|(at, _)| at + 1).take_while(|at| *at >= most);
    let start =
        if most == 0 && Whole::of(text).lines <= lines as u64 { 0 } else { starts.take(lines).last().unwrap_or(most) };
    &text[start..]
}

fn floor(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn ceil(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}
