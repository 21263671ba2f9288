//! The commands: what they print, what they end with.

mod args;
mod json;
