//! One session told: what it is, what it cost, how the conversation ended.

use std::io::{self, Write};
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::json;

use super::table::{age, size};
use super::{NotDone, Setup, VERSION, count};
use crate::message::{Message, Role};
use crate::session::{Origin, Place, Session};
use crate::terminal::clean::one_line;
use crate::terminal::exit::Exit;
use crate::terminal::wrap::{columns, cut};

/// Shows a session with the last messages of its conversation. Without a place it is a worker's.
pub(super) fn show(session: &Session, place: Option<Place>, last: usize, setup: &Setup<'_>) -> Result<Exit, NotDone> {
    let messages: Vec<(&Arc<Message>, &Origin)> = session.context().iter().zip(session.origins()).collect();
    let messages = &messages[messages.len().saturating_sub(last)..];
    let place = place.map_or("worker", Place::name);
    let mut out = io::stdout().lock();
    if setup.json {
        writeln!(out, "{}", as_json(session, place, messages)?)?;
        return Ok(Exit::Done);
    }
    for line in head(session, place, setup)? {
        writeln!(out, "{line}")?;
    }
    if !messages.is_empty() {
        writeln!(out)?;
    }
    for (message, origin) in messages {
        let name = session.name(origin.entry);
        let who = speaker(message);
        let width = setup.width.unwrap_or(160).saturating_sub(columns(&name) + who.len() + 3).max(20);
        let said = cut(&one_line(&words(message)), width);
        writeln!(out, "{} {} {said}", setup.look.dim(name), setup.look.bold(who))?;
    }
    Ok(Exit::Done)
}

fn head(session: &Session, place: &str, setup: &Setup<'_>) -> Result<Vec<String>, NotDone> {
    let look = setup.look;
    let bytes = session.path().and_then(|path| path.metadata().ok()).map_or(0, |meta| meta.len());
    let (created, updated) = session.begun_and_changed()?;
    let updated = updated.parse::<Timestamp>().map_or(updated, |then| age(then, Timestamp::now()));
    let created = created.get(..16).unwrap_or(&created).replace('T', " ");
    let entries = format!("{} entries", session.entries());
    let branches = match session.branches()?.len() {
        ..=1 => String::new(),
        several => format!(" on {several} branches"),
    };
    let mut lines = vec![
        look.bold(one_line(&session.headline()?)),
        format!("{} · {place} · {entries}{branches} · {}", look.name(session.id()), size(bytes)),
        look.dim(format!("begun {created} UTC · last change {updated}")),
    ];
    for (model, tally) in session.bill().models() {
        let calls = count(tally.calls as usize, "call");
        let tokens = tally.usage.total_tokens();
        lines.push(look.dim(format!("{} · {calls} · {tokens} tokens · {}", one_line(model), tally.spent)));
    }
    lines.extend(session.damage().iter().map(|what| format!("{} {}", look.warn("⚠"), one_line(what))));
    Ok(lines)
}

fn as_json(session: &Session, place: &str, messages: &[(&Arc<Message>, &Origin)]) -> Result<String, NotDone> {
    let (created, updated) = session.begun_and_changed()?;
    let models: Vec<_> = session.bill().models().map(|(model, tally)| json!({
        "model": model, "calls": tally.calls, "tokens": tally.usage.total_tokens(), "cost_usd": tally.spent.dollars(),
    })).collect();
    let last: Vec<_> = messages.iter().map(|(message, origin)| json!({
        "entry": session.name(origin.entry), "entry_id": origin.entry, "role": message.role, "text": words(message),
    })).collect();
    let row = json!({
        "v": VERSION, "id": session.id(), "title": session.title(), "place": place, "created": created,
        "updated": updated, "entries": session.entries(), "branches": session.branches()?.len(), "leaf": session.leaf(),
        "path": session.path(),
        "models": models, "damage": session.damage(), "last": last,
    });
    Ok(row.to_string())
}

fn speaker(message: &Message) -> &'static str {
    match message.role {
        Role::Assistant => "assistant",
        Role::User if message.results().next().is_some() => "tool",
        Role::User => "you",
    }
}

/// Text, else what was called, else what came of it.
fn words(message: &Message) -> String {
    let calls = message.calls().map(|call| format!("{} {}", call.name, call.args.0));
    let results = message.results().map(|result| result.output.clone());
    let text = Some(message.text()).filter(|text| !text.trim().is_empty());
    text.into_iter().chain(calls).chain(results).collect::<Vec<_>>().join(" · ")
}
