//! How full the model's window is: what the provider counted last, and an estimate of what came since. How texts are
//! guessed and counted is in `model::tokens`.

use std::sync::Arc;

use super::Agent;
use crate::message::{Message, Usage};
use crate::model::tokens::{Counter, Size};
use crate::session::Session;

/// A figure below so much of our guess is not of the whole request: some servers report only what their cache did not
/// hold, or only what they wrote.
const CREDIBLE: u64 = 3;

/// Of a guess: how much less, and how much more the count may turn out to be.
const LESS: u64 = 3;
const MORE: u64 = 2;

/// Doubt over less than this part of a limit is not worth a count.
const WORTH: u64 = 50;

/// Estimates the tokens of the next request, looking at each message once.
pub(super) struct Gauge {
    counter: Counter,
    /// Of the system prompt and the tools.
    fixed: Size,
    /// What is known for sure.
    anchor: Option<Anchor>,
    /// Of the messages after the anchor.
    since: Size,
    /// Of all messages that were looked at; `None` when those before the first anchor were not.
    all: Option<Size>,
    looked_at: usize,
}

/// Tokens of a request up to a message.
#[derive(Clone, Copy)]
struct Anchor {
    tokens: u64,
    messages: usize,
    /// The provider said so; otherwise it was counted here.
    reported: bool,
}

impl Gauge {
    /// Begins with what the model reported the last time in this session, if that is the model that goes on.
    pub(super) fn new(agent: &Agent, session: &Session) -> Gauge {
        let mut fixed = Size::guess(&agent.system);
        for spec in agent.tools.specs() {
            fixed = fixed.plus(Size::guess(&spec.description)).plus(Size::guess(&spec.schema.to_string()));
        }
        let mut gauge = Gauge {
            counter: agent.counter.clone(),
            fixed,
            anchor: None,
            since: Size::default(),
            all: Some(Size::default()),
            looked_at: 0,
        };
        let mine = |model: &str| model == agent.model.id().to_string();
        if let Some(last) = session.reported().filter(|last| last.usage.prompt() > 0 && mine(&last.model)) {
            gauge.anchor = Some(Anchor { tokens: last.usage.context(), messages: last.messages, reported: true });
            gauge.looked_at = last.messages;
            gauge.all = None;
        }
        gauge
    }

    /// Tokens of the next request.
    pub(super) fn measure(&mut self, context: &[Arc<Message>]) -> u64 {
        let new = Size::guess_all(context.get(self.looked_at..).unwrap_or_default());
        self.since = self.since.plus(new);
        self.all = self.all.map(|all| all.plus(new));
        self.looked_at = context.len();
        match self.anchor {
            Some(anchor) => anchor.tokens.saturating_add(self.counter.estimate(self.since)),
            None => self.counter.estimate(self.fixed.plus(self.since)),
        }
    }

    /// Takes what the provider counted for everything up to and with its reply. `usual` when the model that was asked
    /// answered, and the tools were in the request.
    pub(super) fn replied(&mut self, context: &[Arc<Message>], usage: Usage, usual: bool) {
        let asked = self.all.map(|all| self.fixed.plus(all));
        self.measure(context);
        let guess = asked.map_or(0, |asked| self.counter.estimate(asked));
        if usage.prompt() == 0 || usage.prompt().saturating_mul(CREDIBLE) < guess {
            return;
        }
        if let Some(asked) = asked.filter(|_| usual) {
            self.counter.learn_guess(asked, usage.prompt());
        }
        self.set(Anchor { tokens: usage.context(), messages: context.len(), reported: true });
    }

    /// Whether the guess leaves open on which side of a limit the next request is. Then it is worth a count.
    pub(super) fn doubts(&mut self, context: &[Arc<Message>], limit: u64) -> bool {
        let total = self.measure(context);
        let guess = total - self.anchor.map_or(0, |anchor| anchor.tokens.min(total));
        let (least, most) = (total - guess / LESS, total.saturating_add(guess / MORE));
        guess > limit / WORTH && least <= limit && limit < most
    }

    /// Tokens of the next request, with what was guessed so far counted. The vocabulary is loaded and used on a thread
    /// that may wait; a fault there costs the count and nothing else.
    pub(super) async fn count(&mut self, agent: &Agent, context: &[Arc<Message>]) -> u64 {
        let (base, from) = self.anchor.map_or((0, 0), |anchor| (anchor.tokens, anchor.messages));
        let (old, new) = context.split_at(from.min(context.len()));
        // What the provider said of the older part tells how it counts.
        let teaches = self.anchor.is_some_and(|anchor| anchor.reported) && !self.counter.knows_counts();
        let fixed = (teaches || self.anchor.is_none()).then(|| {
            let specs = agent.tools.specs().iter();
            let specs = specs.flat_map(|spec| [spec.description.to_string(), spec.schema.to_string()]);
            std::iter::once(agent.system.clone()).chain(specs).collect::<Vec<String>>()
        });
        let (old, new) = (if teaches { old.to_vec() } else { Vec::new() }, new.to_vec());
        let counted = tokio::task::spawn_blocking(move || {
            let fixed = fixed.iter().flatten().map(|text| Size::count(text)).fold(Size::default(), Size::plus);
            (fixed.plus(Size::count_all(&old)), Size::count_all(&new))
        });
        let (before, after) = match counted.await {
            Ok(counted) => counted,
            Err(error) => {
                tracing::warn!(%error, "the conversation could not be counted; its size is guessed");
                return self.measure(context);
            }
        };
        let tokens = if teaches {
            self.counter.learn_count(before, base);
            base.saturating_add(self.counter.count(after))
        } else {
            base.saturating_add(self.counter.count(before.plus(after)))
        };
        self.measure(context);
        self.set(Anchor { tokens, messages: context.len(), reported: false });
        tokens
    }

    /// Begins anew after the conversation was shortened.
    pub(super) fn shortened(&mut self, context: &[Arc<Message>]) -> u64 {
        self.anchor = None;
        self.since = Size::default();
        self.all = Some(Size::default());
        self.looked_at = 0;
        self.measure(context)
    }

    /// Estimated tokens of the system prompt and the tools.
    pub(super) fn fixed(&self) -> u64 {
        self.counter.estimate(self.fixed)
    }

    /// Estimated tokens of messages.
    pub(super) fn tokens(&self, messages: &[Arc<Message>]) -> u64 {
        self.counter.estimate(Size::guess_all(messages))
    }

    fn set(&mut self, anchor: Anchor) {
        self.anchor = Some(anchor);
        self.since = Size::default();
    }
}
