//! Titles: when one is asked for, what is made of the answer, and that no run ever notices.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tillerman::config::{Named, Place};
use tillerman::message::Message;
use tillerman::model::Model;
use tillerman::runtime::{News, Open, Source};
use tillerman::session::Session;
use tokio::sync::Semaphore;

use super::{Ask, Boat, boat_with, eventually, played, says};
use crate::patience::PATIENCE;

/// With a model that answers every line, and another that names conversations.
async fn titled(model: Arc<dyn Model>) -> Boat {
    let answers = played("main", |ask: Ask| async move { says(format!("You said {}.", ask.last())) });
    boat_with(answers, |config| {
        config.titles = true;
        config.cast.title = Some(Named { key: "title_model", id: model.id().clone(), from: Place::Default });
        config.models = config.models.clone().with(model);
    })
    .await
}

/// A model that names every conversation so, and counts how often it is asked.
fn namer(text: &'static str) -> (Arc<dyn Model>, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let model = played("namer", move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        async move { says(text) }
    });
    (model, asked)
}

async fn told(boat: &mut Boat) -> String {
    let session = boat.session.clone();
    boat.until(|envelope| match (&envelope.source, &envelope.news) {
        (Source::Main { session: whose, .. }, News::Titled { title }) if *whose == session => Some(title.clone()),
        _ => None,
    })
    .await
}

/// The journal, read from its file.
fn journal(boat: &Boat) -> Session {
    let path = boat.ground.workspace().sessions().join(format!("{}.jsonl", boat.session));
    Session::read(&path).unwrap()
}

async fn name(boat: &Boat) -> Option<String> {
    boat.runtime.status(&boat.session).await.unwrap().name
}

#[tokio::test]
async fn after_the_first_answer_a_title_is_asked_for_once_and_kept() {
    let (shown, gate) = (Arc::new(std::sync::Mutex::new(Vec::new())), Arc::new(Semaphore::new(0)));
    let (seen, held) = (shown.clone(), gate.clone());
    let model = played("namer", move |ask: Ask| {
        seen.lock().unwrap().push((ask.last(), ask.tools.len()));
        let held = held.clone();
        async move {
            held.acquire().await.unwrap().forget();
            says("Fixing the parser")
        }
    });
    let mut boat = titled(model).await;
    assert_eq!(name(&boat).await, None);
    assert_eq!(boat.answer("mend src/parse.rs").await, "You said mend src/parse.rs.");
    assert_eq!(name(&boat).await.as_deref(), Some("mend src/parse.rs"), "until there is a title");
    gate.add_permits(2);
    assert_eq!(told(&mut boat).await, "Fixing the parser");
    let status = boat.runtime.status(&boat.session).await.unwrap();
    assert_eq!(
        (status.name.as_deref(), status.since_open.usage.total_tokens()),
        (Some("Fixing the parser"), 24),
        "it is paid"
    );
    boat.answer("and test it").await;
    let asked = shown.lock().unwrap().clone();
    assert!(asked.len() == 1 && asked[0].1 == 0, "{asked:?}");
    assert!(asked[0].0.contains("mend src/parse.rs") && asked[0].0.contains("You said"), "{}", asked[0].0);
    let journal = journal(&boat);
    assert_eq!((journal.title(), journal.context().len()), (Some("Fixing the parser"), 4), "it is not talked about");
}

/// S2-52.
#[tokio::test]
async fn without_a_model_for_it_the_main_agents_own_is_asked() {
    let model =
        played("main", |ask: Ask| async move { says(if ask.tools.is_empty() { "Saying hello" } else { "Hello!" }) });
    let mut boat = boat_with(model, |config| config.titles = true).await;
    assert_eq!(boat.answer("hello").await, "Hello!");
    assert_eq!(told(&mut boat).await, "Saying hello");
    assert_eq!((journal(&boat).title(), journal(&boat).context().len()), (Some("Saying hello"), 2));
}

#[tokio::test]
async fn with_titles_off_nobody_is_asked_and_the_first_line_serves() {
    let (model, asked) = namer("An answer.");
    let mut boat = boat_with(model, |config| config.titles = false).await;
    boat.answer("first line\nsecond line").await;
    tokio::time::sleep(Duration::from_millis(700)).await;
    assert_eq!(name(&boat).await.as_deref(), Some("first line"));
    assert_eq!((journal(&boat).title(), asked.load(Ordering::SeqCst)), (None, 1), "asked for the answer only");
}

#[tokio::test]
async fn a_title_that_comes_during_a_run_is_written_when_the_run_is_over() {
    let (gate, title) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let (held, named) = (gate.clone(), title.clone());
    let answers = played("main", move |ask: Ask| {
        let (held, title) = (held.clone(), title.clone());
        async move {
            if ask.last() == "wait" {
                title.add_permits(1);
                held.acquire().await.unwrap().forget();
            }
            says("ok")
        }
    });
    let came = Arc::new(AtomicUsize::new(0));
    let counted = came.clone();
    let model = played("namer", move |_| {
        let (named, came) = (named.clone(), counted.clone());
        async move {
            named.acquire().await.unwrap().forget();
            came.fetch_add(1, Ordering::SeqCst);
            says("Waiting")
        }
    });
    let mut boat = boat_with(answers, |config| {
        config.titles = true;
        config.cast.title = Some(Named { key: "title_model", id: model.id().clone(), from: Place::Default });
        config.models = config.models.clone().with(model);
    })
    .await;
    boat.answer("hello").await;
    let run = boat.say("wait").await;
    eventually("the title comes", || came.load(Ordering::SeqCst) == 1).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(journal(&boat).title(), None, "the run has the session");
    gate.add_permits(1);
    boat.run_ended(run).await;
    assert_eq!(told(&mut boat).await, "Waiting");
    assert_eq!(journal(&boat).title(), Some("Waiting"));
}

#[tokio::test]
async fn a_conversation_that_is_gone_on_with_keeps_its_title_and_asks_no_more() {
    let (model, asked) = namer("About boats");
    let mut boat = titled(model.clone()).await;
    boat.answer("hello").await;
    told(&mut boat).await;
    boat.runtime.shutdown().await;
    let mut config = boat.runtime.config().clone();
    config.models = config.models.with(model);
    let runtime = tillerman::runtime::Runtime::start(config).await.unwrap();
    let (feed, session) = (runtime.feed(), runtime.open(Open::Latest).await.unwrap());
    assert_eq!(session, boat.session);
    let mut boat = Boat { runtime, session, feed, ..boat };
    assert_eq!(name(&boat).await.as_deref(), Some("About boats"));
    boat.answer("hello again").await;
    tokio::time::sleep(Duration::from_millis(700)).await;
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn whatever_is_answered_becomes_one_tidy_line_or_nothing() {
    let long = "A very long title that goes on and on until nobody wants to read it any more";
    let table = [
        ("  \"Fix   the\tparser.\"\nand more", "Fix the parser"),
        ("<think>\nhm, a title\n</think>\n# **Boats**", "Boats"),
        ("Title: Boats", "Boats"),
        ("\u{1b}]0;evil\u{7}Red\u{202e}der\u{200b}", "]0;evilRedder"),
        (long, "A very long title that goes on and on until nobody wants…"),
    ];
    for (answer, expected) in table {
        let mut boat = titled(namer(answer).0).await;
        boat.answer("hello").await;
        let title = told(&mut boat).await;
        assert_eq!(title, expected);
        assert!(title.chars().count() <= 60);
    }
    let (model, asked) = namer(" \n#\n");
    let mut boat = titled(model).await;
    boat.answer("hello").await;
    eventually("it is asked", || asked.load(Ordering::SeqCst) == 1).await;
    boat.answer("go on").await;
    assert_eq!((name(&boat).await.as_deref(), journal(&boat).title()), (Some("hello"), None));
}

#[tokio::test]
async fn a_program_that_ends_does_not_wait_for_a_title() {
    let asking = Arc::new(());
    let held = asking.clone();
    let model = played("namer", move |_| {
        let held = held.clone();
        async move {
            let _held = held;
            std::future::pending::<Message>().await
        }
    });
    let mut boat = titled(model).await;
    boat.answer("hello").await;
    eventually("the title is asked for", || Arc::strong_count(&asking) == 3).await;
    boat.idle().await;
    assert_eq!(Arc::strong_count(&asking), 3, "nothing is left to do while it is asked");
    tokio::time::timeout(PATIENCE, boat.runtime.shutdown()).await.unwrap();
    eventually("the question ends with the program", || Arc::strong_count(&asking) == 2).await;
}
