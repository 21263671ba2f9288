//! When conversations are shortened: sets by name, single settings on top, and what is refused.

use tillerman::agent::{Compacting, Count, Keep, Trigger, When};

use super::{Scene, front};

fn set(settings: &str) -> Compacting {
    let config = Scene::new().trusted().file("ws/config.md", &front(settings)).config();
    assert_eq!(config.main.compacting, config.worker.compacting);
    config.main.compacting
}

#[test]
fn a_set_is_named_and_single_settings_change_it() {
    assert_eq!(set("max_tokens: 1000"), Compacting::DEFAULT);
    for (name, compacting) in Compacting::NAMED {
        assert_eq!(set(&format!("compaction: {name}")), compacting);
    }
    let s0 = Compacting::S0;
    let tokens = |tokens| Trigger::Tokens(tokens, Count::Characters);
    assert_eq!(set("compaction: s0\ncompact_at: 50_000 tokens"), Compacting { trigger: tokens(50_000), ..s0 });
    assert_eq!(set("compaction: s0\ncompact_at: 60%"), Compacting { trigger: Trigger::Window(60), ..s0 });
    assert_eq!(set("compact_at: 60"), Compacting { trigger: Trigger::Window(60), ..Compacting::DEFAULT });
    let gauge = Trigger::Tokens(9_000, Count::Gauge);
    assert_eq!(set("compact_at: 9000 tokens"), Compacting { trigger: gauge, ..Compacting::DEFAULT });
    let ours = "compact_at: 12 messages\ncompact_when: run\ncompact_keep: 6 messages\nsummary_role: assistant\n\
                summary_length: 900\ncompact_archive: yes";
    let expected = Compacting {
        trigger: Trigger::Messages(12),
        when: When::Run,
        keep: Keep::Last(6),
        role: Compacting::S2.role,
        most: Some(900),
        archive: true,
        ..Compacting::DEFAULT
    };
    assert_eq!(set(ours), expected);
    for (text, keep) in [("people", Keep::People), ("half", Keep::Half), ("300 tokens", Keep::Recent(300))] {
        assert_eq!(set(&format!("compact_keep: {text}")).keep, keep);
    }
}

#[test]
fn what_makes_no_sense_is_refused_with_what_would() {
    let at = "it must be like 75 % (10 to 95, of the window), 80000 tokens (from 1000) or 40 messages (from 4)";
    let keep = "it must be like 20000 tokens, 4 messages, people (what they said) or half";
    let cases = [
        ("compaction: s4", "it must be one of default, s0, s1, s2, s3, off"),
        ("compact_at: 5 %", at),
        ("compact_at: 99", at),
        ("compact_at: 10 tokens", at),
        ("compact_at: soon", at),
        ("compact_keep: all", keep),
        ("compact_keep: 0 messages", keep),
        ("compact_when: later", "it must be one of call, turn, run"),
        ("summary_role: system", "it must be one of user, assistant"),
        ("summary_length: 3", "it must be a whole number from 50 to 100000"),
        ("compact_archive: maybe", "it must be true or false"),
    ];
    for (line, expected) in cases {
        let error = Scene::new().trusted().file("ws/config.md", &front(line)).error();
        let (key, value) = line.split_once(": ").unwrap();
        assert_eq!(error, format!("{key} is {value} in ws/config.md line 2; {expected}"));
    }
    let off = Scene::new().trusted().file("ws/config.md", &front("compaction: off\ncompact_at: 50 %")).error();
    assert_eq!(off, "compact_at is 50 % in ws/config.md line 3; it must be left out while compaction is off");
}

#[test]
fn a_strangers_workspace_sets_nothing_of_it() {
    let scene = Scene::new().file("ws/config.md", &front("compaction: s2\ncompact_at: 4 messages"));
    assert_eq!(scene.config().main.compacting, Compacting::DEFAULT);
    assert!(
        scene.warnings()[0].starts_with("compaction, compact_at in ws/config.md ignored"),
        "{:?}",
        scene.warnings()
    );
}
