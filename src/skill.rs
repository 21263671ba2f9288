//! Skills: short guides in Markdown that an agent loads when it needs them.
