//! How long a test waits for what must come, whatever else the machine does meanwhile; and what must not share a process
//! or a clock with other tests. How quick things are is measured in `benches/`, not here.

use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;

/// Longest wait for anything. What is wrong takes far longer or never ends; a machine that stood still does not.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Set in the process of a test that runs [`alone`].
const ALONE: &str = "TILLERMAN_TEST_ALONE";

/// Does what may never return on a thread of its own, and fails when it does not.
pub fn within_patience<T: Send + 'static>(what: &str, work: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, result) = mpsc::channel();
    let thread = std::thread::spawn(move || done.send(work()));
    match result.recv_timeout(PATIENCE) {
        Ok(result) => result,
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("{what}: no end after {PATIENCE:?}"),
        Err(mpsc::RecvTimeoutError::Disconnected) => match thread.join() {
            Err(panic) => std::panic::resume_unwind(panic),
            Ok(_) => unreachable!("it ends with its result or with a panic"),
        },
    }
}

/// Runs the check of this test in a process where no other test runs: what it measures belongs to the whole process.
pub fn alone(test: &str, check: impl FnOnce()) {
    if std::env::var_os(ALONE).is_some() {
        return check();
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    let output = command.args(["--exact", test, "--nocapture"]).env(ALONE, "1").output().unwrap();
    let said = [output.stdout, output.stderr].map(|said| String::from_utf8_lossy(&said).into_owned()).concat();
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

/// The clock of a tokio runtime, standing still until it is moved by hand.
///
/// Paused time runs ahead whenever everybody waits, also for a process, but not while a blocking task is at work; so one
/// is, until this is dropped. For tests with `start_paused`.
pub struct StoppedClock {
    _at_work: mpsc::Sender<()>,
}

impl StoppedClock {
    pub fn new() -> StoppedClock {
        let (at_work, over) = mpsc::channel();
        tokio::task::spawn_blocking(move || over.recv());
        StoppedClock { _at_work: at_work }
    }

    /// Lets so much time pass at once; from then on it passes as it does.
    pub async fn pass(self, time: Duration) {
        tokio::time::advance(time).await;
        tokio::time::resume();
    }
}
