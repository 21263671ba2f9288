//! The file of a recording: a head, an exchange per line, and an end that is written anew with each of them.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::RecordError;
use crate::model::scripted::fixture::MAX_FILE;
use crate::model::scripted::recorded::Header;

/// What closes the file.
const END: &str = "\n]}\n";

/// A recording that is being written.
pub(super) struct File {
    file: fs::File,
    /// Where the end begins, and the next exchange goes.
    end: u64,
    empty: bool,
}

impl File {
    pub(super) fn create(path: &Path, header: &Header) -> Result<File, RecordError> {
        let failed = |source| RecordError::Write { path: path.to_owned(), source };
        let mut options = OpenOptions::new();
        let file = options.write(true).create(true).truncate(false).mode(0o600).open(path).map_err(failed)?;
        let found = file.metadata().map_err(failed)?;
        if !found.is_file() {
            return Err(failed(std::io::Error::other("it is not a regular file")));
        }
        if found.len() > 0 {
            return Err(RecordError::Exists { path: path.to_owned(), free: free(path) });
        }
        file.set_permissions(fs::Permissions::from_mode(0o600)).map_err(failed)?;
        let header = serde_json::to_string(header).map_err(|error| failed(error.into()))?;
        let head = format!("{{\"tillerman\":{header},\"fixtures\":[");
        file.write_all_at(format!("{head}{END}").as_bytes(), 0).map_err(failed)?;
        Ok(File { file, end: head.len() as u64, empty: true })
    }

    /// Puts an exchange before the end.
    pub(super) fn append(&mut self, line: &str) -> Result<(), String> {
        let before = if self.empty { "\n" } else { ",\n" };
        let bytes = format!("{before}{line}{END}");
        if self.end + bytes.len() as u64 > MAX_FILE {
            return Err(format!("it would pass {} MiB, more than can be played", MAX_FILE >> 20));
        }
        if let Err(error) = self.file.write_all_at(bytes.as_bytes(), self.end) {
            // What was there before is whole again, as far as the disk allows.
            let _ = self.file.set_len(self.end);
            let _ = self.file.write_all_at(END.as_bytes(), self.end);
            return Err(error.to_string());
        }
        self.end += (before.len() + line.len()) as u64;
        self.empty = false;
        Ok(())
    }
}

/// A name like this one that is not taken: `story-2.json` for `story.json`.
fn free(path: &Path) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let ending = path.extension().map(|ending| format!(".{}", ending.to_string_lossy())).unwrap_or_default();
    let numbered = (2..1_000).map(|number| path.with_file_name(format!("{stem}-{number}{ending}")));
    numbered.into_iter().find(|path| !path.exists()).unwrap_or_else(|| path.with_extension("new"))
}
