//! Files that are broken, huge, in the way or not text: each is named with its place, and nothing is lost.

use std::fs::{self, File};
use std::io::Write;
use std::process::Stdio;
use std::time::Instant;

use super::{Stage, Wire};
use crate::cli::{Done, Place};
use crate::patience::PATIENCE;
use crate::server::says;

/// A hash of hashes that would fill the memory when it is unfolded.
fn bomb() -> String {
    let mut text = "---\na0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..30 {
        let below = vec![format!("*a{}", level - 1); 9].join(", ");
        text.push_str(&format!("a{level}: &a{level} [{below}]\n"));
    }
    text + "---\nbody\n"
}

fn huge(path: &std::path::Path, head: &str) {
    fs::write(path, head).unwrap();
    File::options().write(true).open(path).unwrap().set_len(200 << 20).unwrap();
}

fn task(place: &Place, number: u32, text: &str) {
    let dir = place.path().join(format!(".tasks/t_{number:03}"));
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("task.md"), text).unwrap();
}

/// What unfolds a bomb never ends.
fn quickly(place: &Place, args: &[&str]) -> Done {
    let began = Instant::now();
    let done = place.tillerman(args);
    assert!(began.elapsed() < PATIENCE, "{args:?} took {:?}", began.elapsed());
    done
}

const GOOD: &str = "---\nid: t_002\ntitle: good\nstatus: done\ncreated: 2026-01-01T00:00:00Z\n---\nDo it.\n";

#[test]
fn broken_settings_are_named_with_path_line_and_column() {
    let place = Place::new();
    for (text, line) in [("---\nmodel: pilot\nmax_turns: [1\n---\n", "line 4"), ("---\na: b: c\n---\n", "line 2")] {
        fs::write(place.path().join("config.md"), text).unwrap();
        let done = place.tillerman(&["run", "2 + 2"]);
        assert_eq!((done.code, done.stdout.as_str()), (Some(2), ""), "{}", done.stderr);
        for word in ["config.md", line, "column"] {
            assert!(done.stderr.contains(word), "no {word} in {}", done.stderr);
        }
        assert_eq!(fs::read_to_string(place.path().join("config.md")).unwrap(), text, "nobody touched it");
    }
}

#[test]
fn settings_that_are_a_bomb_or_huge_are_refused_in_no_time() {
    let place = Place::new();
    let path = place.path().join("config.md");
    fs::write(&path, bomb()).unwrap();
    let done = quickly(&place, &["run", "2 + 2"]);
    assert_eq!(done.code, Some(2), "{}", done.stderr);
    assert!(done.stderr.contains("config.md"), "{}", done.stderr);
    huge(&path, "---\nmodel: pilot\n---\n");
    let done = quickly(&place, &["run", "2 + 2"]);
    assert_eq!(done.code, Some(2), "{}", done.stderr);
    assert!(done.stderr.contains("config.md") && done.stderr.contains("over the limit"), "{}", done.stderr);
}

#[test]
fn a_broken_task_is_reported_and_the_others_are_listed() {
    let place = Place::new();
    task(&place, 1, "---\nid: t_001\ntitle: [bad\nstatus: done\n---\n");
    task(&place, 2, GOOD);
    task(&place, 3, &bomb());
    task(&place, 4, "");
    huge(&place.path().join(".tasks/t_004/task.md"), GOOD);
    let done = quickly(&place, &["tasks"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert!(done.stdout.contains("t_002") && done.stdout.contains("good"), "{}", done.stdout);
    for words in [&["t_001", "task.md", "line 3, column 8"][..], &["t_003", "task.md"], &["t_004", "task.md"]] {
        let line = done.stderr.lines().find(|line| line.contains(words[0]));
        let line = line.unwrap_or_else(|| panic!("{} is not told of in {}", words[0], done.stderr));
        assert!(words.iter().all(|word| line.contains(word)), "{line}");
    }
    let done = place.tillerman(&["tasks", "show", "t_001"]);
    assert_eq!(done.code, Some(1), "{}", done.stderr);
    assert!(done.stderr.contains("task.md") && done.stderr.contains("line 3"), "{}", done.stderr);
    let done = quickly(&place, &["run", "--wait", "dispatch next: echo it"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let result = fs::read_to_string(place.path().join(".tasks/t_005/result.md")).unwrap();
    assert!(result.contains("status: done"), "the next number after the broken ones: {result}");
}

#[test]
fn bad_skills_are_left_out_and_named_and_the_agent_works() {
    let stage = Stage::new(Wire::Anthropic, |_| says().text("Fine.").into());
    stage.write("skills/broken.md", "---\nname: broken\ndescription: [zzz\n---\nText.\n");
    stage.write("skills/bomb.md", &bomb());
    stage.write("skills/good.md", "---\nname: good\ndescription: Use it for good.\n---\nText.\n");
    huge(&stage.place.path().join("skills/huge.md"), "---\nname: huge\ndescription: Much.\n---\n");
    let began = Instant::now();
    let done = stage.run(&["hi"]);
    assert!(began.elapsed() < PATIENCE, "{:?}", began.elapsed());
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "Fine.\n"), "{}", done.stderr);
    let system = stage.server.requests()[0].body["system"].to_string();
    assert!(system.contains("Use it for good.") && !system.contains("zzz"), "{system}");
    let line = done.stderr.lines().find(|line| line.contains("broken.md"));
    let line = line.unwrap_or_else(|| panic!("the skill is not told of in {}", done.stderr));
    assert!(line.contains("line 4") && line.contains("column"), "{line}");
    assert!(done.stderr.contains("bomb.md"), "{}", done.stderr);
}

#[test]
fn files_that_are_no_text_are_told_of_in_every_way_to_start() {
    let place = Place::new();
    fs::write(place.path().join("AGENTS.md"), b"Answer in fran\xe7ais.\n").unwrap();
    fs::create_dir_all(place.path().join("agents")).unwrap();
    fs::write(place.path().join("agents/odd.md"), "---\ndescription: [zzz\n---\n").unwrap();
    fs::write(place.path().join("caf\u{e9}.txt"), b"caf\xe9\n").unwrap();
    let run = place.tillerman(&["run", "read caf\u{e9}.txt"]);
    let piped = place.tillerman_with(&[], &[], "2 + 2\n");
    for done in [&run, &piped] {
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        assert!(done.stderr.contains("AGENTS.md is not UTF-8 text"), "{}", done.stderr);
        assert!(done.stderr.contains("odd.md") && done.stderr.contains("column"), "{}", done.stderr);
    }
    assert!(run.stdout.contains("UTF-8"), "{}", run.stdout);
    assert_eq!(piped.stdout, "2 + 2 = 4\n");
}

#[test]
fn a_line_of_a_pipe_that_is_no_text_does_not_end_the_conversation() {
    let place = Place::new();
    let mut command = place.command(&[]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"2 + 2\n\xff\xfe\n3 + 4\r\n5 + 6").unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let answers: Vec<&str> = said.lines().filter(|line| line.contains(" = ")).collect();
    assert_eq!((output.status.code(), answers), (Some(0), vec!["2 + 2 = 4", "3 + 4 = 7", "5 + 6 = 11"]), "{said}");
}

#[test]
fn what_is_in_the_way_of_a_tasks_folder_is_named_and_the_agent_goes_on() {
    let place = Place::new();
    fs::write(place.path().join(".tasks"), "mine").unwrap();
    let done = place.tillerman(&["run", "--wait", "dispatch count: echo 4"]);
    assert!(done.stdout.contains(".tasks") || done.stderr.contains(".tasks"), "{} {}", done.stdout, done.stderr);
    assert!(!done.stderr.contains("panicked"), "{}", done.stderr);
    assert_eq!(fs::read_to_string(place.path().join(".tasks")).unwrap(), "mine");
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let place = Place::new();
    // Whoever may write everything is stopped by the system of files only when something is written.
    let done = place.tillerman(&["-w", "/proc/self/task", "run", "--wait", "dispatch count: echo 4"]);
    let said = format!("{}{}", done.stdout, done.stderr);
    assert!(said.contains("/task/.tasks") || (done.code == Some(1) && said.contains("/proc/self/task")), "{said}");
    let mut command = place.command(&["run", "2 + 2"]);
    let output = command.env("TILLERMAN_HOME", "/proc/self/fd/home").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("/proc/self/fd/home") && said.contains("TILLERMAN_HOME"), "{said}");
}
