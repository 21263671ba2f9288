//! The words that divide a reply, known at the beginning of a line however a model dresses them up: `Action:`,
//! `**Action**:`, `## final answer :`, `> Thought 2:`, `action_input：`.

/// What a part of a reply is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    Thought,
    Action,
    Input,
    Observation,
    Answer,
}

/// What the beginning of a line is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// It may become a mark.
    Open,
    /// It is text.
    Plain,
    /// It is a mark up to its colon. So many signs of emphasis were opened before it and close behind the colon.
    Found { mark: Mark, emphasis: usize },
}

const MARKS: [(Mark, &[&str]); 5] = [
    (Mark::Thought, &["thought"]),
    (Mark::Action, &["action"]),
    (Mark::Input, &["action", "input"]),
    (Mark::Observation, &["observation"]),
    (Mark::Answer, &["final", "answer"]),
];

/// Longest beginning of a line that may become a mark, so that a flood of spaces is not looked at over and over.
const LONGEST: usize = 64;

/// A sign that sets text off in Markdown and is no part of it at the mark.
pub(super) fn is_emphasis(c: char) -> bool {
    matches!(c, '*' | '_')
}

/// Looks at the beginning of a line; it is asked again with each character until it is no longer open.
pub(super) fn look(line: &str) -> Look {
    if line.len() > LONGEST {
        return Look::Plain;
    }
    let words = line.trim_start_matches(|c| matches!(c, ' ' | '\t' | '#' | '>' | '-' | '`') || is_emphasis(c));
    let before = line.strip_suffix(words).unwrap_or_default();
    let opened = before.chars().rev().take_while(|c| is_emphasis(*c)).count();
    let mut look = if words.is_empty() { Look::Open } else { Look::Plain };
    for (mark, spelled) in MARKS {
        match read(words, spelled) {
            Some(Some(closed)) => return Look::Found { mark, emphasis: opened.saturating_sub(closed) },
            Some(None) => look = Look::Open,
            None => {}
        }
    }
    look
}

/// `None` when these words do not stand there, `Some(None)` when they may yet, and otherwise the signs of emphasis
/// between them and their colon.
#[expect(clippy::option_option, reason = "not there, not yet there, and there with a number are three things")]
fn read(text: &str, spelled: &[&str]) -> Option<Option<usize>> {
    let mut rest = text;
    for word in spelled {
        rest = rest.trim_start_matches([' ', '\t', '_', '-']);
        let shared = rest.len().min(word.len());
        if !rest.as_bytes()[..shared].eq_ignore_ascii_case(&word.as_bytes()[..shared]) {
            return None;
        }
        let Some(behind) = rest.get(word.len()..) else { return Some(None) };
        rest = behind.trim_start_matches(' ').trim_start_matches(|c: char| c.is_ascii_digit());
    }
    let closed = rest.chars().filter(|c| is_emphasis(*c)).count();
    match rest.trim_start_matches(|c| matches!(c, ' ' | '\t' | '`') || is_emphasis(c)) {
        "" => Some(None),
        ":" | "：" => Some(Some(closed)),
        _ => None,
    }
}
