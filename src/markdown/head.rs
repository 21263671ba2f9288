//! Finds the frontmatter of a file without reading the rest. Knows fences, not YAML.

use std::io::{self, Read};
use std::ops::Range;

use super::MAX_HEAD;

/// The first bytes read of a file: nearly every frontmatter fits.
const FIRST_READ: usize = 4 * 1024;

/// Where a frontmatter lies, in bytes from the start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Split {
    /// From the opening fence, which YAML reads as the start of a document, to the closing one. Lines of the YAML
    /// are therefore lines of the file.
    Front { yaml: Range<usize>, body: usize },
    /// There is none.
    Plain { body: usize },
    /// It begins, but its end is not among these bytes.
    More,
}

/// Splits a whole text; [`Split::More`] then means that the frontmatter is over [`MAX_HEAD`].
pub(super) fn split_whole(bytes: &[u8]) -> Split {
    split(&bytes[..bytes.len().min(MAX_HEAD)], bytes.len() <= MAX_HEAD)
}

/// Reads as much of a file as holds its frontmatter, at most [`MAX_HEAD`] bytes.
pub(super) fn read(mut file: impl Read) -> io::Result<(Vec<u8>, Split)> {
    let mut bytes = Vec::with_capacity(FIRST_READ);
    let mut wanted = FIRST_READ;
    loop {
        let missing = wanted - bytes.len();
        let whole = (&mut file).take(missing as u64).read_to_end(&mut bytes)? < missing;
        match split(&bytes, whole) {
            Split::More if wanted < MAX_HEAD => wanted = (wanted * 4).min(MAX_HEAD),
            found => return Ok((bytes, found)),
        }
    }
}

/// Looks for the fences; `whole` says that nothing follows these bytes.
fn split(bytes: &[u8], whole: bool) -> Split {
    let start = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    let plain = Split::Plain { body: start };
    let mut at = start;
    for line in bytes[start..].split_inclusive(|byte| *byte == b'\n') {
        // The last line may go on behind these bytes.
        let ended = whole || line.ends_with(b"\n");
        match (at == start, is_fence(line)) {
            (true, false) => return plain,
            (false, true) if ended => return Split::Front { yaml: start..at, body: at + line.len() },
            (true, true) | (false, _) => at += line.len(),
        }
    }
    if whole { plain } else { Split::More }
}

fn is_fence(line: &[u8]) -> bool {
    line.trim_ascii_end() == b"---"
}
