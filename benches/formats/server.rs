//! A model server on the loopback that answers in one wire format, with the same stream each time.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use serde_json::{Value, json};

/// A reply of so many pieces of text.
#[derive(Clone, Copy)]
pub(crate) struct Stream {
    pub(crate) pieces: usize,
    pub(crate) piece: &'static str,
}

/// A request as it came in.
#[derive(Clone)]
pub(crate) struct Asked {
    /// When all of it was there.
    pub(crate) at: Instant,
    pub(crate) body: Vec<u8>,
    /// Bytes of the answer.
    pub(crate) answer: usize,
}

/// Runs until the process ends.
pub(crate) struct Server {
    pub(crate) url: String,
    shared: Arc<Shared>,
}

struct Shared {
    render: fn(&Stream) -> String,
    answer: Mutex<Arc<String>>,
    last: Mutex<Option<Asked>>,
}

impl Server {
    /// Answers as this renders it.
    pub(crate) fn start(render: fn(&Stream) -> String) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").expect("the loopback has a free port");
        let url = format!("http://{}", listener.local_addr().expect("a bound socket has an address"));
        let shared = Arc::new(Shared { render, answer: Mutex::default(), last: Mutex::default() });
        let serving = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&serving);
                // A connection that breaks is a client that ended.
                std::thread::spawn(move || serve(stream, &shared).ok());
            }
        });
        Server { url, shared }
    }

    /// Answers like this from now on.
    pub(crate) fn answer_with(&self, stream: &Stream) {
        let answer = Arc::new((self.shared.render)(stream));
        *self.shared.answer.lock().expect("no server thread panics") = answer;
    }

    /// The last request.
    pub(crate) fn last(&self) -> Asked {
        self.shared.last.lock().expect("no server thread panics").clone().expect("a request")
    }
}

fn serve(mut stream: TcpStream, shared: &Shared) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::with_capacity(1 << 20, stream.try_clone()?);
    while let Some((path, body)) = request(&mut reader)? {
        let at = Instant::now();
        let answer = shared.answer.lock().expect("no server thread panics").clone();
        *shared.last.lock().expect("no server thread panics") = Some(Asked { at, body, answer: answer.len() });
        let kind = if path.ends_with("/api/chat") { "application/x-ndjson" } else { "text/event-stream" };
        let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n", answer.len());
        stream.write_all(head.as_bytes())?;
        stream.write_all(answer.as_bytes())?;
    }
    Ok(())
}

/// Reads one request, its path and its body; nothing at the end of the connection.
fn request(reader: &mut impl BufRead) -> std::io::Result<Option<(String, Vec<u8>)>> {
    let (mut length, mut path, mut line) = (0, String::new(), String::new());
    loop {
        line.clear();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let header = line.trim_end();
        if path.is_empty() {
            path = header.split(' ').nth(1).unwrap_or_default().to_owned();
        } else if let Some(value) = header.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        } else if header.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Some((path, body)))
}

fn data(events: impl Iterator<Item = Value>) -> String {
    events.fold(String::new(), |text, event| match event["type"].as_str() {
        Some(name) => text + &format!("event: {name}\ndata: {event}\n\n"),
        None => text + &format!("data: {event}\n\n"),
    })
}

fn pieces(stream: &Stream, piece: impl Fn(&str) -> Value) -> impl Iterator<Item = Value> {
    let event = piece(stream.piece);
    std::iter::repeat_n(event, stream.pieces)
}

pub(crate) fn anthropic(stream: &Stream) -> String {
    let head = [
        json!({"type": "message_start", "message": {"id": "m", "role": "assistant", "usage": {"input_tokens": 9}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
    ];
    let tail = [
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}}),
        json!({"type": "message_stop"}),
    ];
    let piece =
        |text: &str| json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}});
    data(head.into_iter().chain(pieces(stream, piece)).chain(tail))
}

pub(crate) fn responses(stream: &Stream) -> String {
    let whole = stream.piece.repeat(stream.pieces);
    let item = |text: &str| {
        let content = json!([{"type": "output_text", "text": text, "annotations": []}]);
        json!({"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": content})
    };
    let head = [
        json!({"type": "response.created", "response": {"id": "r", "status": "in_progress", "output": []}}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": item("")}),
    ];
    let usage = json!({"input_tokens": 9, "output_tokens": 9, "total_tokens": 18});
    let tail = [
        json!({"type": "response.output_item.done", "output_index": 0, "item": item(&whole)}),
        json!({"type": "response.completed", "response": {"id": "r", "status": "completed", "usage": usage, "output": []}}),
    ];
    let piece = |text: &str| json!({"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 0, "content_index": 0, "delta": text});
    data(head.into_iter().chain(pieces(stream, piece)).chain(tail))
}

pub(crate) fn chat(stream: &Stream) -> String {
    let piece = |text: &str| json!({"id": "c", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": text}}]});
    let tail = [
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}),
        json!({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 9}}),
    ];
    data(pieces(stream, piece).chain(tail)) + "data: [DONE]\n\n"
}

pub(crate) fn gemini(stream: &Stream) -> String {
    let piece =
        |text: &str| json!({"candidates": [{"content": {"role": "model", "parts": [{"text": text}]}, "index": 0}]});
    let usage = json!({"promptTokenCount": 9, "candidatesTokenCount": 9, "totalTokenCount": 18});
    let candidate = json!({"content": {"role": "model", "parts": []}, "finishReason": "STOP", "index": 0});
    data(pieces(stream, piece).chain([json!({"candidates": [candidate], "usageMetadata": usage})]))
}

pub(crate) fn ollama(stream: &Stream) -> String {
    let piece = |text: &str| json!({"model": "m", "message": {"role": "assistant", "content": text}, "done": false});
    let done = json!({"model": "m", "message": {"role": "assistant", "content": ""}, "done": true, "done_reason": "stop",
        "prompt_eval_count": 9, "eval_count": 9});
    let lines = pieces(stream, piece).chain([done]);
    lines.fold(String::new(), |text, line| text + &format!("{line}\n"))
}
