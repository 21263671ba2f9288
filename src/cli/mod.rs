//! The commands of the command line that are not the terminal: run, rpc, replay, tasks, sessions, notes, models, tool, demo, doctor, init,
//! config, completions, man.

pub mod compaction;
pub mod demo;
pub mod dialect;
pub mod doctor;
pub mod image;
pub mod init;
pub mod json;
pub mod log;
pub mod man;
pub mod models;
pub mod notes;
pub mod orders;
pub mod output;
pub mod permissions;
mod permit;
pub mod ready;
pub mod replay;
pub mod resume;
mod rpc;
pub mod run;
pub mod schema;
pub mod sessions;
pub mod settings;
mod show;
mod tail;
pub mod tasks;
pub mod tools;
mod voice;
mod watch;
