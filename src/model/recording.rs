//! Writes down what models really said, as a fixture file that `scripted` plays again and that other players of the
//! format understand: a decorator of any model, and the file behind all of them. Replaying is not here.

mod entry;
mod exchange;
mod tape;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;

use super::catalog::Models;
use super::scripted::format::When;
use super::scripted::recorded::{Header, Line};
use super::{Delta, Model, ModelError, ModelId, Reply, Request};
use crate::secret::Secrets;

use entry::Entry;
use exchange::Exchange;
use tape::File;

/// One recording of a whole program. Cheap to clone; all clones write into the same file.
///
/// The file is complete and valid after every exchange, for each is written with one call that also closes the file
/// again. Only whoever dies inside that very call leaves a torn last line; a player then plays all before it. Nobody
/// but the owner may read the file, and no key of a provider is ever in it.
#[derive(Clone)]
pub struct Recorder {
    shared: Arc<Mutex<State>>,
    path: Arc<PathBuf>,
}

struct State {
    file: File,
    /// Requests, ends of replies, and ends of tasks and of the main agent's runs so far.
    events: usize,
    /// How often a request of this kind was answered.
    asked: HashMap<When, u64>,
    /// What people did since the last exchange was written.
    lines: Vec<Line>,
    /// Keys, which must not stand in the file even if somebody says one.
    secrets: Secrets,
    /// Why nothing more is written.
    fault: Option<String>,
}

/// Why there is no recording. The text says what to do.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// There is something already.
    #[error("{} is there already and not empty; record into another file, for example {}", path.display(), free.display())]
    Exists {
        /// The file.
        path: PathBuf,
        /// One that is not there.
        free: PathBuf,
    },
    /// It cannot be written.
    #[error("cannot record into {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// A model whose exchanges are written down.
struct Recording {
    inner: Arc<dyn Model>,
    recorder: Recorder,
}

impl Recorder {
    /// Begins a recording in a new or empty file. `models` tells which keys must never be in it.
    ///
    /// # Errors
    /// [`RecordError::Exists`] when there is something in the file already; nothing is ever overwritten.
    pub fn create(path: &Path, header: &Header, models: &Models) -> Result<Recorder, RecordError> {
        let file = File::create(path, header)?;
        let state = State {
            file,
            events: 0,
            asked: HashMap::new(),
            lines: Vec::new(),
            secrets: Secrets::of(models.secrets()),
            fault: None,
        };
        Ok(Recorder { shared: Arc::new(Mutex::new(state)), path: Arc::new(path.to_owned()) })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The same model; from now on what it says is written down.
    pub fn watch(&self, model: Arc<dyn Model>) -> Arc<dyn Model> {
        Arc::new(Recording { inner: model, recorder: self.clone() })
    }

    /// A person did something. Its place in the course of things is now.
    pub fn line(&self, line: Line) {
        let mut state = self.state();
        let after = state.events;
        state.lines.push(Line { after, ..line });
    }

    /// A task or a run of the main agent is over.
    pub fn end(&self) {
        self.state().events += 1;
    }

    /// Why the recording is not whole, if it is not.
    pub fn fault(&self) -> Option<String> {
        self.state().fault.clone()
    }

    fn asked(&self) {
        self.state().events += 1;
    }

    /// Writes one exchange. A disk that is full does not end a run; it ends the recording.
    fn ended(&self, mut entry: Entry) {
        let mut state = self.state();
        entry.recorded.after = state.events;
        state.events += 1;
        if state.fault.is_some() {
            return;
        }
        let count = state.asked.entry(entry.when.clone()).or_insert(0);
        entry.when.sequence_index = Some(*count);
        *count += 1;
        entry.lines = std::mem::take(&mut state.lines);
        let line = entry.to_line();
        let line = state.secrets.hide_known(&line).into_owned();
        if let Err(why) = state.file.append(&line) {
            let fault = format!("the recording {} ends here: {why}", self.path.display());
            tracing::error!("{fault}");
            state.fault = Some(fault);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Recorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recorder").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Model for Recording {
    fn id(&self) -> &ModelId {
        self.inner.id()
    }

    fn reply<'a>(
        &'a self,
        request: Request<'a>,
        on_delta: &'a mut (dyn FnMut(Delta) + Send),
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            // Dropped with this future when the run is stopped, and written down as such.
            let mut exchange = Exchange::begin(&self.recorder, &request);
            let mut tell = |delta: Delta| {
                exchange.hear(&delta);
                on_delta(delta);
            };
            let replied = self.inner.reply(request, &mut tell).await;
            exchange.end(&replied);
            replied
        })
    }
}
