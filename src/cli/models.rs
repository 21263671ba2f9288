//! `tillerman models`: which models can be used and why, with their figures, and what their providers say of them today.

use std::io::{self, Write};

use serde_json::{Value, json};

use super::json::VERSION;
use super::ready::{self, NotReady};
use crate::args::Common;
use crate::config::Config;
use crate::model::price::Price;
use crate::model::shelf::{Drift, Refreshed, Shelf, Shown};
use crate::terminal::Look;
use crate::terminal::clean::one_line;
use crate::terminal::exit::Exit;

/// Most names of models on a line.
const NAMED: usize = 8;

/// What the command needs to know.
pub struct Setup {
    /// Only this provider, with all its models.
    pub provider: Option<String>,
    /// Ask the providers first.
    pub refresh: bool,
    /// JSON instead of text.
    pub json: bool,
    /// Colours or not.
    pub look: Look,
}

/// Prints the models on stdout; what came of asking goes to stderr.
///
/// # Errors
/// [`NotReady`] for settings that cannot be followed and for a provider that nobody knows. When every provider that
/// was asked refuses, the exit code says so.
pub async fn models(common: &Common, setup: &Setup) -> Result<Exit, NotReady> {
    let mut config = ready::settings(common)?;
    let only = setup.provider.as_deref();
    let mut exit = Exit::Done;
    if setup.refresh {
        let refreshed = config.models.refresh(only).await.map_err(unknown)?;
        let mut err = io::stderr().lock();
        for one in &refreshed {
            // Nobody reads: the table still comes.
            let _ = writeln!(err, "{}", drift(one, setup.look));
        }
        if refreshed.iter().all(|one| one.outcome.is_err()) {
            exit = Exit::Failed;
        }
        // What was confirmed may choose another model.
        config = ready::settings(common)?;
    }
    let mut shelves = config.models.shelves(&config.choice);
    if let Some(only) = only {
        config.models.provider(only).map_err(unknown)?;
        shelves.retain(|shelf| shelf.standing.provider == only);
    }
    let text = match setup.json {
        true => as_json(&config, &shelves).to_string(),
        false => as_text(&config, &shelves, only.is_some(), setup.look),
    };
    // Nobody reads: the exit code still tells.
    let _ = writeln!(io::stdout().lock(), "{text}");
    Ok(exit)
}

fn unknown(error: crate::model::catalog::NoModel) -> NotReady {
    NotReady { exit: Exit::Usage, why: error.to_string() }
}

/// What a provider's list changes, on one line.
fn drift(one: &Refreshed, look: Look) -> String {
    let Refreshed { provider, outcome } = one;
    let Drift { listed, new, gone, windows, not_kept } = match outcome {
        Err(why) => return format!("{} {provider}: {}", look.warn("⚠"), one_line(why)),
        Ok(drift) => drift,
    };
    let mut parts = vec![format!("{listed} models, {new} of them not in the catalogue")];
    if !gone.is_empty() {
        parts.push(format!("gone: {}", some(gone)));
    }
    let differ =
        windows.iter().map(|(id, was, is)| format!("{id} has a window of {}, not {}", count(*is), count(*was)));
    parts.extend(differ.take(NAMED));
    parts.extend(not_kept.iter().map(|why| format!("not kept: {}", one_line(why))));
    let mark = if gone.is_empty() && windows.is_empty() { look.good("✓") } else { look.warn("⚠") };
    format!("{mark} {provider}: {}", parts.join("; "))
}

fn some(names: &[String]) -> String {
    let more = names.len().saturating_sub(NAMED);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    let shown: Vec<String> = names.iter().take(NAMED).map(|name| one_line(name)).collect();
    format!("{}{more}", shown.join(", "))
}

fn as_text(config: &Config, shelves: &[Shelf], whole: bool, look: Look) -> String {
    let chosen = look.bold(&config.choice.id);
    let mut lines = vec![format!("{chosen} answers ({})", one_line(&config.choice.why)), String::new()];
    lines.extend(config.models.notes().iter().map(|note| format!("{} {}", look.warn("⚠"), one_line(note))));
    for shelf in shelves {
        let standing = &shelf.standing;
        let mark = if standing.usable { look.good("✓") } else { look.dim("·") };
        let why = one_line(&standing.why);
        lines.push(format!("{mark} {} · {} · {why}", look.name(&standing.provider), standing.name));
        if whole || standing.usable {
            lines.extend(table(shelf, whole, look));
        }
    }
    if !whole && shelves.iter().any(|shelf| !shelf.standing.usable) {
        lines.push(String::new());
        lines.push(look.dim("`tillerman models PROVIDER` shows the models of one, also without a key"));
    }
    lines.join("\n")
}

const HEADS: [&str; 8] = ["model", "window", "output", "$/M in", "$/M out", "$/M cached", "images", "confirmed"];

/// The models of one provider, columns aligned.
fn table(shelf: &Shelf, whole: bool, look: Look) -> Vec<String> {
    let written = |model: &&Shown| whole || model.source.is_some() || model.chosen || shelf.keys.is_empty();
    let models: Vec<&Shown> = shelf.models.iter().filter(written).collect();
    if models.is_empty() {
        return Vec::new();
    }
    let rows: Vec<[String; 8]> = models.iter().map(|model| cells(model)).collect();
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0).max(HEADS[at].len());
    let widths: Vec<usize> = (0..HEADS.len()).map(width).collect();
    let line = |cells: &[&str]| {
        let padded = cells.iter().zip(&widths).enumerate().map(|(at, (cell, width))| match at {
            0 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        padded.collect::<Vec<_>>().join("  ")
    };
    let mut lines = vec![look.dim(format!("    {}", line(&HEADS)))];
    for (model, row) in models.iter().zip(&rows) {
        let row = line(&row.each_ref().map(String::as_str));
        lines.push(if model.chosen {
            format!("  {} {}", look.good("*"), look.bold(row))
        } else {
            format!("    {row}")
        });
    }
    lines.push(look.dim(format!("    {}", origin(shelf, &models))));
    lines
}

/// Where the figures come from, and when.
fn origin(shelf: &Shelf, models: &[&Shown]) -> String {
    let newest = models.iter().filter_map(|model| model.date).max();
    let mut sources: Vec<&str> = models.iter().filter_map(|model| model.source.as_deref()).collect();
    sources.sort_unstable();
    sources.dedup();
    let figures = newest.map(|date| format!("figures of {date}: {}", sources.join(" and ")));
    let listed = shelf.listed.map(|at| format!("its own list of {}", at.strftime("%Y-%m-%d %H:%M UTC")));
    let not_asked = "not asked within a day, --refresh asks".to_owned();
    let long = models.iter().any(|model| model.price.as_ref().is_some_and(|price| price.above.is_some()));
    let long = long.then(|| "+ more when the input is long".to_owned());
    figures.into_iter().chain([listed.unwrap_or(not_asked)]).chain(long).collect::<Vec<_>>().join("; ")
}

fn cells(model: &Shown) -> [String; 8] {
    let unknown = || "-".to_owned();
    let word = |yes: Option<bool>| yes.map_or_else(unknown, |yes| if yes { "yes" } else { "no" }.to_owned());
    let price = model.price.as_ref();
    let long = if price.is_some_and(|price| price.above.is_some()) { "+" } else { "" };
    [
        one_line(&model.id),
        model.window.map_or_else(unknown, count),
        model.max_out.map_or_else(unknown, count),
        price.map_or_else(unknown, |price| format!("{}{long}", price.input)),
        price.map_or_else(unknown, |price| format!("{}{long}", price.output)),
        price.and_then(|price| price.cache_read).map_or_else(unknown, |read| format!("{read}{long}")),
        word(model.images),
        word(model.confirmed),
    ]
}

/// `1000000` as `1,000,000`.
fn count(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> = digits.as_bytes().rchunks(3).rev().filter_map(|group| str::from_utf8(group).ok()).collect();
    groups.join(",")
}

fn as_json(config: &Config, shelves: &[Shelf]) -> Value {
    let chosen = json!({
        "provider": config.choice.id.provider, "model": config.choice.id.model, "why": config.choice.why,
    });
    let providers: Vec<Value> = shelves
        .iter()
        .map(|shelf| {
            let standing = &shelf.standing;
            json!({
                "id": standing.provider, "name": standing.name, "usable": standing.usable, "chosen": standing.chosen,
                "why": standing.why, "base_url": shelf.base_url, "keys": shelf.keys, "listed": shelf.listed,
                "models": shelf.models.iter().map(model).collect::<Vec<_>>(),
            })
        })
        .collect();
    json!({"v": VERSION, "chosen": chosen, "notes": config.models.notes(), "providers": providers})
}

fn model(shown: &Shown) -> Value {
    let price: Option<&Price> = shown.price.as_ref();
    json!({
        "id": shown.id, "chosen": shown.chosen, "window": shown.window, "max_out": shown.max_out,
        "images": shown.images, "tools": shown.tools, "price": price, "confirmed": shown.confirmed,
        "source": shown.source, "date": shown.date,
    })
}
