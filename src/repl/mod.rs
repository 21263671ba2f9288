//! The prompt: lines in, events out, neither ever in the other's way. What the agent does with a line is told in `runtime`.

pub mod command;
