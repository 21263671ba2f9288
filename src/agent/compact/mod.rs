//! Makes room: when the conversation nears the end of the window, its older part becomes a summary. When that fails or
//! helps too little, outputs and turns are left out instead. One try each, nothing is repeated.

use std::sync::Arc;

use super::fit::cut_middle;
use super::run::{Halt, Run};
use super::summary;
use super::think::tell;
use super::{RunError, Summariser};
use crate::event::AgentEvent;
use crate::message::{Block, Message, Usage, Usd};
use crate::model::{Delta, Request};
use crate::session::{Carried, Compaction, EntryId, Kind, Origin, Record};

/// Most tokens of a summary.
const SUMMARY: u64 = 4_096;

/// Most bytes of an output that stays when outputs have to be cut.
const OUTPUT: usize = 4_000;

/// Said instead of a summary when there is none.
const NO_SUMMARY: &str = "(Older messages were left out to make room; there is no summary of them.)";

/// Shortens the conversation when it fills more of the window than the limits allow.
pub(super) async fn make_room(run: &mut Run<'_>) -> Result<(), Halt> {
    let mut needed = run.gauge.measure(run.session.context());
    if run.gauge.doubts(run.session.context(), trigger(run)) {
        needed = run.gauge.count(run.agent, run.session.context()).await;
    }
    if needed <= trigger(run) {
        return Ok(());
    }
    let keep = run.agent.limits.keep_recent.min(run.agent.limits.context_window / 4);
    if !shorten(run, keep, needed, run.agent.limits.context_window).await? {
        // Nothing can be left out. The provider has the last word on whether it fits.
        run.floor = needed + run.agent.limits.context_window / 10;
    }
    Ok(())
}

/// Shortens the conversation because the model has refused it as too long.
pub(super) async fn make_room_at_once(run: &mut Run<'_>) -> Result<(), Halt> {
    let needed = run.gauge.measure(run.session.context());
    let keep = run.agent.limits.keep_recent.min(needed / 4);
    // The window is smaller than it was thought to be; what the summary is made of must fit all the same.
    let window = run.agent.limits.context_window.min(needed / 2);
    match shorten(run, keep, needed, window).await? {
        true => Ok(()),
        false => Err(Halt::Failed(no_room(run))),
    }
}

/// What is said when it does not fit all the same.
pub(super) fn no_room(run: &mut Run<'_>) -> RunError {
    let needed = run.gauge.measure(run.session.context()) + run.agent.limits.max_tokens;
    RunError::NoRoom { needed, window: run.agent.limits.context_window }
}

/// Tokens from which on room is made: a part of the window, but never so much that a reply does not fit. After a
/// shortening that did not get below, only growth makes it worth another.
fn trigger(run: &Run<'_>) -> u64 {
    let limits = &run.agent.limits;
    let part = limits.context_window.saturating_mul(u64::from(limits.compact_at)) / 100;
    let reply = limits.context_window.saturating_sub(limits.max_tokens).max(limits.context_window / 4);
    part.min(reply).max(run.floor)
}

/// The conversation cut in two: what is replaced, and what stays as it was said.
struct Cut {
    old: Vec<Arc<Message>>,
    kept: Vec<Arc<Message>>,
    kept_from: Option<EntryId>,
    /// Of what is kept.
    origins: Vec<Origin>,
    carried: Carried,
}

/// Answers whether the conversation got shorter. The window is that of the model that thinks.
async fn shorten(run: &mut Run<'_>, keep: u64, needed: u64, window: u64) -> Result<bool, Halt> {
    let before = run.gauge.tokens(run.session.context());
    let mut cut = cut(run, keep);
    let worth = !cut.old.is_empty() && run.gauge.tokens(&cut.old) > SUMMARY / 8;
    let summed = if worth { summarise(run, &cut.old, window).await? } else { None };
    let paid = summed.as_ref().map(|sum| (sum.model.clone(), sum.usage, sum.cost));
    let text = summed.as_ref().map_or(NO_SUMMARY, |sum| sum.text.as_str());
    let head = Arc::new(summary::head(text, &cut.carried));
    let with_summary = run.gauge.tokens(std::slice::from_ref(&head)) + run.gauge.tokens(&cut.kept);
    let enough = summed.is_some() && with_summary < before / 10 * 9 && fits(run, with_summary);
    let (head, kept_from) = if enough {
        (vec![head], cut.kept_from)
    } else {
        let short = summed.filter(|_| with_summary < before).map_or(NO_SUMMARY.to_owned(), |sum| sum.text);
        let begin = (!cut.old.is_empty()).then(|| Arc::new(summary::head(&short, &cut.carried)));
        // What stays is part of the new beginning too, so the next time its facts must be known.
        summary::carry(&mut cut.carried, &cut.kept, &cut.origins, &run.agent.tools);
        (begin.into_iter().chain(cut.kept.iter().map(trimmed)).collect(), None)
    };
    let kept = if kept_from.is_some() { run.gauge.tokens(&cut.kept) } else { 0 };
    let after = run.gauge.tokens(&head) + kept;
    if after >= before {
        if let Some((model, usage, cost)) = paid {
            let why = "its summary makes nothing shorter".to_owned();
            run.session.append(Record::Discarded { usage, model, cost, why })?;
        }
        return Ok(false);
    }
    let after = run.gauge.fixed() + after;
    let (model, usage, cost) = match paid {
        Some((model, usage, cost)) => (Some(model), usage, cost),
        None => (None, Usage::default(), Some(Usd(0))),
    };
    let by = model.clone();
    let compaction = Compaction { head, kept_from, carried: cut.carried, before: needed, after, usage, cost, model };
    run.session.append(Record::Compaction(compaction))?;
    run.session.settle_meanwhile().await?;
    run.gauge.shortened(run.session.context());
    run.floor = after + run.agent.limits.context_window / 10;
    run.events.emit(&AgentEvent::Compacted { before: needed, after, model: by, usage, cost });
    Ok(true)
}

fn fits(run: &Run<'_>, conversation: u64) -> bool {
    let limits = &run.agent.limits;
    run.gauge.fixed() + conversation < limits.context_window.saturating_mul(u64::from(limits.compact_at)) / 100
}

/// Cuts before the oldest message from which on everything fits into `keep` tokens, at least before the last turn, and
/// never between a call and its answer.
fn cut(run: &Run<'_>, keep: u64) -> Cut {
    let (messages, origins) = (run.session.context(), run.session.origins());
    let mut at = None;
    let mut sum = 0;
    for (index, origin) in origins.iter().enumerate().rev() {
        sum += run.gauge.tokens(messages.get(index..=index).unwrap_or_default());
        if at.is_some() && sum > keep || origin.kind == Kind::Compaction {
            break;
        }
        if origin.kind != Kind::ToolResult {
            at = Some(index);
        }
    }
    let at = at.unwrap_or(messages.len());
    let (old, kept) = messages.split_at(at);
    let mut carried = run.session.compaction().map(|last| last.carried.clone()).unwrap_or_default();
    summary::carry(&mut carried, old, origins.get(..at).unwrap_or_default(), &run.agent.tools);
    let origins = origins.get(at..).unwrap_or_default().to_vec();
    let kept_from = origins.first().map(|origin| origin.entry);
    Cut { old: old.to_vec(), kept: kept.to_vec(), kept_from, origins, carried }
}

/// What a model made of the older messages.
struct Summed {
    text: String,
    model: String,
    usage: Usage,
    cost: Option<Usd>,
}

/// Asks the model that is there for it to sum up, and when it cannot, the one that thinks; `None` when neither can.
async fn summarise(run: &mut Run<'_>, old: &[Arc<Message>], window: u64) -> Result<Option<Summed>, Halt> {
    let own = Summariser { model: run.agent.model.clone(), context_window: window };
    for summariser in run.agent.summariser.iter().chain([&own]) {
        let summed = ask(run, summariser, old).await?;
        if summed.is_some() {
            return Ok(summed);
        }
    }
    Ok(None)
}

async fn ask(run: &mut Run<'_>, summariser: &Summariser, old: &[Arc<Message>]) -> Result<Option<Summed>, Halt> {
    let max_tokens = SUMMARY.min(run.agent.limits.max_tokens).min(summariser.context_window / 2).max(1);
    // Two bytes of transcript to a token leave room for the prompt and for text that is dense in tokens.
    let most = usize::try_from(summariser.context_window.saturating_sub(max_tokens)).unwrap_or(usize::MAX);
    let text = summary::transcript(old, most.saturating_mul(2));
    let ask = format!("<transcript>\n{text}</transcript>\n\nWrite the memory of this session now.");
    let messages = [Arc::new(Message::user(ask))];
    let cache_key = format!("{}-summary", run.session.id());
    let request =
        Request { system: summary::PROMPT, messages: &messages, tools: &[], max_tokens, cache_key: &cache_key };
    let events = run.events;
    // Its words are no answer, so only waits are shown.
    let mut on_delta = |delta| {
        if matches!(delta, Delta::Retrying { .. }) {
            tell(events, delta);
        }
    };
    let reply = tokio::select! {
        biased;
        () = run.inbox.abort().cancelled() => return Err(Halt::Aborted),
        reply = summariser.model.reply(request, &mut on_delta) => reply,
    };
    match reply {
        Ok(reply) if !reply.message.text().trim().is_empty() => {
            let (text, model) = (reply.message.text(), reply.model.to_string());
            Ok(Some(Summed { text, model, usage: reply.usage, cost: reply.cost }))
        }
        Ok(reply) => {
            let (model, why) = (reply.model.to_string(), "no summary came".to_owned());
            run.session.append(Record::Discarded { usage: reply.usage, model, cost: reply.cost, why })?;
            Ok(None)
        }
        Err(error) => {
            tracing::warn!(%error, "no summary");
            Ok(None)
        }
    }
}

/// The message with long outputs cut; the same one when there are none.
fn trimmed(message: &Arc<Message>) -> Arc<Message> {
    if message.results().all(|result| result.output.len() <= OUTPUT) {
        return Arc::clone(message);
    }
    let mut shorter = Message::clone(message);
    for block in &mut shorter.blocks {
        if let Block::Result(result) = block {
            result.output = cut_middle(std::mem::take(&mut result.output), OUTPUT);
        }
    }
    Arc::new(shorter)
}
