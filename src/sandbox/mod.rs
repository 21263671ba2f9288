//! Runs commands and owns their processes: output is spooled and capped, the whole tree ends with its owner.
