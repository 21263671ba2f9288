//! Pictures as `read_file` shows them, and what only looks like one.

use std::fs::File;

use serde_json::json;
use tillerman::message::{Image, ImageKind, Unfit};

use super::Bench;

/// A PNG of this size with so many bytes for pixels.
pub fn png(width: u32, height: u32, pixels: usize) -> Vec<u8> {
    let chunk = |kind: &[u8; 4], data: &[u8]| {
        let length = u32::try_from(data.len()).unwrap().to_be_bytes();
        [&length, &kind[..], data, &[0; 4]].concat()
    };
    let head = [&width.to_be_bytes()[..], &height.to_be_bytes(), &[8, 2, 0, 0, 0]].concat();
    let chunks = [chunk(b"IHDR", &head), chunk(b"IDAT", &vec![7; pixels]), chunk(b"IEND", &[])];
    [b"\x89PNG\r\n\x1a\n", &chunks.concat()[..]].concat()
}

fn jpeg() -> Vec<u8> {
    let app = b"\xff\xe0\0\x04ab";
    let frame = [b"\xff\xff\xc2\0\x11\x08".as_slice(), &[1, 2, 3, 4], &[0; 10]].concat();
    [b"\xff\xd8", &app[..], &frame, b"\xff\xda\0\x02pixels\xff\xd9"].concat()
}

fn gif() -> Vec<u8> {
    let head = [b"GIF89a".as_slice(), &[4, 1, 3, 0, 0x80, 0, 0], &[9; 6]].concat();
    [head, b"\x21\xf9\x04abcd\0".to_vec(), b"\x2c\0\0\0\0\x04\x01\x03\0\0\x02\x02xy\0\x3b".to_vec()].concat()
}

fn webp(chunk: &[u8]) -> Vec<u8> {
    let length = u32::try_from(chunk.len() + 4).unwrap().to_le_bytes();
    [b"RIFF", &length[..], b"WEBP", chunk].concat()
}

fn kinds() -> [(&'static str, Vec<u8>, &'static str); 6] {
    [
        ("a.png", png(640, 480, 9), "PNG, 640 × 480 pixels"),
        ("b.txt", jpeg(), "JPEG, 772 × 258 pixels"),
        ("c", gif(), "GIF, 260 × 3 pixels"),
        ("d.svg", webp(b"VP8 \x0a\0\0\0\0\0\0\x9d\x01\x2a\x05\x40\x06\0"), "WebP, 5 × 6 pixels"),
        ("e.rs", webp(b"VP8L\x05\0\0\0\x2f\x02\xc0\x00\0"), "WebP, 3 × 4 pixels"),
        ("f", webp(b"VP8X\x0a\0\0\0\0\0\0\0\x07\0\0\x08\0\0"), "WebP, 8 × 9 pixels"),
    ]
}

#[tokio::test]
async fn a_picture_is_told_by_its_bytes_and_shown() {
    let bench = Bench::new();
    for (name, bytes, told) in kinds() {
        bench.put(name, &bytes);
        let output = bench.call("read_file", json!({ "path": name })).await.unwrap();
        assert_eq!(output.text, format!("Image: {name} ({told}, {} bytes)", bytes.len()));
        let kind = ImageKind::of(&bytes).unwrap();
        assert_eq!(output.images, [Image::of(kind, &bytes)]);
        assert_eq!(output.details["media_type"], kind.media_type());
    }
}

/// A provider that refuses a picture would refuse it again with each later request.
#[tokio::test]
async fn what_providers_refuse_is_no_part_of_a_conversation() {
    let bench = Bench::new();
    bench.put("large", png(9, 9, Image::LARGEST));
    bench.put("wide", png(8_001, 2, 9));
    bench.put("empty", png(0, 2, 9));
    bench.put("page.png", [b"\x89PNG\r\n\x1a\n".as_slice(), b"<html>\0</html>"].concat());
    let error = |name: &'static str| bench.error("read_file", json!({ "path": name }));
    assert_eq!(error("large").await, "large has over 3.75 MB, more than providers take; make it smaller");
    let wide = "wide has 8001 × 2 pixels, more than the 8000 on an edge that providers take; make it smaller";
    assert_eq!(error("wide").await, wide);
    for name in ["empty", "page.png"] {
        assert_eq!(error(name).await, format!("{name} is no whole PNG: it is cut off or damaged; make it anew"));
    }
    // As much as it says, and nothing behind it.
    let sparse = |name: &str, head: &[u8]| {
        bench.put(name, head);
        File::options().write(true).open(bench.path(name)).unwrap().set_len(10 << 30).unwrap();
    };
    sparse("sparse.png", b"");
    sparse("sparser.png", &png(9, 9, 9));
    assert!(error("sparse.png").await.starts_with("sparse.png is larger than 10.0 MB; use grep"));
    assert_eq!(error("sparser.png").await, "sparser.png has over 3.75 MB, more than providers take; make it smaller");
}

#[tokio::test]
async fn a_text_that_begins_like_a_picture_is_a_text() {
    let bench = Bench::new();
    bench.put("a.svg", "<svg/>\n");
    bench.put("b.gif", "GIF89a is a format\n");
    let text = |name: &'static str| bench.text("read_file", json!({ "path": name }));
    assert_eq!(text("a.svg").await, "File: a.svg (1 lines)\n1: <svg/>\n");
    assert_eq!(text("b.gif").await, "File: b.gif (1 lines)\n1: GIF89a is a format\n");
}

#[test]
fn a_picture_cut_off_anywhere_is_broken_and_with_any_byte_changed_harms_nobody() {
    for (name, bytes, _) in kinds() {
        let kind = ImageKind::of(&bytes).unwrap();
        kind.look(&bytes).unwrap();
        kind.look(&[&bytes[..], b"more"].concat()).unwrap();
        for end in 0..bytes.len() {
            assert_eq!(kind.look(&bytes[..end]), Err(Unfit::Broken(kind)), "{name} of {end} bytes");
        }
        for at in 0..bytes.len() {
            for byte in [0, 1, 0x3b, 0x7f, 0xd9, 0xff] {
                let mut changed = bytes.clone();
                changed[at] = byte;
                let _ = kind.look(&changed);
            }
        }
    }
}
