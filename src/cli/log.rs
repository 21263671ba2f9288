//! The program's own log: one file per workspace, out of the way of stdout and stderr. Runs and sessions are not in it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Mutex;

use crate::secret::Secrets;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::layer;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// Says what is logged, in the words of `tracing`: `debug`, `tillerman::model=trace`.
const VARIABLE: &str = "TILLERMAN_LOG";
/// From this size on the log is begun anew and the old one kept beside it.
const FULL: u64 = 8 * 1024 * 1024;

/// From now on what is worth a note is written to `tillerman.log` in the folder; warnings when nobody says more.
///
/// A log that cannot be written is no reason not to work.
pub fn begin(folder: &Path, secrets: &Secrets) {
    let Ok(file) = open(&folder.join("tillerman.log")) else { return };
    let filter = EnvFilter::try_from_env(VARIABLE).unwrap_or_else(|_| EnvFilter::new("warn"));
    let lines = layer().with_ansi(false).with_writer(Mutex::new(Hushed { file, secrets: secrets.clone() }));
    // Whoever uses the library may have set up a log of their own.
    let _ = tracing_subscriber::registry().with(filter).with(lines).try_init();
}

/// A file that no secret gets into. A line comes whole.
struct Hushed {
    file: File,
    secrets: Secrets,
}

impl Write for Hushed {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.file.write_all(self.secrets.hide(&String::from_utf8_lossy(line)).as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn open(path: &Path) -> io::Result<File> {
    if fs::metadata(path).is_ok_and(|meta| meta.len() >= FULL) {
        fs::rename(path, path.with_extension("old.log"))?;
    }
    OpenOptions::new().append(true).create(true).mode(0o600).open(path)
}
