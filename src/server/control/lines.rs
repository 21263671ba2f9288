//! Lines of a stream, none longer than it may be.

use std::io;

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};

/// Reads lines. What is read of one is lost when its reading is dropped, so whoever drops it is done with the stream.
pub(super) struct Lines<R> {
    reader: BufReader<R>,
    longest: u64,
}

/// Why there is no next line.
#[derive(Debug, thiserror::Error)]
pub(super) enum Cut {
    /// It has more bytes than it may have; the rest of it is not read.
    #[error("a line has more than {0} bytes")]
    TooLong(u64),
    /// The system says so.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn new(stream: R, longest: u64) -> Lines<R> {
        Lines { reader: BufReader::new(stream), longest }
    }

    /// The next line without its end; `None` at the end of the stream. The last one may lack its line break.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<u8>>, Cut> {
        let mut line = Vec::new();
        let read = (&mut self.reader).take(self.longest + 1).read_until(b'\n', &mut line).await?;
        if read == 0 {
            return Ok(None);
        }
        if line.len() as u64 > self.longest {
            return Err(Cut::TooLong(self.longest));
        }
        if line.ends_with(b"\n") {
            line.pop();
        }
        Ok(Some(line))
    }
}
