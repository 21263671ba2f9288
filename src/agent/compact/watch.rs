//! Tells when a conversation is too long, by whichever figure the settings go by. Each message is looked at once. What
//! is done about it is in `mod`.

use std::sync::Arc;

use super::cut::counts;
use super::policy::{Count, Trigger};
use crate::agent::run::Run;
use crate::message::{Block, Message};
use crate::model::tokens::{self, Size};

/// After a shortening that did not help, only growth by this part of the limit makes it worth another.
const GROWTH: u64 = 10;

/// What is remembered between two looks.
#[derive(Default)]
pub(in crate::agent) struct Watch {
    /// Up to this figure nothing is done: the last attempt did not get further.
    floor: u64,
    /// Messages that were looked at, and what they come to.
    seen: usize,
    sum: u64,
}

/// A conversation that is too long.
pub(super) struct Full {
    /// What was measured.
    figure: u64,
    limit: u64,
    /// Why, in a few words for people.
    pub(super) why: String,
}

/// An attempt was made, with whatever success: it takes growth to make the next one worth it.
pub(super) async fn tried(run: &mut Run<'_>, full: &Full) {
    (run.watch.seen, run.watch.sum) = (0, 0);
    let figure = measured(run).await.map_or(full.figure, |now| now.figure);
    run.watch.floor = figure.saturating_add(full.limit / GROWTH);
}

/// Looks at the length; `None` when it is fine.
pub(super) async fn look(run: &mut Run<'_>) -> Option<Full> {
    measured(run).await.filter(|full| full.figure > full.limit.max(run.watch.floor))
}

async fn measured(run: &mut Run<'_>) -> Option<Full> {
    let (figure, limit, why) = match run.agent.limits.compacting.trigger {
        Trigger::Never => return None,
        Trigger::Window(percent) => {
            let limit = window(run, percent);
            (gauged(run, limit).await, limit, format!("over {percent} % of the window"))
        }
        Trigger::Tokens(limit, count) => {
            let figure = match count {
                Count::Gauge => gauged(run, limit).await,
                Count::Characters => characters(run) / 4,
                Count::Cl100k => counted(run, limit).await,
            };
            (figure, limit, format!("over {limit} tokens"))
        }
        Trigger::Messages(limit) => (messages(run), limit.saturating_sub(1), format!("{limit} messages")),
    };
    Some(Full { figure, limit, why })
}

/// Tokens of the next request, counted where a guess leaves open on which side of the limit they are.
async fn gauged(run: &mut Run<'_>, limit: u64) -> u64 {
    let limit = limit.max(run.watch.floor);
    let guess = run.gauge.measure(run.session.context());
    match run.gauge.doubts(run.session.context(), limit) {
        true => run.gauge.count(run.agent, run.session.context()).await,
        false => guess,
    }
}

/// Tokens from which on room is made: a part of the window, but never so much that a reply does not fit.
fn window(run: &Run<'_>, percent: u8) -> u64 {
    let limits = &run.agent.limits;
    let part = limits.context_window.saturating_mul(u64::from(percent)) / 100;
    part.min(limits.context_window.saturating_sub(limits.max_tokens).max(limits.context_window / 4))
}

fn characters(run: &mut Run<'_>) -> u64 {
    let new = run.session.context().get(run.watch.seen..).unwrap_or_default();
    run.watch.sum += new.iter().flat_map(|message| texts(message)).map(|text| text.chars().count() as u64).sum::<u64>();
    run.watch.sum += 4 * new.iter().map(|message| pictures(message)).sum::<u64>();
    run.watch.seen = run.session.context().len();
    run.watch.sum
}

fn messages(run: &mut Run<'_>) -> u64 {
    let new = run.session.origins().get(run.watch.seen..).unwrap_or_default();
    run.watch.sum += new.iter().filter(|origin| counts(origin)).count() as u64;
    run.watch.seen = run.session.origins().len();
    run.watch.sum
}

/// A token has at least one byte, so the vocabulary is not loaded for a conversation of fewer bytes than the limit, its
/// pictures apart. It is loaded and used on a thread that may wait.
async fn counted(run: &mut Run<'_>, limit: u64) -> u64 {
    let new = run.session.context().get(run.watch.seen..).unwrap_or_default();
    let bytes =
        |message: &Arc<Message>| 16 + pictures(message) + texts(message).map(|text| text.len() as u64 + 8).sum::<u64>();
    let most = run.watch.sum.saturating_add(new.iter().map(bytes).sum());
    if most <= limit {
        return most;
    }
    let new = new.to_vec();
    match tokio::task::spawn_blocking(move || Size::cl100k(&new)).await {
        Ok(size) => {
            run.watch.sum = run.watch.sum.saturating_add(size.text).saturating_add(size.images);
            run.watch.seen = run.session.context().len();
            run.watch.sum
        }
        Err(error) => {
            tracing::warn!(%error, "the conversation could not be counted; its size is guessed");
            run.gauge.tokens(run.session.context())
        }
    }
}

/// Tokens of its pictures, which have no characters and are not told by their bytes.
fn pictures(message: &Message) -> u64 {
    message.blocks.iter().filter(|block| matches!(block, Block::Image(_))).count() as u64 * tokens::IMAGE
}

fn texts(message: &Message) -> impl Iterator<Item = &str> {
    message.blocks.iter().flat_map(|block| match block {
        Block::Text { text } => [text.as_str(), ""],
        Block::Thinking(thinking) => [thinking.text.as_str(), ""],
        Block::Call(call) => [call.name.as_str(), call.args.0.as_str()],
        Block::Result(result) => [result.output.as_str(), ""],
        Block::Image(_) => ["", ""],
    })
}
