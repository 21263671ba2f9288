//! Commands: how they end, what is kept of their output, and that no process outlives its owner.

mod attempts;
mod environment;
mod escapes;
mod long;
mod ordinary;
mod output;
mod walls;
mod zoo;

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tillerman::sandbox::{self, Command, End, Environment, Finished, Limits, SandboxError, Tier, WallSettings, Walls};
use tillerman::secret::Secrets;
use tillerman::workspace::policy::Bounds;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::patience::{PATIENCE, StoppedClock, alone};

/// A folder to run in and a word that is in the environment of everything that runs there.
pub struct Ground {
    dir: TempDir,
    word: String,
    pub limits: Limits,
    pub cancel: CancellationToken,
    pub walls: Arc<Walls>,
}

/// Without a warden, and with one for every kind of walls.
pub const KINDS: [Option<Tier>; 4] = [None, Some(Tier::Open), Some(Tier::Full), Some(Tier::Landlock)];

impl Ground {
    pub fn new() -> Ground {
        Ground::within(None)
    }

    /// A folder that commands may write, and nothing else.
    pub fn within(tier: impl Into<Option<Tier>>) -> Ground {
        let dir = tempfile::tempdir().unwrap();
        let word = format!("zoo-{}", ulid::Ulid::generate());
        let bounds = Bounds { base: dir.path().into(), write: vec![dir.path().into()], ..Bounds::default() };
        let walls = tier.into().map_or_else(Walls::open, |tier| Walls::around(settings(bounds, tier)));
        Ground { dir, word, limits: Limits::default(), cancel: CancellationToken::new(), walls }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn command(&self, text: &str) -> Command {
        let environment = Environment::inherited().with("ZOO", &self.word);
        let spool = self.path("spool/all.txt");
        Command {
            text: text.into(),
            cwd: self.dir.path().into(),
            environment,
            spool,
            stdin: None,
            walls: Arc::clone(&self.walls),
            secrets: Secrets::default(),
        }
    }

    pub async fn run(&self, text: &str) -> Finished {
        self.try_run(text).await.unwrap()
    }

    pub async fn try_run(&self, text: &str) -> Result<Finished, SandboxError> {
        sandbox::run(&self.command(text), &self.limits, &self.cancel, &mut |_| {}).await
    }

    /// Command lines of living processes with our word in them or in their environment, whoever their parent is.
    pub fn alive(&self) -> Vec<String> {
        let mut alive = Vec::new();
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let at = entry.path();
            let environment = fs::read(at.join("environ")).unwrap_or_default();
            let stat = fs::read_to_string(at.join("stat")).unwrap_or_default();
            let dead = stat.rsplit(')').next().is_none_or(|rest| rest.trim_start().starts_with(['Z', 'X']));
            let line = fs::read(at.join("cmdline")).unwrap_or_default();
            let ours = |text: &[u8]| text.windows(self.word.len()).any(|part| part == self.word.as_bytes());
            if !dead && (ours(&environment) || ours(&line)) {
                alive.push(String::from_utf8_lossy(&line).replace('\0', " "));
            }
        }
        alive
    }

    /// Waits until so many processes run.
    pub async fn until_alive(&self, count: usize) {
        let began = Instant::now();
        while self.alive().len() < count {
            assert!(began.elapsed() < PATIENCE, "only {:?} came to life", self.alive());
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// Waits until nothing runs any more. Who has been killed is gone a moment later.
    pub async fn until_dead(&self) {
        let began = Instant::now();
        while !self.alive().is_empty() {
            assert!(began.elapsed() < PATIENCE, "survivors: {:?}", self.alive());
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

/// Walls of one kind, built by the program itself.
pub fn settings(bounds: Bounds, tier: Tier) -> WallSettings {
    WallSettings {
        program: Some(env!("CARGO_BIN_EXE_tillerman").into()),
        only: Some(tier),
        ..WallSettings::new(bounds)
    }
}

pub fn text(finished: &Finished) -> String {
    let output = &finished.output;
    String::from_utf8_lossy(&[output.head.as_slice(), output.tail.as_slice()].concat()).into_owned()
}

#[tokio::test]
async fn a_command_ends_with_its_code_and_both_outputs_in_order() {
    let ground = Ground::new();
    let finished = ground.run("echo one; echo two >&2; echo three; exit 3").await;
    assert_eq!((finished.end, text(&finished).as_str(), finished.left), (End::Exited(3), "one\ntwo\nthree\n", 0));
}

#[tokio::test]
async fn a_command_killed_by_a_signal_says_which() {
    assert_eq!(Ground::new().run("kill -9 $$").await.end, End::Signalled(9));
}

#[tokio::test]
async fn p09_p10_input_is_empty_and_there_is_no_terminal() {
    let ground = Ground::new();
    let finished = ground.run("cat; (read x < /dev/tty) 2>/dev/null || echo no terminal").await;
    assert_eq!((finished.end, text(&finished).as_str()), (End::Exited(0), "no terminal\n"));
}

#[tokio::test]
async fn a_command_reads_what_it_is_given() {
    let ground = Ground::new();
    let (reader, mut writer) = std::io::pipe().unwrap();
    std::io::Write::write_all(&mut writer, b"fed").unwrap();
    drop(writer);
    let command = Command { stdin: Some(Arc::new(reader.into())), ..ground.command("cat; echo .") };
    let finished = sandbox::run(&command, &ground.limits, &ground.cancel, &mut |_| {}).await.unwrap();
    assert_eq!(text(&finished), "fed.\n");
}

#[tokio::test(start_paused = true)]
async fn p17_a_time_limit_keeps_what_was_written() {
    let (ground, clock, begun) = (Ground::new(), StoppedClock::new(), Notify::new());
    let command = ground.command("echo begun; sleep 300; echo never");
    let mut show = |_: &str| begun.notify_one();
    let run = sandbox::run(&command, &ground.limits, &ground.cancel, &mut show);
    let (finished, ()) = tokio::join!(run, async {
        begun.notified().await;
        clock.pass(ground.limits.time).await;
    });
    let finished = finished.unwrap();
    assert_eq!((finished.end, text(&finished).as_str()), (End::TimedOut, "begun\n"));
}

#[tokio::test]
async fn p17_nothing_of_a_stopped_command_goes_on_to_its_next_line() {
    for _ in 0..20 {
        let mut ground = Ground::new();
        ground.limits.time = Duration::from_millis(20);
        let finished = ground.run("(sleep 300; echo inner); sh -c 'sleep 300; echo nested'; echo outer").await;
        assert_eq!((finished.end, text(&finished).as_str()), (End::TimedOut, ""));
    }
}

#[tokio::test]
async fn a_run_that_is_already_aborted_starts_nothing_that_stays() {
    let ground = Ground::new();
    ground.cancel.cancel();
    assert_eq!(ground.run("sleep 300").await.end, End::Aborted);
    ground.until_dead().await;
}

#[tokio::test]
async fn p19_what_cannot_start_says_why() {
    let ground = Ground::new();
    let error = ground.try_run(&format!("echo {}", "x".repeat(2_000_000))).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the command has 2000005 bytes, more than the system takes; write it to a script file and run that"
    );
    let error = ground.try_run("echo \0").await.unwrap_err();
    assert_eq!(error.to_string(), "the command contains a zero byte, which no shell can be given");
    let mut gone = ground.command("true");
    gone.cwd = ground.path("gone");
    let error = sandbox::run(&gone, &ground.limits, &ground.cancel, &mut |_| {}).await.unwrap_err();
    assert_eq!(error.to_string(), format!("cannot run in {}: the folder does not exist", gone.cwd.display()));
}

#[test]
fn p18_many_commands_leave_neither_zombies_nor_open_files() {
    alone("sandbox::p18_many_commands_leave_neither_zombies_nor_open_files", || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let ground = Ground::new();
            ground.run("true").await;
            let mine = || fs::read_dir("/proc/self/fd").unwrap().flatten().count();
            let before = mine();
            for _ in 0..50 {
                ground.run("true").await;
            }
            assert_eq!((mine(), zombies()), (before, 0));
            ground.until_dead().await;
        });
    });
}

/// Children of this process that have ended and that nobody has waited for.
fn zombies() -> usize {
    let parent = format!(" Z {} ", std::process::id());
    let stats = fs::read_dir("/proc").unwrap().flatten().map(|entry| fs::read_to_string(entry.path().join("stat")));
    stats.flatten().filter(|stat| stat.contains(&parent)).count()
}

#[tokio::test]
async fn p20_a_command_inherits_no_open_file_of_ours() {
    let ground = Ground::new();
    let _file = fs::File::create(ground.path("open")).unwrap();
    let finished = ground.run("ls -l /proc/self/fd | grep -c open || true").await;
    assert_eq!(text(&finished), "0\n");
}

#[tokio::test]
async fn a_command_is_understood_as_bash_does_where_there_is_bash() {
    let ground = Ground::new();
    if ["/bin/bash", "/usr/bin/bash"].iter().any(|bash| std::path::Path::new(bash).exists()) {
        let finished = ground.run("echo {a,b}; [[ x = x ]] && echo yes").await;
        assert_eq!(text(&finished), "a b\nyes\n");
        assert_eq!(text(&ground.run("source nothing-here").await).lines().count(), 1);
    }
    assert_eq!(text(&ground.run("pwd -P").await), format!("{}\n", ground.path("").canonicalize().unwrap().display()));
}
