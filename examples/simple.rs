//! One question, one answer: an agent with a scripted model, so that it runs offline. `cargo run --example simple`
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::path::PathBuf;
use std::sync::Arc;

use tillerman::agent::{self, Agent, Limits, Outcome, inbox};
use tillerman::event::Events;
use tillerman::message::NoteId;
use tillerman::model::scripted::{Scripted, Step};
use tillerman::model::tokens::Counter;
use tillerman::session::{Record, Session};
use tillerman::tool::Toolbox;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let agent = Agent {
        model: Arc::new(Scripted::replies([Step::says("It turns the rudder, and with it the boat.")])),
        summariser: None,
        counter: Counter::default(),
        tools: Toolbox::empty(),
        system: "You answer in one sentence.".into(),
        limits: Limits::default(),
        artifacts: PathBuf::from("artifacts"),
        ledger: None,
        account: None,
    };
    let mut session = Session::in_memory();
    session.append(Record::user("What does a tiller do?"))?;
    let (_tiller, mut inbox) = inbox::channel(NoteId(1));

    match agent::run(&agent, &mut session, &mut inbox, &Events::none()).await? {
        Outcome::Answered(answer) => println!("{answer}"),
        other => println!("no answer: {other:?}"),
    }
    Ok(())
}
