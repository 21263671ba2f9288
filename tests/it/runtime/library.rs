//! For those who build on the library: their own models and tools, several conversations, many at once.

use std::sync::Arc;

use serde_json::json;
use tillerman::event::Ending;
use tillerman::runtime::{Open, Runtime, SessionGone, StartError};
use tillerman::session::SessionId;
use tillerman::tool::args::Signature;
use tillerman::tool::{Tool, ToolContext, ToolError, ToolOutput};

use super::{Ask, Boat, Ground, boat, calls, endings, played, says};

/// A tool as a user of the library writes it.
struct Weather {
    signature: Signature,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Place {
    /// A city.
    city: String,
}

impl Tool for Weather {
    fn spec(&self) -> &tillerman::message::ToolSpec {
        self.signature.spec()
    }

    fn call<'a>(
        &'a self,
        args: tillerman::message::RawArgs,
        _: &'a ToolContext,
    ) -> futures_util::future::BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let read = self.signature.read::<Place>(&args)?;
            Ok(ToolOutput::text(format!("rain in {}", read.args.city)))
        })
    }
}

fn weather() -> Arc<dyn Tool> {
    Arc::new(Weather { signature: Signature::of::<Place>("weather", "Tells the weather.", true) })
}

#[tokio::test]
async fn tools_of_ones_own_are_there_for_main_agents_and_workers() {
    let ground = Ground::new();
    let model = played("weather", |ask: Ask| async move {
        match ask.outputs().first() {
            Some(output) if output.starts_with("rain") => says(output),
            _ if ask.is_worker() => calls([("weather", json!({"city": "Bergen"}))]),
            None if ask.last() == "go" => {
                calls([("dispatch", json!({"task": "Ask for the weather."})), ("weather", json!({"city": "Kiel"}))])
            }
            _ => says(ask.outputs().last().cloned().unwrap_or(ask.last())),
        }
    });
    let runtime = Runtime::start_with(ground.config(model), vec![weather()]).await.unwrap();
    let feed = runtime.feed();
    let session = runtime.open(Open::New).await.unwrap();
    let mut boat = Boat { ground, runtime, session, feed };
    assert_eq!(boat.answer("go").await, "rain in Kiel");
    boat.idle().await;
    assert_eq!(boat.task(1).result().unwrap().unwrap().answer.trim(), "rain in Bergen");
}

#[tokio::test]
async fn two_tools_of_one_name_are_refused_when_they_would_be_used() {
    let ground = Ground::new();
    let model = played("double", |_| async { says("hello") });
    let runtime = Runtime::start_with(ground.config(model), vec![weather(), weather()]).await.unwrap();
    let feed = runtime.feed();
    let session = runtime.open(Open::New).await.unwrap();
    let mut boat = Boat { ground, runtime, session, feed };
    let refused = boat.runtime.say(&boat.session, "go").await;
    let why = "two tools are called weather; give one of them another name or leave it out".to_owned();
    assert_eq!(refused, Err(SessionGone::NotBegun(why.clone())));
    assert_eq!(endings(&mut boat.feed), [Ending::Failed { why }]);
}

#[tokio::test]
async fn a_model_that_does_not_exist_ends_the_run_with_its_name() {
    let ground = Ground::new();
    let mut config = ground.config(played("here", |_| async { says("hello") }));
    config.choice.id.model = "gone".to_owned();
    let runtime = Runtime::start(config).await.unwrap();
    let feed = runtime.feed();
    let session = runtime.open(Open::New).await.unwrap();
    let mut boat = Boat { ground, runtime, session, feed };
    for _ in 0..2 {
        let refused = boat.runtime.say(&boat.session, "go").await.unwrap_err().to_string();
        assert!(refused.starts_with("no provider played"), "{refused}");
        boat.idle().await;
        assert_eq!(endings(&mut boat.feed), [Ending::Failed { why: refused }]);
    }
}

#[tokio::test]
async fn conversations_do_not_hear_each_other() {
    let mut boat = boat(played("echo", |ask: Ask| async move {
        says(ask.messages.iter().map(|message| message.text()).collect::<Vec<_>>().join(" "))
    }))
    .await;
    let first = boat.session.clone();
    let second = boat.runtime.open(Open::New).await.unwrap();
    assert_ne!(first, second);
    assert_eq!(boat.answer("one").await, "one");
    boat.session = second;
    assert_eq!(boat.answer("two").await, "two");
    boat.session = first;
    assert_eq!(boat.answer("three").await, "one one three");
}

#[tokio::test]
async fn a_conversation_that_is_not_open_is_said_so() {
    let boat = boat(played("any", |_| async { says("x") })).await;
    let id = SessionId::new("unknown");
    let said = boat.runtime.say(&id, "x".to_owned()).await;
    assert_eq!(said, Err(SessionGone::NotOpen(id.clone())));
    assert_eq!(boat.runtime.abort_main(&id).await, Err(SessionGone::NotOpen(id)));
}

#[tokio::test]
async fn too_many_waiting_lines_are_refused_and_none_is_lost() {
    let boat = boat(played("never", |_| std::future::pending())).await;
    let mut taken = 0;
    let refused = loop {
        match boat.runtime.say(&boat.session, "again".to_owned()).await {
            Ok(_) => taken += 1,
            Err(refused) => break refused,
        }
    };
    assert_eq!((taken, refused), (257, SessionGone::Full(256)), "one runs, the others wait");
    assert_eq!(boat.runtime.status(&boat.session).await.unwrap().queued, 256);
}

#[tokio::test]
async fn a_link_instead_of_the_tasks_directory_is_refused_with_its_path() {
    let ground = Ground::new();
    let elsewhere = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), ground.root().join(".tasks")).unwrap();
    let boat = Runtime::start(ground.config(played("any", |_| async { says("x") }))).await;
    let runtime = match boat {
        Err(StartError::Tasks(error)) => return assert!(error.to_string().contains(".tasks"), "{error}"),
        other => other.unwrap(),
    };
    let session = runtime.open(Open::New).await.unwrap();
    let brief = tillerman::task::Brief { body: "x".to_owned(), ..Default::default() };
    let refused = runtime.dispatch(&session, brief).await.unwrap_err().to_string();
    assert!(refused.contains(".tasks is no directory of its own"), "{refused}");
}
