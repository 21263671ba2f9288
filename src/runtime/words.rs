//! What people say to a main agent, as calls of [`Runtime`]. What it makes of it is its own business.

use super::main_agent::MainMsg;
use super::{RunId, Runtime, Said, SessionGone, Steered};
use crate::message::NoteKind;
use crate::model::scripted::recorded::Act;
use crate::session::SessionId;

impl Runtime {
    /// A line from a person. Answers at once; the run starts when those before it have ended.
    ///
    /// # Errors
    /// [`SessionGone`] when the session is not open, too many lines wait, the program is shutting down, or the line
    /// has pictures and the model sees none.
    pub async fn say(&self, session: &SessionId, said: impl Into<Said>) -> Result<RunId, SessionGone> {
        let mut said = said.into();
        self.inner.hush(&mut said.text);
        let models = &self.inner.site.config.models;
        let model = self.inner.site.model_of(Some(session.as_str()));
        if !said.images.is_empty() && !models.takes_images(&model) {
            return Err(SessionGone::TakesNoImages { model, others: models.with_eyes() });
        }
        self.inner.record("main", Act::Say, said.clone());
        self.ask(session, |reply| MainMsg::Say(said, reply)).await?
    }

    /// Words for the current run, heard after its running tools; a line of their own when nothing runs.
    ///
    /// # Errors
    /// As [`Runtime::say`].
    pub async fn steer_main(&self, session: &SessionId, mut text: String) -> Result<Steered, SessionGone> {
        self.inner.hush(&mut text);
        if let Some(there) = self.main_elsewhere()? {
            return there.say(session, text, false).await;
        }
        self.inner.record("main", Act::Steer, text.as_str());
        self.ask(session, |reply| MainMsg::Note(NoteKind::Steer, text, reply)).await?
    }

    /// Words for the current run, heard when it would end by itself; a line of their own when nothing runs.
    ///
    /// # Errors
    /// As [`Runtime::say`].
    pub async fn follow_up_main(&self, session: &SessionId, mut text: String) -> Result<Steered, SessionGone> {
        self.inner.hush(&mut text);
        if let Some(there) = self.main_elsewhere()? {
            return there.say(session, text, true).await;
        }
        self.inner.record("main", Act::FollowUp, text.as_str());
        self.ask(session, |reply| MainMsg::Note(NoteKind::FollowUp, text, reply)).await?
    }

    /// Ends the current run; lines that wait are kept, workers go on. Answers whether there was a run to end:
    /// one whose end is on its way is none.
    ///
    /// # Errors
    /// [`SessionGone::NotOpen`].
    pub async fn abort_main(&self, session: &SessionId) -> Result<bool, SessionGone> {
        if let Some(there) = self.main_elsewhere()? {
            return there.stop(session).await;
        }
        self.inner.record("main", Act::Abort, "");
        self.ask(session, MainMsg::Abort).await
    }
}
