//! Pictures from files, for `run --image`. What is a picture and how large it may be is told in `message`.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::message::{Image, ImageKind, Unfit};

/// Reads the pictures.
///
/// # Errors
/// A sentence that names the file and what is wrong with it.
pub fn read(paths: &[PathBuf]) -> Result<Vec<Image>, String> {
    if paths.len() > Image::MOST {
        return Err(format!("{} images are too many for one line; {} are the most", paths.len(), Image::MOST));
    }
    let mut total = 0;
    let mut images = Vec::new();
    for path in paths {
        let bytes = bytes(path)?;
        total += bytes.len();
        if total > Image::TOTAL {
            return Err(format!("the images have over {} MB together; make them smaller", Image::TOTAL >> 20));
        }
        let kind = ImageKind::of(&bytes);
        let kind = kind.ok_or_else(|| format!("{} is no PNG, JPEG, GIF or WebP; convert it", path.display()))?;
        images.push(Image::of(kind, &bytes));
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
    File::open(path).map_err(failed)?.take(Image::LARGEST as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() > Image::LARGEST {
        return Err(format!("{} {}", path.display(), Unfit::TooLarge));
    }
    Ok(bytes)
}
