//! A conversation with a scripted server, for the tests of all wire formats.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use tillerman::message::{Message, ToolSpec};
use tillerman::model::catalog::{Models, Settings};
use tillerman::model::http::Timeouts;
use tillerman::model::react::Protocol;
use tillerman::model::{Delta, Model, ModelError, ModelId, Reply, Request};

use crate::server::{Response, Says, Server};

pub const KEY: &str = "sk-test-0123456789abcdef";

pub const ANTHROPIC: &str = "anthropic/claude-sonnet-5-5";
pub const RESPONSES: &str = "openai/gpt-6.1-sol";
pub const CHAT: &str = "openai-chat/gpt-6.1-sol";
pub const GEMINI: &str = "gemini/gemini-3.8-flash";
pub const OLLAMA: &str = "ollama/qwen3";

/// One model in each wire format.
pub const ALL: [&str; 5] = [ANTHROPIC, RESPONSES, CHAT, GEMINI, OLLAMA];

/// The head of a stream in the wire format of one of [`ALL`]; add steps.
pub fn opened(id: &str) -> Response {
    if id == OLLAMA { Response::lines() } else { Response::stream() }
}

/// What ends an event in the wire format of one of [`ALL`].
pub fn end(id: &str) -> &'static str {
    if id == OLLAMA { "\n" } else { "\n\n" }
}

/// An event with this data, in the wire format of one of [`ALL`].
pub fn event(id: &str, data: &str) -> String {
    if id == OLLAMA { format!("{data}\n") } else { format!("data: {data}\n\n") }
}

/// The event stream in the wire format of one of [`ALL`].
pub fn stream(id: &str, says: &Says) -> String {
    match id {
        ANTHROPIC => says.anthropic(),
        RESPONSES => says.responses(),
        GEMINI => says.gemini(),
        OLLAMA => says.ollama(),
        _ => says.openai(),
    }
}

/// A model of the catalogue that speaks to the server as the wire has it. Its answers may take long: the machine may be
/// busy.
pub fn model(server: &Server, id: &str) -> Arc<dyn Model> {
    let long = Duration::from_secs(20);
    let models = models(server, Timeouts { connect: long, header: long, idle: long, total: 3 * long });
    models.with_settings(Settings { protocol: Protocol::Native, ..Settings::default() }).get(&id_of(id)).unwrap()
}

pub fn models(server: &Server, timeouts: Timeouts) -> Models {
    let url = server.base_url();
    let env = |name: &str| match name {
        name if name.ends_with("_API_KEY") => Some(KEY.to_owned()),
        name if name.ends_with("_BASE_URL") => Some(url.clone()),
        _ => None,
    };
    Models::from_env(&env).unwrap().with_timeouts(timeouts)
}

pub fn id_of(text: &str) -> ModelId {
    ModelId::parse(text).unwrap()
}

/// What was asked, with what is usual for the rest.
pub struct Ask {
    pub system: String,
    pub messages: Vec<Arc<Message>>,
    pub tools: Vec<ToolSpec>,
    pub key: String,
}

impl Ask {
    pub fn new(messages: impl IntoIterator<Item = Message>) -> Ask {
        let messages = messages.into_iter().map(Arc::new).collect();
        Ask { system: "be brief".to_owned(), messages, tools: vec![shell()], key: "s1".to_owned() }
    }

    pub fn push(&mut self, message: Message) {
        self.messages.push(Arc::new(message));
    }

    pub fn request(&self) -> Request<'_> {
        Request {
            system: &self.system,
            messages: &self.messages,
            tools: &self.tools,
            max_tokens: 1000,
            cache_key: &self.key,
        }
    }

    /// The reply and the deltas.
    pub async fn send(&self, model: &Arc<dyn Model>) -> (Result<Reply, ModelError>, Vec<Delta>) {
        let deltas = Mutex::new(Vec::new());
        let mut take = |delta| deltas.lock().unwrap().push(delta);
        let reply = model.reply(self.request(), &mut take).await;
        (reply, deltas.into_inner().unwrap())
    }
}

pub fn shell() -> ToolSpec {
    let schema = json!({"type": "object", "properties": {"command": {"type": "string"}}});
    ToolSpec { name: "shell".to_owned(), description: "runs a command".into(), schema: schema.into(), read_only: false }
}

/// How long this thread has worked, which is the same on a busy machine and on one that stood still.
pub fn worked() -> Duration {
    let spent = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(spent.split(' ').next().unwrap().parse().unwrap())
}

/// The text of the deltas since the last retry.
pub fn told(deltas: &[Delta]) -> String {
    let last = deltas.iter().rposition(|delta| matches!(delta, Delta::Retrying { .. })).map_or(0, |at| at + 1);
    let text = |delta: &Delta| if let Delta::Text(text) = delta { text.clone() } else { String::new() };
    deltas[last..].iter().map(text).collect()
}
