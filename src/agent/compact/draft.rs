//! The shorter conversation as it would be: the plan with summaries in their places, what that comes to, and which of
//! several ways of filling it is taken.

use std::sync::Arc;

use super::Goal;
use super::ask::Summed;
use super::cut::{Part, Plan};
use super::ledger::{self, Standing};
use super::policy::Trigger;
use super::summary;
use crate::agent::fit::cut_middle;
use crate::agent::run::Run;
use crate::message::{Block, Message, ToolResult};
use crate::session::{Carried, Compaction, Item, Kind};

/// Most bytes of an output that stays when outputs have to be cut.
const OUTPUT: usize = 4_000;

/// Said of a picture that a tool showed.
const NOT_SHOWN: &str = "\n[the image was left out to make room; read it again to see it]";

/// Said instead of a summary when there is none.
const NO_SUMMARY: &str = "(Older messages were left out to make room; there is no summary of them.)";

/// A shorter conversation.
pub(super) struct Draft {
    /// Without what it took.
    pub(super) compaction: Compaction,
    /// Estimated tokens of all its messages.
    pub(super) tokens: u64,
}

/// What a shorter conversation is made of.
#[derive(Clone, Copy)]
pub(super) struct Material<'a> {
    pub(super) plan: &'a Plan,
    /// For each piece of the plan, if somebody could write it.
    pub(super) summed: &'a [Option<Summed>],
    pub(super) standings: &'a [Standing],
}

/// How a plan is carried out.
#[derive(Clone, Copy)]
struct Way<'a> {
    plan: &'a Plan,
    standings: &'a [Standing],
    /// A text for each piece, or nothing.
    texts: &'a [Option<&'a str>],
    /// Long outputs are cut in what stays, which then stands in the new beginning.
    cut: bool,
}

/// The best that makes it shorter: with the summaries; and where room is needed also without them, or with long outputs
/// cut.
pub(super) fn best(run: &Run<'_>, goal: &Goal, of: &Material<'_>) -> Option<Draft> {
    let Material { plan, summed, standings } = *of;
    let before = run.gauge.tokens(run.session.context());
    let texts: Vec<Option<&str>> = summed.iter().map(|sum| sum.as_ref().map(|sum| sum.text.as_str())).collect();
    let none: Vec<Option<&str>> = vec![None; texts.len()];
    let whole = draft(run, Way { plan, standings, texts: &texts, cut: false });
    let helps = whole.tokens < before;
    // Where there is no need, nothing goes that no summary stands for.
    let may = goal.needed || texts.iter().all(Option::is_some);
    if may && is_enough(run, goal, &whole, before) {
        return Some(whole);
    }
    if !goal.needed {
        return None;
    }
    let cut = |texts| draft(run, Way { plan, standings, texts, cut: true });
    let shorter = |draft: &Draft| draft.tokens < before;
    let with = helps.then(|| cut(&texts)).filter(shorter);
    with.or_else(|| Some(cut(&none)).filter(shorter))
}

/// Whether it got shorter by as much as it is for.
fn is_enough(run: &Run<'_>, goal: &Goal, draft: &Draft, before: u64) -> bool {
    let limits = &run.agent.limits;
    let size = run.gauge.fixed() + draft.tokens;
    let much = draft.tokens < before / 10 * 9;
    match limits.compacting.trigger {
        // Where messages are counted, fewer messages are enough.
        Trigger::Messages(_) if !goal.needed => size < limits.context_window,
        _ if goal.asked => draft.tokens < before,
        Trigger::Window(percent) => much && size < limits.context_window.saturating_mul(u64::from(percent)) / 100,
        Trigger::Never | Trigger::Tokens(..) | Trigger::Messages(_) => much && size < limits.context_window,
    }
}

fn draft(run: &Run<'_>, way: Way<'_>) -> Draft {
    let plan = way.plan;
    let (messages, origins) = (run.session.context(), run.session.origins());
    let at = plan.at.min(messages.len());
    let mut carried = run.session.compaction().map(|last| last.carried.clone()).unwrap_or_default();
    let known = if way.cut { messages.len() } else { at };
    // What stands in the new beginning is no entry of its own any more, so its facts must be known from now on.
    summary::carry(&mut carried, &messages[..known], &origins[..known], &run.agent.tools);
    let mut draft = Filling { run, head: Vec::new(), kept: Vec::new(), dropped: Vec::new(), pinned: Vec::new() };
    let mut texts = way.texts.iter();
    for part in &plan.parts {
        match part {
            Part::Stays(at) => draft.stays(*at, way.cut),
            Part::Gone(at) => draft.goes(*at),
            Part::Replaced(piece) => draft.is_replaced(piece, texts.next().copied().flatten(), &carried),
        }
    }
    draft.pins(way.standings, &carried);
    for index in at..messages.len() {
        match way.cut {
            true => draft.stays(index, true),
            false => draft.kept.extend(draft.item(index)),
        }
    }
    draft.done(carried, if way.cut { messages.len() } else { at })
}

struct Filling<'a, 'r> {
    run: &'a Run<'r>,
    head: Vec<Arc<Message>>,
    kept: Vec<Item>,
    dropped: Vec<Item>,
    pinned: Vec<Item>,
}

impl Filling<'_, '_> {
    fn item(&self, at: usize) -> Option<Item> {
        let (message, origin) = (self.run.session.context().get(at)?, self.run.session.origins().get(at)?);
        let tokens = self.run.gauge.tokens(std::slice::from_ref(message));
        Some(Item { entry: origin.entry, kind: origin.kind, tokens, head: None })
    }

    fn stays(&mut self, at: usize, cut: bool) {
        let Some(message) = self.run.session.context().get(at) else { return };
        let place = Some(self.head.len());
        if let Some(item) = self.item(at).map(|item| Item { head: place, ..item }) {
            let list = if item.kind == Kind::Restored { &mut self.pinned } else { &mut self.kept };
            list.push(item);
        }
        self.head.push(if cut { trimmed(message) } else { Arc::clone(message) });
    }

    fn goes(&mut self, at: usize) {
        self.dropped.extend(self.item(at));
    }

    fn is_replaced(&mut self, piece: &[usize], text: Option<&str>, carried: &Carried) {
        piece.iter().for_each(|at| self.goes(*at));
        let policy = &self.run.agent.limits.compacting;
        self.head.push(Arc::new(summary::head(policy, text.unwrap_or(NO_SUMMARY), carried)));
    }

    /// The tasks, and what people said must or must not be.
    fn pins(&mut self, standings: &[Standing], carried: &Carried) {
        let Some(message) = ledger::message(self.run, standings, &carried.wishes) else { return };
        self.pinned.extend(carried.wishes.iter().map(|wish| Item {
            entry: wish.entry,
            kind: Kind::User,
            tokens: self.run.gauge.tokens(&[Arc::new(Message::user(wish.text.clone()))]),
            head: None,
        }));
        self.head.push(message);
    }

    /// `at` is the first message that stays behind the head.
    fn done(self, carried: Carried, at: usize) -> Draft {
        let (messages, origins) = (self.run.session.context(), self.run.session.origins());
        let tokens = self.run.gauge.tokens(&self.head) + self.run.gauge.tokens(messages.get(at..).unwrap_or_default());
        let kept_from = origins.get(at).map(|origin| origin.entry);
        let Filling { head, kept, dropped, pinned, .. } = self;
        let compaction = Compaction { head, kept_from, carried, kept, dropped, pinned, ..Compaction::default() };
        Draft { compaction, tokens }
    }
}

/// The message with long outputs cut and without what tools showed; the same one when there is neither.
fn trimmed(message: &Arc<Message>) -> Arc<Message> {
    let is_short = |(block, own): (&Block, &[Block])| match block {
        Block::Result(result) => own.is_empty() && result.output.len() <= OUTPUT,
        Block::Text { .. } | Block::Thinking(_) | Block::Image(_) | Block::Call(_) => true,
    };
    if message.parts().all(is_short) {
        return Arc::clone(message);
    }
    let blocks = message.parts().map(|(block, own)| match block {
        Block::Result(result) => {
            let mut output = cut_middle(result.output.clone(), OUTPUT);
            if !own.is_empty() {
                output.push_str(NOT_SHOWN);
            }
            Block::Result(ToolResult { output, ..result.clone() })
        }
        other => other.clone(),
    });
    Arc::new(Message { role: message.role, blocks: blocks.collect() })
}
