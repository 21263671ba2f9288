//! What a terminal shows: harmless, fitting, in one line each.

mod story;
mod text;
