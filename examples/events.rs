//! Watching a run, ceasing to watch, and stopping it: closures subscribe, a tiller aborts. `cargo run --example events`
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::sync::Arc;

use serde_json::json;
use tillerman::agent::{self, Agent, inbox};
use tillerman::event::{AgentEvent, Subscribers};
use tillerman::model::scripted::{Scripted, Step};
use tillerman::session::{Record, Session};
use tillerman::tool::{FnTool, ToolError, Toolbox};

/// What a program might show of an event.
fn show(event: &AgentEvent) {
    match event {
        AgentEvent::TurnStarted { turn } => println!("turn {turn}"),
        AgentEvent::ToolStarted { call } => println!("  calls {} {}", call.name, call.args.0),
        AgentEvent::ToolFinished { result, .. } => println!("  got {:?}", result.output),
        AgentEvent::RunEnded { ending } => println!("ended: {ending:?}"),
        _ => {}
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let bell = FnTool::new("bell", "Rings the ship's bell.", true, |_: serde_json::Map<_, _>, _cx| async {
        Ok::<_, ToolError>("ding".to_owned())
    });
    let ring = || Step::calls("bell", json!({}));
    let model = Scripted::replies([ring(), Step::says("Rung."), ring(), ring(), Step::says("never said")]);
    let agent = Agent { tools: Toolbox::new(vec![Arc::new(bell)])?, ..Agent::new(Arc::new(model)) };
    let (mut session, subscribers) = (Session::in_memory(), Subscribers::default());

    println!("-- watched");
    let watching = subscribers.subscribe(show);
    agent.prompt(&mut session, "Ring the bell.", &subscribers.events()).await?;

    println!("-- not watched any more, and stopped when the second turn begins");
    drop(watching);
    session.append(Record::user("Ring the bell, for ever."))?;
    let (tiller, mut inbox) = inbox::channel(session.next_note());
    let _stopping = subscribers.subscribe(move |event| {
        if matches!(event, AgentEvent::TurnStarted { turn: 2 }) {
            tiller.abort();
        }
    });
    let outcome = agent::run(&agent, &mut session, &mut inbox, &subscribers.events()).await?;
    println!("{outcome:?}");
    Ok(())
}
