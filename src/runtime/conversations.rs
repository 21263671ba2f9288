//! What people do with conversations besides talking, as calls of [`Runtime`]: name them, go back, go across, fork, look.
//! Only a summary asks a model. How a change is made while actors live is in `edit`.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::sleep;

use super::main_agent::MainMsg;
use super::{EditError, RunId, Runtime, SessionGone, title};
use crate::session::store::{Found, Search};
use crate::session::{Branch, EntryId, Outline, Page, Record, Session, SessionError, SessionId, Store, Summary, Turn};

/// Conversations that a search answers.
const FOUND: usize = 20;
/// How long a main agent that is at rest may take to close.
const CLOSE: Duration = Duration::from_secs(5);
/// How often it is looked whether its file is free.
const LET_GO: Duration = Duration::from_millis(10);

impl Runtime {
    /// Gives a conversation another title: one line of at most 60 characters. Answers how it is written.
    ///
    /// # Errors
    /// [`EditError::NoTitle`], [`EditError::Busy`], or the conversation cannot be written.
    pub async fn rename(&self, session: &SessionId, title: &str) -> Result<String, EditError> {
        let title = title::tidy(title).ok_or(EditError::NoTitle)?;
        self.edit(session, move |session| {
            session.append(Record::Title { title: title.clone() })?;
            Ok(title)
        })
        .await
    }

    /// Makes the conversation shorter now, however long it is, in a run of its own that the feed tells of. A model may be
    /// asked for a summary.
    ///
    /// # Errors
    /// [`EditError::Busy`], or it is not open.
    pub async fn compact(&self, session: &SessionId) -> Result<RunId, EditError> {
        self.ask(session, MainMsg::Shorten).await?
    }

    /// Says an entry again that was left out when the conversation was shortened. Answers the number that it has now.
    ///
    /// # Errors
    /// [`EditError::Busy`], there is no such entry, or it was not left out.
    pub async fn restore(&self, session: &SessionId, entry: &str) -> Result<u64, EditError> {
        let entry = entry.to_owned();
        self.edit(session, move |session| {
            let restored = session.restore(session.entry_named(&entry)?)?;
            Ok(session.number(restored).unwrap_or_default())
        })
        .await
    }

    /// Goes on behind an entry, named `m37` or by its id; what was said after it stays as another branch. Answers the
    /// entry's number.
    ///
    /// # Errors
    /// [`EditError::Busy`], or there is no such entry.
    pub async fn branch(&self, session: &SessionId, at: &str) -> Result<u64, EditError> {
        let at = at.to_owned();
        self.edit(session, move |session| {
            let entry = session.entry_named(&at)?;
            session.branch(entry)?;
            Ok(session.number(entry).unwrap_or_default())
        })
        .await
    }

    /// Goes to the end of the branch that an entry lies on. Answers the number of its last message.
    ///
    /// # Errors
    /// As [`Runtime::branch`].
    pub async fn switch(&self, session: &SessionId, to: &str) -> Result<u64, EditError> {
        let to = to.to_owned();
        self.edit(session, move |session| {
            let entry = session.entry_named(&to)?;
            let stands = session.switch(entry)?;
            Ok(session.number(stands).unwrap_or_default())
        })
        .await
    }

    /// Makes a new conversation out of this one up to an entry, without one up to where it stands. It is not opened.
    ///
    /// # Errors
    /// There is no such entry, nothing was said yet, or a file cannot be read or written.
    pub async fn fork(&self, session: &SessionId, at: Option<&str>) -> Result<SessionId, EditError> {
        if let Some(owner) = self.looking() {
            return Err(SessionGone::Looking(owner.clone()).into());
        }
        let (at, dir) = (at.map(str::to_owned), self.config().workspace.sessions());
        self.look(session, move |session| {
            let leaf = || session.leaf().ok_or_else(|| SessionError::NoSuchEntry { name: "m0".to_owned(), last: 0 });
            let at = named(session, at.as_deref())?.map_or_else(leaf, Ok)?;
            Ok(session.fork(at, &dir)?.id().clone())
        })
        .await
    }

    /// All branches of a conversation, the youngest last.
    ///
    /// # Errors
    /// It is not open, or its file cannot be read.
    pub async fn branches(&self, session: &SessionId) -> Result<Vec<Branch>, EditError> {
        self.look(session, Session::branches).await
    }

    /// The last lines of a person on the current branch, each with the place before it.
    ///
    /// # Errors
    /// As [`Runtime::branches`].
    pub async fn turns(&self, session: &SessionId, most: usize) -> Result<Vec<Turn>, EditError> {
        self.look(session, move |session| session.turns(most)).await
    }

    /// At most so many rows of a conversation's tree, the last of them of the entry that is named, or else of its end.
    ///
    /// # Errors
    /// As [`Runtime::branches`]; there is no such entry.
    pub async fn tree(&self, session: &SessionId, most: usize, up_to: Option<&str>) -> Result<Outline, EditError> {
        let up_to = up_to.map(str::to_owned);
        self.look(session, move |session| {
            let up_to = named(session, up_to.as_deref())?;
            session.outline(Page { most, up_to })
        })
        .await
    }

    /// The conversations of this workspace, the last written first.
    ///
    /// # Errors
    /// Their folder cannot be read.
    pub async fn sessions(&self) -> Result<Vec<Summary>, EditError> {
        let store = Store::new(self.config().workspace.sessions());
        self.inner.site.on_disk(move || store.list()).await.map_err(EditError::Lost)?.map_err(EditError::from)
    }

    /// The conversations in which all of these words are said, the last written first, at most 20 of them.
    ///
    /// # Errors
    /// [`EditError::NoWords`], or their folder cannot be read.
    pub async fn search(&self, words: &str) -> Result<Vec<Found>, EditError> {
        let search = Search::of(words).ok_or(EditError::NoWords)?;
        let store = Store::new(self.config().workspace.sessions());
        let look = move || {
            let mut found = Vec::new();
            let told = store.search(&search, &mut |more| {
                found.push(more);
                if found.len() < FOUND { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            });
            told.map(|_| found)
        };
        self.inner.site.on_disk(look).await.map_err(EditError::Lost)?.map_err(EditError::from)
    }

    /// Closes a conversation and puts it away; [`Runtime::sessions`] shows it no more.
    ///
    /// # Errors
    /// [`EditError::Busy`] while a run goes on, a line waits, or a task has not ended; or it cannot be moved.
    pub async fn archive(&self, session: &SessionId) -> Result<(), EditError> {
        self.edit(session, |_| Ok(())).await?;
        let is_busy = self.status(session).await.is_ok_and(|status| status.busy || status.queued > 0);
        if is_busy || self.tasks().await.iter().any(|task| !task.status.is_over()) {
            return Err(EditError::Busy);
        }
        let main = self.inner.mains().remove(session);
        if let Some(main) = main {
            // With it goes its session, and with that the lock of the file.
            let _ = main.stop_and_wait(None, Some(CLOSE)).await;
        }
        self.inner.site.yard.end(session).await;
        let began = Instant::now();
        loop {
            let (store, id) = (Store::new(self.config().workspace.sessions()), session.to_string());
            let put_away = self.inner.site.on_disk(move || store.archive(&id).map(drop)).await;
            match put_away.map_err(EditError::Lost)? {
                // What an actor held is let go of a moment after its end.
                Err(SessionError::Locked { .. }) if began.elapsed() < CLOSE => sleep(LET_GO).await,
                put_away => return Ok(put_away?),
            }
        }
    }

    /// Looks at a conversation: as it is in memory, or while a run or another process has it as it is on the disk.
    pub(super) async fn look<T: Send + 'static>(
        &self,
        session: &SessionId,
        look: impl Fn(&Session) -> Result<T, SessionError> + Send + Sync + 'static,
    ) -> Result<T, EditError> {
        let look = Arc::new(look);
        let here = Arc::clone(&look);
        match self.edit(session, move |session| Ok(here(session)?)).await {
            Err(EditError::Busy | EditError::Gone(SessionGone::Looking(_))) => {}
            looked => return looked,
        }
        let path = self.config().workspace.sessions().join(format!("{session}.jsonl"));
        let read = move || if path.is_file() { look(&Session::read(&path)?).map(Some) } else { Ok(None) };
        let read = self.inner.site.on_disk(read).await.map_err(EditError::Lost)?;
        // What leaves no file is seen when it is home again.
        read?.ok_or(EditError::Busy)
    }
}

fn named(session: &Session, name: Option<&str>) -> Result<Option<EntryId>, SessionError> {
    name.map(|name| session.entry_named(name)).transpose()
}
