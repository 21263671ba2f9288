//! Doors for other programs into a running one. What they may ask is told in `runtime`; the prompt is a front end beside it.

pub mod control;
