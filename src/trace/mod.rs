//! Observers that write runs to files: spans as JSON lines, and a readable log.
