//! The prompt's promises: what a line means, and what a person sees on a real terminal.

mod board;
mod command;
mod complete;
mod composer;
mod hangup;
mod painter;
pub mod pty;
mod roam;
mod story;
mod wait;
