//! `/budget`: what a task or all of them may use, and what they have used. Who keeps count is the runtime's business.

use super::talk::Talk;
use crate::message::Change;
use crate::task::TaskId;

impl Talk<'_> {
    pub(super) async fn budget(&self, task: Option<TaskId>, change: Option<Change>) {
        let told = match (task, change) {
            (None, _) => return self.fleet().await,
            (Some(task), None) => self.runtime.budget_of(task).await,
            (Some(task), Some(change)) => self.runtime.budget(task, change).await,
        };
        match told {
            Ok(told) => self.out.answer([format!("{} {}", told.task, told.balance)]).await,
            Err(error) => self.complain(error).await,
        }
    }

    /// All tasks that are not over, and the day.
    async fn fleet(&self) {
        let fleet = self.runtime.fleet().await;
        let mut lines = Vec::new();
        for row in self.runtime.tasks().await.iter().filter(|row| !row.status.is_over()) {
            if let Ok(told) = self.runtime.budget_of(row.id).await {
                lines.push(format!("{} {}", row.id, told.balance));
            }
        }
        lines.push(format!("today {}", fleet));
        if !fleet.budget.is_unlimited() {
            lines.push(format!("left  {}; what running tasks may use is set aside", fleet.left()));
        }
        self.out.answer(lines).await;
    }
}
