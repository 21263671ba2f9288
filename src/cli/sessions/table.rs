//! Sessions as lines: the list, and what a search finds.

use std::io::{self, Write};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{NotDone, Setup, VERSION, count};
use crate::session::store::Found;
use crate::session::{Place, Store, Summary};
use crate::terminal::clean::one_line;
use crate::terminal::exit::Exit;
use crate::terminal::wrap::{columns, cut};

/// Shows the sessions of a place.
pub(super) fn list(store: &Store, place: Place, limit: usize, setup: &Setup<'_>) -> Result<Exit, NotDone> {
    let mut sessions = store.list_of(place)?;
    let hidden = sessions.len().saturating_sub(limit);
    sessions.truncate(limit);
    let mut out = io::stdout().lock();
    if setup.json {
        for session in &sessions {
            writeln!(out, "{}", row(session, place))?;
        }
        return Ok(Exit::Done);
    }
    if sessions.is_empty() {
        writeln!(out, "{}", none(place))?;
    }
    for line in lines(&sessions, setup, Timestamp::now()) {
        writeln!(out, "{line}")?;
    }
    if hidden > 0 {
        writeln!(out, "{}", setup.look.dim(format!("and {}", count(hidden, "more session"))))?;
    }
    Ok(Exit::Done)
}

fn none(place: Place) -> &'static str {
    match place {
        Place::Current => "no sessions yet",
        Place::Archive => "the archive is empty",
        Place::Trash => "the trash is empty",
    }
}

/// The keys of a session in JSON lines; they keep their meaning.
pub(super) fn row(session: &Summary, place: Place) -> Value {
    json!({
        "v": VERSION, "id": session.id, "title": session.title, "place": place.name(), "updated": session.updated,
        "entries": session.entries, "bytes": session.bytes, "path": session.path,
    })
}

/// Id, time of the last change, entries, size, title; as wide as the terminal at most.
fn lines(sessions: &[Summary], setup: &Setup<'_>, now: Timestamp) -> Vec<String> {
    let cells = |session: &Summary| {
        [session.id.to_string(), age(session.updated, now), session.entries.to_string(), size(session.bytes)]
    };
    let rows: Vec<[String; 4]> = sessions.iter().map(cells).collect();
    let width = |at: usize| rows.iter().map(|row| columns(&row[at])).max().unwrap_or(0);
    let (id, age, entries, size) = (width(0), width(1), width(2), width(3));
    let left = setup.width.unwrap_or(usize::MAX).saturating_sub(id + age + entries + size + 8);
    let line = |(row, session): (&[String; 4], &Summary)| {
        let figures = format!("{:>age$}  {:>entries$}  {:>size$}", row[1], row[2], row[3]);
        let title = if session.title.is_empty() { "-".to_owned() } else { one_line(&session.title) };
        let name = setup.look.name(format!("{:<id$}", row[0]));
        format!("{name}  {}  {}", setup.look.dim(figures), cut(&title, left.max(8)))
    };
    rows.iter().zip(sessions).map(line).collect()
}

/// `now`, `5 min`, `3 h`, `2 d`, then the day.
pub(super) fn age(then: Timestamp, now: Timestamp) -> String {
    match now.as_second().saturating_sub(then.as_second()) {
        ..60 => "now".to_owned(),
        seconds @ 60..3_600 => format!("{} min", seconds / 60),
        seconds @ 3_600..86_400 => format!("{} h", seconds / 3_600),
        seconds @ 86_400..2_592_000 => format!("{} d", seconds / 86_400),
        _ => then.strftime("%Y-%m-%d").to_string(),
    }
}

/// `812 B`, `4 KB`, `1.2 MB`, in steps of 1,000.
pub(super) fn size(bytes: u64) -> String {
    let tenths = |unit: u64| format!("{}.{}", bytes / unit, bytes % unit * 10 / unit);
    match bytes {
        ..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{} KB", bytes / 1_000),
        1_000_000..1_000_000_000 => format!("{} MB", tenths(1_000_000)),
        _ => format!("{} GB", tenths(1_000_000_000)),
    }
}

/// Shows what was found in a session.
pub(super) fn found(found: &Found, setup: &Setup<'_>) -> Result<(), NotDone> {
    let mut out = io::stdout().lock();
    let (session, look) = (&found.session, setup.look);
    if setup.json {
        for hit in &found.hits {
            let row = json!({
                "v": VERSION, "id": session.id, "title": session.title, "place": found.place.name(),
                "worker": found.worker, "entry": format!("m{}", hit.seq), "entry_id": hit.entry, "at": hit.at,
                "said_by": hit.said_by, "excerpt": hit.excerpt,
            });
            writeln!(out, "{row}")?;
        }
        return Ok(());
    }
    let place = match found.place {
        Place::Current if found.worker => " (worker)",
        Place::Current => "",
        Place::Archive | Place::Trash => " (archived)",
    };
    let width = setup.width.unwrap_or(usize::MAX);
    let title = cut(&one_line(&session.title), width.saturating_sub(columns(session.id.as_str()) + 14).max(8));
    writeln!(out, "{}{place}  {}", look.name(&session.id), look.bold(title))?;
    for hit in &found.hits {
        let head = format!("m{} {} {}", hit.seq, hit.at.get(..16).unwrap_or(&hit.at).replace('T', " "), hit.said_by);
        let excerpt = cut(&one_line(&hit.excerpt), width.saturating_sub(columns(&head) + 4).max(20));
        writeln!(out, "  {}  {excerpt}", look.dim(head))?;
    }
    if found.more > 0 {
        writeln!(out, "  {}", look.dim(format!("and {} older; --each shows more", found.more)))?;
    }
    Ok(())
}
