//! Pictures for `run`: what is taken, what is refused, and what the model reads.

use std::fs;

use serde_json::{Value, json};
use tillerman::message::{Image, ImageKind};
use walkdir::WalkDir;

use super::{Done, Place};
use crate::server::{Server, says};
use crate::tools::pictures::png;

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
    fs::write(place.path().join("some"), [PNG, &vec![0; 3_900_000]].concat()).unwrap();
    for (images, said) in [
        (vec!["a.png"], "a.png is no PNG, JPEG, GIF or WebP"),
        (vec!["none.png"], "cannot read the image none.png: No such file"),
        (vec!["."], ". is no file"),
        (vec!["big"], "big has over 3.75 MB"),
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

/// The files below both folders of the place that hold a text.
fn holding(place: &Place, text: &str) -> Vec<String> {
    let all = [place.path(), place.home.path()].into_iter().flat_map(WalkDir::new).flatten();
    let files = all.filter(|entry| {
        fs::read(entry.path()).is_ok_and(|bytes| bytes.windows(text.len()).any(|w| w == text.as_bytes()))
    });
    files.map(|entry| entry.path().extension().unwrap_or_default().to_string_lossy().into_owned()).collect()
}

#[test]
fn a_picture_of_read_file_reaches_who_sees_and_swells_nothing_but_the_session() {
    let place = Place::new();
    let bytes = png(640, 480, 3_000);
    fs::write(place.path().join("a.txt"), &bytes).unwrap();
    let Image { data, .. } = Image::of(ImageKind::Png, &bytes);
    let server = Server::list([says().call("c1", "read_file", json!({"path": "a.txt"})), says().text("a boat")]);
    let url = server.base_url();
    let model = ["-m", "anthropic/claude-sonnet-5-5", "--base-url", &url];
    let done = place.tillerman(&[&["run"], &model[..], &["--json", "look"]].concat());
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let told = "Image: a.txt (PNG, 640 × 480 pixels, 3.0 KB)";
    let source = json!({"type": "base64", "media_type": "image/png", "data": data});
    let shown = json!([{"type": "text", "text": told}, {"type": "image", "source": source}]);
    let result = json!({"type": "tool_result", "tool_use_id": "c1", "content": shown});
    assert_eq!(server.requests()[1].body["messages"][2]["content"], json!([result]));
    assert!(done.stdout.contains(told) && !done.stdout.contains(&data));
    assert_eq!(holding(&place, &data), ["jsonl"], "the session's file and no trace or log");
    for form in ["md", "html"] {
        let exported = place.tillerman(&["sessions", "export", "2", "--format", form]);
        assert!(exported.stdout.contains(told) && !exported.stdout.contains(&data), "{form}: {}", exported.stderr);
    }
    // Another model that sees none goes on with it.
    let (done, asked) = run(&place, "deepseek/deepseek-v4-pro", &[], &["-c"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let said = format!("{told}\n[image left out: deepseek/deepseek-v4-pro takes none]");
    assert_eq!(asked[0][3]["content"], said);
    let (_, asked) = run(&place, "anthropic/claude-sonnet-5-5", &[], &["-c"]);
    assert_eq!(asked[0][2]["content"], json!([result]));
}
