//! Watching that comes and goes while runs go on: a closure is told events until its guard is dropped.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use super::{AgentEvent, Events, Observer};

type Told = Arc<dyn Fn(&AgentEvent) + Send + Sync>;

/// An [`Observer`] that tells every event to whoever has subscribed. Clones are the same list.
///
/// ```
/// use tillerman::event::{AgentEvent, Subscribers};
///
/// let subscribers = Subscribers::default();
/// let events = subscribers.events();
/// let (told, heard) = std::sync::mpsc::channel();
/// let subscription = subscribers.subscribe(move |event| drop(told.send(event.clone())));
/// events.emit(&AgentEvent::TurnStarted { turn: 1 });
/// drop(subscription);
/// events.emit(&AgentEvent::TurnStarted { turn: 2 });
/// assert_eq!(heard.iter().collect::<Vec<_>>(), [AgentEvent::TurnStarted { turn: 1 }]);
/// ```
#[derive(Clone, Default)]
pub struct Subscribers {
    all: Arc<Mutex<Vec<Told>>>,
}

/// Somebody is told events as long as this is kept.
#[must_use = "dropping it ends the subscription"]
pub struct Subscription {
    subscribers: Subscribers,
    told: Told,
}

impl Subscribers {
    /// Tells the closure every event from now on, in the order in which it happens, on the thread on which it happens.
    ///
    /// It must return at once and must not panic. It may subscribe others and drop subscriptions, its own too.
    pub fn subscribe(&self, told: impl Fn(&AgentEvent) + Send + Sync + 'static) -> Subscription {
        let told: Told = Arc::new(told);
        self.change(|all| all.push(Arc::clone(&told)));
        Subscription { subscribers: self.clone(), told }
    }

    /// Events that are told to whoever has subscribed when they happen.
    pub fn events(&self) -> Events {
        Events::to([Arc::new(self.clone()) as Arc<dyn Observer>])
    }

    fn change<T>(&self, change: impl FnOnce(&mut Vec<Told>) -> T) -> T {
        change(&mut self.all.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Observer for Subscribers {
    fn observe(&self, event: &AgentEvent) {
        // Told without the lock, so that who is told may change the list.
        let all = self.change(|all| all.clone());
        for told in all {
            told(event);
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.subscribers.change(|all| all.retain(|told| !Arc::ptr_eq(told, &self.told)));
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Subscription")
    }
}
