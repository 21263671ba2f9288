//! The system prompts of main agent and worker, put together from the files of the workspace, each part capped.
