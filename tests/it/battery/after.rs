//! What must hold of the files of a scene, whatever was done to the program that wrote them. Read from the bytes, not
//! with the program's own reader: a fault in that must not hide another.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tillerman::session::Session;
use tillerman::task::{self, TaskStatus};

use super::scene::{Said, Scene};

/// How the program left off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// It was killed and nobody has started it since: ends of files may be torn, tasks may be open.
    Killed,
    /// It has been started again, was asked something, and has ended by itself.
    Settled,
}

/// What somebody was told before the program was killed.
#[derive(Debug, Default)]
pub struct Told {
    /// Agent, type and what of it can be found again.
    facts: Vec<(String, Fact)>,
}

#[derive(Debug, PartialEq)]
enum Fact {
    /// The line of a person waits for its answer.
    Asked,
    Reply {
        text: String,
        calls: Vec<String>,
    },
    Started(String),
    Result {
        call: String,
        output: String,
    },
    Note(u64),
    Worker,
    Ended(String),
}

impl Told {
    /// Takes what a run with `--json` has said.
    pub fn add(&mut self, said: &Said) {
        for line in said.lines() {
            let text = |key: &str| line[key].as_str().unwrap_or_default().to_owned();
            let fact = match text("type").as_str() {
                "turn.start" => Fact::Asked,
                "message" => {
                    let calls = line["calls"].as_array().into_iter().flatten();
                    let calls = calls.map(|call| call["call"].as_str().unwrap_or_default().to_owned()).collect();
                    Fact::Reply { text: text("text"), calls }
                }
                "tool.start" => Fact::Started(text("call")),
                "tool.end" => Fact::Result { call: text("call"), output: text("output") },
                "steer" | "worker.steer" => Fact::Note(line["note"].as_u64().unwrap_or_default()),
                "worker.start" => Fact::Worker,
                // A broken disk has no place for the outcome, and that is said with it.
                "worker.end" if text("answer").contains("(result.md could not be written: ") => continue,
                "worker.end" => Fact::Ended(text("status")),
                _ => continue,
            };
            self.facts.push((text("agent"), fact));
        }
    }

    pub fn count(&self) -> usize {
        self.facts.len()
    }
}

/// Everything that is wrong, one sentence each.
pub fn wrong(scene: &Scene, told: &Told, left: Left) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut of = BTreeMap::<String, Vec<Value>>::new();
    let workers = scene.sessions().join("workers");
    for path in files(&scene.sessions(), "jsonl").into_iter().chain(files(&workers, "jsonl")) {
        let agent = if path.starts_with(&workers) { stem(&path) } else { "main".to_owned() };
        let entries = journal(&path, left, &mut wrong);
        of.entry(agent).or_default().extend(entries);
        if left == Left::Settled
            && let Err(error) = Session::read(&path)
        {
            wrong.push(format!("{} does not open: {error}", path.display()));
        }
    }
    for (agent, fact) in &told.facts {
        if !is_there(scene, fact, agent, of.get(agent).map_or(&[], Vec::as_slice)) {
            wrong.push(format!("lost: {agent} was told {fact:?}"));
        }
    }
    tasks(scene, left, &of, &mut wrong);
    wrong
}

/// The lines of a journal, of which none but the last may be damaged, and that one only until somebody goes on with it;
/// nobody does with a worker's unless he is asked to.
fn journal(path: &Path, left: Left, wrong: &mut Vec<String>) -> Vec<Value> {
    let bytes = fs::read(path).unwrap_or_default();
    let mut entries: Vec<Value> = Vec::new();
    let mut ids = BTreeSet::new();
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let sealed = line.strip_suffix(b"\n").filter(|line| is_sealed(line));
        let Some(entry) = sealed.and_then(|line| serde_json::from_slice::<Value>(line).ok()) else {
            let goes_on = left == Left::Settled && !path.parent().is_some_and(|dir| dir.ends_with("workers"));
            if goes_on || line.ends_with(b"\n") {
                wrong.push(format!("{} has a damaged line: {}", path.display(), String::from_utf8_lossy(line)));
            }
            continue;
        };
        if entry["seq"] != entries.len() || !ids.insert(entry["id"].to_string()) {
            wrong.push(format!("{} has a line out of order: {entry}", path.display()));
        }
        entries.push(entry);
    }
    entries
}

fn is_sealed(line: &[u8]) -> bool {
    let Some((body, seal)) = line.len().checked_sub(18).map(|at| line.split_at(at)) else { return false };
    seal == format!(",\"crc\":\"{:08x}\"}}", crc32fast::hash(body)).as_bytes()
}

fn is_there(scene: &Scene, fact: &Fact, agent: &str, entries: &[Value]) -> bool {
    let kind = |entry: &Value, kind: &str| entry["type"] == kind;
    let dir = || scene.work().join(".tasks").join(agent);
    match fact {
        Fact::Asked => entries.iter().any(|entry| matches!(entry["type"].as_str(), Some("user" | "note" | "report"))),
        Fact::Reply { text, calls } => entries.iter().filter(|entry| kind(entry, "assistant")).any(|entry| {
            let named: Vec<&str> = blocks(entry, "call").filter_map(|block| block["id"].as_str()).collect();
            let said: Vec<&str> = blocks(entry, "text").filter_map(|block| block["text"].as_str()).collect();
            named == *calls && said.concat() == *text
        }),
        Fact::Started(call) => {
            entries.iter().any(|entry| kind(entry, "tool_started") && entry["data"]["call"] == call.as_str())
        }
        Fact::Result { call, output } => entries
            .iter()
            .flat_map(|entry| blocks(entry, "result"))
            .any(|block| block["call"] == call.as_str() && block["output"] == output.as_str()),
        // A line that had to wait for another run is heard as a line.
        Fact::Note(note) => entries.iter().any(|entry| {
            kind(entry, "note") && entry["data"]["note"]["id"] == *note
                || kind(entry, "user") && entry["data"]["posted"] == *note
        }),
        Fact::Worker => dir().join("task.md").exists(),
        Fact::Ended(status) => {
            // A task that went on has a file of each of its ends.
            let ends = fs::read_dir(dir()).into_iter().flatten().flatten().map(|file| file.path());
            let mut ends = ends.filter(|path| stem(path).starts_with("result"));
            let line = format!("\nstatus: {status}\n");
            ends.any(|path| fs::read_to_string(path).unwrap_or_default().contains(&line))
        }
    }
}

fn blocks<'a>(entry: &'a Value, kind: &'a str) -> impl Iterator<Item = &'a Value> {
    let all = entry["data"]["message"]["blocks"].as_array().into_iter().flatten();
    all.filter(move |block| block["type"] == kind)
}

/// Files of tasks are whole at any moment; later each task has one outcome, which its conversation heard once.
fn tasks(scene: &Scene, left: Left, of: &BTreeMap<String, Vec<Value>>, wrong: &mut Vec<String>) {
    for dir in task::directories(&scene.work().join(".tasks")).unwrap_or_default() {
        let id = dir.id().to_string();
        // The number is taken first and the file written next: one without it was never acknowledged.
        if !dir.path().join("task.md").exists() {
            continue;
        }
        let found = (dir.task(), dir.result());
        let (Ok(task), Ok(result)) = &found else {
            wrong.push(format!("{id} has a broken file: {found:?}"));
            continue;
        };
        if left == Left::Killed {
            continue;
        }
        let outcome = result.as_ref().map(|report| report.status);
        if !task.status.is_over() || outcome != Some(task.status) {
            wrong.push(format!("{id} is {:?} in task.md and {outcome:?} in result.md", task.status));
        }
        let last = result.as_ref().map_or(1, |report| report.attempt);
        let main = of.get("main").map_or(&[][..], Vec::as_slice);
        for attempt in 1..=last {
            let heard = main.iter().filter(|entry| is_report(entry, &id, attempt)).count();
            if heard > 1 || (attempt == last && heard == 0) {
                wrong.push(format!("attempt {attempt} of {id} was reported {heard} times"));
            }
        }
        let own = of.get(&id).map_or(&[][..], Vec::as_slice);
        // A rest is no end.
        let is_end = |entry: &&Value| entry["type"] == "ended" && entry["data"]["end"]["reason"] != "parked";
        let ends = own.iter().filter(is_end).count();
        if ends > last as usize || (task.status == TaskStatus::Done && ends == 0) {
            wrong.push(format!("{id} ended {ends} times in its journal, after {last} attempts"));
        }
        let mut notes: Vec<&Value> = own.iter().filter(|entry| entry["type"] == "note").collect();
        notes.retain(|entry| !entry["data"]["note"]["id"].is_null());
        let ids: BTreeSet<String> = notes.iter().map(|entry| entry["data"]["note"]["id"].to_string()).collect();
        if ids.len() < notes.len() {
            wrong.push(format!("{id} saw a note twice: {notes:?}"));
        }
    }
}

fn is_report(entry: &Value, id: &str, attempt: u32) -> bool {
    match entry["type"].as_str() {
        Some("report") => entry["data"]["task"] == id && entry["data"]["attempt"] == attempt,
        _ => false,
    }
}

pub fn files(dir: &Path, ending: &str) -> Vec<PathBuf> {
    let found = fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> = found
        .filter(|path| path.extension().is_some_and(|end| end == ending) && !path.to_string_lossy().contains(".inbox."))
        .collect();
    files.sort();
    files
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}
