//! A conversation: an append-only tree of entries, its leaf, and the messages from the root to the leaf. How a line
//! looks is in `log`, how a file of unknown state is read in `scan` and `load`, which sessions there are in `store`.

mod branches;
mod compaction;
mod error;
pub mod export;
mod facts;
pub mod fate;
pub mod flat;
pub mod follow;
mod fork;
mod glance;
mod history;
mod hushed;
mod id;
mod load;
mod log;
mod mailbox;
mod names;
mod outline;
mod record;
mod restore;
mod scan;
mod shape;
pub mod store;
mod title;
mod tree;

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tokio::task::JoinHandle;
use ulid::Ulid;

pub use self::branches::{Branch, Turn};
pub use self::compaction::{Carried, Compaction, Item, Wish};
pub use self::error::SessionError;
use self::facts::Facts;
pub use self::facts::Heard;
pub use self::history::{Excerpts, FOUND, Found, History, Hit};
pub use self::id::{EntryId, NoEntryId, SessionId};
use self::log::{Line, Log};
pub use self::mailbox::Mailbox;
pub use self::outline::{Outline, Page, Row};
pub use self::record::{End, Forked, Kind, Posted, Record};
pub use self::restore::Entry;
use self::scan::Scanned;
pub use self::store::{Place, Store, Summary};
use self::tree::{Context, Node, Tree};
pub use self::tree::{Origin, Reported};
use crate::message::{Bill, CallId, Message, NoteId, Usage};
use crate::secret::Secrets;

/// When written entries are forced to the disk. Entries survive the end of the process with any of them; this is about
/// the end of the machine's power.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    /// Before anything that builds on them happens: model calls, tool calls, the next turn.
    Always,
    /// Before tools start and before an answer to a new line begins; results while the model thinks about them.
    #[default]
    Turn,
    /// Whenever the system does it.
    Off,
}

/// A conversation that grows and never forgets.
///
/// Sole writer of its file: a second one is refused with [`SessionError::Locked`]. Every context it shows has all calls
/// answered, except between a reply with calls and the last of their results.
pub struct Session {
    id: SessionId,
    log: Log,
    tree: Tree,
    context: Context,
    facts: Facts,
    next_seq: u64,
    damage: Vec<String>,
    refusal: Option<Refusal>,
    durability: Durability,
    secrets: Secrets,
    /// Bytes were written that no sync has covered.
    dirty: bool,
    /// The file is new, so its folder must be forced to the disk too.
    fresh: bool,
    syncing: Option<JoinHandle<io::Result<()>>>,
}

/// Why a session takes no entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refusal {
    Reading,
    Newer(u32),
}

/// The program, with its version.
const PROGRAM: &str = concat!("tillerman ", env!("CARGO_PKG_VERSION"));

/// A name that no other session has, in order of time.
fn fresh_name() -> String {
    let unique = Ulid::generate().to_string().to_lowercase();
    let now = Timestamp::now();
    let unique: String = unique.chars().skip(20).collect();
    format!("{}-{:03}{unique}", now.strftime("%Y%m%d-%H%M%S"), now.subsec_millisecond())
}

impl Session {
    /// A session that ends with the process.
    pub fn in_memory() -> Session {
        let id = SessionId::new(&format!("memory-{}", Ulid::generate().to_string().to_lowercase()));
        Session::over(id, Log::in_memory(), Scanned::default())
    }

    /// A new session in a new file of the folder, named after the time.
    ///
    /// # Errors
    /// The folder cannot be made or written.
    pub fn create(dir: &Path) -> Result<Session, SessionError> {
        Session::create_named(&dir.join(format!("{}.jsonl", fresh_name())))
    }

    /// A new session in the file, whose name becomes its id.
    ///
    /// # Errors
    /// [`SessionError::Exists`], or the file cannot be made.
    pub fn create_named(path: &Path) -> Result<Session, SessionError> {
        let log = Log::create(path)?;
        let mut session = Session::over(SessionId::of(path), log, Scanned::default());
        session.begin()?;
        Ok(session)
    }

    /// Who it is.
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// Its file; `None` in memory.
    pub fn path(&self) -> Option<&Path> {
        self.log.path()
    }

    /// The entry that the next one follows; `None` before the first.
    pub fn leaf(&self) -> Option<EntryId> {
        self.tree.leaf().map(|leaf| leaf.id)
    }

    /// How many entries it has, on all branches.
    pub fn entries(&self) -> usize {
        self.tree.len()
    }

    /// The conversation up to the leaf. Messages that were shown once are shown again as the same `Arc`s.
    pub fn context(&self) -> &[Arc<Message>] {
        self.context.messages()
    }

    /// Where each message of [`Session::context`] comes from.
    pub fn origins(&self) -> &[Origin] {
        self.context.origins()
    }

    /// The compaction that the context begins with.
    pub fn compaction(&self) -> Option<&Compaction> {
        self.context.compaction()
    }

    /// What the model reported with the last reply, unless the context was shortened since.
    pub fn reported(&self) -> Option<&Reported> {
        self.context.reported()
    }

    /// Calls of the last reply that have no result yet, in order.
    pub fn open_calls(&self) -> &[CallId] {
        self.context.open_calls()
    }

    /// Tokens of all model calls of the session, on all branches.
    pub fn usage(&self) -> Usage {
        self.facts.bill.total().usage
    }

    /// All model calls of the session, on all branches, with those of earlier programs. Of calls that were written down
    /// without their cost the price is unknown.
    pub fn bill(&self) -> &Bill {
        &self.facts.bill
    }

    /// Its last title.
    pub fn title(&self) -> Option<&str> {
        self.facts.title.as_deref()
    }

    /// The id of the next note that somebody sends.
    pub fn next_note(&self) -> NoteId {
        self.facts.next_note
    }

    /// Says that ids before `next` were given to notes, heard or not.
    pub fn notes_given(&mut self, next: NoteId) {
        self.facts.next_note = self.facts.next_note.max(next);
    }

    /// The notes that were consumed, on all branches.
    pub fn heard(&self) -> &Heard {
        &self.facts.heard
    }

    /// Whether the report of that attempt of a task is in the conversation, on any branch.
    pub fn is_told(&self, task: &str, attempt: u32) -> bool {
        self.facts.is_told(task, attempt)
    }

    /// The attempt of its task that a worker began last; 0 before the first.
    pub fn attempt(&self) -> u32 {
        self.facts.attempt
    }

    /// How the last run ended; `None` while it goes on, or when its program died.
    pub fn end(&self) -> Option<&End> {
        self.facts.end.as_ref()
    }

    /// What was skipped, mended or set aside when it was opened, one sentence each.
    pub fn damage(&self) -> &[String] {
        &self.damage
    }

    /// The same session with another durability.
    pub fn with_durability(mut self, durability: Durability) -> Session {
        self.durability = durability;
        self
    }

    /// Writes an entry behind the leaf and makes it the leaf. It survives the end of the process from here on, and the
    /// end of the power from the next [`Session::settle`] on. Costs the same however long the session is.
    ///
    /// # Errors
    /// The entry would leave a call unanswered or answer none, the file cannot be written, or the session is for
    /// reading only. Nothing has changed then.
    pub fn append(&mut self, record: Record) -> Result<EntryId, SessionError> {
        self.check(&record)?;
        if let Some(title) = self.title_to_repeat(&record) {
            self.write(title)?;
        }
        self.write(record)
    }

    fn write(&mut self, record: Record) -> Result<EntryId, SessionError> {
        let record = record.hushed(&self.secrets);
        let id = EntryId::generate();
        let line = Line { seq: self.next_seq, id, parent: self.leaf(), record: &record }.encode()?;
        let span = self.log.append(&line).map_err(|source| match self.log.path() {
            Some(path) => SessionError::io("write", path, source),
            None => SessionError::io("write", Path::new("in memory"), source),
        })?;
        self.dirty = true;
        self.tree.grow(Node::new(id, self.next_seq, record.kind(), span).behind(self.tree.leaf_at()));
        self.next_seq += 1;
        self.facts.take(&record);
        self.context.push(id, &record);
        Ok(id)
    }

    /// Moves the leaf to an entry; what follows goes on from there, and nothing is deleted. Calls that are answered on
    /// another branch only are answered here as left behind.
    ///
    /// # Errors
    /// [`SessionError::NoEntry`], a call is open, or the file cannot be read or written.
    pub fn branch(&mut self, at: EntryId) -> Result<(), SessionError> {
        let to = self.tree.find(at).ok_or(SessionError::NoEntry(at))?;
        if let Some(call) = self.open_calls().first() {
            return Err(SessionError::Unanswered(call.clone()));
        }
        self.append(Record::Branch { to: at })?;
        self.tree.turn_to(to);
        self.load(load::LEFT_BEHIND)
    }

    /// Waits until everything written survives the end of the power, as far as the durability asks for it.
    ///
    /// # Errors
    /// The disk failed. It is not known then which of the entries since the last success it holds.
    pub async fn settle(&mut self) -> Result<(), SessionError> {
        if self.durability == Durability::Off {
            return Ok(());
        }
        self.join().await?;
        self.sync();
        self.join().await
    }

    /// Like [`Session::settle`], but with [`Durability::Turn`] the disk works while the caller goes on; the next wait
    /// says whether it failed.
    ///
    /// # Errors
    /// The disk failed, now or at an earlier time.
    pub async fn settle_meanwhile(&mut self) -> Result<(), SessionError> {
        match self.durability {
            Durability::Always => self.settle().await,
            Durability::Off => Ok(()),
            Durability::Turn => {
                self.join().await?;
                self.sync();
                Ok(())
            }
        }
    }

    /// Starts forcing what was written to the disk, on a thread that may wait.
    fn sync(&mut self) {
        let Some(file) = self.log.file().filter(|_| self.dirty) else { return };
        let file = Arc::clone(file);
        let folder = self.log.path().and_then(Path::parent).filter(|_| self.fresh).map(Path::to_owned);
        self.dirty = false;
        self.fresh = false;
        self.syncing = Some(tokio::task::spawn_blocking(move || {
            file.sync_data()?;
            folder.map_or(Ok(()), |folder| File::open(folder)?.sync_all())
        }));
    }

    async fn join(&mut self) -> Result<(), SessionError> {
        let Some(syncing) = self.syncing.as_mut() else { return Ok(()) };
        // Awaited in place: dropping this future forgets no sync that is under way.
        let done = syncing.await;
        self.syncing = None;
        let done = done.unwrap_or_else(|error| Err(io::Error::other(error)));
        done.map_err(|source| SessionError::io("force to the disk", self.log.path().unwrap_or(Path::new("")), source))
    }

    /// Writes the first entry of a file.
    fn begin(&mut self) -> Result<(), SessionError> {
        self.fresh = true;
        self.append(Record::Session { program: PROGRAM.to_owned(), from: None })?;
        Ok(())
    }

    fn check(&self, record: &Record) -> Result<(), SessionError> {
        match self.refusal {
            Some(Refusal::Reading) => return Err(SessionError::ReadOnly(self.id.clone())),
            Some(Refusal::Newer(version)) => {
                let path = self.log.path().unwrap_or(Path::new("")).to_owned();
                return Err(SessionError::Newer { path, version });
            }
            None => {}
        }
        let open = self.open_calls();
        match record {
            Record::ToolResult { message } => match message.results().find(|result| !open.contains(&result.call)) {
                Some(strange) => Err(SessionError::NoCall(strange.call.clone())),
                None => Ok(()),
            },
            Record::ToolStarted { call } if !open.contains(call) => Err(SessionError::NoCall(call.clone())),
            Record::User { .. }
            | Record::Report { .. }
            | Record::Note { .. }
            | Record::Reminder { .. }
            | Record::Restored { .. }
            | Record::Assistant { .. }
            | Record::Compaction(_) => open.first().map_or(Ok(()), |call| Err(SessionError::Unanswered(call.clone()))),
            Record::Session { .. }
            | Record::Discarded { .. }
            | Record::ToolStarted { .. }
            | Record::Dropped { .. }
            | Record::Posted(_)
            | Record::Attempt { .. }
            | Record::Branch { .. }
            | Record::Title { .. }
            | Record::Ended { .. } => Ok(()),
        }
    }

    /// A session over what was found in a log, without its conversation yet.
    fn over(id: SessionId, log: Log, scanned: Scanned) -> Session {
        let refusal = scanned.newer.map(Refusal::Newer);
        Session {
            id,
            log,
            context: Context::default(),
            facts: scanned.facts.with_first_note(),
            next_seq: scanned.next_seq,
            refusal,
            durability: Durability::default(),
            secrets: Secrets::default(),
            dirty: false,
            fresh: false,
            syncing: None,
            tree: scanned.tree,
            damage: scanned.damage,
        }
    }
}
