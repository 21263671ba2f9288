//! Writes lines at the end of ledger.jsonl. What a line says is in `line`.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use super::line::Line;

/// The end of the file. What the disk refuses is told once; the sums of this program hold without it.
#[derive(Default)]
pub(super) struct Pen {
    file: Option<File>,
    refused: bool,
}

impl Pen {
    /// Writes the lines in one piece and answers how long the file is then, as far as that is known.
    pub(super) fn write(&mut self, path: &Path, lines: &[Line<'_>]) -> u64 {
        match self.append(path, lines) {
            Ok(length) => {
                self.refused = false;
                length
            }
            Err(error) => {
                // A folder that comes back, or a disk that has room again, is found at the next call.
                self.file = None;
                if !std::mem::replace(&mut self.refused, true) {
                    tracing::warn!(path = %path.display(), %error, "model calls are not written down");
                }
                0
            }
        }
    }

    fn append(&mut self, path: &Path, lines: &[Line<'_>]) -> io::Result<u64> {
        let mut bytes = Vec::new();
        for line in lines {
            serde_json::to_writer(&mut bytes, line)?;
            bytes.push(b'\n');
        }
        // Another one may have taken its place.
        self.file = self.file.take().filter(|file| file.metadata().is_ok_and(|meta| meta.nlink() > 0));
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(open(path)?),
        };
        file.write_all(&bytes)?;
        Ok(file.metadata()?.len())
    }
}

/// The file, with a whole line at its end: one that was cut is left as it is, and passed over by readers.
fn open(path: &Path) -> io::Result<File> {
    let mut file = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)?;
    if file.metadata()?.len() > 0 {
        let mut last = [0];
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
        if last != *b"\n" {
            file.write_all(b"\n")?;
        }
    }
    Ok(file)
}
