//! The prompt's promises: what a line means, and what a person sees on a real terminal.

mod board;
mod command;
mod complete;
mod composer;
mod hangup;
mod helm;
mod help;
mod painter;
mod panel;
pub mod pty;
mod roam;
mod said;
mod story;
mod wait;
