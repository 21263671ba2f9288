//! tillerman: one agent at the tiller, a crew of workers below.
//!
//! A person talks to the main agent, which answers fast and dispatches heavy work to background workers; each runs the
//! same loop on its own task directory, is steered, aborted and watched while it runs, and reports back.
//!
//! As a library it has two doors. [`agent::Agent`] is the loop alone: a model, tools, a conversation. [`runtime::Runtime`]
//! is the whole program without its front ends: conversations on the disk, workers, budgets, rules and walls. Both have a
//! `prompt` that answers with the last words and the tokens they took, and a `subscribe` that ends with its guard.
//! Tools are plain async functions with a typed argument struct: [`tool::FnTool`]. `examples/` has a program for each.
//!
//! ```
//! use std::sync::Arc;
//!
//! use tillerman::agent::Agent;
//! use tillerman::event::{AgentEvent, Subscribers};
//! use tillerman::model::scripted::{Scripted, Step};
//! use tillerman::session::Session;
//! use tillerman::tool::{FnTool, ToolError, Toolbox};
//!
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Knots {
//!     /// Nautical miles in an hour.
//!     knots: f64,
//! }
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let speed = FnTool::new("speed", "Converts knots to km/h.", true, |args: Knots, _context| async move {
//!     Ok::<_, ToolError>(format!("{:.1} km/h", args.knots * 1.852))
//! });
//! // A scripted model answers offline; any other is had from a `Config`.
//! let replies = [Step::calls("speed", serde_json::json!({"knots": 10})), Step::says("18.5 km/h.")];
//! let agent =
//!     Agent { tools: Toolbox::new(vec![Arc::new(speed)])?, ..Agent::new(Arc::new(Scripted::replies(replies))) };
//! let subscribers = Subscribers::default();
//! let _watching = subscribers.subscribe(|event| {
//!     if let AgentEvent::ToolFinished { result, .. } = event {
//!         assert_eq!(result.output, "18.5 km/h");
//!     }
//! });
//! let answer = agent.prompt(&mut Session::in_memory(), "How fast are ten knots?", &subscribers.events()).await?;
//! assert_eq!(answer.text(), "18.5 km/h.");
//! # Ok(()) }
//! ```

pub mod agent;
pub mod args;
pub mod cli;
pub mod config;
pub mod event;
pub mod ledger;
pub mod markdown;
pub mod message;
pub mod model;
pub mod prompt;
pub mod repl;
pub mod role;
pub mod runtime;
pub mod sandbox;
pub mod secret;
pub mod server;
pub mod session;
pub mod skill;
pub mod task;
pub mod template;
pub mod terminal;
pub mod tool;
pub mod tools;
pub mod trace;
pub mod workspace;
