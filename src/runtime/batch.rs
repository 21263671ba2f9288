//! One task for each row of a table. What a table is, and how a template is filled, is in `task`.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::{ControlError, Runtime};
use crate::session::SessionId;
use crate::task::{Brief, MAX_TABLE, Rows, TaskId};

/// Where rows are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Table {
    /// In a file, CSV or JSON lines.
    File(PathBuf),
    /// Here, in the same forms.
    Text(String),
}

/// What became of a table: a task for each row, or for the first ones and the reason why no more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// By the order of the rows.
    pub tasks: Vec<TaskId>,
    /// How many rows there are.
    pub rows: usize,
    /// Why some have no task.
    pub stopped: Option<ControlError>,
}

impl Runtime {
    /// Dispatches a task for each row, in their order; `{{column}}` in the template's title and body is filled in.
    ///
    /// # Errors
    /// [`ControlError::Table`] when the table or the template is of no use; then there is no task.
    pub async fn batch(&self, session: &SessionId, template: &Brief, table: Table) -> Result<Batch, ControlError> {
        let (site, template) = (self.inner.site.clone(), template.clone());
        let briefs = site.on_disk(move || table.fill(&template)).await.map_err(ControlError::Files)??;
        let mut batch = Batch { tasks: Vec::new(), rows: briefs.len(), stopped: None };
        for brief in briefs {
            match self.dispatch(session, brief).await {
                Ok(task) => batch.tasks.push(task),
                Err(why) => {
                    batch.stopped = Some(why);
                    break;
                }
            }
        }
        Ok(batch)
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
        let Batch { tasks, rows, .. } = self;
        match tasks.as_slice() {
            [] => write!(f, "no task is dispatched of {rows}"),
            [one] if *rows == 1 => write!(f, "one task is dispatched: {one}"),
            [first, .., last] if tasks.len() == *rows => write!(f, "{rows} tasks are dispatched: {first} to {last}"),
            [first, ..] => {
                let last = tasks.last().unwrap_or(first);
                write!(f, "{} of {rows} tasks are dispatched: {first} to {last}", tasks.len())
            }
        }
    }
}
