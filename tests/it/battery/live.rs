//! The program is killed at random times, again and again, and goes on each time.

use std::fs;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::after::{Left, Told, wrong};
use super::scene::{Play, Scene};
use super::{knob, tally};
use crate::patience::PATIENCE;
use crate::story::processes;

/// Numbers that are different each time; the first is said when something is wrong.
pub struct Dice(u64);

impl Dice {
    pub fn new() -> Dice {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        Dice(now.as_nanos() as u64 | 1)
    }

    /// From 0 to below `most`.
    pub fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }
}

/// Kills in one place before everything in it is looked at and another one is taken.
const ROUND: usize = 20;

/// C02.
#[test]
fn c02_kills_at_random_times_lose_nothing_that_was_told() {
    let (kills, mut dice) = (knob("KILLS", 20), Dice::new());
    let (mut killed, mut facts) = (0, 0);
    while killed < kills {
        let scene = Scene::new();
        let mut told = Told::default();
        let began = Instant::now();
        assert_eq!(scene.run(Play::of(&["run", "--wait", "dispatch first: echo 1"])).code, Some(0));
        let whole = u64::try_from(began.elapsed().as_micros()).unwrap() * 5 / 4;
        for round in 0..ROUND.min(kills - killed) {
            let line = format!("dispatch n{round}: echo {round} >> all.txt");
            let args = ["run", "--json", "--wait", "-c", &line];
            let said = scene.run_for(Play::of(&args), Duration::from_micros(dice.below(whole)));
            told.add(&said);
            killed += usize::from(said.code.is_none());
            let found = wrong(&scene, &told, Left::Killed);
            assert!(found.is_empty(), "kill {killed}: {found:#?}");
        }
        let said = scene.run(Play::of(&["run", "--json", "--wait", "-c", "2 + 2"]));
        told.add(&said);
        let found = wrong(&scene, &told, Left::Settled);
        assert!(found.is_empty() && said.code == Some(0), "after {killed} kills: {found:#?}\n{said:#?}");
        let all = fs::read_to_string(scene.work().join("all.txt")).unwrap_or_default();
        let mut numbers: Vec<&str> = all.lines().collect();
        numbers.sort_unstable();
        assert!(numbers.windows(2).all(|pair| pair[0] != pair[1]), "run twice: {all}");
        facts += told.count();
    }
    tally(&format!("{killed} kills, {facts} things told, 0 lost, 0 reported twice"));
}

/// C26.
#[test]
fn c26_a_line_that_waits_for_its_first_token_is_on_the_disk() {
    let scene = Scene::new();
    let script = r#"{"fixtures":[{"match":{},"latency":600000,"response":{"content":"late"}}]}"#;
    fs::write(scene.home().join("late.json"), script).unwrap();
    let model = format!("scripted/{}", scene.home().join("late.json").display());
    let args = ["run", "--json", "-m", &model, "the line that must stay"];
    let said = scene.run_until(Play::of(&args), |shown| shown.contains("\"turn.start\""));
    assert_eq!(said.code, None, "{said:?}");
    let found = super::after::files(&scene.sessions(), "jsonl");
    let text = fs::read_to_string(&found[0]).unwrap();
    assert!(
        text.lines().any(|line| line.contains("\"type\":\"user\"") && line.contains("the line that must stay")),
        "{text}"
    );
    tally("1 kill while a line waited, 0 lost");
}

/// C28: what a killed program left running is ended by the next one.
#[test]
fn c28_a_command_of_a_killed_program_is_ended_by_the_next_one() {
    let scene = Scene::new();
    // A number that no other test, nor another run of this one, sleeps for.
    let nap = format!("sleep 300.28{}", std::process::id());
    let line = format!("dispatch nap: setsid {nap} & {nap} & {nap}");
    let asleep = || processes(&nap).iter().filter(|line| line.starts_with("sleep")).count();
    let args = ["run", "--json", "--wait", &line];
    let said = scene.run_until(Play::of(&args), |_| asleep() == 3);
    assert_eq!(said.code, None, "{said:?}");
    let said = scene.run(Play::of(&["run", "--json", "--wait", "-c", "2 + 2"]));
    assert_eq!(said.code, Some(0), "{said:?}");
    let began = Instant::now();
    while asleep() > 0 {
        assert!(began.elapsed() < PATIENCE, "{} processes are left", asleep());
        thread::park_timeout(Duration::from_millis(5));
    }
    tally("3 processes of a killed program, 0 left");
}
