//! Changes in task.md: what is read and written back is one step for everybody in this program. Another program changes
//! nothing: one at a time works in a workspace. A hand that saves in the same moment may lose, as with any editor.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::front::TaskFront;
use super::{Task, TaskDir, TaskError};
use crate::message::Budget;

/// Tasks whose numbers differ by it share a lock; no lock is ever waited for while another is held. No lock of the file
/// system: a worker can write in its directory, and could hold that for ever.
const LOCKS: usize = 64;

static HELD: [Mutex<()>; LOCKS] = [const { Mutex::new(()) }; LOCKS];

impl TaskDir {
    /// Does something for which task.md must stay as it is. Waits for the disk; must not change task.md itself.
    pub fn held<T>(&self, work: impl FnOnce() -> T) -> T {
        let _held = self.hold();
        work()
    }

    /// Changes the budget in task.md and nothing else in it, to what is made of the task as it is.
    ///
    /// # Errors
    /// What `change` says, and as [`TaskDir::set_status`].
    pub fn change_budget<E: From<TaskError>>(
        &self,
        change: impl FnOnce(&Task) -> Result<Budget, E>,
    ) -> Result<Budget, E> {
        let _held = self.hold();
        let budget = change(&self.task()?)?;
        self.rewrite(|front| front.budget = budget.value())?;
        Ok(budget)
    }

    pub(super) fn edit(&self, change: impl FnOnce(&mut TaskFront)) -> Result<(), TaskError> {
        let _held = self.hold();
        self.rewrite(change)
    }

    fn rewrite(&self, change: impl FnOnce(&mut TaskFront)) -> Result<(), TaskError> {
        let mut document = self.load::<TaskFront>("task.md")?;
        change(&mut document.front);
        self.put("task.md", &document.front, &document.body)
    }

    fn hold(&self) -> MutexGuard<'static, ()> {
        HELD[self.id().0 as usize % LOCKS].lock().unwrap_or_else(PoisonError::into_inner)
    }
}
