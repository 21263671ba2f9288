//! The prompt's promises: what a line means, and what a person sees on a real terminal.

mod board;
mod command;
mod composer;
mod complete;
mod hangup;
mod line;
mod painter;
pub mod pty;
mod roam;
mod story;
mod wait;
