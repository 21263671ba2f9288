//! What a shortening would keep and drop right now, without a model.

use std::sync::Arc;

use super::cut::{Part, Plan, View};
use super::{wishes, within};
use crate::agent::Limits;
use crate::message::Message;
use crate::model::tokens::{Counter, Size};
use crate::session::{Item, Kind, Session};

/// What would become of every entry of the conversation; tokens are estimates.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Preview {
    /// Of the conversation as it is, without the system prompt and the tools.
    pub tokens: u64,
    /// A summary would stand in for these.
    pub dropped: Vec<Item>,
    /// These would stay as they were said.
    pub kept: Vec<Item>,
    /// What was restored, and the lines with wishes that would be quoted.
    pub pinned: Vec<Item>,
}

/// Looks at the conversation as [`compact_now`](super::now::compact_now) would. Costs a pass over the conversation.
pub fn preview(limits: &Limits, session: &Session) -> Preview {
    let counter = Counter::default();
    let tokens = |message: &Arc<Message>| counter.estimate(Size::guess_all(std::slice::from_ref(message)));
    let (messages, origins) = (session.context(), session.origins());
    let size = messages.iter().map(tokens).sum();
    let keep = within(limits.compacting.keep, size / 4);
    let plan = Plan::of(View { messages, origins, tokens: &tokens }, keep, true);
    let mut preview = Preview { tokens: size, ..Preview::default() };
    let item = |at: usize, head| {
        let (message, origin) = (messages.get(at)?, origins.get(at)?);
        Some(Item { entry: origin.entry, kind: origin.kind, tokens: tokens(message), head })
    };
    let is_worth = plan.is_worth(origins);
    let at = if is_worth { plan.at } else { 0 };
    for part in plan.parts.iter().filter(|_| is_worth) {
        match part {
            Part::Replaced(piece) => preview.dropped.extend(piece.iter().filter_map(|at| item(*at, None))),
            Part::Gone(at) => preview.dropped.extend(item(*at, None)),
            Part::Stays(at) => match item(*at, None) {
                Some(item) if item.kind == Kind::Restored => preview.pinned.push(item),
                stays => preview.kept.extend(stays),
            },
        }
    }
    preview.kept.extend((at..messages.len()).filter_map(|at| item(at, None)));
    let mut found = session.compaction().map(|last| last.carried.wishes.clone()).unwrap_or_default();
    for (message, origin) in messages.iter().zip(origins).take(at) {
        if matches!(origin.kind, Kind::User | Kind::Note) && !origin.headed {
            wishes::find(&mut found, origin.entry, &message.text());
        }
    }
    preview.pinned.extend(found.iter().map(|wish| {
        let tokens = tokens(&Arc::new(Message::user(wish.text.clone())));
        Item { entry: wish.entry, kind: Kind::User, tokens, head: None }
    }));
    preview
}
