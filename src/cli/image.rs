//! Pictures from files, for `run --image`: what they are is told by their first bytes, not by their names.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::message::Image;

/// Most pictures of one line.
const MOST: usize = 8;
/// Most bytes of one picture; the smallest limit among providers.
const LARGEST: u64 = 5 * 1024 * 1024;
/// Most bytes of all pictures of a line: with a third more for base64 it stays below the requests that providers take.
const TOTAL: usize = 14 * 1024 * 1024;

/// Reads the pictures.
///
/// # Errors
/// A sentence that names the file and what is wrong with it.
pub fn read(paths: &[PathBuf]) -> Result<Vec<Image>, String> {
    if paths.len() > MOST {
        return Err(format!("{} images are too many for one line; {MOST} are the most", paths.len()));
    }
    let mut total = 0;
    let mut images = Vec::new();
    for path in paths {
        let bytes = bytes(path)?;
        total += bytes.len();
        if total > TOTAL {
            return Err(format!("the images have over {} MB together; make them smaller", TOTAL >> 20));
        }
        let kind = media_type(&bytes);
        let kind = kind.ok_or_else(|| format!("{} is no PNG, JPEG, GIF or WebP; convert it", path.display()))?;
        images.push(Image { media_type: kind.to_owned(), data: STANDARD.encode(bytes) });
    }
    Ok(images)
}

fn bytes(path: &Path) -> Result<Vec<u8>, String> {
    let failed = |error: std::io::Error| format!("cannot read the image {}: {error}", path.display());
    // Opening what is no file may wait for ever.
    if !path.metadata().map_err(failed)?.is_file() {
        return Err(format!("{} is no file", path.display()));
    }
    let mut bytes = Vec::new();
    File::open(path).map_err(failed)?.take(LARGEST + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > LARGEST {
        return Err(format!(
            "{} has over {} MB, more than providers take; make it smaller",
            path.display(),
            LARGEST >> 20
        ));
    }
    Ok(bytes)
}

/// What the first bytes say.
fn media_type(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}
