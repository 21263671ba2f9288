//! The built-in tools, one small room each, with the text that the model reads beside it.
