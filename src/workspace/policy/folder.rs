//! Making folders within the rights of a policy.

use std::io;

use super::{PathError, PathPolicy, Written};

impl PathPolicy {
    /// Makes a folder and those above it; one that is there already stays as it is.
    ///
    /// # Errors
    /// Any [`PathError`]; folders that were made above it then stay.
    pub fn create_dir(&self, path: &str) -> Result<Written, PathError> {
        let bare = path.trim_end_matches('/');
        let place = self.place(if bare.is_empty() { path } else { bare })?;
        let failed = |error| self.refuse(path, error);
        match place.metadata().map_err(failed)? {
            Some(there) if there.is_dir() => return Ok(Written { created: false, path: place.path() }),
            Some(_) => {
                let source = io::Error::other("there is a file of that name; choose another");
                return Err(PathError::Io { path: path.to_owned(), source });
            }
            None => {}
        }
        let place = place.with_parents().map_err(failed)?;
        self.judge(path, &place.path())?;
        let created = place.make_folder().map_err(failed)?;
        Ok(Written { created, path: place.path() })
    }
}
