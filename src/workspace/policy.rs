//! What tools may read and write. Paths are confined on directory handles: a string picks the handle, the handle
//! decides, so that `..`, links and swapped directories lead nowhere. Running commands is confined elsewhere.

mod bounds;
mod place;
mod root;

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use cap_std::fs::{Metadata, MetadataExt as _, OpenOptions, OpenOptionsExt as _, PermissionsExt as _};
use rustix::fs::{Gid, OFlags, Uid};

pub use self::bounds::Bounds;
use self::place::Place;
use self::root::Root;

/// A file opened for reading neither waits for the other end of a pipe nor becomes our terminal.
const CAREFULLY: i32 = OFlags::NONBLOCK.union(OFlags::NOCTTY).bits() as i32;
/// The folders that the profile `curated` writes.
const CURATED: [&str; 3] = ["memory", "skills", "knowledge"];
/// What configures the runtime, below the base: nothing for a worker to touch.
const OWN: [&str; 6] = [".tasks", ".env", "agents", "config.md", "mcp.json", "skills"];

/// The named sets of rights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// Reads and writes everywhere; protected paths excepted.
    Free,
    /// Reads and writes below the base.
    Workspace,
    /// Reads below the base, writes in its `memory`, `skills` and `knowledge`.
    Curated,
    /// Reads below the base, writes only in the write roots that are added.
    Task,
}

/// What tools may read and write, as data.
///
/// Relative paths start at the base. A path is protected when it lies in `.git/hooks`, `.git/config` and their like, or
/// in a protected root; the longer of a protected and a write root wins, so a task may write its own directory although
/// `.tasks` is protected.
#[derive(Debug)]
pub struct PathPolicy {
    profile: Profile,
    base: Arc<Root>,
    read: Vec<Root>,
    write: Vec<Root>,
    protected: Vec<PathBuf>,
}

/// A file that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// It did not exist before.
    pub created: bool,
    /// Where it really lies.
    pub path: PathBuf,
}

/// Why a path may not be used, in words that a model can act on.
#[derive(Debug, thiserror::Error)]
pub enum PathError {
    /// It lies outside of all read roots.
    #[error("{path} may not be read: it lies outside of {allowed}")]
    UnreadablePlace {
        /// As it was asked for.
        path: String,
        /// Where reading is allowed.
        allowed: String,
    },
    /// It lies outside of all write roots.
    #[error("{path} may not be written: writing is allowed in {allowed}")]
    UnwritablePlace {
        /// As it was asked for.
        path: String,
        /// Where writing is allowed.
        allowed: String,
    },
    /// It is protected, whether it exists or not.
    #[error("{path} may not be written: {why}; writing is allowed in {allowed} otherwise")]
    Protected {
        /// As it was asked for.
        path: String,
        /// What it belongs to.
        why: &'static str,
        /// Where writing is allowed.
        allowed: String,
    },
    /// There is nothing of that name.
    #[error("{path} does not exist; use list to see what is there")]
    Missing {
        /// As it was asked for.
        path: String,
    },
    /// It is a directory, a pipe, a device or a socket.
    #[error("{path} is {kind}, not a regular file")]
    NotAFile {
        /// As it was asked for.
        path: String,
        /// What it is instead, with its article.
        kind: &'static str,
    },
    /// It cannot be a path.
    #[error("{path:?} is no usable path: {why}")]
    Unusable {
        /// As it was asked for.
        path: String,
        /// Why not.
        why: &'static str,
    },
    /// The operating system refused.
    #[error("{path}: {source}")]
    Io {
        /// As it was asked for.
        path: String,
        /// Why.
        source: io::Error,
    },
}

impl PathPolicy {
    /// The rights of a profile for the folder `base`, which must exist.
    ///
    /// # Errors
    /// [`PathError::Io`] when the folder cannot be opened.
    pub fn new(profile: Profile, base: &Path) -> Result<PathPolicy, PathError> {
        let failed = |source| PathError::Io { path: base.display().to_string(), source };
        let base = Root::open(&fs::canonicalize(base).map_err(failed)?).map_err(failed)?;
        Ok(PathPolicy::of(profile, Arc::new(base)))
    }

    /// The rights of another profile for the same folder, by the same handle: agents share it, however many they are.
    pub fn with_profile(&self, profile: Profile) -> PathPolicy {
        PathPolicy::of(profile, Arc::clone(&self.base))
    }

    fn of(profile: Profile, base: Arc<Root>) -> PathPolicy {
        let below = |names: &[&str]| names.iter().map(|name| base.path.join(name)).collect::<Vec<_>>();
        let (write, protected) = match profile {
            Profile::Free => (vec![PathBuf::from("/")], vec![]),
            Profile::Workspace => (vec![base.path.clone()], below(&["config.md", "mcp.json"])),
            Profile::Curated => (below(&CURATED), vec![]),
            Profile::Task => (vec![], below(&OWN)),
        };
        let write = write.into_iter().map(Root::at).collect();
        PathPolicy { profile, base, read: Vec::new(), write, protected }
    }

    /// Lets `root` be read as well; it need not exist yet.
    pub fn with_read(mut self, root: &Path) -> PathPolicy {
        self.read.push(Root::at(root::settled(&self.base.path.join(root))));
        self
    }

    /// Lets `root`, a folder or a file, be read and written as well; it need not exist yet.
    pub fn with_write(mut self, root: &Path) -> PathPolicy {
        self.write.push(Root::at(root::settled(&self.base.path.join(root))));
        self
    }

    /// Forbids writing in `root`, except in a write root that lies deeper.
    pub fn with_protected(mut self, root: &Path) -> PathPolicy {
        self.protected.push(root::settled(&self.base.path.join(root)));
        self
    }

    /// The same rights as data, for the walls around commands.
    pub fn bounds(&self) -> Bounds {
        let paths = |roots: &[Root]| roots.iter().map(|root| root.path.clone()).collect();
        let read = self.readable().map(|root| root.path.clone()).collect();
        Bounds {
            base: self.base.path.clone(),
            read: (self.profile != Profile::Free).then_some(read),
            write: paths(&self.write),
            protected: self.protected.clone(),
            hidden: Vec::new(),
        }
    }

    /// Where relative paths start; absolute, without links.
    pub fn base(&self) -> &Path {
        &self.base.path
    }

    /// The profile that it was made of.
    pub fn profile(&self) -> Profile {
        self.profile
    }

    /// Opens a regular file for reading. Never waits: a pipe or a device is refused.
    ///
    /// # Errors
    /// Any [`PathError`]; a link that leads out of the read roots is [`PathError::UnreadablePlace`].
    pub fn open(&self, path: &str) -> Result<File, PathError> {
        let asked = self.absolute(path)?;
        let failed = |error| self.explain(path, error);
        let file = if self.profile == Profile::Free {
            use std::os::unix::fs::OpenOptionsExt as _;
            fs::OpenOptions::new().read(true).custom_flags(CAREFULLY).open(&asked).map_err(failed)?
        } else {
            let mut options = OpenOptions::new();
            options.read(true).custom_flags(CAREFULLY);
            let open = |root: &Root, rel: &Path| root.dir()?.open_with(rel, &options);
            root::through(&asked, self.readable(), open).map_err(failed)?.into_std()
        };
        match root::kind(file.metadata().map_err(failed)?.mode()) {
            None => Ok(file),
            Some(kind) => Err(PathError::NotAFile { path: path.to_owned(), kind }),
        }
    }

    /// Where a readable file or folder really lies, without links. For walking: what is found below is opened with
    /// [`PathPolicy::open`].
    ///
    /// # Errors
    /// [`PathError::Missing`], or [`PathError::UnreadablePlace`] when it lies outside of the read roots.
    pub fn resolve(&self, path: &str) -> Result<PathBuf, PathError> {
        let asked = self.absolute(path)?;
        let real = fs::canonicalize(&asked).map_err(|error| self.explain(path, error))?;
        let inside = self.profile == Profile::Free || self.readable().any(|root| real.starts_with(&root.path));
        if inside { Ok(real) } else { Err(self.explain(path, root::escape())) }
    }

    /// Writes a whole file: parents are made, a link is followed, a reader sees the old or the new text and never a part.
    ///
    /// The new text gets an inode of its own with the mode and owner of the old, so another hard link keeps what it had.
    /// Nothing is forced to disk: the file belongs to the user's tree, where a rename is ordered after its data.
    ///
    /// # Errors
    /// Any [`PathError`]; then the old file is as it was.
    pub fn write(&self, path: &str, bytes: &[u8]) -> Result<Written, PathError> {
        let place = self.place(path)?;
        let old = place.metadata().map_err(|error| self.refuse(path, error))?;
        if let Some(old) = &old {
            if let Some(kind) = root::kind(old.mode()) {
                return Err(PathError::NotAFile { path: path.to_owned(), kind });
            }
            if old.mode() & 0o222 == 0 {
                let source = io::Error::other("it is read-only; chmod u+w it first if it really must change");
                return Err(PathError::Io { path: path.to_owned(), source });
            }
        }
        let place = place.with_parents().map_err(|error| self.refuse(path, error))?;
        self.judge(path, &place.path())?;
        replace(&place, old.as_ref(), bytes).map_err(|error| self.refuse(path, error))?;
        Ok(Written { created: old.is_none(), path: place.path() })
    }

    /// The path as it would be written, judged by its text alone: two spellings of one file give the same.
    pub fn normal(&self, path: &str) -> PathBuf {
        let mut normal = PathBuf::new();
        for part in self.base.path.join(path).components() {
            match part {
                Component::ParentDir => drop(normal.pop()),
                Component::CurDir => {}
                Component::Prefix(_) | Component::RootDir | Component::Normal(_) => normal.push(part),
            }
        }
        normal
    }

    /// The place to write, after links, if it may be written.
    fn place(&self, path: &str) -> Result<Place, PathError> {
        let mut asked = self.absolute(path)?;
        if path.ends_with('/') {
            return Err(PathError::Unusable { path: path.to_owned(), why: "it names a folder" });
        }
        for _ in 0..root::LINKS {
            let place = self.find(&asked).map_err(|error| self.refuse(path, error))?;
            self.judge(path, &place.path())?;
            match place.link().map_err(|error| self.refuse(path, error))? {
                Some(next) => asked = next,
                None => return Ok(place),
            }
        }
        Err(self.refuse(path, rustix::io::Errno::LOOP.into()))
    }

    fn find(&self, asked: &Path) -> io::Result<Place> {
        if self.profile == Profile::Free {
            return Place::find(asked, |folder| Root::open(folder)?.into_dir());
        }
        let roots = || [&*self.base].into_iter().chain(&self.write);
        Place::find(asked, |folder| root::through(folder, roots(), |root, rel| root.dir()?.open_dir(rel)))
    }

    /// Whether the real path may be written.
    fn judge(&self, path: &str, real: &Path) -> Result<(), PathError> {
        let longest = |paths: &mut dyn Iterator<Item = &Path>| {
            paths.filter(|root| real.starts_with(root)).map(|root| root.components().count()).max()
        };
        let Some(open) = longest(&mut self.write.iter().map(|root| root.path.as_path())) else {
            return Err(PathError::UnwritablePlace { path: path.to_owned(), allowed: self.writable() });
        };
        let shut = longest(&mut self.protected.iter().map(PathBuf::as_path));
        let git = |part: Component<'_>| part.as_os_str().eq_ignore_ascii_case(".git");
        let why = if shut.is_some_and(|shut| shut >= open) {
            "it belongs to the runtime"
        } else if self.profile != Profile::Free && real.components().any(git) {
            "it belongs to git; use the git command"
        } else {
            return Ok(());
        };
        Err(PathError::Protected { path: path.to_owned(), why, allowed: self.writable() })
    }

    fn absolute(&self, path: &str) -> Result<PathBuf, PathError> {
        let unusable = |why| Err(PathError::Unusable { path: path.to_owned(), why });
        if path.is_empty() {
            return unusable("it is empty");
        }
        if path.contains('\0') {
            return unusable("it contains a zero byte");
        }
        Ok(self.base.path.join(path))
    }

    fn readable(&self) -> impl Iterator<Item = &Root> {
        [&*self.base].into_iter().chain(&self.read).chain(&self.write)
    }

    fn writable(&self) -> String {
        let shown: Vec<String> = self.write.iter().map(|root| root.path.display().to_string()).collect();
        if shown.is_empty() { "no place".to_owned() } else { shown.join(", ") }
    }

    fn refuse(&self, path: &str, source: io::Error) -> PathError {
        let path = path.to_owned();
        match root::is_escape(&source) {
            true => PathError::UnwritablePlace { path, allowed: self.writable() },
            false => PathError::Io { path, source },
        }
    }

    fn explain(&self, path: &str, source: io::Error) -> PathError {
        let path = path.to_owned();
        if root::is_escape(&source) {
            let mut roots: Vec<&Path> = Vec::new();
            for root in self.readable() {
                if !roots.iter().any(|known| root.path.starts_with(known)) {
                    roots.push(&root.path);
                }
            }
            let roots: Vec<String> = roots.iter().map(|root| root.display().to_string()).collect();
            return PathError::UnreadablePlace { path, allowed: roots.join(", ") };
        }
        match source.kind() {
            io::ErrorKind::NotFound => PathError::Missing { path },
            _ => PathError::Io { path, source },
        }
    }
}

/// Writes beside the old file and renames over it; on failure nothing is left behind.
fn replace(place: &Place, old: Option<&Metadata>, bytes: &[u8]) -> io::Result<()> {
    let beside = format!(".tillerman-{}.tmp", ulid::Ulid::generate());
    let mut options = OpenOptions::new();
    // Nobody but us reads a half-written file whose readers may be limited by its mode.
    options.write(true).create_new(true).mode(if old.is_some() { 0o600 } else { 0o666 });
    let mut file = place.dir.open_with(&beside, &options)?;
    let written = file.write_all(bytes).and_then(|()| {
        let Some(old) = old else { return Ok(()) };
        // The owner can be kept by root alone; for anybody else the file is his own anyway.
        let owner = (Some(Uid::from_raw(old.uid())), Some(Gid::from_raw(old.gid())));
        let _ = rustix::fs::fchown(&file, owner.0, owner.1);
        file.set_permissions(cap_std::fs::Permissions::from_mode(old.mode() & 0o7777))
    });
    let renamed = written.and_then(|()| place.dir.rename(&beside, &place.dir, &place.leaf));
    if renamed.is_err() {
        let _ = place.dir.remove_file(&beside);
    }
    renamed
}
