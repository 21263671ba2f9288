//! All integration tests in one binary, a file or folder per room.
#![allow(clippy::unwrap_used, clippy::expect_used, unreachable_pub, reason = "a test fails by panicking")]
mod agent;
mod cli;
mod config;
mod demo;
mod house;
mod markdown;
mod model;
mod parity;
mod pilot;
mod policy;
mod prompt;
mod repl;
mod role;
mod runtime;
mod sandbox;
mod scripted;
mod server;
mod session;
mod skill;
mod story;
mod task;
mod terminal;
mod tool;
mod tools;
mod trace;
mod workspace;
