//! Walls around commands: what they let through, and what of the machine is seen within them.

use tillerman::sandbox::{Built, End, Tier, Walls};
use tillerman::workspace::policy::Bounds;

use super::{Ground, settings, text};

#[test]
fn s18_walls_are_tried_before_the_first_command() {
    let dir = tempfile::tempdir().unwrap();
    let bounds = Bounds { base: dir.path().into(), write: vec![dir.path().into()], ..Bounds::default() };
    for tier in [Tier::Full, Tier::Landlock] {
        let walls = Walls::around(settings(bounds.clone(), tier));
        assert_eq!(walls.build().unwrap(), Built { tier, notes: Vec::new() });
    }
}

#[tokio::test]
async fn commands_within_walls_end_as_they_do_without() {
    for tier in Tier::ALL {
        let ground = Ground::within(tier);
        let finished = ground.run("echo one; echo two >&2; cat; touch inside; exit 3").await;
        assert_eq!((tier, finished.end, text(&finished).as_str()), (tier, End::Exited(3), "one\ntwo\n"));
        assert_eq!((tier, ground.run("kill -9 $$").await.end), (tier, End::Signalled(9)));
        let error = ground.try_run(&format!("echo {}", "x".repeat(2_000_000))).await.unwrap_err();
        assert!(error.to_string().starts_with("the command has 2000005 bytes"), "{tier}: {error}");
        let mut gone = ground.command("true");
        gone.cwd = ground.path("gone");
        let run = tillerman::sandbox::run(&gone, &ground.limits, &ground.cancel, &mut |_| {}).await;
        assert!(run.unwrap_err().to_string().ends_with("the folder does not exist"), "{tier}");
    }
}
