//! The model room: streams, wire formats, faults and the catalogue.

mod sse;
