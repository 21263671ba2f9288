//! The agent loop as a plain async function. It names no actor, no provider and no file of the workspace.
