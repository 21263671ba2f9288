//! Streams in the documented shapes, one file each in `streams/`, cut at every byte. A file is named after its wire format
//! and what is in it, `chat_reasoning_and_tools.sse`; JSON lines end in `.ndjson`. A new file is tested by being there.

use std::fs;
use std::path::{Path, PathBuf};

use tillerman::message::Message;
use tillerman::model::http::Timeouts;
use tillerman::model::{Delta, Reply};

use super::talk::{ANTHROPIC, Ask, CHAT, GEMINI, OLLAMA, RESPONSES, id_of, models};
use crate::server::{Response, Server};

/// A model for each wire format.
const MODELS: [(&str, &str); 5] =
    [("anthropic", ANTHROPIC), ("responses", RESPONSES), ("chat", CHAT), ("gemini", GEMINI), ("ollama", OLLAMA)];

/// Cuts stand so far apart, so that so many requests have one at every byte.
const APART: usize = 24;

/// The recorded streams with their bytes.
fn recorded() -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/model/streams");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

/// The answer in pieces that arrive each on its own, whatever the network does: a piece is a chunk of the transfer.
fn in_pieces<'a>(kind: &str, pieces: impl IntoIterator<Item = &'a [u8]>) -> Response {
    let mut bytes =
        format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ntransfer-encoding: chunked\r\n\r\n").into_bytes();
    for piece in pieces.into_iter().filter(|piece| !piece.is_empty()) {
        bytes.extend(format!("{:x}\r\n", piece.len()).into_bytes());
        bytes.extend_from_slice(piece);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"0\r\n\r\n");
    Response::raw().send(bytes)
}

/// A24: whole, in pieces of one byte, and with a cut at every byte: the same reply and the same deltas.
#[tokio::test]
async fn every_recorded_stream_may_be_cut_anywhere() {
    let streams = recorded();
    for (format, _) in MODELS {
        let known = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with(&format!("{format}_"));
        assert!(streams.iter().any(|(path, _)| known(path)), "no recorded stream of {format}");
    }
    let plays = streams.into_iter().map(|(path, bytes)| async move {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let format = name.split('_').next().unwrap();
        let id = MODELS.iter().find(|(wire, _)| *wire == format).map(|(_, id)| id);
        let id = id.unwrap_or_else(|| panic!("{name}: begin the name of the file with a wire format"));
        let lines = path.extension().is_some_and(|end| end == "ndjson");
        let kind = if lines { "application/x-ndjson" } else { "text/event-stream" };
        let cut = |first: usize| {
            let (head, rest) = bytes.split_at(first.min(bytes.len()));
            in_pieces(kind, std::iter::once(head).chain(rest.chunks(APART)))
        };
        let ways = (1..=APART).map(cut).chain([in_pieces(kind, bytes.chunks(1))]);
        let whole = play(id, in_pieces(kind, [bytes.as_slice()])).await;
        assert!(!whole.0.message.blocks.is_empty() && !whole.1.is_empty(), "{name}");
        for (at, way) in ways.enumerate() {
            assert_eq!(play(id, way).await, whole, "{name}, way {at}");
        }
    });
    futures_util::future::join_all(plays).await;
}

async fn play(id: &str, response: Response) -> (Reply, Vec<Delta>) {
    let server = Server::list([response]);
    let model = models(&server, Timeouts::default()).get(&id_of(id)).unwrap();
    let (reply, deltas) = Ask::new([Message::user("hi")]).send(&model).await;
    (reply.unwrap_or_else(|e| panic!("{id}: {e}")), deltas)
}
