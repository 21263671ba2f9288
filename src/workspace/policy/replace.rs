//! How a whole file gets a new text: beside the old one, then over it. Whether it may is not decided here.

use std::io::{self, Write as _};

use cap_std::fs::{Metadata, MetadataExt as _, OpenOptions, OpenOptionsExt as _, PermissionsExt as _};
use rustix::fs::{Gid, Uid};

use super::place::Place;

/// Writes beside the old file and renames over it; on failure nothing is left behind.
pub(super) fn replace(place: &Place, old: Option<&Metadata>, bytes: &[u8]) -> io::Result<()> {
    let beside = format!(".tillerman-{}.tmp", ulid::Ulid::generate());
    let mut options = OpenOptions::new();
    // Nobody but us reads a half-written file whose readers may be limited by its mode.
    options.write(true).create_new(true).mode(if old.is_some() { 0o600 } else { 0o666 });
    let mut file = place.dir.open_with(&beside, &options)?;
    let written = file.write_all(bytes).and_then(|()| {
        let Some(old) = old else { return Ok(()) };
        // The owner can be kept by root alone; for anybody else the file is his own anyway.
        let owner = (Some(Uid::from_raw(old.uid())), Some(Gid::from_raw(old.gid())));
        let _ = rustix::fs::fchown(&file, owner.0, owner.1);
        file.set_permissions(cap_std::fs::Permissions::from_mode(old.mode() & 0o7777))
    });
    let renamed = written.and_then(|()| place.dir.rename(&beside, &place.dir, &place.leaf));
    if renamed.is_err() {
        let _ = place.dir.remove_file(&beside);
    }
    renamed
}
