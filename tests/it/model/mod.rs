//! The model room: streams, wire formats, faults and the catalogue.

mod catalog;
mod faults;
mod replies;
mod requests;
mod retry;
mod sse;
mod talk;
