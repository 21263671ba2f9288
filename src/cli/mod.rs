//! The commands of the command line that are not the terminal: run, tasks, demo, doctor, init.

pub mod demo;
pub mod doctor;
pub mod init;
pub mod json;
pub mod log;
pub mod ready;
pub mod run;
pub mod tasks;
