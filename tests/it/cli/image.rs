//! Pictures for `run`: what is taken, what is refused, and what the model reads.

use std::fs;

use serde_json::{Value, json};

use super::{Done, Place};
use crate::server::{Server, says};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\nrest";
const JPEG: &[u8] = b"\xff\xd8\xffrest";
const GIF: &[u8] = b"GIF89arest";
const WEBP: &[u8] = b"RIFF\0\0\0\0WEBPrest";

/// One run against a server that answers once.
fn run(place: &Place, model: &str, images: &[&str], more: &[&str]) -> (Done, Vec<Value>) {
    let server = Server::list([says().text("a boat")]);
    let path = if model.starts_with("anthropic") { "" } else { "/v1" };
    let url = format!("{}{path}", server.base_url());
    let images = images.iter().flat_map(|image| ["--image", image]);
    let args: Vec<&str> = ["run", "-m", model, "--base-url", &url].into_iter().chain(images).collect();
    let args: Vec<&str> = args.into_iter().chain(more.iter().copied()).chain(["what is this?"]).collect();
    let done = place.tillerman_with(&args, &[("GEMINI_API_KEY", "k-12345678")], "");
    let asked = server.requests().iter().map(|request| request.body["messages"].clone()).collect();
    (done, asked)
}

#[test]
fn pictures_are_known_by_their_first_bytes_and_stand_before_the_words() {
    let place = Place::new();
    for (name, bytes) in [("a.txt", PNG), ("b", JPEG), ("c.png", GIF), ("d", WEBP)] {
        fs::write(place.path().join(name), bytes).unwrap();
    }
    let (done, asked) = run(&place, "anthropic/claude-sonnet-5-5", &["a.txt", "b", "c.png", "d"], &[]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "a boat\n"), "{}", done.stderr);
    let source = |kind: &str, data: &str| json!({"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}});
    let blocks = asked[0][0]["content"].as_array().unwrap();
    assert_eq!(blocks[0], source("image/png", "iVBORw0KGgpyZXN0"));
    assert_eq!(blocks[1], source("image/jpeg", "/9j/cmVzdA=="));
    assert_eq!(blocks[2], source("image/gif", "R0lGODlhcmVzdA=="));
    assert_eq!(blocks[3], source("image/webp", "UklGRgAAAABXRUJQcmVzdA=="));
    assert_eq!((&blocks[4]["text"], blocks.len()), (&json!("what is this?"), 5));
}

#[test]
fn what_is_no_picture_is_refused_by_name_before_anything_starts() {
    let place = Place::new();
    fs::write(place.path().join("a.png"), "hello").unwrap();
    fs::write(place.path().join("big"), [PNG, &vec![0; 5 << 20]].concat()).unwrap();
    fs::write(place.path().join("some"), [PNG, &vec![0; 4 << 20]].concat()).unwrap();
    for (images, said) in [
        (vec!["a.png"], "a.png is no PNG, JPEG, GIF or WebP"),
        (vec!["none.png"], "cannot read the image none.png: No such file"),
        (vec!["."], ". is no file"),
        (vec!["big"], "big has over 5 MB"),
        (vec!["some"; 4], "the images have over 14 MB together"),
        (vec!["some"; 9], "9 images are too many for one line; 8 are the most"),
    ] {
        let (done, asked) = run(&place, "anthropic/claude-sonnet-5-5", &images, &[]);
        assert_eq!((done.code, asked.len()), (Some(2), 0), "{}", done.stderr);
        assert!(done.stderr.contains(said), "{}", done.stderr);
    }
}

#[test]
fn a_model_that_takes_none_refuses_the_line_and_another_is_offered() {
    let place = Place::new();
    fs::write(place.path().join("a.png"), PNG).unwrap();
    let (done, asked) = run(&place, "deepseek/deepseek-v4-pro", &["a.png"], &[]);
    assert_eq!((done.code, asked.len()), (Some(2), 0), "{}", done.stderr);
    let said = "✗ deepseek/deepseek-v4-pro takes no images; one that does answers with -m gemini/";
    assert!(done.stderr.contains(said), "{}", done.stderr);
    let pilot = place.tillerman(&["run", "--image", "a.png", "look"]);
    assert_eq!(pilot.code, Some(2));
    assert!(
        pilot.stderr.contains("pilot/pilot takes no images; no model that does has a key here"),
        "{}",
        pilot.stderr
    );
}

#[test]
fn a_picture_of_before_is_left_out_for_a_model_that_sees_none() {
    let place = Place::new();
    fs::write(place.path().join("a.png"), PNG).unwrap();
    let (done, _) = run(&place, "anthropic/claude-sonnet-5-5", &["a.png"], &[]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let (done, asked) = run(&place, "deepseek/deepseek-v4-pro", &[], &["-c"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let text = asked[0][1]["content"].as_str().unwrap();
    assert!(text.starts_with("[image left out: deepseek/deepseek-v4-pro takes none]"), "{text}");
    // Who sees sees it again.
    let (done, asked) = run(&place, "anthropic/claude-sonnet-5-5", &[], &["-c"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert_eq!(asked[0][0]["content"][0]["source"]["media_type"], "image/png");
}
