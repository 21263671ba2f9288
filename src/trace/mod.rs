//! Runs written down for later: spans as JSON lines, and a log that a person reads. Watches only; no run waits for it.
//!
//! A [`Scribe`] owns the one thread that writes; [`Spans`] and [`RunLog`] are observers that hand it their lines.
//! [`tree::read`] makes the spans of a file into a tree again.

mod excerpt;
mod line;
mod log;
mod scribe;
mod spans;
pub mod tree;

pub use line::Link;
pub use log::RunLog;
pub use scribe::{BACKLOG, Scribe};
pub use spans::Spans;

/// Whose run is written down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// Names the trace; by custom the stem of its file.
    pub trace: String,
    /// `main`, or the task as in `t_001`.
    pub agent: String,
    /// The model as `provider/model`.
    pub model: String,
    /// The tool call that caused the run, if one did.
    pub link: Option<Link>,
}
