//! How people name entries: `m37` is the entry with number 37 of its file. Ids that hold everywhere are in `id`.

use super::{EntryId, Session, SessionError};

/// Fewest letters of an id that name an entry; the first ten are only the time.
const LEAST: usize = 4;

impl Session {
    /// The number of an entry in its file, shown as `m37`; `None` when it is not in this session.
    pub fn number(&self, entry: EntryId) -> Option<u64> {
        self.tree.find(entry).and_then(|at| self.tree.node(at)).map(|node| node.seq)
    }

    /// What people call an entry: `m37`, or its id when it is not in this session.
    pub fn name(&self, entry: EntryId) -> String {
        self.number(entry).map_or_else(|| entry.to_string(), |number| format!("m{number}"))
    }

    /// The entry that somebody names: `m37`, an id, or the beginning of one.
    ///
    /// # Errors
    /// [`SessionError::NoSuchEntry`] when nothing, or more than one entry, fits.
    pub fn entry_named(&self, name: &str) -> Result<EntryId, SessionError> {
        let name = name.trim();
        let none = || SessionError::NoSuchEntry { name: name.to_owned(), last: self.last_number() };
        if let Some(number) = name.strip_prefix(['m', 'M', '#']).and_then(|number| number.parse::<u64>().ok()) {
            let found = self.tree.nodes().iter().rfind(|node| node.seq == number);
            return found.map(|node| node.id).ok_or_else(none);
        }
        let begin = name.to_ascii_uppercase();
        let mut found = self.tree.nodes().iter().map(|node| node.id).filter(|id| id.to_string().starts_with(&begin));
        match (found.next(), found.next()) {
            (Some(id), None) if begin.len() >= LEAST => Ok(id),
            _ => Err(none()),
        }
    }

    fn last_number(&self) -> u64 {
        self.next_seq.saturating_sub(1)
    }
}
