//! The frame around tools: arguments, truncation, the toolbox.

mod args;
mod toolbox;
mod truncate;
