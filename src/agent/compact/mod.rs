//! Makes room: when the conversation becomes too long, its older part becomes a summary. When that fails or helps too
//! little, outputs and turns are left out instead. One try each, nothing is repeated.

mod archive;
mod ask;
mod cut;
mod draft;
pub(super) mod ledger;
pub(super) mod now;
pub(super) mod policy;
pub(super) mod preview;
mod summary;
mod watch;
mod wishes;

use std::sync::Arc;

use self::ask::Summed;
use self::cut::{Plan, View};
use self::draft::{Draft, Material};
use self::policy::{Compacting, Keep, Trigger, When};
pub(super) use self::watch::Watch;
use super::RunError;
use super::run::{Halt, Run};
use crate::event::AgentEvent;
use crate::message::{Message, Usage, Usd};
use crate::session::Record;

/// Fewer tokens than this are not worth a summary that is made for want of room.
const LEAST: u64 = ask::SUMMARY / 8;

/// What a shortening is for.
struct Goal {
    keep: Keep,
    /// Of the model that thinks.
    window: u64,
    why: String,
    /// It is needed, so outputs may be cut when a summary does not do.
    needed: bool,
    /// A person wants it.
    asked: bool,
}

/// Shortens the conversation when it is too long and this is the time to look.
pub(super) async fn look(run: &mut Run<'_>, when: When) -> Result<(), Halt> {
    let Compacting { trigger, when: due, keep, .. } = run.agent.limits.compacting;
    if when != due {
        return Ok(());
    }
    let Some(full) = watch::look(run).await else { return Ok(()) };
    let window = run.agent.limits.context_window;
    let needed = matches!(trigger, Trigger::Window(_));
    let goal = Goal { keep: within(keep, window / 4), window, why: full.why.clone(), needed, asked: false };
    shorten(run, &goal).await?;
    watch::tried(run, &full).await;
    Ok(())
}

/// Shortens the conversation after its answer, if this is the time to look. An abort now ends nothing but that.
pub(super) async fn after(run: &mut Run<'_>) -> Result<(), RunError> {
    match look(run, When::Run).await {
        Ok(()) | Err(Halt::Aborted | Halt::Spent(_)) => Ok(()),
        Err(Halt::Failed(error)) => Err(error),
    }
}

/// Shortens the conversation because the model has refused it as too long.
pub(super) async fn at_once(run: &mut Run<'_>) -> Result<(), Halt> {
    let limits = &run.agent.limits;
    if limits.compacting.trigger == Trigger::Never {
        return Err(Halt::Failed(no_room(run)));
    }
    let size = run.gauge.measure(run.session.context());
    let keep = within(limits.compacting.keep, size / 4);
    // The window is smaller than it was thought to be; what the summary is made of must fit all the same.
    let window = limits.context_window.min(size / 2);
    let goal = Goal { keep, window, why: "the model refused it as too long".to_owned(), needed: true, asked: false };
    match shorten(run, &goal).await? {
        true => Ok(()),
        false => Err(Halt::Failed(no_room(run))),
    }
}

/// What is said when it does not fit all the same.
pub(super) fn no_room(run: &mut Run<'_>) -> RunError {
    let needed = run.gauge.measure(run.session.context()) + run.agent.limits.max_tokens;
    RunError::NoRoom { needed, window: run.agent.limits.context_window }
}

fn within(keep: Keep, most: u64) -> Keep {
    match keep {
        Keep::Recent(tokens) => Keep::Recent(tokens.min(most)),
        Keep::Last(_) | Keep::People | Keep::Half => keep,
    }
}

/// Answers whether the conversation got shorter.
async fn shorten(run: &mut Run<'_>, goal: &Goal) -> Result<bool, Halt> {
    let before = run.gauge.measure(run.session.context());
    let (messages, origins) = (run.session.context(), run.session.origins());
    let tokens = |message: &Arc<Message>| run.gauge.tokens(std::slice::from_ref(message));
    let plan = Plan::of(View { messages, origins, tokens: &tokens }, goal.keep, goal.asked);
    let piece = |piece: &[usize]| piece.iter().filter_map(|at| messages.get(*at)).cloned().collect::<Vec<_>>();
    let pieces: Vec<Vec<Arc<Message>>> = plan.pieces().map(piece).collect();
    let least = if goal.needed { LEAST } else { 0 };
    let worth = plan.is_worth(origins) && pieces.iter().map(|piece| run.gauge.tokens(piece)).sum::<u64>() > least;
    let summed = match worth {
        true => ask::summaries(run, &pieces, goal.window).await?,
        false if goal.needed => pieces.iter().map(|_| None).collect(),
        false => return Ok(false),
    };
    let paid = Paid::of(&summed);
    let standings = ledger::standings(run).await;
    let Some(mut draft) = draft::best(run, goal, &Material { plan: &plan, summed: &summed, standings: &standings })
    else {
        paid.wasted(run, "its summary makes nothing shorter")?;
        return Ok(false);
    };
    if run.agent.limits.compacting.archive {
        draft.compaction.archive = archive::save(run.session, pieces.concat()).await;
    }
    keep(run, goal, draft, before, paid).await?;
    Ok(true)
}

/// What summaries took, and who wrote the last of them.
#[derive(Default)]
struct Paid {
    model: Option<String>,
    usage: Usage,
    cost: Option<Usd>,
}

impl Paid {
    fn of(summed: &[Option<Summed>]) -> Paid {
        let mut paid = Paid { cost: Some(Usd(0)), ..Paid::default() };
        for sum in summed.iter().flatten() {
            paid.model = Some(sum.model.clone());
            paid.usage.add(sum.usage);
            paid.cost = paid.cost.zip(sum.cost).map(|(before, now)| before.plus(now));
        }
        paid
    }

    /// Writes down what was paid for nothing.
    fn wasted(self, run: &mut Run<'_>, why: &str) -> Result<(), Halt> {
        if let Some(model) = self.model {
            let why = why.to_owned();
            run.session.append(Record::Discarded { usage: self.usage, model, cost: self.cost, why })?;
        }
        Ok(())
    }
}

/// Writes the shorter beginning down, in one entry: who opens the session finds the old one or the new one.
async fn keep(run: &mut Run<'_>, goal: &Goal, draft: Draft, before: u64, paid: Paid) -> Result<(), Halt> {
    let after = run.gauge.fixed() + draft.tokens;
    let Paid { model, usage, cost } = paid;
    let mut compaction = draft.compaction;
    (compaction.before, compaction.after, compaction.why) = (before, after, goal.why.clone());
    (compaction.model, compaction.usage, compaction.cost) = (model.clone(), usage, cost);
    run.session.append(Record::Compaction(Box::new(compaction)))?;
    run.session.settle_meanwhile().await?;
    run.gauge.shortened(run.session.context());
    run.judge.forget();
    run.events.emit(&AgentEvent::Compacted { before, after, model, usage, cost });
    Ok(())
}
