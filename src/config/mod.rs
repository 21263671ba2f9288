//! Settings: what was written, where, and what it means. Nothing here starts anything.
