//! All integration tests in one binary, a file or folder per room.
#![allow(clippy::unwrap_used, clippy::expect_used, unreachable_pub, reason = "a test fails by panicking")]
mod house;
mod server;
mod trace;
mod workspace;
mod repl;
mod terminal;
