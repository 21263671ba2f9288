//! The way to a provider and back: one request out, a stream of events or a fault in. Knows no wire format.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use jiff::Timestamp;
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use reqwest::redirect::Policy;
use reqwest::{Client, Response};
use secrecy::{ExposeSecret, SecretString};
use tokio::time::{Instant, timeout};
use url::Url;

use super::door::is_loopback;
use super::fault::{self, Refusal};
use super::sse::{LineDecoder, SseDecoder, SseError, SseEvent};
use super::{Fault, ModelError};

/// Bytes from which on the ends of a key may be told: they are little of it.
const TOLD_KEY: usize = 20;

/// Most bytes of an answer that comes whole.
const MAX_WHOLE: usize = 64 << 20;
/// Most bytes of a stream. Far more than of the reply in it, for a piece of one letter takes a hundred bytes.
const MAX_STREAM: u64 = 1 << 30;
/// Most bytes that are read of an error's body.
const MAX_REFUSAL: usize = 64 << 10;
/// How long an error's body may take, and how long a finished stream may take to end.
const REFUSAL_TIME: Duration = Duration::from_secs(10);
const DRAIN_TIME: Duration = Duration::from_millis(20);
/// How long a finished reply waits for the rest of its stream: figures, and the word that it is the end.
const GRACE: Duration = Duration::from_secs(5);

/// How long a model call waits for what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// For the connection.
    pub connect: Duration,
    /// For the first byte of the answer.
    pub header: Duration,
    /// For the next byte; pings and comments count.
    pub idle: Duration,
    /// For the whole answer.
    pub total: Duration,
}

impl Default for Timeouts {
    fn default() -> Timeouts {
        Timeouts {
            connect: Duration::from_secs(10),
            header: Duration::from_secs(120),
            idle: Duration::from_secs(120),
            total: Duration::from_secs(30 * 60),
        }
    }
}

/// The connections of all providers; each kind is made when it is first needed.
#[derive(Debug, Default)]
pub(super) struct Http {
    timeouts: Timeouts,
    outside: OnceLock<Client>,
    here: OnceLock<Client>,
    here_tls: OnceLock<Client>,
}

/// Where the calls of one model go, and what is needed to speak of their faults.
#[derive(Debug)]
pub(super) struct Endpoint {
    pub(super) http: Arc<Http>,
    pub(super) provider: String,
    /// Where streams are asked for.
    pub(super) url: Url,
    /// Where whole replies are asked for.
    pub(super) whole_url: Url,
    pub(super) headers: HeaderMap,
    pub(super) key: Option<SecretString>,
    pub(super) key_variable: Option<String>,
    /// What a person can do when the model is not there.
    pub(super) absent: String,
}

/// What came back.
pub(super) enum Answer {
    Stream(Box<Stream>),
    /// A whole JSON body: from a server that does not stream.
    Whole(String),
}

/// An answer that is being streamed.
pub(super) struct Stream {
    endpoint: Arc<Endpoint>,
    response: Response,
    decoder: Decoder,
    ready: VecDeque<SseEvent>,
    received: u64,
    deadline: Instant,
}

/// What cuts a stream into events.
enum Decoder {
    Events(SseDecoder),
    Lines(LineDecoder),
}

/// How far a reply is after an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    /// More must come.
    More,
    /// All that matters has come; the stream should end soon, and may end without another word.
    Ending,
    /// Nothing more will come.
    Done,
}

impl Http {
    pub(super) fn new(timeouts: Timeouts) -> Http {
        Http { timeouts, ..Http::default() }
    }

    pub(super) fn client(&self, url: &Url) -> Result<&Client, reqwest::Error> {
        let here = is_loopback(url);
        let tls = url.scheme() == "https";
        let slot = match (here, tls) {
            (true, false) => &self.here,
            (true, true) => &self.here_tls,
            (false, _) => &self.outside,
        };
        if let Some(client) = slot.get() {
            return Ok(client);
        }
        // A second installation fails and changes nothing, which is what is wanted.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = Client::builder()
            .user_agent(concat!("tillerman/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(self.timeouts.connect)
            .pool_idle_timeout(Duration::from_secs(60))
            .redirect(Policy::none());
        if here {
            builder = builder.no_proxy();
        }
        if here && !tls {
            // Reading the system's certificates costs more than everything else before the first request.
            builder = builder.tls_certs_only([]);
        }
        let client = builder.build()?;
        Ok(slot.get_or_init(|| client))
    }
}

impl Endpoint {
    /// Sends a request and answers what came back when its head is there. The head of a whole reply comes only when
    /// all of it is written, so it may take as long as that.
    pub(super) async fn post(self: &Arc<Endpoint>, body: Vec<u8>, streamed: bool) -> Result<Answer, ModelError> {
        let times = self.http.timeouts;
        let deadline = Instant::now() + times.total;
        let (url, patience) = if streamed { (&self.url, times.header) } else { (&self.whole_url, times.total) };
        let client = self.http.client(url).map_err(|e| self.error(Fault::BadRequest, cause(&e)))?;
        let request = client.post(url.clone()).headers(self.headers.clone()).body(body).send();
        let response = match timeout(patience, request).await {
            Err(_) => return Err(self.silent("did not answer", patience)),
            Ok(Err(e)) if e.is_connect() => {
                return Err(self.error(Fault::Network, format!("cannot connect to {}: {}", self.host(), cause(&e))));
            }
            Ok(Err(e)) => return Err(self.error(Fault::Network, format!("{} hung up: {}", self.host(), cause(&e)))),
            Ok(Ok(response)) => response,
        };
        if !response.status().is_success() {
            return Err(self.refused(response).await);
        }
        let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let kind = kind.trim_start().to_lowercase();
        let lines = ["application/x-ndjson", "application/ndjson", "application/jsonl"];
        let decoder = match lines.iter().any(|lines| kind.starts_with(lines)) {
            true => Decoder::Lines(LineDecoder::default()),
            false => Decoder::Events(SseDecoder::default()),
        };
        let streams = kind.starts_with("text/event-stream") || matches!(decoder, Decoder::Lines(_));
        let (endpoint, ready) = (self.clone(), VecDeque::new());
        let stream = Stream { endpoint, response, decoder, ready, received: 0, deadline };
        if streams { Ok(Answer::Stream(Box::new(stream))) } else { stream.recognise().await }
    }

    /// A fault of this provider; keys are blotted out of the text.
    pub(super) fn error(&self, fault: Fault, message: impl AsRef<str>) -> ModelError {
        let key = self.key.as_ref().map_or("", |key| key.expose_secret());
        let message = fault::without(key, message.as_ref());
        ModelError { fault, provider: self.provider.clone(), message, retry_after: None }
    }

    /// What the provider refused, with what a person can do about it.
    pub(super) fn refusal(&self, refusal: &Refusal) -> ModelError {
        let fault = refusal.fault();
        let host = self.host();
        let status = refusal.status.map_or_else(|| "error".to_owned(), |status| status.to_string());
        let said = if refusal.text.is_empty() { "without a word" } else { &refusal.text };
        let variable = self.key_variable.as_deref();
        let advice = match fault {
            Fault::Auth => match variable {
                Some(variable) => format!("; check the key in {variable}{}", self.key_ends()),
                None => "; it wants a key".to_owned(),
            },
            Fault::Billing => "; the account has no credit or quota left".to_owned(),
            Fault::NoSuchModel => format!("; {}", self.absent),
            Fault::NoTools => "; it can be told of them in words (`protocol: react`)".to_owned(),
            Fault::BadRequest | Fault::Overflow | Fault::RateLimited => String::new(),
            Fault::Unavailable | Fault::Network | Fault::Garbled => String::new(),
        };
        let error = self.error(fault, format!("{status} from {host}: {said}{advice}"));
        ModelError { retry_after: refusal.wait(), ..error }
    }

    /// By what a person knows the key again; nothing of one that is so short that this would be much of it.
    fn key_ends(&self) -> String {
        let key = self.key.as_ref().map_or("", |key| key.expose_secret());
        match (key.get(..3), key.len().checked_sub(3).and_then(|at| key.get(at..))) {
            (Some(first), Some(last)) if key.len() >= TOLD_KEY => {
                format!(" (it begins with {first}, ends with {last})")
            }
            _ => String::new(),
        }
    }

    /// The answer broke the format.
    pub(super) fn garbled(&self, what: impl AsRef<str>) -> ModelError {
        self.error(Fault::Garbled, format!("{} answered {}", self.host(), what.as_ref()))
    }

    /// The answer is longer than any that makes sense.
    pub(super) fn too_long(&self) -> ModelError {
        self.error(Fault::BadRequest, format!("{} answered without an end and was cut off", self.host()))
    }

    /// The answer ended before its end.
    pub(super) fn cut(&self) -> ModelError {
        self.error(Fault::Network, format!("{} closed the connection in the middle of its answer", self.host()))
    }

    fn silent(&self, what: &str, wait: Duration) -> ModelError {
        self.error(Fault::Network, format!("{} {what} for {} s", self.host(), wait.as_secs_f32()))
    }

    fn host(&self) -> &str {
        self.url.host_str().unwrap_or_default()
    }

    async fn refused(&self, mut response: Response) -> ModelError {
        let status = response.status();
        if status.is_redirection() {
            let to = response.headers().get("location").and_then(|to| to.to_str().ok()).unwrap_or("nowhere");
            let to = fault::one_line(to);
            let text =
                format!("{status} from {}: redirects to {to}; a key is not sent on, set that base URL", self.host());
            return self.error(Fault::BadRequest, text);
        }
        let headers = response.headers().clone();
        let mut body = Vec::new();
        let read = async {
            while let Ok(Some(chunk)) = response.chunk().await {
                let room = MAX_REFUSAL - body.len();
                body.extend_from_slice(&chunk[..chunk.len().min(room)]);
                if body.len() == MAX_REFUSAL {
                    break;
                }
            }
        };
        // A body that does not come is no reason to hide the status.
        let _ = timeout(REFUSAL_TIME, read).await;
        let mut refusal = Refusal::read(Some(status.as_u16()), &String::from_utf8_lossy(&body));
        refusal.heed(&headers, Timestamp::now());
        self.refusal(&refusal)
    }
}

impl Stream {
    /// Reads the stream to its end, each event once.
    pub(super) async fn read(
        mut self,
        mut take: impl FnMut(&SseEvent) -> Result<Progress, ModelError>,
    ) -> Result<(), ModelError> {
        let mut progress = Progress::More;
        while progress != Progress::Done {
            let ending = progress == Progress::Ending;
            match self.next(if ending { GRACE } else { Duration::MAX }).await {
                Ok(Some(event)) => progress = take(&event)?,
                Ok(None) | Err(_) if ending => return Ok(()),
                Ok(None) => return Err(self.endpoint.cut()),
                Err(e) => return Err(e),
            }
        }
        self.drain().await;
        Ok(())
    }

    /// The next event; `None` when the connection has ended, or `patience` has and it is shorter than the idle time.
    async fn next(&mut self, patience: Duration) -> Result<Option<SseEvent>, ModelError> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(event));
            }
            let Some(chunk) = self.chunk(patience).await? else { return Ok(None) };
            let events = self.decoder.push(&chunk).map_err(|e| self.endpoint.garbled(e.to_string()))?;
            self.ready.extend(events);
        }
    }

    /// Reads what is left of a finished answer, so that its connection can serve the next request.
    async fn drain(mut self) {
        let rest = async { while let Ok(Some(_)) = self.response.chunk().await {} };
        // One that does not end now is closed by being dropped.
        let _ = timeout(DRAIN_TIME, rest).await;
    }

    async fn chunk(&mut self, patience: Duration) -> Result<Option<bytes::Bytes>, ModelError> {
        let endpoint = &self.endpoint;
        let times = endpoint.http.timeouts;
        let left = self.deadline.saturating_duration_since(Instant::now());
        let wait = patience.min(times.idle).min(left);
        let chunk = match timeout(wait, self.response.chunk()).await {
            Err(_) if wait == left => return Err(endpoint.silent("was not done with its answer", times.total)),
            Err(_) if wait < times.idle => return Ok(None),
            Err(_) => return Err(endpoint.silent("fell silent in the middle of its answer", times.idle)),
            Ok(Err(e)) => {
                let text = format!("{} broke off its answer: {}", endpoint.host(), cause(&e));
                return Err(endpoint.error(Fault::Network, text));
            }
            Ok(Ok(chunk)) => chunk,
        };
        self.received += chunk.as_ref().map_or(0, |chunk| chunk.len() as u64);
        if self.received > MAX_STREAM {
            return Err(endpoint.too_long());
        }
        Ok(chunk)
    }

    /// Tells by its first bytes what an answer is that does not say that it is an event stream.
    async fn recognise(mut self) -> Result<Answer, ModelError> {
        let mut body = Vec::new();
        while body.trim_ascii_start().is_empty() {
            let Some(chunk) = self.chunk(Duration::MAX).await? else { return Err(self.endpoint.cut()) };
            body.extend_from_slice(&chunk);
        }
        match body.trim_ascii_start()[0] {
            b'{' | b'[' => {
                while let Some(chunk) = self.chunk(Duration::MAX).await? {
                    body.extend_from_slice(&chunk);
                    if body.len() > MAX_WHOLE {
                        return Err(self.endpoint.too_long());
                    }
                }
                Ok(Answer::Whole(String::from_utf8_lossy(&body).into_owned()))
            }
            b'<' => {
                let text = format!("{} answered a web page; is the base URL right?", self.endpoint.host());
                Err(self.endpoint.error(Fault::BadRequest, text))
            }
            _ => {
                self.ready.extend(self.decoder.push(&body).map_err(|e| self.endpoint.garbled(e.to_string()))?);
                Ok(Answer::Stream(Box::new(self)))
            }
        }
    }
}

impl Decoder {
    fn push(&mut self, chunk: &[u8]) -> Result<Vec<SseEvent>, SseError> {
        match self {
            Decoder::Events(decoder) => decoder.push(chunk),
            Decoder::Lines(decoder) => decoder.push(chunk),
        }
    }
}

/// The innermost cause of a fault, which is what a person can use.
pub(super) fn cause(error: &reqwest::Error) -> String {
    let mut deepest: &dyn std::error::Error = error;
    while let Some(inner) = deepest.source() {
        deepest = inner;
    }
    fault::one_line(&deepest.to_string())
}
