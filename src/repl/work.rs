//! Work that a person hands to workers at the prompt: a task, a table of tasks, another attempt at one.

use super::talk::Talk;
use crate::message::Approval;
use crate::runtime::Table;
use crate::task::{Brief, TaskId};

impl Talk<'_> {
    pub(super) async fn resume(&mut self, task: TaskId, text: Option<String>) {
        let resumed = match text {
            None => self.runtime.resume(task, &self.session).await,
            Some(text) => self.runtime.go_on(task, text, &self.session).await,
        };
        match resumed {
            Ok(resumed) => {
                let whom = match &resumed.gone {
                    Some(gone) => format!(" for this conversation: {gone} is gone"),
                    None if resumed.session != self.session => format!(" for conversation {}", resumed.session),
                    None => String::new(),
                };
                self.acknowledge(&format!("{task} goes on, attempt {}{whom}", resumed.attempt)).await;
            }
            Err(error) => self.complain(error).await,
        }
    }

    pub(super) async fn dispatch(&mut self, body: String, approval: Option<Approval>) {
        match self.runtime.dispatch(&self.session, Brief { body, approval, ..Brief::default() }).await {
            Ok(task) => self.acknowledge(&format!("{task} is dispatched")).await,
            Err(error) => self.complain(error).await,
        }
    }

    pub(super) async fn batch(&mut self, file: &str, body: String) {
        let table = Table::File(self.root.join(file));
        match self.runtime.batch(&self.session, &Brief { body, ..Brief::default() }, table).await {
            Ok(made) => self.acknowledge(&made.to_string()).await,
            Err(error) => self.complain(error).await,
        }
    }
}
