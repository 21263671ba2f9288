//! The rights of a policy as plain data, for the kernel to enforce on commands. How it does that is not here.

use std::path::PathBuf;

/// What a command may touch: the same as the file tools of the policy that it comes from.
///
/// All paths are absolute and, as far as they exist, without links.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bounds {
    /// Where a command starts.
    pub base: PathBuf,
    /// Where it may read; `None` for everywhere. What programs themselves need of the system is added by the walls.
    pub read: Option<Vec<PathBuf>>,
    /// Folders and files that it may write; some may not exist yet.
    pub write: Vec<PathBuf>,
    /// What stays as it is although it lies below a folder of `write`, also when it does not exist. A path of `write`
    /// that lies deeper may be written nevertheless.
    pub protected: Vec<PathBuf>,
    /// What cannot be read: keys of people and programs. Written neither.
    pub hidden: Vec<PathBuf>,
}
