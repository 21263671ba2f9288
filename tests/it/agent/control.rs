//! Control from outside: steers, follow-ups, aborts, and the moment in which a run stops listening.

use std::time::Duration;

use tillerman::agent::inbox::{Refused, Slot};
use tillerman::agent::{Outcome, Unheard, inbox};
use tillerman::message::{NoteId, NoteKind};
use tillerman::session;
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

/// C-9: `steer_boundary: turn`.
#[tokio::test(start_paused = true)]
async fn c9_a_steer_waits_for_all_calls_where_that_is_set() {
    let played = Scenario::new()
        .tool(Stub::with("slow", millis(500), End::Echo, None))
        .calls("", &[("c1", "slow", "{}"), ("c2", "slow", "{}")])
        .says("ok")
        .limits(|limits| (limits.parallel, limits.steer_waits) = (false, true))
        .steer_at(millis(300), "stop that")
        .play()
        .await;
    assert_eq!(played.requests[1][2..], ["c1 = {}", "c2 = {}", "user: stop that"]);
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
    assert!((1..=3).all(|id| played.session.heard().contains(NoteId(id))), "what was cleared does not wait any more");
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
    let heard = played.session.heard();
    assert!(heard.contains(NoteId(2)), "there is nothing left to steer");
    assert!(!heard.contains(NoteId(1)), "whoever started the run decides about a follow-up");
    assert_eq!(played.tiller.steer("too late"), Err(Unheard::Sealed("too late".into())));
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_done_waits_for_a_note_that_is_being_written_down() {
    for (kind, word) in [(NoteKind::Steer, "steer"), (NoteKind::FollowUp, "follow-up")] {
        let scenario = Scenario::new().says("one").says("two");
        let played = scenario.post_at(millis(50), kind, millis(5_000), Some("and this")).play().await;
        assert_eq!(played.outcome(), answered("two"), "{word}");
        assert_eq!(played.context()[2..], ["user: and this", "assistant: two"]);
        assert_eq!(played.took, millis(50 + 5_000 + 100));
    }
}

#[tokio::test(start_paused = true)]
async fn a_note_that_could_not_be_written_down_is_not_heard_and_its_id_is_gone() {
    let scenario = Scenario::new().says("one").post_at(millis(50), NoteKind::Steer, millis(200), None);
    let played = scenario.play().await;
    assert_eq!(played.outcome(), answered("one"));
    assert_eq!((played.took, played.unheard), (millis(250), vec![]));
    assert_eq!(played.session.next_note(), NoteId(2));
}

#[tokio::test(start_paused = true)]
async fn a_turn_does_not_wait_for_a_note_that_is_being_written_down() {
    let played = Scenario::new()
        .calls("", &[("c1", "echo", "{}")])
        .says("one")
        .says("two")
        .post_at(millis(50), NoteKind::Steer, millis(100), Some("late"))
        .play()
        .await;
    assert_eq!(played.took, millis(300), "the second call began while it was being written");
    assert_eq!(played.context()[3..], ["assistant: one", "user: late", "assistant: two"]);
}

#[tokio::test(start_paused = true)]
async fn an_abort_ends_the_wait_for_a_note_and_gives_it_back() {
    let played = Scenario::new()
        .says("one")
        .abort_at(millis(150))
        .post_at(millis(50), NoteKind::Steer, millis(50), Some("a"))
        .says("two")
        .after(Duration::from_secs(60))
        .play()
        .await;
    assert_eq!((played.outcome(), played.took), (Outcome::Aborted, millis(150)));

    let (scenario, given) = Scenario::new().says("one").hand();
    let sends = async {
        let tiller = tokio::task::spawn_blocking(move || given.recv().unwrap()).await.unwrap();
        let slot = tiller.reserve(NoteKind::Steer).unwrap();
        tokio::time::sleep(millis(200)).await;
        tiller.abort();
        tokio::time::sleep(millis(200)).await;
        slot.deliver("kept").unwrap()
    };
    let (played, id) = tokio::join!(scenario.play(), sends);
    assert_eq!((played.outcome(), id), (Outcome::Aborted, NoteId(1)));
    let unheard: Vec<&str> = played.unheard.iter().map(|note| note.text.as_str()).collect();
    assert_eq!(unheard, ["kept"], "what was written down by the end is neither heard nor lost");
}

#[tokio::test(start_paused = true)]
async fn a_disk_that_hangs_does_not_hold_the_end_of_a_run_for_ever() {
    let (scenario, given) = Scenario::new().says("one").after(Duration::from_secs(60)).hand();
    let sends = async {
        let tiller = tokio::task::spawn_blocking(move || given.recv().unwrap()).await.unwrap();
        let slot = tiller.reserve(NoteKind::FollowUp).unwrap();
        tiller.abort();
        tokio::time::sleep(Duration::from_secs(3_600)).await;
        slot.deliver("too late")
    };
    let (played, sent) = tokio::join!(scenario.play(), sends);
    assert_eq!((played.outcome(), played.unheard), (Outcome::Aborted, vec![]));
    assert!(played.took < Duration::from_secs(60), "{:?}", played.took);
    assert_eq!(sent, Err(Unheard::Sealed("too late".into())));
}

#[test]
fn a_reserved_place_counts_until_it_is_given_up() {
    let (tiller, inbox) = inbox::channel(NoteId(1));
    let slots: Vec<Slot> = (0..inbox::CAPACITY).map(|_| tiller.reserve(NoteKind::Steer).unwrap()).collect();
    assert_eq!(tiller.reserve(NoteKind::Steer).err(), Some(Refused::Full));
    drop(slots);
    assert_eq!(tiller.steer("again"), Ok(NoteId(inbox::CAPACITY as u64 + 1)));
    drop(inbox);
    assert_eq!(tiller.reserve(NoteKind::Steer).err(), Some(Refused::Sealed));
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
        let end = if aborted_before { session::End::Aborted } else { session::End::Interrupted };
        assert_eq!(played.session.end(), Some(&end));
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_parks_rests_with_every_call_answered() {
    let played = Scenario::new()
        .tool(Stub::with("ask", millis(10), End::Park("asked as q_001".into()), None))
        .calls("", &[("c1", "ask", "{}"), ("c2", "echo", "{}")])
        .says("never asked for")
        .play()
        .await;
    assert_eq!(played.outcome(), Outcome::Parked);
    assert_eq!(played.requests.len(), 1);
    assert_eq!(played.context()[2..], ["c1 = asked as q_001", "c2 = {}"]);
    assert_eq!(played.session.end(), Some(&session::End::Parked));
    assert!(played.tiller.is_sealed());
    assert_eq!(played.story().last().unwrap(), "parked");
}

#[tokio::test(start_paused = true)]
async fn a_steer_that_waits_when_a_run_would_park_is_heard_first() {
    let played = Scenario::new()
        .tool(Stub::with("ask", millis(500), End::Park("asked as q_001".into()), None))
        .calls("", &[("c1", "ask", "{}")])
        .says("then cookies")
        .steer_at(millis(300), "use cookies")
        .play()
        .await;
    assert_eq!(played.outcome(), answered("then cookies"));
    assert_eq!(played.requests[1][2..], ["c1 = asked as q_001", "user: use cookies"]);
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_heard_like_a_steer_and_clears_no_follow_up() {
    let played = Scenario::new()
        .calls("", &[("c1", "echo", "{}")])
        .says("jwt it is")
        .says("docs too")
        .follow_up_at(millis(20), "and the docs")
        .post_at(millis(30), NoteKind::Answer, millis(10), Some("jwt"))
        .play()
        .await;
    assert_eq!(played.outcome(), answered("docs too"));
    let lasts: Vec<&str> = played.requests.iter().map(|request| request.last().unwrap().as_str()).collect();
    assert_eq!(lasts, ["user: hi", "user: jwt", "user: and the docs"]);
}
