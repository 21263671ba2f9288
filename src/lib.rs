//! tillerman: one agent at the tiller, a crew of workers below.
//!
//! A person talks to the main agent, which answers fast and dispatches heavy work to background workers; each runs the
//! same loop on its own task directory, is steered, aborted and watched while it runs, and reports back.

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
pub mod terminal;
pub mod tool;
pub mod tools;
pub mod trace;
pub mod workspace;
