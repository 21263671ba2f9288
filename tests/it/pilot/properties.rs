//! Whatever is said to the pilot, it answers, and every run ends.

use proptest::prelude::*;
use serde_json::Value;

use super::{MAIN, Talk};

/// Turns until it calls nothing more; every call is answered with the same text.
fn turns(mut talk: Talk, output: &str) -> usize {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        for turn in 1..200 {
            let reply = talk.reply().await;
            let answers = vec![(output, Value::Null, false); reply.calls().count()];
            if answers.is_empty() {
                return turn;
            }
            talk.results(&answers);
        }
        panic!("it does not end");
    })
}

/// Lines that begin like the known ones and go on in any way.
fn line() -> impl Strategy<Value = String> {
    let verb = prop::sample::select(vec![
        "run ",
        "read ",
        "grep ",
        "list ",
        "write ",
        "dispatch ",
        "dispatch a after t_1 budget ",
        "batch ",
        "call ",
        "continue ",
        "steer ",
        "abort ",
        "tasks",
        "todo ",
        "todo done ",
        "calc ",
        "= ",
        "what is ",
        "find ",
        "count ",
        "[Worker ",
        "[Worker completed t_001]\n",
        "@t_1 ",
        "!",
        "",
    ]);
    (verb, any::<String>()).prop_map(|(verb, rest)| format!("{verb}{rest}"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_line_is_answered_within_two_turns(line in line(), output in any::<String>()) {
        let mut talk = Talk::with(MAIN);
        talk.hears(&line);
        prop_assert!(turns(talk, &output) <= 2);
    }

    #[test]
    fn any_sum_ends(line in "[-+*/%^().0-9 ]{0,60}") {
        let mut talk = Talk::with(MAIN);
        talk.hears(&line);
        prop_assert!(turns(talk, "") <= 2);
    }

    #[test]
    fn any_brief_ends_after_its_steps(brief in "([-*`~a \n\\[\\]x.1:]|sh\n|- \\[ \\] ){0,60}", note in any::<String>()) {
        let mut talk = Talk::with(&["shell"]);
        talk.hears(&format!("Task t_001: any\n\n{brief}"));
        talk.hears(&note);
        let lines = brief.lines().count() + note.lines().count();
        prop_assert!(turns(talk, "") <= lines + 1);
    }
}
