//! The power fails: a file system on a file is copied while somebody writes to it, and the copy is mounted. What was
//! acknowledged after a wait for the disk is there. Needs root; everything is mounted where nobody else sees it.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, geteuid, kill_process};
use serde_json::Value;
use tillerman::message::{Note, NoteId, NoteKind};
use tillerman::session::{Durability, Mailbox, Posted, Record, Session};
use tillerman::task::{Brief, TaskDir};
use tokio::sync::oneshot;

use super::live::Dice;
use super::{knob, say, skipped, tally};
use crate::patience::PATIENCE;

/// Set in the process that has mounts of its own.
const INSIDE: &str = "TILLERMAN_TEST_POWER";

/// Set in the process that writes: where to, and where it acknowledges.
const WRITER: &str = "TILLERMAN_TEST_WRITER";

fn sh(words: &str) -> bool {
    let status = Command::new("sh").args(["-ec", words]).stderr(Stdio::null()).stdout(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// Runs this test again in a mount namespace of its own; false when that cannot be.
fn in_private(test: &str) -> bool {
    let this = std::env::current_exe().unwrap();
    let mut command = Command::new("unshare");
    command.args(["-m", "--propagation", "private"]).arg(this).args(["--exact", test, "--nocapture"]);
    let output = command.env(INSIDE, "1").output().unwrap();
    let said = [output.stdout, output.stderr].map(|said| String::from_utf8_lossy(&said).into_owned()).concat();
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
    for line in said.lines().filter(|line| line.starts_with("tally: ") || line.starts_with("skipped: ")) {
        say(line);
    }
    true
}

/// A writer that appends, waits for the disk and says so, until it is stopped.
struct Writer {
    child: Child,
    acknowledged: PathBuf,
}

impl Writer {
    fn start(disk: &Path, acknowledged: &Path) -> Writer {
        File::create(acknowledged).unwrap();
        let this = std::env::current_exe().unwrap();
        let mut command = Command::new(this);
        command.args(["--exact", "battery::power::writer", "--ignored", "--nocapture"]);
        let words = format!("{}\n{}", disk.display(), acknowledged.display());
        command.env(WRITER, words).stdout(Stdio::null()).stderr(Stdio::null());
        Writer { child: command.spawn().unwrap(), acknowledged: acknowledged.to_owned() }
    }

    fn told(&self) -> Vec<String> {
        let text = fs::read_to_string(&self.acknowledged).unwrap();
        text.split_inclusive('\n').filter(|line| line.ends_with('\n')).map(|line| line.trim().to_owned()).collect()
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What the writer does; no test of its own.
#[tokio::test]
#[ignore = "the other side of c04"]
async fn writer() {
    let Ok(words) = std::env::var(WRITER) else { return };
    let (disk, acknowledged) = words.split_once('\n').unwrap();
    let mut told = File::options().append(true).open(acknowledged).unwrap();
    for round in 0_usize.. {
        let task =
            TaskDir::create(&Path::new(disk).join(".tasks"), &Brief { body: "Work.".into(), ..Brief::default() });
        writeln!(told, "task {}", task.unwrap().id()).unwrap();
        let mut session = Session::create(Path::new(disk)).unwrap();
        let inbox = Mailbox::of(session.path().unwrap(), Durability::Turn).unwrap();
        for number in 0_u64..40 {
            session.append(Record::user(format!("{round}.{number}"))).unwrap();
            // Of three entries one is waited for; the others may be lost.
            if number % 3 == 0 {
                session.settle().await.unwrap();
                let id = session.id().as_str();
                writeln!(told, "{id} {round}.{number}").unwrap();
                let note = Note { id: NoteId(number + 1), kind: NoteKind::Steer, text: format!("{round}.{number}") };
                let (done, waits) = oneshot::channel();
                inbox.post(Posted { note, from: "person".into(), images: vec![] }, |posted| drop(done.send(posted)));
                waits.await.unwrap().unwrap();
                writeln!(told, "{id}.inbox {round}.{number}").unwrap();
            }
        }
    }
}

/// C04.
#[test]
fn c04_what_was_waited_for_survives_a_power_cut() {
    const NAME: &str = "battery::power::c04_what_was_waited_for_survives_a_power_cut";
    if !geteuid().is_root() || !sh("unshare -m true && command -v mkfs.ext4") {
        return skipped("only root can mount a file system, and mkfs.ext4 must be there");
    }
    if std::env::var_os(INSIDE).is_none() {
        assert!(in_private(NAME));
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let [image, copy, disk, seen] = ["image", "copy", "disk", "seen"].map(|name| dir.path().join(name));
    fs::create_dir_all(&disk).unwrap();
    fs::create_dir_all(&seen).unwrap();
    let make = format!(
        "truncate -s 48M {image} && mkfs.ext4 -q -F {image} && mount -o loop {image} {disk}",
        image = image.display(),
        disk = disk.display()
    );
    if !sh(&make) {
        return skipped("a file cannot be mounted here");
    }
    let (cuts, mut dice) = (knob("CUTS", 3), Dice::new());
    let (mut facts, mut lost) = (0, Vec::new());
    for cut in 1..=cuts {
        let writer = Writer::start(&disk, &dir.path().join("told"));
        let began = Instant::now();
        while writer.told().is_empty() {
            assert!(began.elapsed() < PATIENCE, "the writer does not write");
            thread::park_timeout(Duration::from_millis(1));
        }
        thread::park_timeout(Duration::from_micros(dice.below(100_000)));
        let told = writer.told();
        // The copy takes a moment, in which a power cut writes nothing.
        writer.signal(Signal::STOP);
        fs::copy(&image, &copy).unwrap();
        writer.signal(Signal::CONT);
        drop(writer);
        let mounted = sh(&format!("mount -o loop {} {}", copy.display(), seen.display()));
        assert!(mounted, "cut {cut}: the copy cannot be mounted");
        facts += told.len();
        lost.extend(missing(&seen, &told).into_iter().map(|what| format!("cut {cut}: {what}")));
        assert!(sh(&format!("umount {}", seen.display())));
        assert!(sh(&format!("rm -rf {0}/*.jsonl {0}/.tasks", disk.display())));
    }
    assert!(lost.is_empty(), "{lost:#?}");
    tally(&format!("{cuts} power cuts, {facts} acknowledged entries, notes and tasks, 0 lost"));
}

/// What was acknowledged and is not there, and files that do not open.
fn missing(disk: &Path, told: &[String]) -> Vec<String> {
    let mut missing = Vec::new();
    for line in told {
        let (file, said) = line.split_once(' ').unwrap();
        if file == "task" {
            let dir = TaskDir::open(&disk.join(".tasks"), said.parse().unwrap()).unwrap();
            if let Err(error) = dir.task() {
                missing.push(format!("{line}: {error}"));
            }
            continue;
        }
        let text = fs::read_to_string(disk.join(format!("{file}.jsonl"))).unwrap_or_default();
        let mut found = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let is_it = |data: &Value| data["message"]["blocks"][0]["text"] == said || data["note"]["text"] == said;
        if !found.any(|entry| is_it(&entry["data"])) {
            missing.push(format!("{line} is missing in {} bytes", text.len()));
        }
    }
    for dir in tillerman::task::directories(&disk.join(".tasks")).unwrap_or_default() {
        let files = fs::read_dir(dir.path())
            .unwrap()
            .flatten()
            .filter(|file| !file.file_name().to_string_lossy().starts_with('.'));
        let empty = files.filter(|file| file.metadata().unwrap().len() == 0);
        missing.extend(empty.map(|file| format!("{} is empty", file.path().display())));
    }
    for path in super::after::files(disk, "jsonl") {
        if let Err(error) = Session::open(&path) {
            missing.push(format!("{}: {error}", path.display()));
        }
    }
    missing
}
