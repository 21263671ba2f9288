//! Pictures: which kinds models see, how large they may be, and what their bytes say. What a picture is, is told by its
//! first bytes, never by a name; nothing is decoded.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

/// A picture in a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// MIME type, for example `image/png`.
    pub media_type: String,
    /// The bytes in standard base64.
    pub data: String,
}

/// A kind of picture that models see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageKind {
    /// `image/png`
    Png,
    /// `image/jpeg`
    Jpeg,
    /// `image/gif`
    Gif,
    /// `image/webp`
    Webp,
}

/// Why a picture is not shown to a model. Behind the name of a file it is a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// More than [`Image::LARGEST`] bytes.
    #[error("has over 3.75 MB, more than providers take; make it smaller")]
    TooLarge,
    /// An edge of more than [`Image::WIDEST`] pixels.
    #[error("has {0} × {1} pixels, more than the 8000 on an edge that providers take; make it smaller")]
    TooWide(u32, u32),
    /// It ends too early, or its bytes are not what its first ones promise.
    #[error("is no whole {0}: it is cut off or damaged; make it anew")]
    Broken(ImageKind),
}

impl Image {
    /// Most pictures of one line of a person, or of the calls of one reply.
    pub const MOST: usize = 8;
    /// Most bytes of one picture. The smallest limit among providers is 5 MB of base64, which is a third longer.
    pub const LARGEST: usize = 5 * 1024 * 1024 / 4 * 3;
    /// Most bytes of all pictures that come together: as base64 they stay below the requests that providers take.
    pub const TOTAL: usize = 14 * 1024 * 1024;
    /// Most pixels of an edge: the smallest limit among providers.
    pub const WIDEST: u32 = 8_000;

    /// A picture of these bytes, whatever they are.
    pub fn of(kind: ImageKind, bytes: &[u8]) -> Image {
        Image { media_type: kind.media_type().to_owned(), data: STANDARD.encode(bytes) }
    }

    /// How many bytes the picture has.
    pub fn bytes(&self) -> usize {
        self.data.len() / 4 * 3
    }
}

impl ImageKind {
    /// What the first bytes say; `None` for anything that models do not see.
    pub fn of(bytes: &[u8]) -> Option<ImageKind> {
        match bytes {
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some(ImageKind::Png),
            [0xff, 0xd8, 0xff, ..] => Some(ImageKind::Jpeg),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(ImageKind::Gif),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(ImageKind::Webp),
            _ => None,
        }
    }

    /// As in a request.
    pub fn media_type(self) -> &'static str {
        match self {
            ImageKind::Png => "image/png",
            ImageKind::Jpeg => "image/jpeg",
            ImageKind::Gif => "image/gif",
            ImageKind::Webp => "image/webp",
        }
    }

    /// Width and height in pixels of a picture that begins and ends as its kind does. A provider that refuses a picture
    /// refuses it again with every later request of the conversation, so this is asked first. One pass over the headers.
    ///
    /// # Errors
    /// [`Unfit`] says what a provider would not take.
    pub fn look(self, bytes: &[u8]) -> Result<(u32, u32), Unfit> {
        if bytes.len() > Image::LARGEST {
            return Err(Unfit::TooLarge);
        }
        let (width, height) = match self {
            ImageKind::Png => png(bytes),
            ImageKind::Jpeg => jpeg(bytes),
            ImageKind::Gif => gif(bytes),
            ImageKind::Webp => webp(bytes),
        }
        .filter(|(width, height)| *width > 0 && *height > 0)
        .ok_or(Unfit::Broken(self))?;
        if width > Image::WIDEST || height > Image::WIDEST {
            return Err(Unfit::TooWide(width, height));
        }
        Ok((width, height))
    }
}

impl fmt::Display for ImageKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ImageKind::Png => "PNG",
            ImageKind::Jpeg => "JPEG",
            ImageKind::Gif => "GIF",
            ImageKind::Webp => "WebP",
        })
    }
}

/// The number in so many bytes, the highest first.
fn big(bytes: &[u8], at: usize, count: usize) -> Option<u32> {
    let digits = bytes.get(at..at.checked_add(count)?)?;
    Some(digits.iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte)))
}

/// The number in so many bytes, the lowest first.
fn little(bytes: &[u8], at: usize, count: usize) -> Option<u32> {
    let digits = bytes.get(at..at.checked_add(count)?)?;
    Some(digits.iter().rev().fold(0, |sum, byte| sum << 8 | u32::from(*byte)))
}

/// Chunks from `IHDR` to `IEND`, with pixels between.
fn png(bytes: &[u8]) -> Option<(u32, u32)> {
    let mut at: usize = 8;
    let (mut size, mut has_pixels) = (None, false);
    loop {
        let length = big(bytes, at, 4)? as usize;
        let next = at.checked_add(length)?.checked_add(12)?;
        bytes.get(..next)?;
        match (bytes.get(at + 4..at + 8)?, size) {
            (b"IHDR", None) if length == 13 => size = Some((big(bytes, at + 8, 4)?, big(bytes, at + 12, 4)?)),
            (_, None) => return None,
            (b"IDAT", Some(_)) => has_pixels = true,
            (b"IEND", Some(size)) => return has_pixels.then_some(size),
            _ => {}
        }
        at = next;
    }
}

/// Segments up to the pixels, which end with a mark of their own.
fn jpeg(bytes: &[u8]) -> Option<(u32, u32)> {
    let mut at: usize = 2;
    let mut size = None;
    loop {
        let marker = match (bytes.get(at)?, *bytes.get(at + 1)?) {
            (0xff, 0xff) => {
                at += 1;
                continue;
            }
            (0xff, marker) => marker,
            _ => return None,
        };
        let length = big(bytes, at + 2, 2)? as usize;
        match marker {
            0xc4 | 0xc8 | 0xcc => {}
            0xc0..=0xcf => size = Some((big(bytes, at + 7, 2)?, big(bytes, at + 5, 2)?)),
            0xda => return size.filter(|_| bytes[at..].windows(2).any(|pair| pair == [0xff, 0xd9])),
            0xd8 | 0xd9 => return None,
            _ => {}
        }
        at = at.checked_add(2)?.checked_add(length.max(2))?;
    }
}

/// Blocks up to the trailer, with a picture among them.
fn gif(bytes: &[u8]) -> Option<(u32, u32)> {
    let colours = |flags: u8| if flags & 0x80 == 0 { 0 } else { 3_usize << ((flags & 7) + 1) };
    let size = (little(bytes, 6, 2)?, little(bytes, 8, 2)?);
    let mut at = 13 + colours(*bytes.get(10)?);
    let mut has_pixels = false;
    loop {
        at += match bytes.get(at)? {
            0x21 => 2,
            0x2c => {
                has_pixels = true;
                11 + colours(*bytes.get(at + 9)?)
            }
            0x3b => return has_pixels.then_some(size),
            _ => return None,
        };
        // Pieces of at most 255 bytes, the last of which is empty.
        loop {
            let length = usize::from(*bytes.get(at)?);
            at += 1 + length;
            if length == 0 {
                break;
            }
        }
    }
}

/// The first chunk of a file that is as long as it says.
fn webp(bytes: &[u8]) -> Option<(u32, u32)> {
    bytes.get(..8_usize.checked_add(little(bytes, 4, 4)? as usize)?)?;
    let mask = 0x3fff;
    match bytes.get(12..16)? {
        b"VP8 " => Some((little(bytes, 26, 2)? & mask, little(bytes, 28, 2)? & mask)),
        b"VP8L" => {
            let bits = little(bytes, 21, 4)?;
            Some(((bits & mask) + 1, (bits >> 14 & mask) + 1))
        }
        b"VP8X" => Some((little(bytes, 24, 3)? + 1, little(bytes, 27, 3)? + 1)),
        _ => None,
    }
}
