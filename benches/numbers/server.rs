//! A model server in the Anthropic format on the loopback that knows to the microsecond when it was asked and had answered.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// What a request says.
pub(crate) struct Asked {
    /// The body as sent.
    pub(crate) body: String,
}

/// How a request is answered.
pub(crate) enum Answer {
    /// A whole reply.
    Says(Vec<Value>),
    /// A reply word by word, and when each was written.
    Trickles { pieces: Vec<String>, pause: Duration, sent: Arc<Mutex<Vec<Instant>>> },
    /// The beginning of one, then nothing until the client closes the connection.
    Holds,
}

/// One request and its answer.
#[derive(Clone, Copy)]
pub(crate) struct Exchange {
    /// When the request had come in, whole.
    pub(crate) asked: Instant,
    /// When the last byte of the answer was written, or the client had closed.
    pub(crate) answered: Instant,
}

/// Runs until the process ends; each connection has a thread.
pub(crate) struct Server {
    pub(crate) url: String,
    shared: Arc<Shared>,
}

struct Shared {
    answer: Box<dyn Fn(&Asked) -> Answer + Send + Sync>,
    log: Mutex<Vec<Exchange>>,
    first: Mutex<Option<String>>,
    holding: AtomicUsize,
    pid: AtomicU32,
    peak: AtomicU64,
}

impl Server {
    pub(crate) fn start(answer: impl Fn(&Asked) -> Answer + Send + Sync + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").expect("the loopback has a free port");
        let url = format!("http://{}", listener.local_addr().expect("a bound socket has an address"));
        let shared = Arc::new(Shared {
            answer: Box::new(answer),
            log: Mutex::default(),
            first: Mutex::default(),
            holding: AtomicUsize::new(0),
            pid: AtomicU32::new(0),
            peak: AtomicU64::new(0),
        });
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

    /// All exchanges so far, in the order in which they were answered.
    pub(crate) fn log(&self) -> Vec<Exchange> {
        self.shared.log.lock().expect("no server thread panics").clone()
    }

    /// The body of the first request.
    pub(crate) fn first_body(&self) -> Option<String> {
        self.shared.first.lock().expect("no server thread panics").clone()
    }

    /// How many answers it is holding open.
    pub(crate) fn holding(&self) -> usize {
        self.shared.holding.load(Ordering::SeqCst)
    }

    /// Looks at the peak memory of this process whenever it asks.
    pub(crate) fn watch(&self, pid: u32) {
        self.shared.pid.store(pid, Ordering::SeqCst);
    }

    /// The highest peak seen, in bytes.
    pub(crate) fn peak(&self) -> u64 {
        self.shared.peak.load(Ordering::SeqCst)
    }
}

fn serve(mut stream: TcpStream, shared: &Shared) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::with_capacity(1 << 20, stream.try_clone()?);
    while let Some(body) = request(&mut reader)? {
        let asked = Instant::now();
        if shared.pid.load(Ordering::SeqCst) != 0 {
            let peak = memory(shared.pid.load(Ordering::SeqCst), "VmHWM");
            shared.peak.fetch_max(peak, Ordering::SeqCst);
        }
        let answer = (shared.answer)(&Asked { body: body.clone() });
        shared.first.lock().expect("no server thread panics").get_or_insert(body);
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        match answer {
            Answer::Says(blocks) => {
                let events = stream_of(&blocks);
                let bytes = format!("{head}{:x}\r\n{events}\r\n0\r\n\r\n", events.len());
                // Noted first: the client may ask again before this thread runs on.
                let at = shared.log.lock().expect("no server thread panics").len();
                shared.log.lock().expect("no server thread panics").push(Exchange { asked, answered: asked });
                stream.write_all(bytes.as_bytes())?;
                shared.log.lock().expect("no server thread panics")[at].answered = Instant::now();
            }
            Answer::Trickles { pieces, pause, sent } => {
                stream.write_all(head.as_bytes())?;
                trickle(&mut stream, &pieces, pause, &sent)?;
            }
            Answer::Holds => {
                let events = opening() + &text_block(0, "thinking about it");
                stream.write_all(format!("{head}{:x}\r\n{events}\r\n", events.len()).as_bytes())?;
                shared.holding.fetch_add(1, Ordering::SeqCst);
                // Nothing comes any more but the end, by closing or by reset.
                let _ = reader.read(&mut [0; 1]);
                let answered = Instant::now();
                shared.holding.fetch_sub(1, Ordering::SeqCst);
                shared.log.lock().expect("no server thread panics").push(Exchange { asked, answered });
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Writes a reply in which each piece is a chunk of its own.
fn trickle(
    stream: &mut TcpStream,
    pieces: &[String],
    pause: Duration,
    sent: &Mutex<Vec<Instant>>,
) -> std::io::Result<()> {
    let mut say = |events: &str| stream.write_all(format!("{:x}\r\n{events}\r\n", events.len()).as_bytes());
    say(&opening())?;
    say(&event("content_block_start", json!({"index": 0, "content_block": {"type": "text", "text": ""}})))?;
    for piece in pieces {
        std::thread::park_timeout(pause);
        let delta = event("content_block_delta", json!({"index": 0, "delta": {"type": "text_delta", "text": piece}}));
        sent.lock().expect("no client thread panics").push(Instant::now());
        say(&delta)?;
    }
    say(&event("content_block_stop", json!({"index": 0})))?;
    let delta = json!({"delta": {"stop_reason": "end_turn", "stop_sequence": null}, "usage": {"output_tokens": 20}});
    say(&(event("message_delta", delta) + &event("message_stop", json!({}))))?;
    stream.write_all(b"0\r\n\r\n")
}

/// Reads one request; nothing at the end of the connection.
fn request(reader: &mut impl BufRead) -> std::io::Result<Option<String>> {
    let mut length = 0;
    let mut line = String::new();
    loop {
        line.clear();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let header = line.trim_end().to_ascii_lowercase();
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        if header.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Some(String::from_utf8_lossy(&body).into_owned()))
}

/// A text block of a reply.
pub(crate) fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// A call block of a reply.
pub(crate) fn call(id: &str, name: &str, args: Value) -> Value {
    json!({"type": "tool_use", "id": id, "name": name, "input": args})
}

/// The events of a whole reply.
pub(crate) fn stream_of(blocks: &[Value]) -> String {
    let mut events = opening();
    for (index, block) in blocks.iter().enumerate() {
        match block["text"].as_str() {
            Some(text) => events += &text_block(index, text),
            None => events += &call_block(index, block),
        }
        events += &event("content_block_stop", json!({"index": index}));
    }
    let stop = if blocks.iter().any(|block| block["type"] == "tool_use") { "tool_use" } else { "end_turn" };
    let delta = json!({"delta": {"stop_reason": stop, "stop_sequence": null}, "usage": {"output_tokens": 20}});
    events + &event("message_delta", delta) + &event("message_stop", json!({}))
}

fn opening() -> String {
    let usage = json!({"input_tokens": 100, "output_tokens": 1});
    let message = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "bench", "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": usage});
    event("message_start", json!({"message": message}))
}

fn text_block(index: usize, text: &str) -> String {
    let start = json!({"index": index, "content_block": {"type": "text", "text": ""}});
    let delta = json!({"index": index, "delta": {"type": "text_delta", "text": text}});
    event("content_block_start", start) + &event("content_block_delta", delta)
}

fn call_block(index: usize, block: &Value) -> String {
    let opened = json!({"type": "tool_use", "id": block["id"], "name": block["name"], "input": {}});
    let input = json!({"type": "input_json_delta", "partial_json": block["input"].to_string()});
    let start = event("content_block_start", json!({"index": index, "content_block": opened}));
    start + &event("content_block_delta", json!({"index": index, "delta": input}))
}

fn event(name: &str, mut data: Value) -> String {
    data["type"] = json!(name);
    format!("event: {name}\ndata: {data}\n\n")
}

/// A figure of `/proc/PID/status` in bytes; 0 when the process has ended.
pub(crate) fn memory(pid: u32, figure: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(figure)).unwrap_or_default();
    let kib: Option<u64> = line.split_whitespace().nth(1).and_then(|word| word.parse().ok());
    kib.unwrap_or(0) * 1024
}
