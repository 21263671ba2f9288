//! What crash safety means, what a fleet must bear, what holds whatever runs away, and what commands cannot do, row by row,
//! and the tests that hold each. `tests/battery/run` reads it from here.

use std::collections::BTreeSet;
use std::process::Command;

/// A fault, and the tests that try it beside those that have its id in their names, as `c01_…`.
struct Row {
    id: &'static str,
    fault: &'static str,
    tests: &'static [&'static str],
}

impl Row {
    fn held_by<'a>(&'a self, all: &'a BTreeSet<String>) -> Vec<&'a str> {
        let id = self.id.to_lowercase();
        let named = all.iter().map(String::as_str).filter(|test| {
            let name = test.rsplit("::").next().unwrap_or_default();
            name.split('_').any(|part| part == id)
        });
        let mut tests: Vec<&str> = named.collect();
        tests.extend(self.tests);
        tests
    }
}

const fn row(id: &'static str, fault: &'static str, tests: &'static [&'static str]) -> Row {
    Row { id, fault, tests }
}

const EACH_CALL: &str = "battery::kill::a_kill_at_any_write_loses_nothing_that_was_told";
const TRUST: &str = "battery::faults::c08_the_list_of_trusted_folders_is_old_or_new_whatever_happens_while_it_is_saved";

const ZOO: &str = "sandbox::escapes::the_escape_zoo_finds_no_way_out_of_namespaces";
const LANDLOCK: &str = "sandbox::escapes::the_escape_zoo_finds_the_known_ways_out_of_landlock_and_no_other";

const ROWS: &[Row] = &[
    row(
        "C01",
        "session cut at every byte",
        &["session::damage::a_session_cut_at_any_byte_loses_at_most_the_line_that_was_cut"],
    ),
    row("C02", "killed at a random time", &[]),
    row("C03", "killed at the k-th write, rename or sync", &[EACH_CALL]),
    row("C04", "power cut", &[]),
    row("C05", "replacing of a file interrupted", &[EACH_CALL, TRUST]),
    row("C06", "progress.md torn", &[]),
    row("C07", "disk full at an append", &["session::damage::a_full_disk_leaves_no_half_line"]),
    row("C08", "disk full while a setting is saved", &[]),
    row("C09", "short write", &[]),
    row("C10", "error at a sync", &[]),
    row("C11", "workspace or state read-only", &[]),
    row("C12", "too few files", &[]),
    row("C13", "flipped bit", &["session::damage::a_flipped_bit_costs_one_line"]),
    row(
        "C14",
        "numbers doubled, missing, out of order",
        &["session::damage::lines_in_any_disorder_make_a_valid_conversation"],
    ),
    row("C15", "session of a newer version", &["session::damage::a_newer_session_opens_for_reading_only"]),
    row("C16", "second process in a workspace", &["session::damage::a_second_writer_is_refused_and_a_reader_is_not"]),
    row("C17", "stale lock", &["workspace::a_lock_that_is_dropped_is_over_also_while_a_child_has_its_file"]),
    row("C18", "clock that jumps", &[]),
    row("C19", "crash with running workers", &[]),
    row(
        "C20",
        "crash after a tool's effect, before its result",
        &[EACH_CALL, "session::damage::calls_without_an_answer_are_interrupted_and_not_run_again"],
    ),
    row("C21", "crash between the journal's end and result.md", &[EACH_CALL]),
    row("C22", "crash between an end and its report", &[EACH_CALL]),
    row("C23", "an end sent twice", &[]),
    row("C24", "crash during a compaction", &[]),
    row("C25", "crash during branch, title, delete", &[]),
    row("C26", "crash before the first token", &[]),
    row("C27", "numbers of tasks raced for", &[EACH_CALL, "task::two_dozen_threads_claim_two_dozen_numbers"]),
    row("C28", "processes of a dead program", &[]),
    row("C29", "signals", &["story::signals::an_interrupt_at_a_terminal_is_a_control_c_and_the_second_leaves"]),
    row("C30", "recovery of a large session", &[]),
    row(
        "F01",
        "twenty workers, a busy main agent, kills",
        &["fleet::twenty::twenty_workers_that_end_while_their_main_agent_is_busy_are_told_once_each_over_kills"],
    ),
    row(
        "F02",
        "twenty workers that ask, kills",
        &["fleet::asked::twenty_workers_that_ask_hold_nothing_and_are_answered_once_each_over_kills"],
    ),
    row("F03", "1,000 workers of 100 turns", &["fleet::thousand::a_thousand_workers_of_a_hundred_turns_lose_nothing"]),
    row("R01", "same call again and again", &[]),
    row("R02", "calls in a circle; the same failure", &[]),
    row("R03", "limit of turns", &["runtime::ends::a_worker_at_its_turn_limit_reports_what_it_has"]),
    row("R04", "budgets of tokens and money", &["ledger::a_call_is_admitted_only_if_one_that_sums_up_fits_behind_it"]),
    row("R05", "time of a task", &["ledger::time::the_end_of_the_time_is_told_when_it_comes_and_a_raise_puts_it_off"]),
    row("R06", "more tasks than places", &[]),
    row("R07", "workers that dispatch", &[]),
    row("R08", "dispatches without end", &[]),
    row(
        "R09",
        "main agent and worker play ping-pong",
        &["runtime::wake::a_main_agent_and_its_workers_do_not_play_ping_pong_for_ever"],
    ),
    row("R10", "tillerman inside tillerman", &[]),
    row("R11", "100 MB of results", &[]),
    row("R12", "thousands of turns", &[]),
    row(
        "R13",
        "compaction that fails, grows or repeats",
        &[
            "agent::compact::a_failing_summary_costs_one_try_and_the_run_goes_on",
            "agent::compact::what_a_summary_took_is_told_and_one_that_helps_nothing_is_paid_too",
            "agent::compact::an_overflow_after_making_room_ends_the_run",
        ],
    ),
    row("R14", "flood of steers", &[]),
    row(
        "R15",
        "tool that panics or hangs",
        &["runtime::ends::a_worker_that_ignores_its_abort_is_killed_after_its_grace"],
    ),
    row("R16", "disk used up", &[]),
    row("P01", "abort: plain child", &[]),
    row("P02", "abort: session of its own, double fork, nohup", &[]),
    row("P03", "abort: ignores TERM, stopped", &[]),
    row("P04", "forks without end", &[]),
    row("P05", "kill -9 of the owner", &[]),
    row("P06", "jobs left behind", &[]),
    row("P07", "jobs of a worker", &[]),
    row("P08", "daemon that holds the pipe", &[]),
    row("P09", "command that reads its input", &[]),
    row("P10", "command that asks at a terminal", &[]),
    row("P11", "output without end", &[]),
    row("P12", "file without end", &[]),
    row("P13", "output that is no text", &[]),
    row("P14", "line of 100 MB", &[]),
    row("P15", "commands to the terminal", &["terminal::text::nothing_in_a_text_can_steer_the_terminal"]),
    row("P16", "characters that hide or turn around", &[]),
    row("P17", "time limit in the middle of output", &[]),
    row("P18", "many short commands", &[]),
    row("P19", "what cannot start", &[]),
    row("P20", "open files of ours", &[ZOO]),
    row("S04", "files outside written", &[ZOO, LANDLOCK]),
    row("S05", "tree mounted anew", &[ZOO, LANDLOCK]),
    row("S06", "settings of the kernel", &[ZOO, LANDLOCK]),
    row("S07", "namespaces", &[ZOO, LANDLOCK]),
    row("S08", "memory of others", &[ZOO, LANDLOCK]),
    row("S09", "signals to others", &[ZOO, LANDLOCK]),
    row("S10", "network", &[ZOO, LANDLOCK]),
    row("S11", "sockets with paths", &[ZOO, LANDLOCK]),
    row("S12", "sockets without paths, open sockets", &[ZOO, LANDLOCK]),
    row("S13", "rare system calls", &[ZOO, LANDLOCK]),
    row("S14", "groups, limits", &[ZOO, LANDLOCK]),
    row("S15", "terminal", &[ZOO, LANDLOCK]),
    row("S16", "ordinary work", &[]),
    row("S17", "no walls to be had", &[]),
    row("S18", "walls that do not hold", &[]),
    row("S22", "secrets", &[ZOO, LANDLOCK]),
];

/// Trust, injection and secrets. T10 to T13 are of servers of tools, which there are not yet.
const TRUSTS: &[Row] = &[
    row(
        "T01",
        "clone with settings",
        &["config::trust::a_strange_workspace_names_a_model_and_nothing_that_reaches_out_or_lifts_a_limit"],
    ),
    row("T02", "clone with a .env", &["config::trust::trusted_for_one_run_its_settings_count_and_nothing_is_kept"]),
    row(
        "T03",
        "moved, linked, forged folder",
        &["config::trust::a_moved_folder_or_another_in_its_place_is_asked_about_anew"],
    ),
    row("T04", "headless run in a strange folder", &[]),
    row("T05", "instructions in a clone", &[]),
    row("T06", "instructions in what is read", &[]),
    row("T07", "frontmatter bombs", &[]),
    row("T08", "characters that nobody sees", &[]),
    row(
        "T09",
        "skill that replaces a built-in one",
        &["skill::a_workspace_skill_replaces_those_of_the_same_name_and_says_so"],
    ),
    row("T14", "keys in the environment of commands", &["sandbox::environment::keys_and_passwords_do_not_pass"]),
    row("T15", "key printed by a tool", &[]),
    row("T16", "key in pieces, encoded", &[]),
    row("T17", "error with a key", &[]),
    row("T18", "file modes under umask 000", &[]),
    row("T19", "environment of the program", &[]),
    row("T20", "debug output", &["config::trust::no_key_is_shown_by_any_text_about_the_settings"]),
    row("T21", "report that steers", &[]),
    row("T22", "dependencies", &[]),
];

/// Every test of this binary.
fn tests() -> BTreeSet<String> {
    let output = Command::new(std::env::current_exe().unwrap()).arg("--list").output().unwrap();
    let list = String::from_utf8(output.stdout).unwrap();
    list.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect()
}

#[test]
fn each_row_has_a_test_that_exists() {
    let tests = tests();
    let crashes = (1..=30).map(|number| format!("C{number:02}"));
    let fleet = (1..=3).map(|number| format!("F{number:02}"));
    let runaway = (1..=16).map(|number| format!("R{number:02}"));
    let processes = (1..=20).map(|number| format!("P{number:02}"));
    let walls = (4..=18).chain([22]).map(|number| format!("S{number:02}"));
    let wanted: Vec<String> = crashes.chain(fleet).chain(runaway).chain(processes).chain(walls).collect();
    assert_eq!(ROWS.iter().map(|row| row.id).collect::<Vec<_>>(), wanted);
    for row in ROWS.iter().chain(TRUSTS) {
        assert!(!row.held_by(&tests).is_empty(), "{} {} has no test", row.id, row.fault);
        for test in row.tests {
            assert!(tests.contains(*test), "{}: there is no test {test}", row.id);
        }
    }
}

/// Prints the table.
#[test]
#[ignore = "for tests/battery/run"]
fn table() {
    let tests = tests();
    for row in ROWS.iter().chain(TRUSTS) {
        super::say(&format!("row|{}|{}|{}", row.id, row.fault, row.held_by(&tests).join(" ")));
    }
}
