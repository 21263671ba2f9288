//! Lines from a stream that may hold anything: none is kept longer than it may be, and after one that is too long the
//! next is read as ever.

use std::io;

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// Most bytes of a line.
pub(super) const LONGEST: usize = 10 * 1024 * 1024;

/// Reads lines.
pub(super) struct Reading<R> {
    reader: BufReader<R>,
}

/// What was read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// A line without its end.
    Line(Vec<u8>),
    /// One with more bytes than it may have; they are gone.
    TooLong,
}

impl<R: AsyncRead + Unpin> Reading<R> {
    pub(super) fn new(stream: R) -> Reading<R> {
        Reading { reader: BufReader::new(stream) }
    }

    /// The next line; `None` at the end. The last one may lack its line break.
    pub(super) async fn next(&mut self) -> io::Result<Option<Heard>> {
        let (mut line, mut cut) = (Vec::new(), false);
        loop {
            let bytes = self.reader.fill_buf().await?;
            let over = bytes.is_empty();
            let (used, ended) = match bytes.iter().position(|byte| *byte == b'\n') {
                Some(at) => (at + 1, true),
                None => (bytes.len(), over),
            };
            let text = bytes.get(..used - usize::from(ended && !over)).unwrap_or_default();
            cut |= line.len() + text.len() > LONGEST;
            match cut {
                true => line = Vec::new(),
                false => line.extend_from_slice(text),
            }
            self.reader.consume(used);
            if !ended {
                continue;
            }
            return Ok(match (cut, over && line.is_empty()) {
                (true, _) => Some(Heard::TooLong),
                (false, true) => None,
                (false, false) => Some(Heard::Line(line)),
            });
        }
    }
}
