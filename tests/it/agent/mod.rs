//! The loop, played with a model that follows a script: what happens, in which order, and what the session holds then.

mod act;
mod circles;
mod compact;
mod control;
mod faults;
mod gauge;
mod pinned;
mod presets;
mod purse;
mod shown;
pub mod stage;
mod stuck;
mod turns;
