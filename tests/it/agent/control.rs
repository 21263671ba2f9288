//! Control from outside: steers, follow-ups, aborts, and the moment in which a run stops listening.

use std::time::Duration;

use tillerman::agent::{Outcome, Unheard, inbox};
use tillerman::message::{NoteId, NoteKind};
use tokio::time::sleep;

use super::stage::{End, Scenario, Stub, answered, millis};

#[tokio::test(start_paused = true)]
async fn a_steer_is_heard_after_the_running_tools_and_before_the_next_model_call() {
    let played = Scenario::new()
        .tool(Stub::with("slow", millis(500), End::Echo, None))
        .calls("", &[("c1", "slow", "{}")])
        .says("as you wish")
        .steer_at(millis(300), "use serde")
        .play()
        .await;
    assert_eq!(played.requests[1][2..], ["c1 = {}", "user: use serde"]);
    let story = played.story();
    let noted = story.iter().position(|line| line == "steer #1 use serde").unwrap();
    assert_eq!(story[noted - 1..=noted + 1], ["turn 1 ended", "steer #1 use serde", "turn 2"]);
}

#[tokio::test(start_paused = true)]
async fn a_steer_skips_calls_that_have_not_started() {
    let played = Scenario::new()
        .tool(Stub::with("slow", millis(500), End::Echo, None))
        .calls("", &[("c1", "slow", "{}"), ("c2", "slow", "{}"), ("c3", "slow", "{}")])
        .says("ok")
        .limits(|limits| limits.parallel = false)
        .steer_at(millis(300), "stop that")
        .play()
        .await;
    assert_eq!(
        played.requests[1][2..],
        [
            "c1 = {}",
            "c2 ! skipped: a new instruction came first",
            "c3 ! skipped: a new instruction came first",
            "user: stop that"
        ]
    );
    assert_eq!(played.took, millis(100 + 500 + 100));
}

#[tokio::test(start_paused = true)]
async fn a_steer_during_the_last_call_is_answered() {
    let played = Scenario::new().says("thinking").says("saw it").steer_at(millis(50), "wait").play().await;
    assert_eq!(played.outcome(), answered("saw it"));
    assert_eq!(played.context(), ["user: hi", "assistant: thinking", "user: wait", "assistant: saw it"]);
}

#[tokio::test(start_paused = true)]
async fn a_follow_up_waits_for_the_end_of_the_work() {
    let played = Scenario::new()
        .calls("", &[("c1", "echo", "{}")])
        .says("done")
        .says("tested")
        .says("committed")
        .follow_up_at(millis(10), "then test")
        .follow_up_at(millis(20), "then commit")
        .play()
        .await;
    assert_eq!(played.outcome(), answered("committed"));
    assert_eq!(
        played.context()[3..],
        ["assistant: done", "user: then test", "assistant: tested", "user: then commit", "assistant: committed"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_steer_clears_the_follow_ups_sent_before_it() {
    let scenario = || {
        Scenario::new()
            .says("one")
            .says("two")
            .says("three")
            .says("four")
            .follow_up_at(millis(10), "old")
            .steer_at(millis(20), "turn round")
            .follow_up_at(millis(30), "new")
    };
    let heard = |context: Vec<String>| context.into_iter().filter(|line| line.starts_with("user")).collect::<Vec<_>>();
    let played = scenario().play().await;
    assert_eq!(heard(played.context()), ["user: hi", "user: turn round", "user: new"]);
    let played = scenario().limits(|limits| limits.keep_follow_ups = true).play().await;
    assert_eq!(heard(played.context()), ["user: hi", "user: turn round", "user: old", "user: new"]);
}

#[tokio::test(start_paused = true)]
async fn an_abort_during_the_stream_ends_at_once() {
    let played =
        Scenario::new().says("a long answer").after(Duration::from_secs(60)).abort_at(millis(40_000)).play().await;
    assert_eq!(played.outcome(), Outcome::Aborted);
    assert!(played.took < millis(40_050), "{:?}", played.took);
    assert_eq!(played.context(), ["user: hi"]);
    assert_eq!(played.story(), ["run", "turn 1", "text a long", "aborted"]);
}

#[tokio::test(start_paused = true)]
async fn an_abort_during_tools_answers_every_call() {
    let played = Scenario::new()
        .tool(Stub::with("deaf", Duration::from_secs(600), End::Echo, Some("/tmp/x")))
        .tool(Stub::with("polite", millis(1), End::Heed, None))
        .calls("", &[("c1", "deaf", "{}"), ("c2", "polite", "{}"), ("c3", "deaf", "{}")])
        .abort_at(millis(1_000))
        .play()
        .await;
    assert_eq!(played.outcome(), Outcome::Aborted);
    assert!(played.took < millis(1_050), "{:?}", played.took);
    assert_eq!(
        played.context()[2..],
        ["c1 ! aborted by the user", "c2 = stopped half way", "c3 ! aborted by the user"]
    );
    assert_eq!(
        played.story()[6..],
        [
            "started c1 deaf",
            "started c2 polite",
            "progress c2 stopping",
            "finished c2 in 900ms: stopped half way",
            "failed c1 in 0ns: aborted by the user",
            "failed c3 in 0ns: aborted by the user",
            "aborted"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn an_abort_before_the_first_turn_asks_no_model() {
    let played = Scenario::new().abort_at(Duration::ZERO).says("never").after(millis(1)).play().await;
    assert_eq!(played.outcome(), Outcome::Aborted);
    assert_eq!(played.context(), ["user: hi"]);
}

#[tokio::test(start_paused = true)]
async fn notes_that_nobody_heard_are_given_back() {
    let played = Scenario::new()
        .says("…")
        .after(millis(1_000))
        .follow_up_at(millis(100), "later")
        .steer_at(millis(200), "now")
        .abort_at(millis(300))
        .play()
        .await;
    let unheard: Vec<(NoteId, NoteKind, &str)> =
        played.unheard.iter().map(|note| (note.id, note.kind, note.text.as_str())).collect();
    assert_eq!(unheard, [(NoteId(1), NoteKind::FollowUp, "later"), (NoteId(2), NoteKind::Steer, "now")]);
    assert_eq!(played.session.next_note(), NoteId(3), "ids rise within a session");
    assert_eq!(played.tiller.steer("too late"), Err(Unheard::Sealed("too late".into())));
}

#[test]
fn a_full_inbox_gives_the_text_back() {
    let (tiller, inbox) = inbox::channel(NoteId(1));
    for _ in 0..inbox::CAPACITY {
        tiller.steer("again").unwrap();
    }
    assert_eq!(tiller.steer("once more"), Err(Unheard::Full("once more".into())));
    drop(inbox);
    assert_eq!(tiller.follow_up("late"), Err(Unheard::Sealed("late".into())));
}

/// Steers race with the end of the run on real threads: each is either in the conversation or was given back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_steer_at_the_last_moment_is_heard_or_given_back() {
    for round in 0..150 {
        let wait = Duration::from_micros(round % 40 * 5);
        let mut scenario = Scenario::new().says("one").after(wait);
        for _ in 0..8 {
            scenario = scenario.says("more").after(Duration::ZERO);
        }
        let (scenario, given) = scenario.hand();
        let steering = std::thread::spawn(move || {
            let tiller = given.recv().unwrap();
            let sent = (0..4).map(|note: u8| tiller.steer(format!("n{note}")));
            sent.map(|sent| sent.is_ok()).collect::<Vec<bool>>()
        });
        let played = scenario.play().await;
        let taken = steering.join().unwrap();
        let heard = played.context().iter().filter(|line| line.starts_with("user: n")).count();
        assert_eq!(heard, taken.iter().filter(|taken| **taken).count(), "round {round}: {taken:?}");
        assert_eq!(played.unheard, []);
    }
}

#[tokio::test(start_paused = true)]
async fn an_end_of_the_program_is_told_from_an_abort_by_a_person() {
    for (aborted_before, words) in [
        (false, "c1 ! interrupted, effects unknown: the program ended before this call was answered."),
        (true, "c1 ! aborted by the user"),
    ] {
        let slow = Stub::with("slow", millis(500), End::Echo, None);
        let (scenario, tiller) = Scenario::new().tool(slow).calls("", &[("c1", "slow", "{}")]).hand();
        let stop = async move {
            sleep(millis(150)).await;
            let tiller = tiller.recv().unwrap();
            if aborted_before {
                tiller.abort();
            }
            tiller.interrupt();
        };
        let (played, ()) = tokio::join!(scenario.play(), stop);
        assert_eq!(played.outcome(), Outcome::Aborted);
        let last = played.context().pop().unwrap();
        assert!(last.starts_with(words), "{last}");
    }
}
