//! One task for each row of a table, as a call of [`Runtime`]. What a table is, and how a template is filled, is in `task`; how
//! the crew takes them on, in `rows`.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::roster::Patron;
use super::{ControlError, Done, Order, Runtime};
use crate::session::SessionId;
use crate::task::{Brief, MAX_TABLE, Rows, TaskId};

/// Where rows are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Table {
    /// In a file, CSV or JSON lines.
    File(PathBuf),
    /// Here, in the same forms.
    Text(String),
}

/// What became of a table: a task for each row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batch {
    /// By the order of the rows; their numbers follow each other.
    pub tasks: Vec<TaskId>,
}

impl Runtime {
    /// Dispatches a task for each row, in their order; `{{column}}` in the template's title and body is filled in. All of
    /// them or none: also a program that is killed meanwhile leaves all or none.
    ///
    /// # Errors
    /// [`ControlError::Table`] when the table or the template is of no use, [`ControlError::NoPlaces`] when not as many may
    /// wait, [`ControlError::Row`] names a row that cannot become a task, and as [`Runtime::dispatch`].
    pub async fn batch(&self, session: &SessionId, template: &Brief, table: Table) -> Result<Batch, ControlError> {
        if let Some(there) = self.elsewhere()? {
            let order = Order::Batch { brief: Box::new(template.clone()), table, session: Some(session.clone()) };
            let batch = |done| if let Done::Batch(batch) = done { Some(batch) } else { None };
            return there.ask(order, batch).await.map_err(ControlError::Elsewhere);
        }
        let main = self.inner.mains().get(session).cloned();
        let main = main.ok_or_else(|| ControlError::NotOpen(session.clone()))?;
        let template = Brief { session: Some(session.to_string()), depth: 1, ..template.clone() };
        let filled = self.inner.site.on_disk(move || table.fill(&template));
        let briefs = filled.await.map_err(ControlError::Files)??;
        let patron = Patron { main, session: session.clone(), call: None };
        Ok(Batch { tasks: self.inner.door.batch(briefs, patron).await? })
    }
}

impl Table {
    /// A brief for each row. Waits for the disk when the rows are in a file.
    ///
    /// # Errors
    /// [`ControlError::Table`] names the file, the line or the column.
    pub fn fill(self, template: &Brief) -> Result<Vec<Brief>, ControlError> {
        let text = match self {
            Table::Text(text) => text,
            Table::File(path) => {
                read(&path).map_err(|why| ControlError::Table(format!("{}: {why}", path.display())))?
            }
        };
        let rows = Rows::read(&text).and_then(|rows| rows.fill(template));
        rows.map_err(|error| ControlError::Table(error.to_string()))
    }
}

/// One byte more than a table may have is enough to refuse it.
fn read(path: &Path) -> std::io::Result<String> {
    if !path.metadata()?.is_file() {
        return Err(std::io::Error::other("not a regular file"));
    }
    let mut text = String::new();
    File::open(path)?.take(MAX_TABLE as u64 + 1).read_to_string(&mut text)?;
    Ok(text)
}

impl fmt::Display for Batch {
    /// `50 tasks are dispatched: t_001 to t_050`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.tasks.as_slice() {
            [] => f.write_str("no task is dispatched"),
            [one] => write!(f, "one task is dispatched: {one}"),
            [first, .., last] => write!(f, "{} tasks are dispatched: {first} to {last}", self.tasks.len()),
        }
    }
}
