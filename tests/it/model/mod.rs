//! The model room: streams, wire formats, faults and the catalogue.

mod replies;
mod sse;
mod talk;
