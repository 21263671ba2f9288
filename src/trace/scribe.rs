//! The thread that writes. Lines go in without waiting; what does not fit is refused, so that a slow disk slows no run.

use std::collections::{HashMap, HashSet};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

/// Most bytes that wait to be written; more is refused, endings excepted.
pub const BACKLOG: usize = 8 * 1024 * 1024;

/// Most files held open; one more closes all others.
const OPEN_FILES: usize = 64;

/// How long the end of the program waits for the last lines; in steps, of which a program that stands still loses one.
const PATIENCE: Duration = Duration::from_secs(2);
const STEPS: u32 = 20;

/// Writes the lines of all runs, each file in order, on one thread of its own.
///
/// Cheap to clone. Lines reach their files as soon as nothing more is waiting; when the last clone is dropped, and
/// with it every observer made from it, what is still waiting is written first (for at most two seconds). A file that
/// cannot be written is reported once as a warning and then left alone. Files are made with mode 0600.
#[derive(Clone)]
pub struct Scribe {
    desk: Arc<Desk>,
}

struct Desk {
    orders: Option<mpsc::Sender<Order>>,
    waiting: Arc<AtomicUsize>,
    done: Mutex<mpsc::Receiver<()>>,
}

enum Order {
    Line(Arc<Path>, String),
    Flush(mpsc::Sender<()>),
}

impl Scribe {
    /// Starts the thread.
    pub fn start() -> Scribe {
        let (orders, inbox) = mpsc::channel();
        let (done_sender, done) = mpsc::channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&waiting);
        let spawned = thread::Builder::new().name("trace".into()).spawn(move || {
            Writer::default().work(&inbox, &counter);
            drop(done_sender);
        });
        if let Err(error) = spawned {
            tracing::warn!(%error, "no traces and no run logs: their thread does not start");
        }
        Scribe { desk: Arc::new(Desk { orders: Some(orders), waiting, done: Mutex::new(done) }) }
    }

    /// Waits until everything handed over before is in its file; `false` if that takes over two seconds.
    pub fn flush(&self) -> bool {
        let (written, all_written) = mpsc::channel();
        let sent = self.desk.orders.as_ref().is_some_and(|orders| orders.send(Order::Flush(written)).is_ok());
        sent && wait(&all_written).is_ok()
    }

    /// Takes a line that may be refused when too much waits; `false` then.
    pub(super) fn offer(&self, path: &Arc<Path>, line: String) -> bool {
        let fits = self.desk.waiting.load(Ordering::Relaxed) + line.len() <= BACKLOG;
        fits && self.insist(path, line)
    }

    /// Takes a line however much waits: for endings, of which each run has few.
    pub(super) fn insist(&self, path: &Arc<Path>, line: String) -> bool {
        self.desk.waiting.fetch_add(line.len(), Ordering::Relaxed);
        let order = Order::Line(Arc::clone(path), line);
        self.desk.orders.as_ref().is_some_and(|orders| orders.send(order).is_ok())
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        self.orders = None;
        // Ends at once with `Disconnected` when the thread is done or never ran.
        let _ = wait(self.done.get_mut().unwrap_or_else(PoisonError::into_inner));
    }
}

fn wait(word: &mpsc::Receiver<()>) -> Result<(), mpsc::RecvTimeoutError> {
    let steps = (0..STEPS).map(|_| word.recv_timeout(PATIENCE / STEPS));
    let mut ends = steps.filter(|told| *told != Err(mpsc::RecvTimeoutError::Timeout));
    ends.next().unwrap_or(Err(mpsc::RecvTimeoutError::Timeout))
}

/// The files as the thread knows them.
#[derive(Default)]
struct Writer {
    open: HashMap<Arc<Path>, BufWriter<File>>,
    failed: HashSet<Arc<Path>>,
}

impl Writer {
    fn work(&mut self, inbox: &mpsc::Receiver<Order>, waiting: &AtomicUsize) {
        loop {
            let order = match inbox.try_recv() {
                Ok(order) => order,
                Err(_) => {
                    self.flush();
                    match inbox.recv() {
                        Ok(order) => order,
                        Err(mpsc::RecvError) => return,
                    }
                }
            };
            match order {
                Order::Line(path, line) => {
                    self.write(&path, &line);
                    waiting.fetch_sub(line.len(), Ordering::Relaxed);
                }
                Order::Flush(written) => {
                    self.flush();
                    // Whoever asked may have lost patience.
                    let _ = written.send(());
                }
            }
        }
    }

    fn write(&mut self, path: &Arc<Path>, line: &str) {
        if self.failed.contains(path) {
            return;
        }
        if let Err(error) = self.file(path).and_then(|file| file.write_all(line.as_bytes())) {
            self.give_up(path, &error);
        }
    }

    fn file(&mut self, path: &Arc<Path>) -> io::Result<&mut BufWriter<File>> {
        if !self.open.contains_key(path) {
            if self.open.len() >= OPEN_FILES {
                self.flush();
                self.open.clear();
            }
            self.open.insert(Arc::clone(path), BufWriter::new(append(path)?));
        }
        self.open.get_mut(path).ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    }

    fn flush(&mut self) {
        let failed: Vec<_> = self
            .open
            .iter_mut()
            .filter_map(|(path, file)| file.flush().err().map(|error| (Arc::clone(path), error)))
            .collect();
        for (path, error) in failed {
            self.give_up(&path, &error);
        }
    }

    fn give_up(&mut self, path: &Arc<Path>, error: &io::Error) {
        tracing::warn!(path = %path.display(), %error, "cannot write this trace or log; runs go on without it");
        if let Some(file) = self.open.remove(path) {
            // Its buffer must not be tried again on drop.
            let _ = file.into_parts();
        }
        self.failed.insert(Arc::clone(path));
    }
}

fn append(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    OpenOptions::new().append(true).create(true).mode(0o600).open(path)
}
