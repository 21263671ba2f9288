//! What a person says to calls that wait for their word.

use super::command::Misread;
use super::out::width;
use super::talk::Talk;
use crate::runtime::Word;

const APPROVE: &str = "/approve [always] [1]";

/// An answer, and to which call; without a number to the one that has waited for longest.
pub(super) type Said = (Option<u64>, Word);

/// `/approve`, `/approve 2`, `/approve always 2`.
pub(super) fn approve(rest: &str) -> Result<Said, Misread> {
    let (word, rest) = match rest.strip_prefix("always") {
        Some(rest) => (Word::Always, rest),
        None => (Word::Once, rest),
    };
    match rest.trim() {
        "" => Ok((None, word)),
        number => number.parse().map(|id| (Some(id), word)).map_err(|_| Misread::Usage(APPROVE.to_owned())),
    }
}

/// `/deny`, `/deny 2`, `/deny 2 not on main`, `/deny not on main`.
pub(super) fn deny(rest: &str) -> Said {
    let (first, why) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    match first.parse() {
        Ok(id) => (Some(id), Word::No(why.trim().to_owned())),
        Err(_) => (None, Word::No(rest.to_owned())),
    }
}

/// A bare `y`, `a` or `n WHY` while a call waits: for the call that is shown.
fn bare(line: &str) -> Option<Word> {
    let (first, rest) = line.trim().split_once(char::is_whitespace).unwrap_or((line.trim(), ""));
    match (first, rest.trim()) {
        ("y" | "Y" | "yes", "") => Some(Word::Once),
        ("a" | "A" | "always", "") => Some(Word::Always),
        ("n" | "N" | "no", why) => Some(Word::No(why.to_owned())),
        _ => None,
    }
}

impl Talk<'_> {
    /// Takes the line as a word to the call that is shown, where it is one; answers whether it was.
    pub(super) async fn permitted(&mut self, line: &str) -> bool {
        let Some(card) = self.sight.card() else { return false };
        if line.trim() == "?" {
            self.out.answer(self.sight.explain(self.look, width())).await;
            return true;
        }
        let Some(word) = bare(line) else { return false };
        match card {
            Ok(id) => self.permit((Some(id), word)).await,
            Err(why) => self.complain(why).await,
        }
        true
    }

    pub(super) async fn permit(&mut self, (id, word): Said) {
        if let Err(error) = self.runtime.permit(id, word) {
            self.complain(error).await;
        }
    }
}
