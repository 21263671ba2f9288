//! The files and folders of a workspace as they were a moment ago. Walked on a thread of its own, never while somebody types.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::fuzzy::Names;
use crate::tools::walk::walk;

/// Most files and folders that are known; what comes later in a walk by names is not offered.
const MOST: usize = 50_000;
/// Most entries that a walk looks at.
const SEEN: usize = 200_000;
/// A walk older than this is made anew when somebody asks. A walk that took longer is left alone for twenty times as long.
const OLD: Duration = Duration::from_secs(3);

/// What a walk has found.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Below the root; folders end in `/`. The least deep first.
    pub(super) paths: Vec<String>,
    pub(super) names: Names,
}

/// Clones share what was found.
#[derive(Clone)]
pub(super) struct Files {
    root: PathBuf,
    state: Arc<Mutex<State>>,
    changed: Arc<Notify>,
}

#[derive(Default)]
struct State {
    found: Arc<Found>,
    /// When the last walk ended, and how long it took.
    walked: Option<(Instant, Duration)>,
    is_walking: bool,
}

impl Files {
    pub(super) fn below(root: PathBuf) -> Files {
        Files { root, state: Arc::default(), changed: Arc::default() }
    }

    /// What is known now; a walk begins where that is old.
    pub(super) fn now(&self) -> Arc<Found> {
        let mut state = self.state();
        let is_old = state.walked.is_none_or(|(at, took)| at.elapsed() > OLD.max(took * 20));
        if is_old && !state.is_walking {
            let files = self.clone();
            // Without a thread there are no files to offer; typing goes on.
            state.is_walking = thread::Builder::new().name("files".into()).spawn(move || files.look()).is_ok();
        }
        Arc::clone(&state.found)
    }

    /// Ends when the next walk does.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    fn look(&self) {
        let began = Instant::now();
        let found = Arc::new(found(&self.root));
        let mut state = self.state();
        let is_new = state.found.paths != found.paths;
        *state = State { found, walked: Some((Instant::now(), began.elapsed())), is_walking: false };
        drop(state);
        if is_new {
            self.changed.notify_one();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn found(root: &Path) -> Found {
    let mut paths = Vec::new();
    for entry in walk(root, false).build().flatten().take(SEEN) {
        let Some(below) = entry.path().strip_prefix(root).ok().and_then(Path::to_str) else { continue };
        // A name that holds a line's end cannot be typed.
        if below.is_empty() || below.contains(char::is_control) {
            continue;
        }
        let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
        paths.push(format!("{below}{}", if is_folder { "/" } else { "" }));
        if paths.len() == MOST {
            break;
        }
    }
    let depth = |path: &String| path.trim_end_matches('/').matches('/').count();
    paths.sort_by_cached_key(|path| (depth(path), path.starts_with('.'), path.clone()));
    let names = Names::of(paths.iter().map(String::as_str));
    Found { paths, names }
}
