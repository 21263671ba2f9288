//! A workspace and a home in which the real program is run, killed and run again, and what it said to whom. What must
//! hold of its files is in `after`.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use super::tracer::{self, STOPPED, Strike, Trace};
use crate::patience::PATIENCE;

/// The program under test.
pub const BINARY: &str = env!("CARGO_BIN_EXE_tillerman");

/// Two folders, and a file for what was said.
pub struct Scene {
    root: PathBuf,
    _dir: Option<TempDir>,
}

/// How the program is started.
#[derive(Debug, Clone, Copy)]
pub struct Play<'a> {
    pub args: &'a [&'a str],
    /// What a person types, each line after this text was on the screen.
    pub types: &'static [(&'static str, &'static str)],
}

impl<'a> Play<'a> {
    pub const fn of(args: &'a [&'a str]) -> Play<'a> {
        Play { args, types: &[] }
    }
}

/// How a run of the program ended, and what it said.
#[derive(Debug)]
pub struct Said {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Said {
    /// Its JSON lines; the last one may have been torn by a kill.
    pub fn lines(&self) -> Vec<Value> {
        let whole = self.out.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        whole.filter_map(|line| serde_json::from_str(line).ok()).collect()
    }
}

impl Scene {
    /// In memory where that is possible: what a kill can do does not depend on the disk.
    pub fn new() -> Scene {
        let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let mut scene = Scene::at(dir.path());
        scene._dir = Some(dir);
        scene
    }

    /// On a disk, which takes its time.
    pub fn on_disk() -> Scene {
        let dir = tempfile::tempdir().unwrap();
        let mut scene = Scene::at(dir.path());
        scene._dir = Some(dir);
        scene
    }

    /// In a folder that somebody else owns.
    pub fn at(root: &Path) -> Scene {
        let scene = Scene { root: root.to_owned(), _dir: None };
        fs::create_dir_all(scene.work()).unwrap();
        fs::create_dir_all(scene.home()).unwrap();
        scene
    }

    pub fn work(&self) -> PathBuf {
        self.root.join("work")
    }

    pub fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    /// Where the workspace's sessions are.
    pub fn sessions(&self) -> PathBuf {
        let found = fs::read_dir(self.home().join("workspaces")).ok().and_then(|mut all| all.next()?.ok());
        found.map_or_else(|| self.home().join("workspaces/none"), |found| found.path()).join("sessions")
    }

    /// Files whose state must be right at any moment. What is only told along the way is not among them.
    fn is_ours(&self, path: &Path) -> bool {
        let below = path.strip_prefix(&self.root).ok();
        below.is_some_and(|path| {
            !path.components().any(|part| matches!(part.as_os_str().to_str(), Some("logs" | "traces" | "said")))
        })
    }

    fn dressed(&self, mut command: Command, said: &Path) -> Command {
        fs::create_dir_all(said).unwrap();
        command.current_dir(self.work()).env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.home()).env("TILLERMAN_HOME", self.home()).env("TERM", "dumb");
        command.env("TILLERMAN_OFFLINE", "1").stdin(Stdio::null());
        command.stdout(File::create(said.join("out")).unwrap()).stderr(File::create(said.join("err")).unwrap());
        command
    }

    fn said(&self) -> PathBuf {
        self.root.join("said")
    }

    fn told(&self, code: Option<i32>) -> Said {
        let text = |name| String::from_utf8_lossy(&fs::read(self.said().join(name)).unwrap_or_default()).into_owned();
        Said { code, out: text("out"), err: text("err") }
    }

    /// Runs a play and strikes at one of its calls.
    pub fn struck(&self, play: Play<'_>, strike: Strike) -> (Said, Trace) {
        let mut command = Command::new("sh");
        command.args(["-c", STOPPED, BINARY]).args(play.args);
        let mut command = self.dressed(command, &self.said());
        self.typist(&mut command, play);
        let trace = tracer::trace(&mut command, &|path| self.is_ours(path), strike);
        (self.told(trace.code), trace)
    }

    /// Runs it for so long at most, then kills it.
    pub fn run_for(&self, play: Play<'_>, time: Duration) -> Said {
        let began = Instant::now();
        self.run_until(play, |_| began.elapsed() >= time)
    }

    /// Runs it until what it has said so far is enough, then kills it.
    pub fn run_until(&self, play: Play<'_>, enough: impl Fn(&str) -> bool) -> Said {
        let screen = self.said().join("out");
        self.watch(play, |_| enough(&fs::read_to_string(&screen).unwrap_or_default()))
    }

    /// Runs it until whoever watches the process has seen enough, then kills it.
    pub fn watch(&self, play: Play<'_>, mut enough: impl FnMut(u32) -> bool) -> Said {
        let mut command = Command::new(BINARY);
        command.args(play.args);
        let mut command = self.dressed(command, &self.said());
        self.typist(&mut command, play);
        let mut child = command.spawn().unwrap();
        let code = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status.code();
            }
            if enough(child.id()) {
                child.kill().unwrap();
                child.wait().unwrap();
                break None;
            }
            thread::park_timeout(Duration::from_millis(1));
        };
        self.told(code)
    }

    /// Runs it to its end, which must come.
    pub fn run(&self, play: Play<'_>) -> Said {
        let said = self.run_for(play, PATIENCE);
        assert!(said.code.is_some(), "no end after {PATIENCE:?}: {play:?}: {said:?}");
        said
    }

    /// Runs it to its end under a shell's words, such as `ulimit`.
    pub fn run_under(&self, words: &str, play: Play<'_>) -> Said {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{words}; exec \"$0\" \"$@\""), BINARY]).args(play.args);
        let code = self.dressed(command, &self.said()).status().unwrap().code();
        self.told(code)
    }

    /// Types what the play says, on a thread of its own that ends with the program.
    fn typist(&self, command: &mut Command, play: Play<'_>) {
        if play.types.is_empty() {
            return;
        }
        let (read, mut write) = std::io::pipe().unwrap();
        command.stdin(read);
        let screen = self.said().join("out");
        thread::spawn(move || {
            for (after, line) in play.types {
                let began = Instant::now();
                while !fs::read_to_string(&screen).is_ok_and(|shown| shown.contains(after)) {
                    if began.elapsed() > PATIENCE {
                        return;
                    }
                    thread::park_timeout(Duration::from_millis(1));
                }
                if writeln!(write, "{line}").is_err() {
                    return;
                }
            }
        });
    }
}
