//! A second terminal reaches the process that works in a workspace: through a unix socket in that workspace's state
//! folder, in JSON lines. [`Host`] answers there, [`Client`] asks. What the orders do is told in `runtime`.
//!
//! A request is one line, `{"v":1,"id":7,"order":"steer","task":"t_001","text":"keep the API"}`; `id` may be any JSON and
//! comes back. Its answer is one line, `{"v":1,"id":7,"done":"queued","note":14}` or `{"v":1,"id":7,"error":"no task …"}`.
//! The order `feed` is answered with a line for each piece of news, `{"v":1,"id":7,"news":{…}}`, until the client leaves.
//! The fields are those of [`Order`](crate::runtime::Order), [`Done`](crate::runtime::Done) and
//! [`Envelope`](crate::runtime::Envelope).

mod address;
mod client;
mod host;
mod lines;
mod wire;

pub use client::{Client, Unanswered};
pub use host::{Host, may_order};
pub use wire::VERSION;

/// The socket's name in the state folder.
pub const SOCKET: &str = "control.sock";

/// Longest request, in bytes with its line break: a brief with much in it.
pub const LONGEST_REQUEST: u64 = 1024 * 1024;

/// Longest answer, in bytes: many thousand tasks.
pub const LONGEST_ANSWER: u64 = 64 * 1024 * 1024;
