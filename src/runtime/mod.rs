//! The running program as front ends and library users see it: sessions, runs, tasks, and the feed of what happens.
