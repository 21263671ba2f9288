//! What takes long: aborts at random times, kills of the owner, commands without end. A short form here, the long one in
//! `tests/battery/run`, as the variables `ABORTS`, `KILLED` and `COMMANDS` say.

use std::env;
use std::fs;
use std::process::{Command as Program, Stdio};
use std::time::{Duration, Instant};

use tillerman::sandbox::{self, End, Tier};

use super::zoo::{ZOO, everywhere};
use super::{Ground, KINDS, zombies};
use crate::battery::{knob, tally};
use crate::patience::{PATIENCE, alone};

/// The word and the kind of walls of an owner that is going to be killed.
const OWNER: &str = "TILLERMAN_TEST_OWNER";

/// Some number below `most`, another each time.
fn random(most: u64) -> u64 {
    let id = ulid::Ulid::generate().random();
    u64::try_from(id % u128::from(most)).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p01_p02_p03_aborts_at_random_times_leave_nothing() {
    let aborts = knob("ABORTS", 40);
    let mut took = Vec::new();
    for (tier, (name, line, _)) in everywhere().cycle().take(aborts) {
        let ground = Ground::within(tier);
        let command = ground.command(line);
        let mut ignore = |_: &str| {};
        let abort = async {
            tokio::time::sleep(Duration::from_millis(random(60))).await;
            ground.cancel.cancel();
            Instant::now()
        };
        let (finished, asked) =
            tokio::join!(sandbox::run(&command, &ground.limits, &ground.cancel, &mut ignore), abort);
        took.push(asked.elapsed());
        assert_eq!((tier, *name, finished.unwrap().end), (tier, *name, End::Aborted));
        ground.until_dead().await;
    }
    took.sort();
    let p99 = took[(took.len() * 99 / 100).min(took.len() - 1)];
    tally(&format!("{aborts} aborts, p99 {p99:?}, longest {:?}", took.last().unwrap()));
}

#[tokio::test]
async fn p05_a_kill_of_the_owner_leaves_nothing() {
    let kills = knob("KILLED", 3);
    let mut longest = Duration::ZERO;
    for tier in KINDS.into_iter().flatten() {
        for _ in 0..kills {
            let ground = Ground::new();
            let mut owner = Program::new(env::current_exe().unwrap());
            owner
                .args(["--exact", "sandbox::long::owner", "--ignored"])
                .env(OWNER, format!("{} {tier:?}", ground.word));
            let mut owner = owner.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            // The owner itself has the word as well.
            ground.until_alive(ZOO.iter().map(|(.., count)| count).sum::<usize>() + 1).await;
            owner.kill().unwrap();
            owner.wait().unwrap();
            let killed = Instant::now();
            ground.until_dead().await;
            longest = longest.max(killed.elapsed());
        }
    }
    tally(&format!("{} kills, all gone after {longest:?} at the latest", 3 * kills));
}

/// Not a test: runs the whole zoo and waits to be killed.
#[tokio::test]
#[ignore = "waits to be killed"]
async fn owner() {
    let told = env::var(OWNER).unwrap();
    let (word, tier) = told.split_once(' ').unwrap();
    let tier = Tier::ALL.into_iter().find(|kind| format!("{kind:?}") == tier).unwrap();
    let mut ground = Ground::within(tier);
    ground.word = word.to_owned();
    let run = async |line: &str| {
        let command = ground.command(line);
        sandbox::run(&command, &ground.limits, &ground.cancel, &mut |_| {}).await
    };
    let all = futures_util::future::join_all(ZOO.iter().map(|(_, line, _)| run(line)));
    let _ = tokio::time::timeout(PATIENCE, all).await;
}

#[test]
fn p18_many_commands_within_walls_leave_neither_zombies_nor_open_files() {
    alone("sandbox::long::p18_many_commands_within_walls_leave_neither_zombies_nor_open_files", || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let commands = knob("COMMANDS", 50);
        // A warden that was dismissed is waited for when another is.
        let grounds = Tier::ALL.map(Ground::within);
        for (tier, ground) in Tier::ALL.iter().zip(&grounds) {
            runtime.block_on(async {
                ground.run("true").await;
                let mine = || fs::read_dir("/proc/self/fd").unwrap().flatten().count();
                let before = mine();
                for _ in 0..commands {
                    ground.run("true").await;
                }
                assert_eq!((tier, mine(), zombies()), (tier, before, 0));
                ground.until_dead().await;
            });
        }
        tally(&format!("{} commands", 3 * commands));
    });
}
