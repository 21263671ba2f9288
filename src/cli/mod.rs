//! The commands of the command line that are not the terminal: run, tasks, demo, doctor, init.
