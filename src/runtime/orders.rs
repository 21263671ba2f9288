//! What people order of the crew, as calls of [`Runtime`]. How the crew goes about it is its own business.

use super::mail::{Letter, PERSON};
use super::roster::Patron;
use super::{ControlError, Done, Order, Runtime, TaskDetail, TaskRow};
use crate::message::{NoteId, NoteKind};
use crate::model::scripted::recorded::Act;
use crate::session::SessionId;
use crate::task::{Brief, TaskId};

impl Runtime {
    /// Hands work to a worker, or queues it; the session's main agent is told when it ends.
    ///
    /// # Errors
    /// [`ControlError`] says what stands in the way.
    pub async fn dispatch(&self, session: &SessionId, mut brief: Brief) -> Result<TaskId, ControlError> {
        [&mut brief.title, &mut brief.body].into_iter().for_each(|text| self.inner.hush(text));
        if let Some(there) = self.elsewhere()? {
            let order = Order::Dispatch { brief: Box::new(brief), session: Some(session.clone()) };
            let task = |done| if let Done::Dispatched { task } = done { Some(task) } else { None };
            return there.ask(order, task).await.map_err(ControlError::Elsewhere);
        }
        let main = self.inner.mains().get(session).cloned();
        let main = main.ok_or_else(|| ControlError::NotOpen(session.clone()))?;
        let brief = Brief { session: Some(session.to_string()), depth: 1, parent: None, ..brief };
        let patron = Patron { main, session: session.clone(), call: None };
        self.inner.door.dispatch(brief, patron).await
    }

    /// Words for a worker, heard after its running tools; one that waits hears them when it starts.
    ///
    /// # Errors
    /// [`ControlError::NoSuchTask`], [`ControlError::AlreadyEnded`], [`ControlError::NotesFull`].
    pub async fn steer(&self, task: TaskId, mut text: String) -> Result<NoteId, ControlError> {
        self.inner.hush(&mut text);
        if let Some(there) = self.elsewhere()? {
            return there.note(Order::Steer { task, text }).await;
        }
        self.inner.record(&task.to_string(), Act::Steer, text.as_str());
        self.inner.door.note(task, Letter { kind: NoteKind::Steer, text, from: PERSON.to_owned() }).await
    }

    /// Words for a worker, heard when it would end by itself.
    ///
    /// # Errors
    /// As [`Runtime::steer`].
    pub async fn follow_up(&self, task: TaskId, mut text: String) -> Result<NoteId, ControlError> {
        self.inner.hush(&mut text);
        if let Some(there) = self.elsewhere()? {
            return there.note(Order::FollowUp { task, text }).await;
        }
        self.inner.record(&task.to_string(), Act::FollowUp, text.as_str());
        self.inner.door.note(task, Letter { kind: NoteKind::FollowUp, text, from: PERSON.to_owned() }).await
    }

    /// Ends a task, running or waiting. Answers when the order is given; the feed tells when it is over.
    ///
    /// # Errors
    /// [`ControlError::NoSuchTask`], [`ControlError::AlreadyEnded`].
    pub async fn abort(&self, task: TaskId) -> Result<(), ControlError> {
        if let Some(there) = self.elsewhere()? {
            let ordered = |done| matches!(done, Done::Ordered).then_some(());
            return there.ask(Order::Abort { task }, ordered).await.map_err(ControlError::Elsewhere);
        }
        self.inner.record(&task.to_string(), Act::Abort, "");
        self.inner.door.abort(task).await
    }

    /// All tasks of the workspace, by number; those whose files a hand has broken are left out.
    pub async fn tasks(&self) -> Vec<TaskRow> {
        let rows = |done| if let Done::Tasks { rows } = done { Some(rows) } else { None };
        // Where nobody answers there, the files do.
        if let Ok(Some(there)) = self.elsewhere()
            && let Ok(rows) = there.ask(Order::Tasks, rows).await
        {
            return rows;
        }
        self.inner.door.rows().await.unwrap_or_else(|error| {
            tracing::warn!(%error, "the tasks cannot be listed");
            Vec::new()
        })
    }

    /// Everything about one task.
    ///
    /// # Errors
    /// [`ControlError::NoSuchTask`]; [`ControlError::Files`] names the file, line and column that cannot be read.
    pub async fn task(&self, task: TaskId) -> Result<TaskDetail, ControlError> {
        let detail = |done| if let Done::Task { detail } = done { Some(*detail) } else { None };
        if let Ok(Some(there)) = self.elsewhere()
            && let Ok(detail) = there.ask(Order::Task { task }, detail).await
        {
            return Ok(detail);
        }
        self.inner.door.detail(task).await
    }
}
