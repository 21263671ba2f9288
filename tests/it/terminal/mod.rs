//! What a terminal shows: harmless, fitting, in one line each.

mod crew;
mod live;
mod screen;
mod story;
mod text;
mod tree;
