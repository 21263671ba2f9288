//! The model room: streams, wire formats, faults and the catalogue.

mod bulk;
mod catalog;
mod encoded;
mod entries;
mod fallback;
mod faults;
mod governor;
mod line;
mod network;
mod overflow;
mod price;
mod react;
mod recording;
mod replies;
mod requests;
mod responses;
mod retry;
mod rows;
mod sse;
mod statuses;
mod streams;
mod talk;
mod tokens;
mod usage;
mod waits;
