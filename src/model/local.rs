//! Servers on one's own machine: which of them is up, and which of its models is ready to answer. How a server is asked
//! is in `listing`.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use futures_util::future::join_all;

use super::listing::{Asked, Listed, NoList};
use super::provider::{Lists, Provider};

/// How long all of them together are waited for.
pub const WITHIN: Duration = Duration::from_millis(150);

/// The servers of one's own machine, each as it was found when it was first asked for.
#[derive(Debug)]
pub(super) struct Around {
    /// How long all that are asked at once are waited for.
    pub(super) within: Duration,
    pub(super) seen: Mutex<BTreeMap<String, Found>>,
}

/// What was found at the address of a server on one's own machine.
#[derive(Debug, Clone, PartialEq)]
pub enum Found {
    /// Nothing, and why.
    Nothing(String),
    /// The server, but no model that could answer, and how it gets one.
    NoModel(String),
    /// A model that is ready, or that the server makes ready when it is asked.
    Model(String),
}

impl Around {
    pub(super) fn new(within: Duration) -> Around {
        Around { within, seen: Mutex::default() }
    }
}

/// Asks all of them at once and waits for the slowest, at most so long. Blocks meanwhile.
pub(super) fn look(asked: Vec<Asked>, within: Duration) -> Vec<Result<Vec<Listed>, NoList>> {
    let count = asked.len();
    if count == 0 {
        return Vec::new();
    }
    let look = move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
        Some(runtime.block_on(join_all(asked.iter().map(|asked| asked.list(within)))))
    };
    // On a thread of its own, because this one may belong to a runtime, and a runtime cannot be started in another.
    let looked = thread::Builder::new().name("local".to_owned()).spawn(look).ok().and_then(|thread| thread.join().ok());
    let failed = || Err(NoList::Silent("could not be asked".to_owned()));
    looked.flatten().unwrap_or_else(|| (0..count).map(|_| failed()).collect())
}

/// What an answer means.
pub(super) fn read(provider: &Provider, at: &str, answer: &Result<Vec<Listed>, NoList>) -> Found {
    match answer {
        Err(NoList::Silent(why)) => Found::Nothing(format!("nothing at {at}: {why}")),
        Err(NoList::Refused(why)) => Found::Nothing(format!("something else at {at}: it {why}")),
        Ok(models) => match pick(provider.list, models) {
            Some(model) => Found::Model(model.id.clone()),
            None => Found::NoModel(format!("{} is up at {at} but has {}", provider.name, remedy(provider.list))),
        },
    }
}

/// What is loaded goes first. LM Studio lists all that lies on the disk and may not load it when asked.
fn pick(list: Lists, models: &[Listed]) -> Option<&Listed> {
    let any = || models.first().filter(|_| list != Lists::Lmstudio);
    models.iter().find(|model| model.loaded).or_else(any)
}

fn remedy(list: Lists) -> &'static str {
    match list {
        Lists::Ollama => "no model; `ollama pull MODEL` gets one",
        Lists::Lmstudio => "no model loaded; load one in its window, or with `lms load MODEL`",
        Lists::Llamacpp => "no model loaded; start it with `llama-server -m FILE`",
        Lists::Models | Lists::Gemini | Lists::None => "no model loaded",
    }
}
