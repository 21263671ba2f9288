//! What a terminal shows: harmless, fitting, in one line each.

pub mod crew;
mod live;
mod markdown;
mod notify;
mod screen;
mod story;
mod text;
mod tree;
