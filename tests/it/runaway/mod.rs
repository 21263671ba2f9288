//! What runs away, and what holds it: the rows that no other room of the tests has. The list of all is in
//! `battery::rows`.

mod disk;
mod flood;
mod long;
mod meter;
mod nested;
mod parked;
