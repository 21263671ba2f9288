//! Models that stand in for one that is down. Who is down is known to all agents of a program: a hundred workers need
//! not each find it out, and nobody goes to and fro, for every change of model costs what is cached of the prompt.
//! When a failing model is given up while it still tries is in `fallback/patience`.

mod patience;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::time::Instant;

use super::{Delta, Fault, Model, ModelError, ModelId, Reply, Request};

/// How long a model that was down is left alone, unless its provider asks for longer; and then at most an hour.
const LEFT_ALONE: Duration = Duration::from_secs(5 * 60);
const LONGEST: Duration = Duration::from_secs(60 * 60);
/// How long the other calls stay where they are while one finds out whether a model is back.
const TRIAL: Duration = Duration::from_secs(60);

/// The models that stand in, and who is down. Cheap to clone; clones share what they know.
#[derive(Clone)]
pub struct Fallbacks {
    stand_ins: Vec<Arc<dyn Model>>,
    outages: Arc<Outages>,
}

/// A model with those that stand in behind it.
///
/// The next is asked when one fails for good, or again and again, and another provider may do better: it cannot be
/// reached, is overloaded or silent, limits too long, has no credit left, or answers what nobody understands. A wrong
/// key, an unknown model, a request that is refused or too long are told as they are, for a person or the loop to act
/// on. A stand-in that refuses is passed over, except when the conversation is too long for it.
struct Fallback {
    first: Arc<dyn Model>,
    others: Vec<Arc<dyn Model>>,
    outages: Arc<Outages>,
}

/// Until when who was down is left alone.
#[derive(Default)]
struct Outages(Mutex<HashMap<Down, Instant>>);

/// Who is down.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Down {
    /// One model; others of its provider may do better.
    Model(ModelId),
    /// A provider, and so all its models.
    Provider(String),
}

impl Fallbacks {
    /// These stand in, in this order.
    pub fn new(stand_ins: Vec<Arc<dyn Model>>) -> Fallbacks {
        Fallbacks { stand_ins, outages: Arc::default() }
    }

    /// The model with the others behind it; just itself when there are none.
    #[must_use]
    pub fn behind(&self, model: Arc<dyn Model>) -> Arc<dyn Model> {
        let others = self.stand_ins.iter().filter(|other| other.id() != model.id());
        let others: Vec<_> = others.cloned().collect();
        if others.is_empty() {
            return model;
        }
        Arc::new(Fallback { first: model, others, outages: self.outages.clone() })
    }
}

impl Model for Fallback {
    fn id(&self) -> &ModelId {
        self.first.id()
    }

    fn reply<'a>(
        &'a self,
        request: Request<'a>,
        on_delta: &'a mut (dyn FnMut(Delta) + Send),
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            let mut left: Vec<_> = [&self.first].into_iter().chain(&self.others).collect();
            let mut model = self.outages.next(&mut left).unwrap_or(&self.first);
            let mut failed = Vec::new();
            let mut attempt = 1;
            loop {
                self.outages.asked(model.id());
                let told = match left.is_empty() {
                    false => patience::ask(&**model, request, on_delta).await,
                    true => model.reply(request, on_delta).await,
                };
                let error = match told {
                    Err(error) if moves_on(error.fault, model.id() == self.id()) => error,
                    told => {
                        self.outages.is_up(model.id());
                        return told;
                    }
                };
                self.outages.is_down(model.id(), &error);
                let failure = Failure { id: model.id(), error };
                let Some(next) = self.outages.next(&mut left) else { return Err(self.all_failed(failed, failure)) };
                let why = format!("{}; asking {}", failure.error, next.id());
                attempt += 1;
                on_delta(Delta::Retrying { attempt, wait: Duration::ZERO, why });
                failed.push(failure);
                model = next;
            }
        })
    }
}

/// Why one of the chain did not answer.
#[derive(Clone)]
struct Failure<'a> {
    id: &'a ModelId,
    error: ModelError,
}

impl Fallback {
    /// One error that names them all, with the fault of the first of the chain.
    fn all_failed<'a>(&self, mut failed: Vec<Failure<'a>>, last: Failure<'a>) -> ModelError {
        failed.push(last.clone());
        let at = failed.iter().position(|failure| failure.id == self.id());
        let first = at.map_or(last, |at| failed.remove(at));
        let others = failed.iter().map(|Failure { id, error }| format!("; {id}: {}", error.message));
        let message = first.error.message.clone() + &others.collect::<String>();
        ModelError { message, retry_after: None, ..first.error }
    }
}

/// Whether another model is asked after such a fault.
fn moves_on(fault: Fault, first: bool) -> bool {
    match fault {
        Fault::Network | Fault::Unavailable | Fault::RateLimited | Fault::Garbled | Fault::Billing => true,
        Fault::Auth | Fault::NoSuchModel | Fault::BadRequest | Fault::NoTools => !first,
        Fault::Overflow => false,
    }
}

impl Down {
    /// Who is down with such a fault: one server or account stands behind all models of a provider, while load, limits
    /// and nonsense may be of one model alone.
    fn of(id: &ModelId, fault: Fault) -> Down {
        match fault {
            Fault::Network | Fault::Billing | Fault::Auth => Down::Provider(id.provider.clone()),
            Fault::Unavailable | Fault::RateLimited | Fault::Garbled => Down::Model(id.clone()),
            Fault::NoSuchModel | Fault::BadRequest | Fault::NoTools | Fault::Overflow => Down::Model(id.clone()),
        }
    }

    /// All that a model may be down by.
    fn each(id: &ModelId) -> [Down; 2] {
        [Down::Model(id.clone()), Down::Provider(id.provider.clone())]
    }
}

impl Outages {
    /// Takes who is asked next: the first that is not down, or else the first after all.
    fn next<'a>(&self, left: &mut Vec<&'a Arc<dyn Model>>) -> Option<&'a Arc<dyn Model>> {
        let (now, down) = (Instant::now(), self.lock());
        let is_down = |who: &Down| down.get(who).is_some_and(|until| *until > now);
        let up = left.iter().position(|model| !Down::each(model.id()).iter().any(is_down));
        (!left.is_empty()).then(|| left.remove(up.unwrap_or(0)))
    }

    /// If it was down, others wait for what comes of it.
    fn asked(&self, id: &ModelId) {
        let mut down = self.lock();
        for who in Down::each(id) {
            if let Some(until) = down.get_mut(&who) {
                *until = (*until).max(Instant::now() + TRIAL);
            }
        }
    }

    fn is_up(&self, id: &ModelId) {
        let mut down = self.lock();
        for who in Down::each(id) {
            down.remove(&who);
        }
    }

    fn is_down(&self, id: &ModelId, error: &ModelError) {
        let alone = error.retry_after.unwrap_or_default().clamp(LEFT_ALONE, LONGEST);
        self.lock().insert(Down::of(id, error.fault), Instant::now() + alone);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Down, Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
