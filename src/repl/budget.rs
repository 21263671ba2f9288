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
        let told = match told {
            Ok(told) => told,
            Err(error) => return self.complain(error).await,
        };
        let mut lines = vec![format!("{} {}", told.task, told.balance)];
        if change.is_some() && self.ended_at_a_limit(told.task).await && told.balance.short().is_none() {
            lines.push(format!("/resume {0} goes on with it, /continue {0} TEXT with new words", told.task));
        }
        self.out.answer(lines).await;
    }

    async fn ended_at_a_limit(&self, task: TaskId) -> bool {
        self.runtime.tasks().await.iter().any(|row| row.id == task && row.status.is_limited())
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
