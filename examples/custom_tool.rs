//! A tool of one's own: a typed argument struct and an async function. `cargo run --example custom_tool`
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tillerman::agent::Agent;
use tillerman::event::Events;
use tillerman::model::scripted::{Scripted, Step};
use tillerman::session::Session;
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
    // The second call is wrong: the model is told so, and what is right, before the function is ever called.
    let model = Scripted::replies([
        Step::calls("kilometres", json!({"miles": 100, "digits": 1})),
        Step::calls("kilometres", json!({"milez": "far"})),
        Step::says("A hundred nautical miles are 185.2 km."),
    ]);
    let agent = Agent { tools: Toolbox::new(vec![Arc::new(kilometres())])?, ..Agent::new(Arc::new(model)) };

    let mut session = Session::in_memory();
    let answer = agent.prompt(&mut session, "How far is a hundred miles?", &Events::none()).await?;
    for result in session.context().iter().flat_map(|message| message.results()) {
        println!("the tool said:  {}", result.output);
    }
    println!("the model said: {}", answer.text());
    Ok(())
}
