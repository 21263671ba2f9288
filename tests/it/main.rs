//! All integration tests in one binary, a file or folder per room.
mod house;
