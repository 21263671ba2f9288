//! One limiter for everybody who calls a provider with the same key. Whoever is refused pauses all of them until the
//! moment that the provider named; then they go on one by one, faster with every answer. Knows no wire format.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, Semaphore, watch};
use tokio::time::{Instant, sleep_until};
use url::Url;

use super::retry::Waits;

/// After a pause a call goes out at least this often, also when the ones before it have no answer yet: a model may
/// think for minutes before it says its first word.
const TRICKLE: Duration = Duration::from_secs(3);
/// How often somebody may ask a provider that wants to be left alone for longer than anybody waits.
const PROBE: Duration = Duration::from_secs(60);
/// What is waited longer than asked for, so that several processes do not come back in the same moment.
const SLACK: Duration = Duration::from_secs(1);

/// Lets the calls of one key through, in the order in which they came.
///
/// Nobody waits until somebody is refused. A refusal is counted once for all calls that were under way together. Memory:
/// a few words and one place in a queue for each caller that waits; dropping a caller's future gives its place up.
pub struct Governor {
    patience: Duration,
    /// The one who holds its only permit is next; the others queue for it.
    turnstile: Semaphore,
    state: Mutex<State>,
    /// Tells the next one that something has changed.
    changed: Notify,
    /// Until when everybody waits.
    pause: watch::Sender<Option<Instant>>,
}

/// What a provider limits: a server, and the variable that holds the key.
type Limited = (String, Option<String>);

/// The limiters of all keys; each is made when it is first needed.
pub(super) struct Governors {
    patience: Duration,
    made: Mutex<HashMap<Limited, Arc<Governor>>>,
}

struct State {
    /// Calls that are under way.
    running: usize,
    /// Those of them that have not been answered with anything yet.
    unanswered: usize,
    /// Most calls under way, as learned from refusals: halved by each, and one more after a full round of answers.
    most_running: usize,
    /// Answers since `most_running` grew.
    answers: usize,
    /// Most calls without an answer: one after a refusal, doubled by each answer.
    most_unanswered: usize,
    /// Counts refusals. Calls that were under way before the last one say nothing new.
    era: u64,
    /// The waits after refusals in a row that named no time.
    waits: Waits,
    last_sent: Option<Instant>,
    last_probe: Option<Instant>,
}

/// A call under way; dropping it ends it.
pub(super) struct Turn {
    governor: Arc<Governor>,
    era: u64,
    answered: bool,
}

/// Why a call was not let through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Held {
    /// The provider wants to be left alone for so long, which is longer than anybody waits.
    Paused(Duration),
    /// The caller's deadline came first.
    TooLate,
}

enum Gate {
    Open(Turn),
    /// Shut until then, or until something changes.
    Shut(Option<Instant>),
    Held(Held),
}

impl Governors {
    pub(super) fn new(patience: Duration) -> Governors {
        Governors { patience, made: Mutex::default() }
    }

    /// The limiter of a server and the key that it is shown, known by the variable that holds it.
    pub(super) fn of(&self, url: &Url, key_variable: Option<&str>) -> Arc<Governor> {
        let server = url[..url::Position::BeforePath].to_owned();
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let governor = made.entry((server, key_variable.map(str::to_owned)));
        governor.or_insert_with(|| Arc::new(Governor::new(self.patience))).clone()
    }
}

impl Governor {
    /// Nobody waits for a provider longer than `patience`.
    pub fn new(patience: Duration) -> Governor {
        let state = State {
            running: 0,
            unanswered: 0,
            most_running: usize::MAX,
            answers: 0,
            most_unanswered: usize::MAX,
            era: 0,
            waits: Waits::new(),
            last_sent: None,
            last_probe: None,
        };
        let (turnstile, changed) = (Semaphore::new(1), Notify::new());
        Governor { patience, turnstile, state: Mutex::new(state), changed, pause: watch::Sender::new(None) }
    }

    /// The longest wait that a provider may ask for.
    pub fn patience(&self) -> Duration {
        self.patience
    }

    /// Waits for a turn. `tell` hears how long everybody waits, unless the caller was `told` so already, and again when
    /// that becomes longer.
    pub(super) async fn turn(
        self: &Arc<Governor>,
        deadline: Instant,
        mut told: Option<Instant>,
        tell: &mut (dyn FnMut(Duration) + Send),
    ) -> Result<Turn, Held> {
        let mut pause = self.pause.subscribe();
        let mut next = std::pin::pin!(self.next());
        loop {
            let until = *pause.borrow_and_update();
            let news = until.filter(|until| told.is_none_or(|told| *until > told + SLACK));
            let shown = news.map(|until| (until, until.saturating_duration_since(Instant::now())));
            if let Some((until, wait)) = shown.filter(|(_, wait)| !wait.is_zero() && *wait <= self.patience + SLACK) {
                told = Some(until);
                tell(wait);
            }
            tokio::select! {
                biased;
                turn = &mut next => return turn,
                Ok(()) = pause.changed() => {}
                () = sleep_until(deadline) => return Err(Held::TooLate),
            }
        }
    }

    /// Queues, and goes through when the gate opens.
    async fn next(self: &Arc<Governor>) -> Result<Turn, Held> {
        // It is never closed, and the permit comes back when this future ends or is dropped.
        let _place = self.turnstile.acquire().await;
        loop {
            let changed = self.changed.notified();
            let until = match self.gate() {
                Gate::Open(turn) => return Ok(turn),
                Gate::Held(held) => return Err(held),
                Gate::Shut(until) => until,
            };
            match until {
                Some(until) => tokio::select! { () = changed => {}, () = sleep_until(until) => {} },
                None => changed.await,
            }
        }
    }

    fn gate(self: &Arc<Governor>) -> Gate {
        let now = Instant::now();
        let mut state = self.state();
        let pause = self.pause.borrow().map_or(Duration::ZERO, |until| until.saturating_duration_since(now));
        if pause > self.patience.saturating_add(SLACK) {
            if state.last_probe.is_some_and(|last| now < last + PROBE) {
                return Gate::Held(Held::Paused(pause));
            }
            state.last_probe = Some(now);
        } else if !pause.is_zero() {
            return Gate::Shut(Some(now + pause));
        } else if state.running >= state.most_running {
            return Gate::Shut(None);
        } else if state.unanswered >= state.most_unanswered {
            let next = state.last_sent.map(|last| last + TRICKLE);
            if next.is_some_and(|next| now < next) {
                return Gate::Shut(next);
            }
        }
        state.running += 1;
        state.unanswered += 1;
        state.last_sent = Some(now);
        Gate::Open(Turn { governor: self.clone(), era: state.era, answered: false })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turn {
    /// The provider began to answer, so it has nothing against this many calls.
    pub(super) fn answered(&mut self) {
        if self.answered {
            return;
        }
        self.answered = true;
        let mut state = self.governor.state();
        state.unanswered -= 1;
        if self.era == state.era {
            state.waits = Waits::new();
            state.most_unanswered = state.most_unanswered.saturating_mul(2);
            state.answers += 1;
            if state.answers >= state.most_running && state.running >= state.most_running {
                state.most_running += 1;
                state.answers = 0;
            }
        }
        drop(state);
        self.governor.changed.notify_one();
    }

    /// The provider had too much of it, and wants to be left alone for a while if it said so. Answers how long
    /// everybody waits now.
    pub(super) fn refused(self, asked: Option<Duration>) -> Duration {
        let now = Instant::now();
        let governor = &self.governor;
        let mut state = governor.state();
        let mut wait = asked.map_or(Duration::ZERO, |asked| asked.saturating_add(Waits::new().next()));
        if self.era == state.era {
            state.era += 1;
            state.most_unanswered = 1;
            state.most_running = (state.running - state.unanswered).max(state.running / 2).max(1);
            state.answers = 0;
            wait = wait.max(state.waits.next());
            // A provider that named its moment has been asked just now.
            state.last_probe = Some(now);
        }
        // A moment beyond any calendar is none.
        let until = now.checked_add(wait);
        governor.pause.send_if_modified(|pause| {
            let is_later = until.is_some() && until > *pause;
            if is_later {
                *pause = until;
            }
            is_later
        });
        governor.pause.borrow().map_or(Duration::ZERO, |until| until.saturating_duration_since(now))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut state = self.governor.state();
        state.running -= 1;
        state.unanswered -= usize::from(!self.answered);
        drop(state);
        self.governor.changed.notify_one();
    }
}
