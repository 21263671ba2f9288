//! The real binary against the scripted server: what a person waits for.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use tillerman::model::tokens::Size;

use crate::server::{Answer, Asked, Exchange, Server, call, text};
use crate::table::{mb, median, ms, row};

/// The binary of this source.
pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_tillerman");

/// One `tillerman run`, from outside.
pub(crate) struct Run {
    started: Instant,
    exited: Instant,
    log: Vec<Exchange>,
    pub(crate) peak: u64,
    first_body: String,
}

/// The folders that a run finds and leaves.
pub(crate) struct Place {
    home: TempDir,
    folder: TempDir,
}

pub(crate) fn measure() {
    version();
    start_and_exit();
    turns();
    memory();
    eight_workers();
    ten_megabytes();
    side_by_side();
    let size = std::fs::metadata(BINARY).map(|meta| meta.len()).unwrap_or(0);
    row("release binary", "< 25 MB", format!("{:.1} MB", size as f64 / 1e6));
}

fn version() {
    row("`--version`", "< 3 ms", ms(median((0..30).map(|_| version_of(BINARY)))));
}

/// From spawning `--version` to its exit.
pub(crate) fn version_of(binary: &str) -> Duration {
    let started = Instant::now();
    let status = Command::new(binary).arg("--version").stdout(Stdio::null()).status();
    assert!(status.is_ok_and(|status| status.success()), "--version fails");
    started.elapsed()
}

/// One run of `tillerman run` in a fresh workspace and home, which must end with exit code 0.
fn run(answer: impl Fn(&Asked) -> Answer + Send + Sync + 'static, options: &[&str], watch: bool) -> Run {
    run_of(BINARY, &Place::fresh(), answer, (options, watch))
}

/// The same with another binary and in a place that may have been used before.
pub(crate) fn run_of(
    binary: &str,
    place: &Place,
    answer: impl Fn(&Asked) -> Answer + Send + Sync + 'static,
    (options, watch): (&[&str], bool),
) -> Run {
    let (home, folder) = (place.home.path(), place.folder.path());
    let server = Server::start(answer);
    let mut command = Command::new(binary);
    command.args(["run", "--trust", "-m", "anthropic/bench", "--base-url", &server.url, "-w"]);
    command.arg(folder).args(options).arg("go").env_clear();
    command.envs(std::env::var("PATH").map(|path| ("PATH", path))).env("HOME", home);
    command.env("TILLERMAN_HOME", home.join("state")).env("ANTHROPIC_API_KEY", "bench");
    command.env("TILLERMAN_MAX_TURNS", "1000");
    command.current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let started = Instant::now();
    let mut child = command.spawn().expect("the binary starts");
    if watch {
        server.watch(child.id());
    }
    let stderr = child.stderr.take().map(|stderr| std::thread::spawn(|| std::io::read_to_string(stderr)));
    let status = child.wait().expect("a child can be waited for");
    let exited = Instant::now();
    let said = stderr.and_then(|reader| reader.join().ok()).and_then(Result::ok).unwrap_or_default();
    assert!(status.success(), "tillerman run ended with {status}:\n{said}");
    let first_body = server.first_body().expect("the model was asked");
    Run { started, exited, log: server.log(), peak: server.peak(), first_body }
}

impl Place {
    pub(crate) fn fresh() -> Place {
        let folder = || TempDir::new().expect("the temporary folder is writable");
        Place { home: folder(), folder: folder() }
    }
}

impl Run {
    /// From its spawning to its first request.
    pub(crate) fn start(&self) -> Duration {
        self.log[0].asked - self.started
    }

    /// From the last byte of its first answer to its end.
    pub(crate) fn exit(&self) -> Duration {
        self.exited.saturating_duration_since(self.log[0].answered)
    }

    /// From the last byte of each answer to the next request.
    fn gaps(&self) -> Vec<Duration> {
        self.log.windows(2).map(|pair| pair[1].asked.saturating_duration_since(pair[0].answered)).collect()
    }
}

/// Asks for one command per turn, so many times, then ends. No two are the same, or the run would be taken for stuck.
pub(crate) fn commands(turns: usize, command: &'static str) -> impl Fn(&Asked) -> Answer + Send + Sync {
    move |asked| {
        let done = results(asked);
        match done < turns {
            true => Answer::Says(vec![command_of(done, command)]),
            false => Answer::Says(vec![text("done")]),
        }
    }
}

fn command_of(done: usize, command: &str) -> Value {
    let command = if done == 0 { command.to_owned() } else { format!("{command} {done}") };
    call(&format!("toolu_{done}"), "shell", json!({"command": command}))
}

fn results(asked: &Asked) -> usize {
    asked.body.matches(r#""type":"tool_result""#).count()
}

fn start_and_exit() {
    let runs: Vec<Run> = (0..20).map(|_| run(commands(0, ""), &[], false)).collect();
    row("start → first model request", "< 8 ms", ms(median(runs.iter().map(Run::start))));
    row("last byte → exit", "< 3 ms", ms(median(runs.iter().map(Run::exit))));
    let body: Value = serde_json::from_str(&runs[0].first_body).expect("a request is JSON");
    let fixed = format!("{}{}", body["system"].as_str().unwrap_or_default(), body["tools"]);
    let tools = body["tools"].as_array().map_or(0, Vec::len);
    let words = format!("{} tokens ({} bytes, {tools} tools)", Size::count(&fixed).text, fixed.len());
    row("fixed prompt cost of a main-agent request", "< 2,000 tokens", words);
}

/// The argument that measures only the turns.
pub(crate) const TURNS: &str = "turns";

pub(crate) fn turns() {
    let kinds = [("within walls", "< 3.5 ms", &[][..]), ("without walls", "< 1.5 ms", &["--sandbox", "full"])];
    for (how, bar, options) in kinds {
        let gaps = run(commands(510, "true"), options, false).gaps();
        let around = |turn: usize| median(gaps[turn - 10..turn + 10].iter().copied());
        let (early, late) = (around(50), around(500));
        row(&format!("own time per turn with `true` {how}, at turn 50"), bar, ms(early));
        row("… at turn 500", bar, ms(late));
        let growth = (late.as_secs_f64() - early.as_secs_f64()) * 1e6 / 450.0;
        row("… growth per turn", "< 1 µs", format!("{growth:.2} µs"));
    }
}

fn memory() {
    let peaks = (0..3).map(|_| run(commands(50, "true"), &[], true).peak);
    row("peak memory of a 50-turn run", "< 12 MB", mb(peaks.max().unwrap_or(0)));
}

/// The main agent dispatches eight workers in one answer; each makes 20 turns with a command.
fn eight_workers() {
    let answer = |asked: &Asked| {
        let is_main = asked.body.contains(r#""name":"dispatch""#);
        let done = results(asked);
        match (is_main, done) {
            (true, 0) => {
                let brief = |n: usize| json!({"title": format!("work {n}"), "task": "run `true` twenty times"});
                Answer::Says((0..8).map(|n| call(&format!("toolu_{n}"), "dispatch", brief(n))).collect())
            }
            (true, _) => Answer::Says(vec![text("noted")]),
            (false, 0..20) => Answer::Says(vec![command_of(done, "true")]),
            (false, _) => Answer::Says(vec![text("done")]),
        }
    };
    let runs: Vec<Run> = (0..5).map(|_| run(answer, &["--wait"], true)).collect();
    let asked = runs.iter().map(|run| run.log.len()).max().unwrap_or(0);
    let took = median(runs.iter().map(|run| run.exited - run.started));
    let words = format!("{:.2} s ({asked} model calls)", took.as_secs_f64());
    row("8 workers at once, 20 turns each, start to exit", "< 0.15 s", words);
    row("their peak memory", "< 30 MB", mb(runs.iter().map(|run| run.peak).max().unwrap_or(0)));
}

fn ten_megabytes() {
    let print = "yes 0123456789abcdef | head -c 10000000";
    let runs: Vec<Run> = (0..7).map(|_| run(commands(1, print), &[], true)).collect();
    row("10 MB of output → next request", "< 30 ms", ms(median(runs.iter().map(|run| run.gaps()[0]))));
    let bare = (0..7).map(|_| {
        let started = Instant::now();
        let status = Command::new("sh").args(["-c", print]).stdout(Stdio::null()).status();
        assert!(status.is_ok(), "sh runs");
        started.elapsed()
    });
    row("… of which the command alone", "", ms(median(bare)));
    row("… peak memory", "flat", mb(runs.iter().map(|run| run.peak).max().unwrap_or(0)));
}

fn side_by_side() {
    let answer = |asked: &Asked| match results(asked) {
        0 => {
            let sleep = |n: usize| call(&format!("toolu_{n}"), "shell", json!({"command": "sleep 0.5"}));
            Answer::Says((0..4).map(sleep).collect())
        }
        _ => Answer::Says(vec![text("done")]),
    };
    let gaps = (0..5).map(|_| run(answer, &[], false).gaps()[0]);
    row("four shell calls `sleep 0.5` in one answer", "< 510 ms", ms(median(gaps)));
}

/// What the numbers were measured on.
pub(crate) fn machine() -> String {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = cpu.lines().find(|line| line.starts_with("model name")).and_then(|line| line.split(": ").nth(1));
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or_default().to_owned();
    format!("{} × {}, Linux {}, load {load}", cores, name.unwrap_or("unknown"), kernel.trim())
}
