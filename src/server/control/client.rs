//! Asks whoever works in a workspace, from another process. Where nobody does, it says so and what to do.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::address;
use super::lines::Lines;
use super::wire::{self, Said};
use super::{LONGEST_ANSWER, LONGEST_REQUEST};
use crate::runtime::{Done, Envelope, Order, Remote};
use crate::workspace::Workspace;

/// How long an answer may take. Nothing there waits for a model, a tool or a run.
const PATIENCE: Duration = Duration::from_secs(60);

/// News that may wait to be read.
const WAITING: usize = 1024;

/// The way to the program that works in a workspace. Every order goes by a connection of its own.
#[derive(Debug, Clone)]
pub struct Client {
    root: PathBuf,
    state: PathBuf,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum Unanswered {
    /// Nobody listens.
    #[error("no tillerman works in {}, so there is nobody to do it; start one there: tillerman", root.display())]
    Nobody {
        /// The workspace.
        root: PathBuf,
    },
    /// The order was not done; the sentence says why.
    #[error("{0}")]
    Refused(String),
    /// The order is longer than orders may be; nothing was sent.
    #[error("that is {0} bytes long, and an order may have {LONGEST_REQUEST}; put it into a file and name that")]
    TooLong(usize),
    /// The connection broke; the order may have been done or not.
    #[error("the tillerman that works here did not answer ({0}); look at the task before you say it again")]
    Broken(String),
}

impl Client {
    /// To whoever works in this workspace, now or later.
    pub fn new(workspace: &Workspace) -> Client {
        Client { root: workspace.root().to_owned(), state: workspace.state().to_owned() }
    }

    /// Gives an order and waits for the answer, for a minute at most.
    ///
    /// # Errors
    /// [`Unanswered`] says whether anything was done.
    pub async fn order(&self, order: &Order) -> Result<Done, Unanswered> {
        let line = wire::order(order).map_err(Unanswered::Refused)?;
        if line.len() as u64 > LONGEST_REQUEST {
            return Err(Unanswered::TooLong(line.len()));
        }
        let stream = self.connect().await?;
        let answered = timeout(PATIENCE, ask(stream, &line)).await;
        match answered.unwrap_or_else(|_| Err(format!("not within {} s", PATIENCE.as_secs()))) {
            Ok(Said::Done(done)) => Ok(*done),
            Ok(Said::Error(why)) => Err(Unanswered::Refused(why)),
            Ok(Said::News(_) | Said::Missed) => Err(Unanswered::Broken("it told news instead".to_owned())),
            Err(why) => Err(Unanswered::Broken(why)),
        }
    }

    /// Everything that happens there from now on, until the program there ends or this is dropped.
    ///
    /// # Errors
    /// [`Unanswered::Nobody`].
    pub async fn feed(&self) -> Result<mpsc::Receiver<Envelope>, Unanswered> {
        let stream = self.connect().await?;
        let (told, heard) = mpsc::channel(WAITING);
        tokio::spawn(async move {
            tokio::select! {
                () = listen(stream, &told) => {}
                () = told.closed() => {}
            }
        });
        Ok(heard)
    }

    /// The same way for a program that only looks.
    pub fn remote(self) -> Remote {
        let (orders, news) = (self.clone(), self);
        Remote {
            order: Arc::new(move |order| {
                let client = orders.clone();
                Box::pin(async move { client.order(&order).await.map_err(|error| error.to_string()) })
            }),
            feed: Arc::new(move || {
                let client = news.clone();
                Box::pin(async move { client.feed().await.ok() })
            }),
        }
    }

    /// The workspace whose program is asked.
    pub fn root(&self) -> &Path {
        &self.root
    }

    async fn connect(&self) -> Result<UnixStream, Unanswered> {
        match address::connect(&self.state).await {
            Ok(stream) => Ok(stream),
            // Also a file that an ended process left.
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) => {
                Err(Unanswered::Nobody { root: self.root.clone() })
            }
            Err(error) => Err(Unanswered::Refused(format!("the tillerman that works here cannot be reached: {error}"))),
        }
    }
}

async fn ask(mut stream: UnixStream, line: &str) -> Result<Said, String> {
    // One that refuses may close before it has read the order; its answer says why.
    let sent = stream.write_all(line.as_bytes()).await;
    match Lines::new(stream, LONGEST_ANSWER).next().await {
        Ok(Some(line)) => wire::said(&line),
        Ok(None) => Err(sent.err().map_or_else(|| "it ended".to_owned(), |error| error.to_string())),
        Err(error) => Err(error.to_string()),
    }
}

async fn listen(mut stream: UnixStream, told: &mpsc::Sender<Envelope>) {
    if stream.write_all(wire::feed().as_bytes()).await.is_err() {
        return;
    }
    let mut lines = Lines::new(stream, LONGEST_ANSWER);
    while let Ok(Some(line)) = lines.next().await {
        if let Ok(Said::News(news)) = wire::said(&line)
            && told.send(*news).await.is_err()
        {
            return;
        }
    }
}
