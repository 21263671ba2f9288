//! A command within walls as its owner sees it: the wire to its first process. What is done with what is heard is not here.

use std::io;
use std::os::fd::AsFd as _;
use std::sync::Arc;

use tokio::io::AsyncReadExt as _;
use tokio::net::UnixStream;
use tokio::net::unix::pipe::Receiver;

use super::plan::{ASK, COUNT, KILL, Word};
use super::{Command, End, Limits, SandboxError, Walls, spawn};

/// A command within walls. Dropping it ends every process of it at once.
pub(super) struct Walled {
    wire: UnixStream,
    word: [u8; 12],
    got: usize,
    /// Nobody is left.
    pub(super) gone: bool,
}

impl Walled {
    pub(super) async fn start(command: &Command, limits: &Limits) -> Result<(Walled, Receiver), SandboxError> {
        let (pipe, writer) = spawn::pipe(command)?;
        if command.text.len() >= LONGEST {
            return Err(SandboxError::TooLong(command.text.len()));
        }
        let walls = &command.walls;
        let keeper = match walls.keeper() {
            Some(keeper) => keeper,
            None => keep(walls).await?,
        };
        let wire = match keeper.hand(command, limits, writer.as_fd()) {
            Ok(wire) => wire,
            // The warden is dead; who could have ended it can end another, so there is one more try only.
            Err(_) => {
                walls.give_up(&keeper);
                keep(walls).await?.hand(command, limits, writer.as_fd())?
            }
        };
        Ok((Walled { wire, word: [0; 12], got: 0, gone: false }, pipe))
    }

    /// How the shell ended and whether others may be left, once it has.
    pub(super) async fn ended(&mut self, command: &Command) -> Result<(End, bool), SandboxError> {
        let error = io::Error::from_raw_os_error;
        loop {
            return match self.hear().await {
                Some(Word::Exited(code, more)) => Ok((End::Exited(code), more)),
                Some(Word::Signalled(signal, more)) => Ok((End::Signalled(signal), more)),
                Some(Word::NoShell(number) | Word::NoFolder(number)) => Err(spawn::explain(error(number), command)),
                Some(Word::Left(_)) => continue,
                None => Err(SandboxError::Spawn(io::Error::other("its first process was killed"))),
            };
        }
    }

    /// Waits until nobody is left.
    pub(super) async fn over(&mut self) {
        while self.hear().await.is_some() {}
    }

    /// How many are left.
    pub(super) async fn count(&mut self) -> usize {
        self.tell(COUNT);
        loop {
            match self.hear().await {
                Some(Word::Left(count)) => return usize::try_from(count).unwrap_or_default(),
                Some(_) => {}
                None => return 0,
            }
        }
    }

    /// Asks everybody to end.
    pub(super) fn ask(&self) {
        self.tell(ASK);
    }

    /// Ends everybody.
    pub(super) fn kill(&self) {
        self.tell(KILL);
    }

    /// What is said next; `None` when nobody is left to say anything. Given up in between, nothing is lost.
    async fn hear(&mut self) -> Option<Word> {
        while self.got < self.word.len() {
            match self.wire.read(&mut self.word[self.got..]).await {
                Ok(0) | Err(_) => {
                    self.gone = true;
                    return None;
                }
                Ok(more) => self.got += more,
            }
        }
        self.got = 0;
        Word::read(self.word)
    }

    /// Who is gone already needs not be told.
    fn tell(&self, what: u8) {
        let _ = self.wire.try_write(&[what]);
    }
}

/// The longest argument of a program that the system takes, with the zero at its end.
const LONGEST: usize = 128 * 1024;

async fn keep(walls: &Arc<Walls>) -> Result<Arc<super::keeper::Keeper>, SandboxError> {
    let walls = Arc::clone(walls);
    let kept = tokio::task::spawn_blocking(move || walls.keep()).await;
    kept.map_err(|error| SandboxError::Spawn(io::Error::other(error)))?
}
