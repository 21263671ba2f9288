//! The process zoo: whatever a command starts, and however it ends, nothing of it is alive afterwards.

use std::time::Duration;

use tillerman::sandbox::{self, End, Tier};

use super::{Ground, KINDS};
use crate::patience::StoppedClock;

/// A name, what to run, and how many processes must be alive before it is ended.
pub const ZOO: &[(&str, &str, usize)] = &[
    ("child", "sleep 300 & wait", 2),
    ("grandchildren", "sh -c 'sleep 300 & sleep 300 & wait' & wait", 4),
    ("setsid", "setsid sleep 300 & sleep 300", 2),
    ("double fork", "(setsid sh -c 'sleep 300 & sleep 300 &' &) ; sleep 300", 3),
    ("nohup", "nohup sleep 300 >/dev/null 2>&1 & disown; sleep 300", 2),
    ("ignores TERM", "trap '' TERM HUP INT; (trap '' TERM; sleep 300; sleep 300) & sleep 300; sleep 300", 4),
    ("stopped", "sleep 300 & kill -STOP $!; setsid sh -c 'kill -STOP $$' & sleep 300", 3),
    ("stops itself", "kill -STOP $$; sleep 300", 1),
    ("daemon that keeps the pipe", "setsid sh -c 'sleep 300' & sleep 300", 2),
    ("cleared environment", ": > $ZOO; env -i setsid sh -c 'tail -f \"$0\"; :' $ZOO & sleep 300", 4),
    (
        "forks on and on",
        "f() { for i in 1 2 3 4 5 6 7 8; do sleep 0.02; (sleep 300 &); done; }; f & f & wait; sleep 300",
        8,
    ),
];

/// Each of the zoo within each kind of walls.
pub fn everywhere() -> impl Iterator<Item = (Option<Tier>, &'static (&'static str, &'static str, usize))> + Clone {
    KINDS.into_iter().flat_map(|tier| ZOO.iter().map(move |one| (tier, one)))
}

#[tokio::test]
async fn p01_p02_p03_an_abort_leaves_nothing() {
    for (tier, (name, text, count)) in everywhere() {
        let ground = Ground::within(tier);
        let command = ground.command(text);
        let mut ignore = |_: &str| {};
        let run = sandbox::run(&command, &ground.limits, &ground.cancel, &mut ignore);
        let abort = async {
            ground.until_alive(*count).await;
            ground.cancel.cancel();
        };
        let (finished, ()) = tokio::join!(run, abort);
        assert_eq!((tier, *name, finished.unwrap().end), (tier, *name, End::Aborted));
        ground.until_dead().await;
    }
}

#[tokio::test]
async fn p01_p02_p03_a_dropped_run_leaves_nothing() {
    for (tier, (name, text, count)) in everywhere() {
        let ground = Ground::within(tier);
        let command = ground.command(text);
        let mut ignore = |_: &str| {};
        tokio::select! {
            finished = sandbox::run(&command, &ground.limits, &ground.cancel, &mut ignore) => panic!("{name}: {finished:?}"),
            () = ground.until_alive(*count) => {}
        }
        ground.until_dead().await;
    }
}

#[tokio::test]
async fn p01_p02_p03_a_time_limit_leaves_nothing() {
    for (tier, (name, text, _)) in everywhere() {
        let mut ground = Ground::within(tier);
        ground.limits.time = Duration::from_millis(120);
        let finished = ground.run(text).await;
        assert_eq!((tier, *name, finished.end), (tier, *name, End::TimedOut));
        ground.until_dead().await;
    }
}

#[tokio::test]
async fn p06_p08_what_a_command_leaves_behind_ends_with_it_and_is_counted() {
    let left: &[(&str, &str, usize)] = &[
        ("nothing", "true", 0),
        ("a job", "sleep 300 & echo done", 1),
        ("a quiet job", "sleep 300 >/dev/null 2>&1 & echo done", 1),
        ("an escaped job that keeps the pipe", "setsid sleep 300 & sleep 0.5; echo done", 1),
        ("an escaped quiet job", "setsid sleep 300 >/dev/null 2>&1 & sleep 0.5; echo done", 1),
        ("an orphan", "(setsid sh -c 'sleep 300 & exit' >/dev/null 2>&1); echo done", 1),
    ];
    for tier in KINDS {
        for (name, text, count) in left {
            let ground = Ground::within(tier);
            let finished = ground.run(text).await;
            assert_eq!((tier, *name, finished.end, finished.left), (tier, *name, End::Exited(0), *count));
            ground.until_dead().await;
        }
    }
}

/// The time in which it has to end stands still.
#[tokio::test(start_paused = true)]
async fn a_job_that_ends_in_time_is_not_counted() {
    let (ground, _clock) = (Ground::new(), StoppedClock::new());
    let finished = ground.run("sleep 0.02 & echo done").await;
    assert_eq!((finished.end, finished.left), (End::Exited(0), 0));
}

#[tokio::test]
async fn processes_of_other_commands_are_left_alone() {
    let (ours, theirs) = (Ground::new(), Ground::new());
    let command = theirs.command("sleep 300 & wait");
    let mut ignore = |_: &str| {};
    tokio::select! {
        finished = sandbox::run(&command, &theirs.limits, &theirs.cancel, &mut ignore) => panic!("{finished:?}"),
        () = async {
            theirs.until_alive(2).await;
            ours.run("sleep 300 & setsid sleep 300 & exit").await;
            theirs.until_alive(2).await;
        } => {}
    }
}
