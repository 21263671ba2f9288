//! The whole tree as JSON, entry by entry as the journal has it.

use std::collections::HashSet;
use std::io::{self, Write};

use serde_json::{Value, json};

use super::ExportError;
use crate::session::Session;

/// The version of this form.
const VERSION: u32 = 1;

/// One object: about the session, and `entries` in the order in which they were written, a line each.
pub(super) fn write(session: &Session, out: &mut dyn Write) -> Result<(), ExportError> {
    let (created, updated) = session.begun_and_changed()?;
    let head = json!({
        "v": VERSION, "id": session.id(), "title": session.title(), "created_at": created, "updated_at": updated,
        "leaf": session.leaf(), "damage": session.damage(),
    });
    let head = head.to_string();
    write!(out, "{},\"entries\":[", head.strip_suffix('}').unwrap_or(&head))?;
    let active: HashSet<usize> = session.way_to_leaf().into_iter().collect();
    let mut between = "\n";
    for place in 0..session.entries() {
        let line = session.line(place)?;
        // Also entries of types that only a later version knows.
        if let Ok(Value::Object(mut entry)) = serde_json::from_slice::<Value>(&line) {
            entry.shift_remove("v");
            entry.shift_remove("crc");
            entry.insert("name".into(), format!("m{}", entry.get("seq").unwrap_or(&Value::Null)).into());
            entry.insert("active".into(), active.contains(&place).into());
            out.write_all(between.as_bytes())?;
            serde_json::to_writer(&mut *out, &entry).map_err(io::Error::from)?;
            between = ",\n";
        }
    }
    Ok(out.write_all(b"\n]}\n")?)
}
