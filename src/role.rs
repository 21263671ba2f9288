//! Named agents: `agents/*.md` with their model, tools, skills and limits.
