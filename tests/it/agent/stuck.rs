//! Judging whether a run gets anywhere: what is stuck, and, which matters more, what is not.

use std::time::Duration;

use tillerman::agent::stuck::{Judge, Judgement, Kind, PATIENCE, Step, Verdict};

/// Turns of one call each, as a run makes them.
struct Run {
    judge: Judge,
    turns: u32,
}

/// What a call of a test is: a tool, what it is about, what came back.
type Call<'a> = (&'a str, &'a str, &'a str);

impl Run {
    fn new() -> Run {
        Run { judge: Judge::default(), turns: 0 }
    }

    fn turn_of(&mut self, calls: &[Call<'_>], took: Duration) -> Judgement {
        self.turns += 1;
        let args: Vec<String> =
            calls.iter().map(|(_, about, _)| serde_json::json!({ "about": about }).to_string()).collect();
        let id = format!("call_{}", self.turns);
        let step = |((tool, _, output), args): (&Call<'_>, &String)| {
            let kind = match *tool {
                "read" | "grep" | "poll" => Kind::Reads,
                "edit" => Kind::Writes,
                _ => Kind::Acts,
            };
            let failed = output.contains("exit code") || output.starts_with("error");
            (tool.to_string(), args.clone(), kind, output.to_string(), failed)
        };
        let steps: Vec<_> = calls.iter().zip(&args).map(step).collect();
        let steps: Vec<Step<'_>> = steps
            .iter()
            .map(|(tool, args, kind, output, failed)| Step {
                tool,
                id: &id,
                args,
                kind: *kind,
                output,
                failed: *failed,
            })
            .collect();
        self.judge.turn(&steps, took)
    }

    fn turn(&mut self, tool: &str, about: &str, output: &str) -> Judgement {
        self.turn_of(&[(tool, about, output)], Duration::ZERO)
    }

    /// The turns, counted from 1, in which it is reminded and in which it is stuck.
    fn ends<'a>(&mut self, calls: impl IntoIterator<Item = Call<'a>>) -> (Option<u32>, Option<u32>) {
        let mut reminded = None;
        for (tool, about, output) in calls {
            match self.turn(tool, about, output).verdict {
                Verdict::Fine => {}
                Verdict::Remind(_) => reminded = Some(self.turns),
                Verdict::Stuck(_) => return (reminded, Some(self.turns)),
            }
        }
        (reminded, None)
    }
}

fn ends<'a>(calls: impl IntoIterator<Item = Call<'a>>) -> (Option<u32>, Option<u32>) {
    Run::new().ends(calls)
}

const NEVER: (Option<u32>, Option<u32>) = (None, None);

#[test]
fn r01_the_same_call_five_times_is_reminded_and_nine_times_is_stuck() {
    let same = ("shell", "cargo test", "error: no such thing\nexit code 101");
    assert_eq!(ends(std::iter::repeat_n(same, 20)), (Some(5), Some(9)));
    let mut run = Run::new();
    let words: Vec<Judgement> = (0..9).map(|_| run.turn("read", "a.rs", "fn main() {}")).collect();
    let evidence = |times| format!("read a.rs was called {times} times with the same result: “fn main() {{}}”");
    let score = words.iter().map(|word| (word.score, word.flat)).collect::<Vec<_>>();
    assert_eq!(score, [(2, 0), (0, 1), (0, 2), (0, 3), (0, 4), (0, 5), (0, 6), (0, 7), (0, 8)]);
    assert_eq!(words[4].verdict, Verdict::Remind(evidence(5)));
    assert_eq!(words[8].verdict, Verdict::Stuck(evidence(9)));
    assert!(words.iter().enumerate().all(|(at, word)| [4, 8].contains(&at) || word.verdict == Verdict::Fine));
}

#[test]
fn r02_calls_that_take_turns_are_stuck() {
    for period in 2..=4 {
        let names = ["a", "b", "c", "d"];
        let calls = names[..period].iter().cycle().take(60).map(|name| ("read", *name, *name));
        let period = u32::try_from(period).unwrap();
        assert_eq!(ends(calls), (Some(period + PATIENCE), Some(period + 2 * PATIENCE)), "period {period}");
    }
    let mut run = Run::new();
    let calls = [("read", "a", "alpha"), ("shell", "make", "error 2 exit code 2")];
    let last = (0..10).map(|at| run.turn(calls[at % 2].0, calls[at % 2].1, calls[at % 2].2)).last().unwrap();
    let evidence = "the same 2 turns go round and round: read a: “alpha”; then shell make: “error 2 exit code 2”";
    assert_eq!(last.verdict, Verdict::Stuck(evidence.to_owned()));
}

#[test]
fn r02_failing_in_the_same_way_again_and_again_is_stuck_whatever_is_tried() {
    let tries: Vec<String> = (0..40).map(|at| format!("src/file{at}.rs")).collect();
    let told: Vec<String> = tries.iter().map(|path| format!("error: old_text does not occur in {path}")).collect();
    let calls = tries.iter().zip(&told).map(|(path, told)| ("edit", path.as_str(), told.as_str()));
    assert_eq!(ends(calls), (Some(9), Some(17)), "half as fast as the same call");
    let commands: Vec<String> = (0..40).map(|at| format!("gcc -O{at} x.c")).collect();
    let missing = "bash: line 1: gcc: command not found\nexit code 127";
    assert_eq!(ends(commands.iter().map(|command| ("shell", command.as_str(), missing))), (Some(9), Some(17)));
}

#[test]
fn a_poll_whose_output_changes_is_not_stuck() {
    let outputs: Vec<String> = (0..500).map(|at| format!("Compiling crate {at} of 500")).collect();
    assert_eq!(ends(outputs.iter().map(|output| ("shell", "tail -n 1 build.log", output.as_str()))), NEVER);
}

#[test]
fn a_poll_that_waits_is_not_stuck_while_nothing_changes() {
    let mut run = Run::new();
    for _ in 0..240 {
        let poll = [("shell", "sleep 60; gh run view", "in progress")];
        assert_eq!(run.turn_of(&poll, Duration::from_secs(60)).verdict, Verdict::Fine);
    }
    let again = (0..9).map(|_| run.turn("shell", "gh run view", "in progress").verdict).last();
    assert!(matches!(again, Some(Verdict::Stuck(_))), "without waiting it is: {again:?}");
}

#[test]
fn reading_many_files_is_not_stuck() {
    let files: Vec<String> = (0..1_000).map(|at| format!("src/file{at}.rs")).collect();
    let texts: Vec<String> = (0..1_000).map(|at| format!("//! File {at}.\nuse std::io;\n")).collect();
    let calls = files.iter().zip(&texts).map(|(file, text)| ("read", file.as_str(), text.as_str()));
    assert_eq!(ends(calls), NEVER);
    let empty = files.iter().take(45).map(|file| ("read", file.as_str(), "(the file is empty)"));
    assert_eq!(ends(empty), NEVER, "also when they are all alike");
    let pieces: Vec<String> = (0..300).map(|at| format!("offset {at}")).collect();
    let calls = pieces.iter().zip(&texts).map(|(piece, text)| ("read", piece.as_str(), text.as_str()));
    assert_eq!(ends(calls), NEVER, "also piece by piece");
}

#[test]
fn looking_again_at_what_was_read_long_ago_is_not_stuck() {
    let files: Vec<String> = (0..20).map(|at| format!("src/file{at}.rs")).collect();
    let calls = files.iter().chain(&files).map(|file| ("read", file.as_str(), file.as_str()));
    assert_eq!(ends(calls), NEVER);
}

#[test]
fn many_edits_of_one_file_are_not_stuck() {
    let edits: Vec<String> = (0..300).map(|at| format!("line {at} becomes line {}", at + 1)).collect();
    assert_eq!(ends(edits.iter().map(|edit| ("edit", edit.as_str(), "Edited src/main.rs at line 7 (+1 -1)"))), NEVER);
}

#[test]
fn a_test_that_is_run_after_each_edit_is_not_stuck() {
    let red = "test it ... FAILED\ntest result: FAILED. 3 passed; 1 failed; finished in 0.42s\nexit code 101";
    let edits: Vec<String> = (0..200).map(|at| format!("attempt {at}")).collect();
    let calls = edits.iter().flat_map(|edit| [("edit", edit.as_str(), "Edited a.rs"), ("shell", "cargo test", red)]);
    assert_eq!(ends(calls), NEVER);
    let sed: Vec<String> = (0..200).map(|at| format!("sed -i s/x/{at}/ a.rs")).collect();
    let calls = sed.iter().flat_map(|sed| [("shell", sed.as_str(), "(no output)"), ("shell", "cargo test", red)]);
    assert_eq!(ends(calls), NEVER, "also when the edits say nothing");
}

#[test]
fn edits_that_undo_each_other_are_stuck() {
    let there = ("edit", "a becomes b", "Edited src/main.rs at line 7 (+1 -1)");
    let back = ("edit", "b becomes a", "Edited src/main.rs at line 7 (+1 -1)");
    assert_eq!(ends([there, back].into_iter().cycle().take(40)), (Some(6), Some(10)));
}

#[test]
fn commands_whose_effect_is_not_seen_are_not_stuck() {
    let folders: Vec<String> = (0..300).map(|at| format!("mkdir out/{at}")).collect();
    assert_eq!(ends(folders.iter().map(|command| ("shell", command.as_str(), "(no output)"))), NEVER);
    let files: Vec<String> = (0..300).map(|at| format!("attachment {at}")).collect();
    assert_eq!(ends(files.iter().map(|file| ("attach", file.as_str(), "true"))), NEVER);
    let questions: Vec<String> = (0..45).map(|at| format!("grep -q word{at} src/main.rs")).collect();
    assert_eq!(ends(questions.iter().map(|command| ("shell", command.as_str(), "exit code 1"))), NEVER);
}

#[test]
fn talking_to_oneself_is_stuck_in_the_end() {
    let words: Vec<String> = (0..200).map(|at| format!("echo step {at} is done")).collect();
    let told: Vec<String> = (0..200).map(|at| format!("step {at} is done")).collect();
    let calls = words.iter().zip(&told).map(|(words, told)| ("shell", words.as_str(), told.as_str()));
    assert_eq!(ends(calls), (Some(49), Some(97)));
}

/// Outputs that are the same to a reader, and outputs that are not.
#[test]
fn what_differs_by_itself_is_passed_over_and_nothing_else_is() {
    let same = [
        ("Finished in 3.21s", "Finished in 0.9s"),
        ("took 12 ms", "took 7 ms"),
        ("took 2 min 05 s", "took 1 min 59 s"),
        ("1m30s elapsed", "2h3m elapsed"),
        ("[12:30:59] ready", "[12:31:07] ready"),
        ("2026-11-21T12:30:59.123Z ready", "2026-11-21T12:31:00.001Z ready"),
        ("2026-11-21 12:30:59,123 INFO ready", "2026-11-21 12:31:08,007 INFO ready"),
        ("listening, pid 4711", "listening, pid 815"),
        ("pid=4711", "pid=4712"),
        ("PID: 4711", "PID: 4712"),
        ("object at 0x7f3a12345678", "object at 0x55d0deadbeef"),
        ("http://127.0.0.1:43567/x", "http://127.0.0.1:39001/x"),
        ("thread 'a::b' (40371) panicked at src/a.rs:3:7", "thread 'a::b' (40398) panicked at src/a.rs:3:7"),
        ("{\"ts\": 1795000000123}", "{\"ts\": 1795000009876}"),
        ("1795000000.5 ready", "1795000001.5 ready"),
        ("all of it is in artifacts/call_1.txt", "all of it is in artifacts/call_2.txt"),
        ("ready  \n", "ready\n"),
    ];
    for (one, other) in same {
        let mut run = Run::new();
        run.turn("shell", "x", one);
        assert_eq!(run.turn("shell", "x", other).score, 0, "{one} / {other}");
    }
    let different = [
        ("12 of 500", "13 of 500"),
        ("41 % done", "42 % done"),
        ("src/main.rs:12:30 unused", "src/main.rs:13:30 unused"),
        ("   3 errors", "   2 errors"),
        ("1,234,567 bytes", "1,234,999 bytes"),
        ("1795000000", "1795000001"),
        ("make[1]: all", "make[2]: all"),
        ("v1.2.3", "v1.2.4"),
        ("main.rs 400 lines", "main.rs 399 lines"),
        ("0x10", "0x11"),
        ("port 3000", "port 3001"),
        ("step 5 m", "step 6 m"),
        ("über 3 Sätze", "über 4 Sätze"),
    ];
    for (one, other) in different {
        let mut run = Run::new();
        run.turn("shell", "x", one);
        assert_eq!(run.turn("shell", "x", other).score, 2, "{one} / {other}");
    }
}

#[test]
fn a_check_that_becomes_green_counts_more_than_another_output() {
    let mut run = Run::new();
    run.turn("shell", "make test", "3 failed\nexit code 1");
    assert_eq!(run.turn("shell", "make test", "2 failed\nexit code 1").score, 2);
    assert_eq!(run.turn("shell", "make test", "all passed").score, 4);
    let much = ["a", "b", "c", "d"].map(|edit| ("edit", edit, "Edited"));
    assert_eq!(run.turn_of(&much, Duration::ZERO).score, 7, "no turn has more");
}

#[test]
fn a_word_from_outside_lets_it_rest_and_a_shorter_conversation_may_be_read_again() {
    let same = ("read", "a.rs", "fn main() {}");
    let mut run = Run::new();
    assert_eq!(run.ends(std::iter::repeat_n(same, 8)), (Some(5), None));
    run.judge.heard();
    assert_eq!(run.ends(std::iter::repeat_n(same, 20)), (Some(12), Some(16)), "reminded anew");
    let mut run = Run::new();
    assert_eq!(run.ends(std::iter::repeat_n(same, 8)), (Some(5), None));
    run.judge.forget();
    assert_eq!(run.turn(same.0, same.1, same.2), Judgement { score: 2, flat: 0, verdict: Verdict::Fine });
}

#[test]
fn arguments_are_compared_by_what_they_say() {
    let mut judge = Judge::default();
    let mut turn = |args| {
        let step = Step { tool: "read", id: "", args, kind: Kind::Reads, output: "text", failed: false };
        judge.turn(&[step], Duration::ZERO).score
    };
    assert_eq!([turn(r#"{"a":1,"b":2}"#), turn(r#"{ "b": 2, "a": 1 }"#), turn(r#"{"a":1,"b":3}"#)], [2, 0, 1]);
    assert_eq!([turn("not json"), turn(" not json "), turn("")], [1, 0, 1]);
}

/// Random lives: as long as each turn brings something of its own it is never stuck; from the moment at which it goes in
/// a small circle it is stuck soon, whatever was before.
#[test]
fn random_lives_are_stuck_when_they_go_in_circles_and_only_then() {
    for seed in 0..60_u64 {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut random = |below: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % below
        };
        let mut run = Run::new();
        for turn in 0..20 + random(200) {
            let noise = random(1 << 40);
            let (tool, about, output) = match random(5) {
                0 => ("read", format!("file{turn}"), format!("text {noise} of\nfile {turn}")),
                1 => ("edit", format!("edit {turn}"), "Edited".to_owned()),
                2 => ("shell", "make".to_owned(), format!("{turn} targets to go, pid {noise}")),
                3 => ("shell", format!("./step {turn}"), "(no output)".to_owned()),
                _ => ("grep", format!("word{turn}"), format!("src/a.rs:{turn}: word{noise}")),
            };
            let verdict = run.turn(tool, &about, &output).verdict;
            assert_eq!(verdict, Verdict::Fine, "seed {seed}, turn {turn}");
        }
        let period = u32::try_from(1 + random(4)).unwrap();
        let before = run.turns;
        let circle: Vec<String> = (0..period).map(|at| format!("ls dir{at}")).collect();
        let limit = before + period + 2 * PATIENCE;
        let stuck = (0..60).find_map(|turn| {
            let output = format!("dir at 12:{:02}:{:02}, {}ms", random(60), random(60), random(1_000));
            let about = &circle[turn % circle.len()];
            matches!(run.turn("shell", about, &output).verdict, Verdict::Stuck(_)).then_some(run.turns)
        });
        assert!(stuck.is_some_and(|turn| turn <= limit + period), "seed {seed}: {stuck:?}, at most {limit}");
    }
}

#[test]
fn any_text_at_all_is_judged() {
    let pieces =
        ["0x", "12:", "'", "(", "ä", "\u{202e}", "◦", "9", "s", " ", "\n", "pid", "127.0.0.1:", "T", "Z", ",123"];
    let mut state = 7_usize;
    for _ in 0..2_000 {
        let text: String = (0..12)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                pieces[(state >> 33) % pieces.len()]
            })
            .collect();
        let mut run = Run::new();
        run.turn("shell", &text, &text);
        assert_eq!(run.turn("shell", &text, &text).score, 0, "{text}");
    }
}
