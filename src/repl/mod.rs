//! The interactive terminal: a line editor below, what happens above. Knows only the runtime.
