//! What can be typed on the command line. What it means is decided in `cli`.
