//! Much at once and much in small pieces: what a reply may cost in memory and in time.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use tillerman::message::Message;
use tillerman::model::http::Timeouts;

use super::talk::{ALL, Ask, KEY, end, id_of, models, opened, stream, worked};
use crate::cli::Place;
use crate::server::{Response, Server, says};

const MEGABYTE: usize = 1 << 20;
/// The most that is kept of one event.
const CAP: u64 = 16;

/// A reply whose first piece of text, one letter, is the given number of them, as bytes of its stream.
fn with_long_piece(id: &str, letters: usize) -> Vec<u8> {
    let whole = stream(id, &says().text("ab"));
    let (head, tail) = whole.split_once("\"a\"").unwrap();
    // Some formats say all of it once more at the end.
    let tail = tail.replace("\"ab\"", &format!("\"{}b\"", "a".repeat(letters)));
    format!("{head}\"{}\"{tail}", "a".repeat(letters)).into_bytes()
}

/// Asks through the program and answers its code, what it said, and the most memory that it ever held, in MB.
fn run(id: &str, response: Response) -> (Option<i32>, String, u64) {
    let (place, server) = (Place::new(), Server::answer(move |_| response.clone()));
    let mut command = place.command(&["run", "-m", id, "--base-url", &server.base_url(), "hi"]);
    command.env("ANTHROPIC_API_KEY", KEY).env("OPENAI_API_KEY", KEY).env("TILLERMAN_RETRY_PATIENCE", "0");
    let errors = place.home.path().join("errors");
    let mut child = command.stdout(Stdio::null()).stderr(fs::File::create(&errors).unwrap()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut most = 0;
    let code = loop {
        // The mark only rises, so the last one that is read is at most some milliseconds of growth too low.
        let text = fs::read_to_string(&status).unwrap_or_default();
        let mark = text.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse().ok());
        most = most.max(mark.unwrap_or(0));
        if let Some(status) = child.try_wait().unwrap() {
            break status.code();
        }
        std::thread::park_timeout(Duration::from_millis(2));
    };
    (code, fs::read_to_string(&errors).unwrap(), most / 1024)
}

/// A27: a piece of 64 MB, and 64 MB without the end of a line.
#[test]
fn an_event_of_64_megabytes_costs_no_more_than_its_cap() {
    for id in ALL {
        let usual = run(id, opened(id).send(with_long_piece(id, 1)).fin());
        assert_eq!(usual.0, Some(0), "{id}: {}", usual.1);
        let endless = ["data: ".as_bytes().to_vec(), vec![b'x'; 64 * MEGABYTE]].concat();
        for body in [with_long_piece(id, 64 * MEGABYTE), endless] {
            let (code, said, most) = run(id, opened(id).send(body).stall());
            assert!(code == Some(4) && said.contains("an event of over 16 MiB"), "{id}: {code:?} {said}");
            assert!(most > 10 && most < usual.2 + 3 * CAP, "{id}: {most} MB after {} MB", usual.2);
        }
    }
}

/// A27: pieces that each fit, without an end.
#[test]
fn a_reply_without_an_end_costs_no_more_than_its_cap() {
    for id in ALL {
        let whole = with_long_piece(id, 15 * MEGABYTE);
        let text = String::from_utf8(whole).unwrap();
        let piece = text.split_inclusive(end(id)).find(|event| event.len() > MEGABYTE).unwrap();
        let start = text.find(piece).unwrap();
        let body = (0..6).fold(opened(id).send(&text[..start]), |body, _| body.send(piece));
        let (code, said, most) = run(id, body.stall());
        assert!(code == Some(1) && said.contains("answered without an end and was cut off"), "{id}: {code:?} {said}");
        // 64 MB are kept of a reply; what is on its way to those who watch comes on top, once for each.
        assert!(most > 60 && most < 7 * 64, "{id}: {most} MB");
    }
}

/// The work that a reply of so many pieces of one letter takes; the server has a thread of its own.
async fn time(id: &str, pieces: usize) -> Duration {
    let whole = stream(id, &says().text("ab"));
    let mark = end(id);
    let at = whole.find("\"a\"").unwrap();
    let start = whole[..at].rfind(mark).map_or(0, |at| at + mark.len());
    let end = at + whole[at..].find(mark).unwrap() + mark.len();
    // Some formats say all of it once more at the end.
    let rest = whole[end..].replace("\"ab\"", &format!("\"{}b\"", "a".repeat(pieces)));
    let body = format!("{}{}{rest}", &whole[..start], whole[start..end].repeat(pieces));
    let server = Server::list([opened(id).send(body).fin()]);
    let model = models(&server, Timeouts::default()).get(&id_of(id)).unwrap();
    let before = worked();
    let (reply, deltas) = Ask::new([Message::user("hi")]).send(&model).await;
    let took = worked() - before;
    assert_eq!(reply.unwrap().message, Message::assistant("a".repeat(pieces) + "b"), "{id}");
    assert_eq!(deltas.len(), pieces + 1, "{id}");
    took
}

/// A28: eight times as many pieces take eight times the work, and not sixty-four times. How long a million of them take
/// is measured in benches/formats.
#[tokio::test]
async fn small_pieces_cost_the_same_however_many_there_are() {
    for id in ALL {
        let few = time(id, 5_000).await.min(time(id, 5_000).await);
        let many = time(id, 40_000).await.min(time(id, 40_000).await);
        assert!(many < 24 * few, "{id}: {few:?} for 5,000 pieces, {many:?} for 40,000");
    }
}
