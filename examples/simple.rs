//! One question, one answer, and what it took: an agent with a scripted model, so that it runs offline.
//! `cargo run --example simple`
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::sync::Arc;

use tillerman::agent::Agent;
use tillerman::event::Events;
use tillerman::message::Usage;
use tillerman::model::scripted::{Scripted, Step};
use tillerman::session::Session;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let used = Usage { input: 31, output: 12, ..Usage::default() };
    let model = Scripted::replies([Step::says("It turns the rudder, and with it the boat.").with_usage(used)]);
    let agent = Agent { system: "You answer in one sentence.".into(), ..Agent::new(Arc::new(model)) };

    let mut session = Session::in_memory();
    let answer = agent.prompt(&mut session, "What does a tiller do?", &Events::none()).await?;
    println!("{}", answer.text());
    println!("{} tokens in {} turn", answer.usage.total_tokens(), answer.turns);
    Ok(())
}
