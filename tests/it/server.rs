//! A scripted model server on the loopback: exact bytes, exact faults, every request kept and checked.
//!
//! ```ignore
//! let server = Server::list([says().call("c1", "shell", json!({"command": "ls"})), says().text("done")]);
//! let server = Server::answer(|request| if request.contains("count") { says().text("3").into() } else { … });
//! let server = Server::list([Response::stream().send(half).rst(), Response::status(529, "{}"), says().text("ok").into()]);
//! // ANTHROPIC_BASE_URL = server.base_url(), OPENAI_BASE_URL = server.base_url() + "/v1"
//! server.requests()[1].body["messages"]
//! ```
//! It lives on its own thread and in real time, so it serves `#[test]`, `#[tokio::test]`, paused time and the real
//! binary alike. `Says` is rendered in the format of the path it is asked on: `…/messages` as Anthropic, `…/responses`
//! as OpenAI Responses, `…enerateContent` as Gemini, `…/api/chat` as Ollama, else as OpenAI Chat Completions. A request
//! with an orphan call or result, or other things that providers refuse, is
//! answered with 400, and the test fails when the server is dropped. When a list has no more answers the request is
//! answered with 400 "the script has no more answers".
//! `Response` steps: `send`, `sleep`, `hold` (until a file exists), `drip`, `stall` (until the client closes), `rst`, `fin`.
#![allow(dead_code, reason = "tests of several rooms each use a part")]

mod check;
mod items;
mod says;
mod wire;

use std::collections::HashMap;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::sync::oneshot;

pub use says::{Says, says};

use crate::patience::PATIENCE;

/// One raw thing the server does.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    Send(Vec<u8>),
    Sleep(Duration),
    /// Says nothing until the file exists.
    Hold(PathBuf),
    Drip {
        bytes: Vec<u8>,
        size: usize,
        every: Duration,
    },
    /// Says nothing until the client closes.
    Stall,
    Rst,
    Fin,
}

/// What one request is answered with.
#[derive(Debug, Clone, PartialEq)]
pub enum Response {
    /// A well-formed reply of a model; the connection stays open.
    Says(Says),
    /// Steps; the connection ends after the last, unless `keep`.
    Raw { steps: Vec<Step>, keep: bool },
}

/// A request as it came in.
#[derive(Debug, Clone)]
pub struct Captured {
    pub method: String,
    pub path: String,
    /// Names in lower case.
    pub headers: HashMap<String, String>,
    /// `Null` when it is no JSON.
    pub body: Value,
    pub raw: Vec<u8>,
    pub at: Instant,
}

pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

type Answer = Box<dyn FnMut(&Captured) -> Response + Send>;

struct Shared {
    answer: Mutex<Answer>,
    requests: Mutex<Vec<Captured>>,
    unsound: Mutex<Vec<String>>,
    accepted: AtomicUsize,
    open: AtomicUsize,
    /// Requests are answered by their bytes alone and forgotten.
    hasty: bool,
}

impl Server {
    /// Answers in order of arrival.
    pub fn list<R: Into<Response>>(responses: impl IntoIterator<Item = R>) -> Server {
        let mut responses: std::collections::VecDeque<Response> = responses.into_iter().map(Into::into).collect();
        Server::answer(move |_| {
            let none = r#"{"type":"error","error":{"type":"invalid_request_error","message":"the script has no more answers"}}"#;
            responses.pop_front().unwrap_or_else(|| Response::status(400, none))
        })
    }

    /// Answers as the function says; use it when requests come in no fixed order.
    pub fn answer(answer: impl FnMut(&Captured) -> Response + Send + 'static) -> Server {
        Server::with(answer, false)
    }

    /// As `answer`, for a hundred thousand requests: none is read as JSON, checked or kept.
    pub fn hasty(answer: impl FnMut(&Captured) -> Response + Send + 'static) -> Server {
        Server::with(answer, true)
    }

    fn with(answer: impl FnMut(&Captured) -> Response + Send + 'static, hasty: bool) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            answer: Mutex::new(Box::new(answer)),
            requests: Mutex::default(),
            unsound: Mutex::default(),
            accepted: AtomicUsize::new(0),
            open: AtomicUsize::new(0),
            hasty,
        });
        let (stop, stopped) = oneshot::channel();
        let serving = shared.clone();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                tokio::select! { _ = wire::serve(listener, serving) => {}, _ = stopped => {} }
            });
        });
        Server { address, shared, stop: Some(stop), thread: Some(thread) }
    }

    /// `http://127.0.0.1:PORT`, no slash at the end.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// All requests so far, in order of arrival.
    pub fn requests(&self) -> Vec<Captured> {
        self.shared.requests.lock().unwrap().clone()
    }

    /// Connections taken so far.
    pub fn accepted(&self) -> usize {
        self.shared.accepted.load(Ordering::SeqCst)
    }

    /// Connections that are open now.
    pub fn open(&self) -> usize {
        self.shared.open.load(Ordering::SeqCst)
    }

    /// Polls until something is true of the server, or fails.
    pub fn wait_until(&self, what: &str, mut is_true: impl FnMut(&Server) -> bool) {
        let began = Instant::now();
        while !is_true(self) {
            assert!(began.elapsed() < PATIENCE, "waited in vain until {what}");
            std::thread::park_timeout(Duration::from_millis(1));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            if !std::thread::panicking() {
                ended.expect("the server's thread, or the test's answer function, panicked");
                let unsound = self.shared.unsound.lock().unwrap();
                assert!(unsound.is_empty(), "requests that a provider refuses:\n{}", unsound.join("\n"));
            }
        }
    }
}

impl Captured {
    /// The raw body contains the text (as written in JSON).
    pub fn contains(&self, text: &str) -> bool {
        String::from_utf8_lossy(&self.raw).contains(text)
    }

    /// It asks for a stream.
    pub fn streams(&self) -> bool {
        self.body["stream"] == true || self.path.contains(":streamGenerateContent?")
    }

    /// The messages of the conversation.
    pub fn messages(&self) -> Vec<Value> {
        check::messages(&self.body)
    }

    /// The names of the tools that it may call, in order.
    pub fn tools(&self) -> Vec<String> {
        let tools = self.body["tools"].as_array().into_iter().flatten();
        let tools = tools.flat_map(|tool| match tool["functionDeclarations"].as_array() {
            Some(declared) => declared.iter().collect(),
            None => vec![tool],
        });
        let name = |tool: &Value| tool["name"].as_str().or(tool["function"]["name"].as_str()).unwrap().to_owned();
        tools.map(name).collect()
    }

    /// The texts of the user's messages after the assistant's last one, results not included.
    pub fn last_user(&self) -> String {
        self.tail().iter().filter_map(check::user_text).collect::<Vec<_>>().join("\n")
    }

    /// The results after the assistant's last message: call id and text.
    pub fn results(&self) -> Vec<(String, String)> {
        self.tail().iter().flat_map(check::results).collect()
    }

    /// How often the assistant spoke.
    pub fn turns(&self) -> usize {
        let messages = check::messages(&self.body);
        let spoke = |message: &Value| message["role"] == "assistant";
        // Where what it said is a list of items, several of them are one turn.
        (0..messages.len()).filter(|at| spoke(&messages[*at]) && (*at == 0 || !spoke(&messages[at - 1]))).count()
    }

    /// The messages after the assistant's last one.
    fn tail(&self) -> Vec<Value> {
        let mut messages = check::messages(&self.body);
        let last = messages.iter().rposition(|message| message["role"] == "assistant");
        messages.split_off(last.map_or(0, |at| at + 1))
    }

    /// The system prompt.
    pub fn system(&self) -> String {
        let places = ["/system", "/instructions", "/systemInstruction/parts/0/text", "/messages/0/content"];
        let found = places.iter().find_map(|place| self.body.pointer(place)?.as_str());
        found.unwrap_or_default().to_owned()
    }
}

impl From<Says> for Response {
    fn from(says: Says) -> Response {
        Response::Says(says)
    }
}

impl Response {
    /// A complete answer with a JSON body; the connection stays open.
    pub fn status(status: u16, body: &str) -> Response {
        Response::with(status, &[("content-type", "application/json")], body)
    }

    /// A complete answer with headers; the connection stays open.
    pub fn with(status: u16, headers: &[(&str, &str)], body: &str) -> Response {
        let mut head = format!("HTTP/1.1 {status} Scripted\r\ncontent-length: {}\r\n", body.len());
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        Response::Raw { steps: vec![Step::Send(format!("{head}\r\n{body}").into_bytes())], keep: true }
    }

    /// Nothing at all; add steps.
    pub fn raw() -> Response {
        Response::Raw { steps: Vec::new(), keep: false }
    }

    /// The head of an event stream that ends with its connection; add steps.
    pub fn stream() -> Response {
        Response::raw().send("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")
    }

    /// The head of a stream of lines that ends with its connection; add steps.
    pub fn lines() -> Response {
        Response::raw().send("HTTP/1.1 200 OK\r\ncontent-type: application/x-ndjson\r\nconnection: close\r\n\r\n")
    }

    pub fn send(self, bytes: impl AsRef<[u8]>) -> Response {
        self.then(Step::Send(bytes.as_ref().to_vec()))
    }

    pub fn sleep(self, time: Duration) -> Response {
        self.then(Step::Sleep(time))
    }

    /// Goes on when the file exists.
    pub fn hold(self, file: &Path) -> Response {
        self.then(Step::Hold(file.to_path_buf()))
    }

    /// `size` bytes every so often.
    pub fn drip(self, bytes: impl AsRef<[u8]>, size: usize, every: Duration) -> Response {
        self.then(Step::Drip { bytes: bytes.as_ref().to_vec(), size, every })
    }

    pub fn stall(self) -> Response {
        self.then(Step::Stall)
    }

    pub fn rst(self) -> Response {
        self.then(Step::Rst)
    }

    pub fn fin(self) -> Response {
        self.then(Step::Fin)
    }

    fn then(self, step: Step) -> Response {
        match self {
            Response::Raw { mut steps, keep } => {
                steps.push(step);
                Response::Raw { steps, keep }
            }
            Response::Says(_) => panic!("steps follow Response::raw, ::stream, ::status or ::with"),
        }
    }
}
