//! Calls that wait for a person's word. A call waits in its tool, with its run's abort and a deadline; who is asked is
//! decided where agents are built. Nothing is ever allowed because nobody answered.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::feed::{Feed, News, Source};
use super::{RunId, Runtime};
use crate::session::SessionId;
use crate::tools::gate::{Answer, Asker, Request};

/// How long a call waits for a person.
const PATIENCE: Duration = Duration::from_secs(600);

/// What becomes of a call that a person is asked about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Permission {
    /// Rising by one within the program.
    pub id: u64,
    /// The tool.
    pub tool: String,
    /// Its arguments, on one line, with everything escaped that hides or turns around.
    pub shown: String,
    /// The rule and where it is written; for wider rights, what the model says.
    pub why: String,
    /// It is to be done outside of the walls.
    pub escalated: bool,
    /// How it was settled; `None` while it waits.
    pub settled: Option<String>,
}

/// What a person says to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Word {
    /// This time.
    Once,
    /// This very call, for as long as the program is at work.
    Always,
    /// No, and why; may be empty.
    No(String),
}

/// No call waits that is meant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.map_or_else(|| "no call waits for your word".to_owned(), |id| format!("no call {id} waits for your word")))]
pub struct NoPermission(pub Option<u64>);

/// All of one program.
#[derive(Default)]
pub(super) struct Permits {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Somebody is there to answer.
    attended: bool,
    last: u64,
    waiting: BTreeMap<u64, (Request, oneshot::Sender<Word>)>,
    always: HashSet<[u8; 32]>,
}

/// Its call waits no more, however that came.
struct Waiting {
    permits: Arc<Permits>,
    id: u64,
}

impl Permits {
    /// The way to the person at a conversation; `None` where nobody can answer.
    pub(super) fn asker(permits: &Arc<Permits>, feed: &Feed, session: &SessionId) -> Option<Asker> {
        if !permits.state().attended {
            return None;
        }
        let (permits, feed, session) = (permits.clone(), feed.clone(), session.clone());
        Some(Arc::new(move |request| {
            let source = Source::Main { session: session.clone(), run: RunId(0) };
            ask(permits.clone(), feed.clone(), source, request).boxed()
        }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn ask(permits: Arc<Permits>, feed: Feed, source: Source, request: Request) -> Answer {
    let (word, said) = oneshot::channel();
    let id = {
        let mut state = permits.state();
        if state.always.contains(&request.key) {
            return Answer::Yes;
        }
        state.last += 1;
        let id = state.last;
        state.waiting.insert(id, (request.clone(), word));
        id
    };
    let waiting = Waiting { permits: permits.clone(), id };
    let Request { tool, shown, why, escalated, key } = request;
    let permission = Permission { id, tool, shown, why, escalated, settled: None };
    feed.tell(source.clone(), News::Permission(permission.clone()));
    let said = timeout(PATIENCE, said).await;
    drop(waiting);
    let (answer, settled) = match said {
        Ok(Ok(Word::Once)) => (Answer::Yes, "allowed".to_owned()),
        Ok(Ok(Word::Always)) => {
            permits.state().always.insert(key);
            (Answer::Yes, "allowed until the program ends".to_owned())
        }
        Ok(Ok(Word::No(why))) if why.is_empty() => (Answer::No("by the person".to_owned()), "denied".to_owned()),
        Ok(Ok(Word::No(why))) => (Answer::No(format!("by the person: {why}")), format!("denied: {why}")),
        Ok(Err(_)) | Err(_) => {
            let why = format!("nobody answered within {} minutes", PATIENCE.as_secs() / 60);
            (Answer::No(why.clone()), format!("denied: {why}"))
        }
    };
    feed.tell(source, News::Permission(Permission { settled: Some(settled), ..permission }));
    answer
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.permits.state().waiting.remove(&self.id);
    }
}

impl Runtime {
    /// Says whether somebody is there who can be asked about calls. Without, what a person must allow is denied. Counts
    /// for runs that begin from now on.
    pub fn can_ask(&self, attended: bool) {
        self.inner.site.permits.state().attended = attended;
    }

    /// Answers a call that waits: the one that has waited for longest when none is named.
    ///
    /// # Errors
    /// [`NoPermission`] when none waits, or not that one.
    pub fn permit(&self, id: Option<u64>, word: Word) -> Result<u64, NoPermission> {
        let mut state = self.inner.site.permits.state();
        let meant = id.or_else(|| state.waiting.keys().next().copied()).ok_or(NoPermission(id))?;
        let (_, waiting) = state.waiting.remove(&meant).ok_or(NoPermission(id))?;
        // A call that has just ended hears nothing.
        waiting.send(word).map(|()| meant).map_err(|_| NoPermission(id))
    }

    /// Whether a call waits for a person's word.
    pub fn is_asking(&self) -> bool {
        !self.inner.site.permits.state().waiting.is_empty()
    }
}
