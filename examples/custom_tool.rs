//! A tool of one's own: a typed argument struct and an async function. `cargo run --example custom_tool`
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::path::PathBuf;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tillerman::agent::{self, Agent, Limits, Outcome, inbox};
use tillerman::event::Events;
use tillerman::message::NoteId;
use tillerman::model::scripted::{Scripted, Step};
use tillerman::model::tokens::Counter;
use tillerman::session::{Record, Session};
use tillerman::tool::{FnTool, Tool, ToolError, Toolbox};

/// The doc comments become the descriptions that the model reads.
#[derive(Deserialize, JsonSchema)]
struct Distance {
    /// Nautical miles.
    miles: f64,
    /// Digits after the point.
    #[serde(default)]
    digits: u8,
}

fn kilometres() -> impl Tool {
    FnTool::new("kilometres", "Converts nautical miles to kilometres.", true, |args: Distance, _cx| async move {
        match args.miles >= 0.0 {
            true => Ok(format!("{:.*} km", usize::from(args.digits), args.miles * 1.852)),
            false => Err(ToolError::new(format!("miles is {}; give a distance of 0 or more", args.miles))),
        }
    })
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let replies = [
        Step::calls("kilometres", json!({"miles": 100, "digits": 1})),
        Step::says("A hundred nautical miles are 185.2 km."),
    ];
    let agent = Agent {
        model: Arc::new(Scripted::replies(replies)),
        summariser: None,
        counter: Counter::default(),
        tools: Toolbox::new(vec![Arc::new(kilometres())])?,
        system: "You are a navigator.".into(),
        limits: Limits::default(),
        artifacts: PathBuf::from("artifacts"),
        ledger: None,
        account: None,
    };
    let mut session = Session::in_memory();
    session.append(Record::user("How far is a hundred miles?"))?;
    let (_tiller, mut inbox) = inbox::channel(NoteId(1));

    let outcome = agent::run(&agent, &mut session, &mut inbox, &Events::none()).await?;
    for result in session.context().iter().flat_map(|message| message.results()) {
        println!("the tool said:  {}", result.output);
    }
    if let Outcome::Answered(answer) = outcome {
        println!("the model said: {answer}");
    }
    Ok(())
}
