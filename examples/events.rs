//! Watching a run and stopping it: an observer sees every event, a tiller aborts. `cargo run --example events`
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use serde_json::json;
use tillerman::agent::inbox::{self, Tiller};
use tillerman::agent::{self, Agent, Limits};
use tillerman::event::{AgentEvent, Events, Observer};
use tillerman::message::NoteId;
use tillerman::model::scripted::{Scripted, Step};
use tillerman::model::tokens::Counter;
use tillerman::session::{Record, Session};
use tillerman::tool::{FnTool, ToolError, Toolbox};

/// Prints what happens and stops the run when the second turn begins.
#[derive(Default)]
struct Watch {
    tiller: OnceLock<Tiller>,
}

impl Observer for Watch {
    fn observe(&self, event: &AgentEvent) {
        match event {
            AgentEvent::TurnStarted { turn: 2 } => {
                println!("turn 2: enough, stop");
                self.tiller.get().into_iter().for_each(Tiller::abort);
            }
            AgentEvent::TurnStarted { turn } => println!("turn {turn}"),
            AgentEvent::ToolStarted { call } => println!("  calls {} {}", call.name, call.args.0),
            AgentEvent::ToolFinished { result, took } => println!("  got {:?} after {took:?}", result.output),
            AgentEvent::RunEnded { ending } => println!("ended: {ending:?}"),
            _ => {}
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let bell = FnTool::new("bell", "Rings the ship's bell.", true, |_: serde_json::Map<_, _>, _cx| async {
        Ok::<_, ToolError>("ding".to_owned())
    });
    let agent = Agent {
        model: Arc::new(Scripted::replies([Step::calls("bell", json!({})), Step::says("never said")])),
        summariser: None,
        counter: Counter::default(),
        tools: Toolbox::new(vec![Arc::new(bell)])?,
        system: String::new(),
        limits: Limits::default(),
        artifacts: PathBuf::from("artifacts"),
        ledger: None,
        account: None,
    };
    let mut session = Session::in_memory();
    session.append(Record::user("Ring the bell, for ever."))?;

    let (tiller, mut inbox) = inbox::channel(NoteId(1));
    let watch = Arc::new(Watch::default());
    // The one tiller that this cell is made for.
    let _ = watch.tiller.set(tiller);
    agent::run(&agent, &mut session, &mut inbox, &Events::to([watch as Arc<dyn Observer>])).await?;
    Ok(())
}
