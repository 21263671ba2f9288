//! Where everything lives: the folder that the user owns and the state that the runtime owns. What the files mean is told elsewhere.
