//! Asks a model for a summary: the one that is there for it, and when it cannot, the one that thinks. One try each.

use std::sync::Arc;

use super::{Paid, summary};
use crate::agent::Summariser;
use crate::agent::run::{Halt, Run};
use crate::agent::think::tell;
use crate::ledger::Purpose;
use crate::message::{Message, Usage, Usd};
use crate::model::tokens::Size;
use crate::model::{Delta, Reply, Request};
use crate::session::Record;

/// Most tokens of a summary.
pub(super) const SUMMARY: u64 = 4_096;

/// What a model made of older messages.
pub(super) struct Summed {
    pub(super) text: String,
    pub(super) model: String,
    pub(super) usage: Usage,
    pub(super) cost: Option<Usd>,
}

/// Summaries of the pieces, in their order. After the first that nobody could write no other is asked for. `window` is
/// that of the model that thinks.
pub(super) async fn summaries(
    run: &mut Run<'_>,
    pieces: &[Vec<Arc<Message>>],
    window: u64,
) -> Result<Vec<Option<Summed>>, Halt> {
    let mut summed = Vec::new();
    let mut able = true;
    for piece in pieces {
        let sum = if able { summarise(run, piece, window).await } else { Ok(None) };
        match sum {
            Ok(sum) => {
                able = sum.is_some();
                summed.push(sum);
            }
            Err(halt) => {
                Paid::of(&summed).wasted(run, "the others were not written any more")?;
                return Err(halt);
            }
        }
    }
    Ok(summed)
}

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
    let length = run.agent.limits.compacting.most;
    let length = length.map_or(String::new(), |most| format!(" Use at most {most} characters."));
    let ask = format!("<transcript>\n{text}</transcript>\n\nWrite the memory of this session now.{length}");
    let messages = [Arc::new(Message::user(ask))];
    if !run.affords_summary(Size::guess_all(&messages).text, max_tokens / 2) {
        tracing::warn!("no summary: the budget does not reach for one");
        return Ok(None);
    }
    run.purse.settled().await;
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
        _ = run.purse.time_over() => return Ok(None),
    };
    if let Ok(Reply { model, usage, cost, .. }) = &reply {
        run.purse.paid(Purpose::Summary, &model.to_string(), *usage, *cost);
    }
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
