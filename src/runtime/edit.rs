//! A change to a conversation that is at rest: it is taken away, changed and settled on the disk off its actor's thread,
//! and brought home. Meanwhile lines wait and no run begins. Which changes there are is in `conversations`.

use std::sync::Arc;
use std::time::Duration;

use ractor::ActorRef;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::busy::Token;
use super::conduct::Conversation;
use super::launch::launch;
use super::main_agent::MainMsg;
use super::site::Site;
use super::{Runtime, SessionGone};
use crate::session::{Session, SessionError, SessionId};

/// How long a change may take.
const DISK: Duration = Duration::from_secs(60);

/// What is done to a conversation. It is called in any case, also when nothing can be done.
pub(super) type Work = Box<dyn FnOnce(Result<&mut Session, EditError>) -> Answer + Send>;

/// Tells whoever asked, once it is on the disk or the disk has failed.
pub(super) type Answer = Box<dyn FnOnce(Option<SessionError>) + Send>;

/// Why a conversation was not changed. The text says what to do.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// A run or another change is going on.
    #[error("the agent is at work on this conversation; wait until it is done, or stop it first")]
    Busy,
    /// It is not open, or may not be changed from here.
    #[error(transparent)]
    Gone(#[from] SessionGone),
    /// The cause names the entry or the file.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// There is nothing to look for, or too much.
    #[error("say 1 to 16 words to look for")]
    NoWords,
    /// Nothing is left of the title when it is made one line.
    #[error("a title needs at least one letter")]
    NoTitle,
    /// The disk is silent. What was asked for may still be done.
    #[error("the disk did not answer within {0} s; look again before you repeat it")]
    Slow(u64),
    /// The file cannot be opened again, or a fault inside the program; the text says which.
    #[error("{0}")]
    Lost(String),
}

/// What comes home of a change.
pub(super) struct Edited {
    /// `None` after a fault; the conversation is then opened from its journal.
    pub(super) session: Option<Session>,
    pub(super) told: Told,
    _token: Token,
}

/// The answer, to be given when the conversation is home.
pub(super) struct Told(Option<(Answer, Option<SessionError>)>);

impl Told {
    pub(super) fn tell(self) {
        if let Some((answer, unsettled)) = self.0 {
            answer(unsettled);
        }
    }
}

/// Takes the conversation away and starts the change.
pub(super) fn begin(site: &Arc<Site>, home: &mut Conversation, myself: &ActorRef<MainMsg>, work: Work) {
    let (leave, token, site) = (home.leave(), site.busy.token(), Arc::clone(site));
    let change = async move {
        let mut session = match leave.fetch(&site).await {
            Ok(session) => session,
            Err(why) => {
                let told = Told(Some((work(Err(EditError::Lost(why))), None)));
                return Edited { session: None, told, _token: token };
            }
        };
        let changed = site.on_disk(move || {
            let answer = work(Ok(&mut session));
            (session, answer)
        });
        match changed.await {
            Ok((mut session, answer)) => {
                let unsettled = session.settle().await.err();
                Edited { session: Some(session), told: Told(Some((answer, unsettled))), _token: token }
            }
            Err(why) => {
                tracing::error!(%why, "a change to a conversation panicked");
                Edited { session: None, told: Told(None), _token: token }
            }
        }
    };
    let back = myself.clone();
    home.edited_by(launch(change, move |edited| {
        // A main agent that is gone needs no session back; its journal is on disk.
        let _ = back.cast(MainMsg::Edited(Box::new(edited)));
    }));
}

impl Runtime {
    /// Changes a conversation, if it is at rest.
    pub(super) async fn edit<T: Send + 'static>(
        &self,
        session: &SessionId,
        change: impl FnOnce(&mut Session) -> Result<T, EditError> + Send + 'static,
    ) -> Result<T, EditError> {
        let (tell, told) = oneshot::channel();
        let work: Work = Box::new(move |session| {
            let changed = session.and_then(change);
            Box::new(move |unsettled| {
                // Whoever asked may have stopped waiting; then an answer is for nobody.
                let _ = tell.send(unsettled.map_or(changed, |error| Err(error.into())));
            })
        });
        self.ask(session, |reply| MainMsg::Edit(work, reply)).await?;
        match timeout(DISK, told).await {
            Ok(Ok(changed)) => changed,
            Ok(Err(_)) => Err(EditError::Lost("the change was given up; try again".to_owned())),
            Err(_) => Err(EditError::Slow(DISK.as_secs())),
        }
    }
}
