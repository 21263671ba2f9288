//! A conversation: an append-only tree of entries, its leaf, and the messages from root to leaf. The file format is in `log`.
