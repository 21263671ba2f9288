//! The same for a text that comes in pieces: what may be the beginning of a secret is held back until it is known.

use std::borrow::Cow;

use super::{Secrets, Which};

/// Most bytes that are held back; a longer beginning is let go as it stands.
const MOST_HELD: usize = 64 << 10;

/// Hides secrets in pieces of a text, also one that lies across pieces. Holds back no more than what may be one.
pub struct Stream {
    secrets: Secrets,
    which: Which,
    held: Vec<u8>,
}

impl Stream {
    pub(super) fn new(secrets: Secrets, which: Which) -> Stream {
        Stream { secrets, which, held: Vec::new() }
    }

    /// Takes the next piece and gives what can be shown; the piece itself when there is nothing to hide or to hold back.
    pub fn push<'a>(&mut self, piece: &'a str) -> Cow<'a, str> {
        match self.push_bytes(piece.as_bytes()) {
            Cow::Borrowed(_) => Cow::Borrowed(piece),
            Cow::Owned(bytes) => Cow::Owned(text(bytes)),
        }
    }

    /// What was held back last, now that nothing follows.
    pub fn end(&mut self) -> String {
        text(self.end_bytes())
    }

    /// As [`Stream::push`], for bytes that need not be text.
    pub fn push_bytes<'a>(&mut self, piece: &'a [u8]) -> Cow<'a, [u8]> {
        let secrets = self.secrets.clone();
        let Some(finder) = secrets.finder(self.which) else { return Cow::Borrowed(piece) };
        let joined: Cow<'a, [u8]> = if self.held.is_empty() {
            Cow::Borrowed(piece)
        } else {
            let mut joined = std::mem::take(&mut self.held);
            joined.extend_from_slice(piece);
            Cow::Owned(joined)
        };
        let (mut shown, mut at, mut from) = (Vec::new(), 0, 0);
        let mut keep = finder.cut(&joined, 0);
        while let Some(hit) = finder.next(&joined, from) {
            let may_grow = hit.open || hit.begin == keep;
            if hit.begin > keep || (may_grow && joined.len() - hit.begin < MOST_HELD) {
                keep = hit.begin.min(keep);
                break;
            }
            if !hit.whole {
                from = hit.begin + 1;
                continue;
            }
            shown.extend_from_slice(&joined[at..hit.start]);
            shown.extend_from_slice(hit.mark.as_bytes());
            (at, from) = (hit.end, hit.end);
            if at > keep {
                keep = finder.cut(&joined, at);
            }
        }
        let keep = keep.max(at);
        if at == 0 && keep == joined.len() {
            return joined;
        }
        shown.extend_from_slice(&joined[at..keep]);
        self.held = joined[keep..].to_vec();
        Cow::Owned(shown)
    }

    /// As [`Stream::end`], for bytes.
    pub fn end_bytes(&mut self) -> Vec<u8> {
        let held = std::mem::take(&mut self.held);
        self.secrets.blot_bytes(&held, self.which).unwrap_or(held)
    }
}

/// What is taken out of a text, and what is cut off behind, are whole characters: patterns are.
pub(super) fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}
