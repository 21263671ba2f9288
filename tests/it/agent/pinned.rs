//! What no shortening may lose: tasks, wishes and what a person restored, whatever a summary says (U4, U15, B-5).

use std::path::PathBuf;
use std::sync::Arc;

use tillerman::agent::{self, Agent, Compacting, Keep, Ledger, Limits, Shortened, Standing, Trigger, inbox};
use tillerman::event::Events;
use tillerman::message::{Message, Usage};
use tillerman::model::Model;
use tillerman::model::scripted::{Scripted, Step};
use tillerman::model::tokens::Counter;
use tillerman::session::{Kind, Record, Session};
use tillerman::tool::Toolbox;

use super::shown::lines;

fn standing(number: u32, over: bool) -> Standing {
    let task = format!("t_00{number}");
    let line = format!("{task} {}", if over { "has ended" } else { "is running" });
    Standing { task, attempt: 1, over, line }
}

/// An agent that shortens at four messages and keeps one, with a model that says these things.
fn agent(steps: Vec<Step>, standings: Vec<Standing>) -> (Agent, Arc<Scripted>) {
    let scripted = Arc::new(Scripted::replies(steps));
    let ledger: Ledger = Arc::new(move || standings.clone());
    let compacting = Compacting { trigger: Trigger::Messages(4), keep: Keep::Last(1), ..Compacting::DEFAULT };
    let agent = Agent {
        model: Arc::clone(&scripted) as Arc<dyn Model>,
        summariser: None,
        counter: Counter::default(),
        tools: Toolbox::new(Vec::new()).unwrap(),
        system: String::new(),
        limits: Limits { compacting, ..Limits::default() },
        artifacts: PathBuf::from("/nonexistent"),
        ledger: Some(ledger),
        account: None,
    };
    (agent, scripted)
}

fn say(session: &mut Session, said: &str, answered: &str) {
    session.append(Record::user(said)).unwrap();
    let (message, model) = (Arc::new(Message::assistant(answered)), "a/b".to_owned());
    session.append(Record::Assistant { message, usage: Usage::default(), model, cost: None }).unwrap();
}

async fn run(agent: &Agent, session: &mut Session) {
    let (_tiller, mut inbox) = inbox::channel(session.next_note());
    agent::run(agent, session, &mut inbox, &Events::none()).await.unwrap();
}

async fn compact(agent: &Agent, session: &mut Session) -> Shortened {
    let (_tiller, mut inbox) = inbox::channel(session.next_note());
    agent::compact_now(agent, session, &mut inbox, &Events::none()).await.unwrap()
}

#[tokio::test]
async fn u4_u15_a_summary_that_lies_loses_no_worker_and_no_wish() {
    let standings =
        vec![standing(1, false), standing(2, false), standing(3, false), standing(4, true), standing(5, true)];
    let lie = "Nothing is running. Pushing is fine.";
    let (agent, scripted) = agent(vec![Step::says(lie), Step::says("on it")], standings);
    let mut session = Session::in_memory();
    say(&mut session, "Mend the parser. Never push to main! Thanks.", "dispatched three tasks");
    let message = Arc::new(Message::user("[Worker completed t_005]"));
    session.append(Record::Report { task: "t_005".to_owned(), attempt: 1, message }).unwrap();
    session.append(Record::user("how is it going?")).unwrap();
    run(&agent, &mut session).await;
    let request = lines(&scripted.asked()[1].messages);
    let ledger = "user: [Kept by the program, read from the disk just now]\n\
                  Tasks of this conversation, not to be dispatched again:\n- t_001 is running\n- t_002 is running\n\
                  - t_003 is running\n- t_004 has ended\n\
                  What people said, word for word, still holds unless they took it back:\n- m0: \"Never push to main!\"";
    assert_eq!(request[1..], [ledger, "user: how is it going?"], "the fifth was told already");
    assert!(request[0].starts_with(&format!("user: [Previous conversation summary]\n{lie}\n\n[What people said")));
    let compaction = session.compaction().unwrap();
    let pinned: Vec<_> = compaction.pinned.iter().map(|item| (session.name(item.entry), item.kind)).collect();
    assert_eq!(pinned, [("m0".to_owned(), Kind::User)]);
    let names =
        |items: &[tillerman::session::Item]| items.iter().map(|item| session.name(item.entry)).collect::<Vec<_>>();
    assert_eq!(
        (names(&compaction.dropped), names(&compaction.kept)),
        (vec!["m0".into(), "m1".into(), "m2".into()], vec!["m3".into()])
    );
    assert!(compaction.kept.iter().chain(&compaction.dropped).all(|item| item.tokens > 0));
    assert_eq!(compaction.why, "4 messages");
}

#[tokio::test]
async fn the_ledger_is_rendered_anew_and_the_old_one_is_gone() {
    let mut session = Session::in_memory();
    say(&mut session, "You must use tabs.", "yes");
    let (first, _) = agent(vec![Step::says("one")], vec![standing(1, false)]);
    say(&mut session, "a", "b");
    assert!(matches!(compact(&first, &mut session).await, Shortened::Done(_)));
    say(&mut session, "c", "d");
    let (second, scripted) = agent(vec![Step::says("two")], vec![standing(2, false)]);
    assert!(matches!(compact(&second, &mut session).await, Shortened::Done(_)));
    let context = lines(session.context()).join("\n");
    assert!(context.contains("t_002 is running") && !context.contains("t_001"), "{context}");
    assert!(context.contains("- m0: \"You must use tabs.\""), "{context}");
    let asked = scripted.asked()[0].messages[0].text();
    assert!(asked.contains("one") && !asked.contains("t_001"), "an old ledger is no news to a summary: {asked}");
}

#[tokio::test]
async fn what_is_restored_stays_through_later_compactions_and_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let mut session = Session::create(dir.path()).unwrap();
    say(&mut session, "the secret word is plum", "noted");
    let plum = session.origins()[0].entry;
    let (agent, _) = agent(["one", "two", "three"].map(Step::says).to_vec(), Vec::new());
    say(&mut session, "a", "b");
    assert!(matches!(compact(&agent, &mut session).await, Shortened::Done(_)));
    assert!(!session.context().iter().any(|message| message.text().starts_with("[Restored")));
    session.restore(plum).unwrap();
    for line in ["c", "e"] {
        say(&mut session, line, "d");
        assert!(matches!(compact(&agent, &mut session).await, Shortened::Done(_)), "{line}");
    }
    let restored: Vec<String> =
        session.context().iter().map(|message| message.text()).filter(|text| text.starts_with("[Restored")).collect();
    assert_eq!(restored.len(), 1);
    assert!(restored[0].ends_with(", m1]\nthe secret word is plum"), "{restored:?}");
    let pinned = &session.compaction().unwrap().pinned;
    assert_eq!(pinned.iter().map(|item| item.kind).collect::<Vec<_>>(), [Kind::Restored]);
    let again = session.restore(plum).unwrap_err().to_string();
    assert!(again.starts_with("m1 was not restored: it is restored already, as m"), "{again}");
    let (context, origins, path) =
        (session.context().to_vec(), session.origins().to_vec(), session.path().unwrap().to_owned());
    drop(session);
    let session = Session::open(&path).unwrap();
    assert_eq!((session.context(), session.origins()), (context.as_slice(), origins.as_slice()));
}

#[tokio::test]
async fn wishes_are_found_in_what_people_say_and_quoted_once() {
    let mut session = Session::in_memory();
    let code = "Please fix it.\n- do not touch src/lib.rs\n```\nlet never = 1;\n```\n> must be quoted\nThanks! Use tabs, \
                always. 不要推送。好的";
    say(&mut session, code, "yes");
    say(&mut session, "do not touch src/lib.rs", "yes");
    say(&mut session, "go on", "yes");
    let (agent, _) = agent(vec![Step::says("sum")], Vec::new());
    assert!(matches!(compact(&agent, &mut session).await, Shortened::Done(_)));
    let wishes: Vec<&str> =
        session.compaction().unwrap().carried.wishes.iter().map(|wish| wish.text.as_str()).collect();
    assert_eq!(wishes, ["do not touch src/lib.rs", "Use tabs, always.", "不要推送。"]);
}
