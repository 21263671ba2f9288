//! The inbox of a session on the disk: notes are there before their senders are told that they are, and they count as
//! waiting until the session's own journal says that they were heard. Who hears them when is the loop's business.

use std::collections::{BTreeSet, VecDeque};
use std::fs::File;
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::log::{Line, Log};
use super::record::{Posted, Record};
use super::scan::{self, Tail};
use super::{Durability, EntryId, Heard, SessionError};
use crate::message::NoteId;

/// Most notes that may wait to be written. The disk is far behind then, and a sender had better hear of it.
const MOST_UNWRITTEN: usize = 10_000;

/// The notes posted to one session. Cheap to clone; all clones are one inbox.
///
/// Posts that come while the disk is busy with others share the next write and the next sync. There must be one inbox of
/// a session at a time, in the program that has the session.
#[derive(Clone)]
pub struct Mailbox {
    shared: Arc<Shared>,
}

struct Shared {
    durability: Durability,
    /// `None` in memory.
    path: Option<PathBuf>,
    queue: Mutex<Queue>,
    /// Held by the thread that writes; never while the queue is.
    file: Mutex<Inbox>,
    /// The file is open only while it is used.
    rests: AtomicBool,
}

#[derive(Default)]
struct Queue {
    unwritten: VecDeque<Post>,
    /// A thread is at work and will take what comes.
    writing: bool,
}

struct Post {
    /// [`Record::Posted`], or [`Record::Dropped`] for what its sender takes back.
    record: Record,
    done: Box<dyn FnOnce(Result<(), SessionError>) + Send>,
}

/// The file, once there is one.
struct Inbox {
    log: Option<Log>,
    /// How long it was when it was closed.
    len: u64,
    next_seq: u64,
    next_note: NoteId,
    damage: Vec<String>,
    fresh: bool,
}

impl Mailbox {
    /// An inbox that ends with the process.
    pub fn in_memory() -> Mailbox {
        Mailbox::over(None, Durability::Off, Inbox { log: Some(Log::in_memory()), ..Inbox::none() })
    }

    /// The inbox of the session with that file, whether or not the session exists. Nothing is made before the first
    /// post. A torn end is set aside, damaged lines are passed over; see [`Mailbox::damage`].
    ///
    /// # Errors
    /// [`SessionError::Newer`], or the file cannot be read.
    pub fn of(session: &Path, durability: Durability) -> Result<Mailbox, SessionError> {
        let path = path_of(session);
        let inbox = if path.exists() { Inbox::open(&path)? } else { Inbox::none() };
        Ok(Mailbox::over(Some(path), durability, inbox))
    }

    fn over(path: Option<PathBuf>, durability: Durability, inbox: Inbox) -> Mailbox {
        let shared = Shared {
            durability,
            path,
            queue: Mutex::default(),
            file: Mutex::new(inbox),
            rests: AtomicBool::new(false),
        };
        Mailbox { shared: Arc::new(shared) }
    }

    /// The notes that were posted and neither heard, dropped nor taken back, oldest first.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn waiting(&self, heard: &Heard) -> Result<Vec<Posted>, SessionError> {
        let posted = self.posted()?;
        Ok(posted.into_iter().filter(|posted| !heard.contains(posted.note.id)).collect())
    }

    /// All notes that were ever posted here and not taken back, oldest first.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn posted(&self) -> Result<Vec<Posted>, SessionError> {
        let mut inbox = self.inbox();
        if inbox.len > 0 {
            inbox.pick_up(self.path())?;
        }
        let posted = self.read(&inbox);
        self.put_down(&mut inbox);
        posted
    }

    fn read(&self, inbox: &Inbox) -> Result<Vec<Posted>, SessionError> {
        let Some(log) = &inbox.log else { return Ok(Vec::new()) };
        let failed = |source| SessionError::io("read the inbox of", self.path(), source);
        let (mut posted, mut back) = (Vec::new(), BTreeSet::new());
        for span in log.spans().map_err(failed)? {
            let line = log.read(span).map_err(failed)?;
            // What makes no sense was named when the file was opened.
            match serde_json::from_slice(&line) {
                Ok(Record::Posted(note)) => posted.push(note),
                Ok(Record::Dropped { notes, .. }) => back.extend(notes),
                Ok(_) | Err(_) => {}
            }
        }
        posted.retain(|posted: &Posted| !back.contains(&posted.note.id));
        Ok(posted)
    }

    /// Keeps the file open only while it is used, or always again: who rests for long shall hold nothing. Does not wait; a
    /// file that is just being written is closed after that.
    pub fn rest(&self, rests: bool) {
        self.shared.rests.store(rests, Ordering::SeqCst);
        if let Ok(mut inbox) = self.shared.file.try_lock() {
            self.put_down(&mut inbox);
        }
    }

    fn put_down(&self, inbox: &mut Inbox) {
        if self.shared.rests.load(Ordering::SeqCst) {
            inbox.put_down();
        }
    }

    /// The lowest id that no note here has.
    pub fn next_note(&self) -> NoteId {
        self.inbox().next_note
    }

    /// What was skipped or set aside when it was opened, one sentence each.
    pub fn damage(&self) -> Vec<String> {
        self.inbox().damage.clone()
    }

    /// Writes a note down and calls `done` when it survives the end of the power, as far as the durability asks for
    /// it; or with the reason why it does not: then it is as if it had never been posted. The calls come in the order
    /// of the posts, from a thread that may wait. Must be called inside a tokio runtime; does not wait itself.
    pub fn post(&self, posted: Posted, done: impl FnOnce(Result<(), SessionError>) + Send + 'static) {
        self.write_down(Record::Posted(posted), done);
    }

    /// Writes down that a note is taken back, and tells so likewise: from then on it never was. To be called when nobody
    /// can hear it any more.
    pub fn take_back(&self, note: NoteId, done: impl FnOnce(Result<(), SessionError>) + Send + 'static) {
        let why = "taken back before it was seen".to_owned();
        self.write_down(Record::Dropped { notes: vec![note], why }, done);
    }

    fn write_down(&self, record: Record, done: impl FnOnce(Result<(), SessionError>) + Send + 'static) {
        let mut queue = self.queue();
        if queue.unwritten.len() >= MOST_UNWRITTEN {
            drop(queue);
            return done(Err(SessionError::InboxFull(MOST_UNWRITTEN)));
        }
        queue.unwritten.push_back(Post { record, done: Box::new(done) });
        if !mem::replace(&mut queue.writing, true) {
            let mailbox = self.clone();
            tokio::task::spawn_blocking(move || mailbox.write_all());
        }
    }

    /// Writes until nothing is left to write.
    fn write_all(&self) {
        loop {
            let batch = {
                let mut queue = self.queue();
                if queue.unwritten.is_empty() {
                    queue.writing = false;
                    return;
                }
                mem::take(&mut queue.unwritten)
            };
            let (records, calls): (Vec<Record>, Vec<_>) =
                batch.into_iter().map(|post| (post.record, post.done)).unzip();
            let written = self.write(&records).map_err(Arc::new);
            for done in calls {
                done(written.clone().map_err(SessionError::Unposted));
            }
        }
    }

    fn write(&self, records: &[Record]) -> Result<(), SessionError> {
        let mut inbox = self.inbox();
        inbox.pick_up(self.path())?;
        let written = inbox.append(records, self.path(), self.shared.durability);
        self.put_down(&mut inbox);
        written
    }

    fn path(&self) -> &Path {
        self.shared.path.as_deref().unwrap_or(Path::new("in memory"))
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.shared.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn inbox(&self) -> MutexGuard<'_, Inbox> {
        self.shared.file.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inbox {
    fn none() -> Inbox {
        Inbox { log: None, len: 0, next_seq: 0, next_note: NoteId(1), damage: Vec::new(), fresh: false }
    }

    fn open(path: &Path) -> Result<Inbox, SessionError> {
        let mut log = Log::beside(path)?;
        let Some(file) = log.file() else { return Ok(Inbox::none()) };
        let mut scanned = scan::scan(file).map_err(|source| SessionError::io("read the inbox of", path, source))?;
        if let Some(version) = scanned.newer {
            return Err(SessionError::Newer { path: path.to_owned(), version });
        }
        log.whole_up_to(scanned.whole);
        match mem::take(&mut scanned.tail) {
            Tail::Clean => {}
            Tail::Unended(len) => {
                log.whole_up_to(scanned.whole + len as u64);
                log.append(b"\n").map_err(|source| SessionError::io("write the inbox of", path, source))?;
            }
            Tail::Torn(tail) => {
                let aside = log.set_torn_aside(&tail)?;
                scanned.damage.push(format!("the torn end of {} bytes was moved to {}", tail.len(), aside.display()));
            }
        }
        let next_note = scanned.facts.with_first_note().next_note;
        let (next_seq, damage) = (scanned.next_seq, scanned.damage);
        Ok(Inbox { log: Some(log), len: 0, next_seq, next_note, damage, fresh: false })
    }

    /// Closes the file; one in memory is all there is of it.
    fn put_down(&mut self) {
        if let Some(log) = self.log.take_if(|log| log.file().is_some()) {
            self.len = log.len();
        }
    }

    /// Opens the file, if need be where it was closed; one that is not as it was is read anew.
    fn pick_up(&mut self, path: &Path) -> Result<(), SessionError> {
        if self.log.is_some() {
            return Ok(());
        }
        let len = mem::take(&mut self.len);
        let mut log = Log::beside(path)?;
        let found = log.file().and_then(|file| file.metadata().ok()).map(|meta| meta.len());
        if found == Some(len) {
            log.whole_up_to(len);
            (self.log, self.fresh) = (Some(log), len == 0);
        } else {
            let next_note = self.next_note;
            *self = Inbox::open(path)?;
            self.next_note = self.next_note.max(next_note);
        }
        Ok(())
    }

    /// All of them or, when the disk refuses, none.
    fn append(&mut self, records: &[Record], path: &Path, durability: Durability) -> Result<(), SessionError> {
        let Some(log) = &mut self.log else { return Ok(()) };
        let (mut bytes, mut seq, mut next) = (Vec::new(), self.next_seq, self.next_note);
        for record in records {
            if let Record::Posted(posted) = record {
                next = next.max(NoteId(posted.note.id.0.saturating_add(1)));
            }
            bytes.extend(Line { seq, id: EntryId::generate(), parent: None, record }.encode()?);
            seq += 1;
        }
        let before = log.len();
        let failed = |source| SessionError::io("write the inbox of", path, source);
        log.append(&bytes).map_err(failed)?;
        if let Err(source) = synced(log, path, durability, mem::take(&mut self.fresh)) {
            // Nobody is told that they were posted, so nobody may ever hear them.
            log.cut_back(before);
            return Err(SessionError::io("force to the disk the inbox of", path, source));
        }
        (self.next_seq, self.next_note) = (seq, next);
        Ok(())
    }
}

fn synced(log: &Log, path: &Path, durability: Durability, fresh: bool) -> std::io::Result<()> {
    let Some(file) = log.file().filter(|_| durability != Durability::Off) else { return Ok(()) };
    file.sync_data()?;
    match path.parent().filter(|_| fresh) {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

/// The inbox's file, beside the session's: `x.jsonl` has `x.inbox.jsonl`.
pub(super) fn path_of(session: &Path) -> PathBuf {
    session.with_extension("inbox.jsonl")
}
