//! Words between the program and its warden: byte strings and numbers, one after the other. What they mean is not here.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::MemfdFlags;

/// Collects what is to be told.
#[derive(Default)]
pub(super) struct Writer(Vec<u8>);

impl Writer {
    pub(super) fn number(&mut self, number: u64) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    pub(super) fn text(&mut self, text: &OsStr) {
        self.bytes(text.as_bytes());
    }

    pub(super) fn paths(&mut self, paths: &[PathBuf]) {
        self.number(paths.len() as u64);
        paths.iter().for_each(|path| self.text(path.as_os_str()));
    }

    /// All of it, in memory that can be handed to another process.
    pub(super) fn into_file(self) -> io::Result<OwnedFd> {
        let mut file = File::from(rustix::fs::memfd_create("tillerman", MemfdFlags::CLOEXEC)?);
        file.write_all(&self.0)?;
        Ok(file.into())
    }
}

/// Everything that [`Writer::into_file`] wrote.
pub(super) fn read(file: OwnedFd) -> io::Result<Vec<u8>> {
    let mut file = File::from(file);
    file.rewind()?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Takes apart what was told; `None` where it is not what was expected.
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn number(&mut self) -> Option<u64> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*number))
    }

    pub(super) fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    pub(super) fn path(&mut self) -> Option<PathBuf> {
        Some(Path::new(OsStr::from_bytes(self.bytes()?)).to_owned())
    }

    pub(super) fn paths(&mut self) -> Option<Vec<PathBuf>> {
        (0..self.number()?).map(|_| self.path()).collect()
    }
}
