//! What is kept of a command's output, whatever it writes.

use std::fs;
use std::time::Duration;

use tillerman::sandbox::{self, Captured, End, Limits};

use super::Ground;
use crate::patience::alone;

const MIB: u64 = 1024 * 1024;

fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

#[tokio::test]
async fn small_output_makes_no_file() {
    let ground = Ground::new();
    let output = ground.run("printf 'a\\nb'").await.output;
    assert_eq!(output, Captured { head: b"a\nb".into(), bytes: 3, lines: 1, ..Captured::default() });
    assert!(!ground.path("spool").exists());
}

#[tokio::test]
async fn large_output_keeps_both_ends_in_memory_and_all_of_it_in_a_file() {
    let mut ground = Ground::new();
    ground.limits = Limits { head: 100, tail: 50, ..Limits::default() };
    let output = ground.run("seq 1 20000").await.output;
    let whole: String = (1..=20000).map(|n| format!("{n}\n")).collect();
    assert_eq!((output.bytes, output.lines), (whole.len() as u64, 20000));
    assert_eq!(output.head, whole.as_bytes()[..100]);
    assert_eq!(output.tail, whole.as_bytes()[whole.len() - 50..]);
    assert_eq!(output.gap(), whole.len() as u64 - 150);
    let spool = output.spool.unwrap();
    assert_eq!((spool.bytes, fs::read_to_string(spool.path).unwrap()), (output.bytes, whole));
}

#[test]
fn p11_an_endless_writer_neither_fills_memory_nor_disk_nor_outlives_its_time() {
    alone("sandbox::output::p11_an_endless_writer_neither_fills_memory_nor_disk_nor_outlives_its_time", || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let mut time = Duration::from_millis(200);
        // A slow machine takes longer to write much.
        while runtime.block_on(endless(time)) <= 64 * MIB {
            time *= 2;
        }
    });
}

/// Lets a command write for so long; answers how much it wrote.
async fn endless(time: Duration) -> u64 {
    let mut ground = Ground::new();
    ground.limits = Limits { time, spool: MIB, ..Limits::default() };
    let before = resident();
    let finished = ground.run("yes").await;
    assert_eq!(finished.end, End::TimedOut);
    ground.until_dead().await;
    let Captured { bytes, head, tail, spool, .. } = finished.output;
    if let Some(spool) = spool {
        assert_eq!((head.len(), tail.len()), (64 * 1024, 64 * 1024));
        let kept = bytes.min(MIB);
        assert_eq!((spool.bytes, fs::metadata(spool.path).unwrap().len()), (kept, kept));
    }
    // It wrote more than twice as much; a loaded machine spreads what is kept over more arenas.
    assert!(resident().saturating_sub(before) < 32 * MIB);
    bytes
}

#[tokio::test]
async fn p13_every_byte_survives_in_the_file() {
    let mut ground = Ground::new();
    ground.limits.head = 4;
    let output = ground.run("printf 'a\\000\\377b\\n\\200c'").await.output;
    assert_eq!(fs::read(output.spool.unwrap().path).unwrap(), b"a\0\xFFb\n\x80c");
}

#[tokio::test]
async fn a_spool_that_cannot_be_made_costs_the_middle_and_nothing_else() {
    let mut ground = Ground::new();
    ground.limits = Limits { head: 2, tail: 2, ..Limits::default() };
    fs::write(ground.path("spool"), "in the way").unwrap();
    let output = ground.run("printf 123456789").await.output;
    let expected = Captured { head: b"12".into(), tail: b"89".into(), bytes: 9, lines: 0, spool: None };
    assert_eq!(output, expected);
}

#[tokio::test]
async fn output_is_shown_while_the_command_runs_in_whole_characters() {
    let ground = Ground::new();
    // It goes on when what it wrote has been seen.
    let until = |file: &str| format!("until [ -e {file} ]; do sleep 0.01; done");
    let text = format!("printf 'one \\303'; {}; printf '\\251'; {}; printf ' end'", until("1"), until("2"));
    let mut shown = Vec::new();
    let mut show = |piece: &str| {
        shown.push(piece.to_owned());
        fs::write(ground.path(&shown.len().to_string()), "").unwrap();
    };
    sandbox::run(&ground.command(&text), &ground.limits, &ground.cancel, &mut show).await.unwrap();
    assert_eq!(shown, ["one ", "é", " end"]);
}
