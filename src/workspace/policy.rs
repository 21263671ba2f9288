//! What tools may read and write. Paths are confined on directory handles: a string picks the handle, the handle
//! decides, so that `..`, links and swapped directories lead nowhere. Running commands is confined elsewhere.

mod bounds;
mod error;
mod folder;
mod lent;
mod place;
mod profile;
mod replace;
mod repository;
mod root;

use std::fs::{self, File};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use cap_std::fs::{MetadataExt as _, OpenOptions, OpenOptionsExt as _};

pub use self::bounds::Bounds;
pub use self::error::PathError;
use self::place::Place;
pub use self::profile::Profile;
use self::root::Root;
pub(crate) use self::root::settled;
use super::guarded::Guarded;

/// What the kernel shows of itself and of processes: not files, whatever they look like.
const KERNEL: [&str; 3] = ["/proc", "/dev", "/sys"];

/// What tools may read and write, as data.
///
/// Relative paths start at the base. A path is protected when git takes programs from it (`.git/hooks`, `.git/config` and
/// their like), or when it lies in a protected root; the longer of a protected and a write root wins, so a task may write
/// its own directory although `.tasks` is protected.
#[derive(Debug)]
pub struct PathPolicy {
    profile: Profile,
    base: Arc<Root>,
    guarded: Arc<Guarded>,
    read: Vec<Root>,
    write: Vec<Root>,
    protected: Vec<PathBuf>,
    /// Every path is a write root, so no handle confines it.
    everywhere: bool,
    /// Write roots that did not exist when they were added: an empty file there only keeps the place for commands.
    absent: Vec<PathBuf>,
    /// This file and no other, whatever else is said.
    only: Option<PathBuf>,
}

/// A file that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// It did not exist before.
    pub created: bool,
    /// Where it really lies.
    pub path: PathBuf,
}

impl PathPolicy {
    /// The rights of a profile for the folder `base`, which must exist.
    ///
    /// # Errors
    /// [`PathError::Io`] when the folder cannot be opened.
    pub fn new(profile: Profile, base: &Path) -> Result<PathPolicy, PathError> {
        let failed = |source| PathError::Io { path: base.display().to_string(), source };
        let base = Root::open(&fs::canonicalize(base).map_err(failed)?).map_err(failed)?;
        Ok(PathPolicy::of(profile, Arc::new(base), Arc::default()))
    }

    /// The rights of another profile for the same folder, by the same handle: agents share it, however many they are.
    pub fn with_profile(&self, profile: Profile) -> PathPolicy {
        PathPolicy::of(profile, Arc::clone(&self.base), Arc::clone(&self.guarded))
    }

    /// The rights of a worker: it reads what the profile reads and writes only what is added.
    pub fn narrowed(&self) -> PathPolicy {
        let protected = Profile::Task.protected(&self.base.path);
        PathPolicy { write: Vec::new(), protected, everywhere: false, ..self.with_profile(self.profile) }
    }

    /// Holds back what is guarded, unless the profile is `full`. A base that itself lies in a hidden place is not hidden.
    pub fn guarding(mut self, guarded: &Guarded) -> PathPolicy {
        let mut guarded = guarded.clone();
        guarded.hidden.retain(|path| !self.base.path.starts_with(path));
        self.guarded = Arc::new(guarded);
        self
    }

    fn of(profile: Profile, base: Arc<Root>, guarded: Arc<Guarded>) -> PathPolicy {
        let write = profile.write(&base.path).into_iter().map(Root::at).collect();
        let protected = profile.protected(&base.path);
        let everywhere = profile.writes_everywhere();
        let (read, absent) = (Vec::new(), Vec::new());
        PathPolicy { profile, base, guarded, read, write, protected, everywhere, absent, only: None }
    }

    /// Lets `root` be read as well; it need not exist yet.
    pub fn with_read(mut self, root: &Path) -> PathPolicy {
        self.read.push(Root::at(root::settled(&self.base.path.join(root))));
        self
    }

    /// Lets `root`, a folder or a file, be read and written as well; it need not exist yet.
    pub fn with_write(mut self, root: &Path) -> PathPolicy {
        let path = root::settled(&self.base.path.join(root));
        if !path.exists() {
            self.absent.push(path.clone());
        }
        self.write.push(Root::at(path));
        self
    }

    /// Forbids writing in `root`, except in a write root that lies deeper.
    pub fn with_protected(mut self, root: &Path) -> PathPolicy {
        self.protected.push(root::settled(&self.base.path.join(root)));
        self
    }

    /// The same rights as data, for the walls around commands. Looks for repositories below what may be written.
    pub fn bounds(&self) -> Bounds {
        let read = self.readable().map(|root| root.path.clone()).collect();
        let write: Vec<PathBuf> = self.write.iter().map(|root| root.path.clone()).collect();
        let folders = write.iter().filter(|path| path.parent().is_some() && path.is_dir());
        let programs = folders.flat_map(|root| repository::programs(root));
        let programs = programs.chain(repository::programs_of(&self.base.path.join(".git")));
        let kept = self.protected.iter().chain(self.held(|guarded| &guarded.protected)).cloned().chain(programs);
        let mut protected: Vec<PathBuf> = kept.filter(|path| write.iter().any(|root| path.starts_with(root))).collect();
        protected.sort();
        protected.dedup();
        Bounds {
            base: self.base.path.clone(),
            read: (!self.profile.reads_everywhere()).then_some(read),
            write,
            protected,
            hidden: self.held(|guarded| &guarded.hidden).to_vec(),
        }
    }

    /// Whether a path, without links, is kept from tools.
    pub fn is_hidden(&self, real: &Path) -> bool {
        self.why_hidden(real).is_some()
    }

    fn why_hidden(&self, real: &Path) -> Option<&'static str> {
        if self.profile == Profile::Full {
            return None;
        }
        if self.is_of_kernel(real) {
            return Some("it is no file but a part of the running system; look at it with shell");
        }
        let secret = self.guarded.hidden.iter().any(|root| real.starts_with(root));
        secret.then_some("it holds keys, passwords or what a person typed")
    }

    fn is_of_kernel(&self, real: &Path) -> bool {
        // A workspace may lie in memory, as /dev/shm.
        let given = |root: &Root| root.path.parent().is_some() && real.starts_with(&root.path);
        KERNEL.iter().any(|root| real.starts_with(root)) && !self.readable().any(given)
    }

    fn held(&self, which: impl Fn(&Guarded) -> &Vec<PathBuf>) -> &[PathBuf] {
        if self.profile == Profile::Full { &[] } else { which(&self.guarded) }
    }

    fn seen(&self, path: &str, real: &Path) -> Result<(), PathError> {
        if let Some(only) = &self.only {
            return if real == only { Ok(()) } else { Err(PathError::Moved { path: path.to_owned() }) };
        }
        match self.why_hidden(real) {
            Some(why) => Err(PathError::Hidden { path: path.to_owned(), why }),
            None => Ok(()),
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

    /// Opens a regular file for reading. Never waits: a pipe or a device is refused before it is opened.
    ///
    /// # Errors
    /// Any [`PathError`]; a link that leads out of the read roots is [`PathError::UnreadablePlace`].
    pub fn open(&self, path: &str) -> Result<File, PathError> {
        let asked = self.absolute(path)?;
        let failed = |error| self.explain(path, error);
        self.seen(path, &self.normal(path))?;
        let file = if self.profile.reads_everywhere() {
            let seen = root::look(&asked).map_err(failed)?;
            self.seen(path, &root::real(&seen).map_err(failed)?)?;
            self.regular(path, rustix::fs::fstat(&seen).map_err(|error| failed(error.into()))?.st_mode)?;
            root::reopened(&seen, &asked).map_err(failed)?
        } else {
            let mut options = OpenOptions::new();
            options.read(true).custom_flags(root::CAREFULLY);
            let open = |root: &Root, rel: &Path| root.dir()?.open_with(rel, &options);
            let file = root::through(&asked, self.readable(), open).map_err(failed)?.into_std();
            self.seen(path, &root::real(&file).map_err(failed)?)?;
            file
        };
        self.regular(path, rustix::fs::fstat(&file).map_err(|error| failed(error.into()))?.st_mode)?;
        Ok(file)
    }

    fn regular(&self, path: &str, mode: u32) -> Result<(), PathError> {
        match root::kind(mode) {
            None => Ok(()),
            Some(kind) => Err(PathError::NotAFile { path: path.to_owned(), kind }),
        }
    }

    /// Where a readable file or folder really lies, without links. For walking: what is found below is opened with
    /// [`PathPolicy::open`].
    ///
    /// # Errors
    /// [`PathError::Missing`], [`PathError::Hidden`], or [`PathError::UnreadablePlace`] when it lies outside of the read
    /// roots.
    pub fn resolve(&self, path: &str) -> Result<PathBuf, PathError> {
        let asked = self.absolute(path)?;
        self.seen(path, &self.normal(path))?;
        let real = fs::canonicalize(&asked).map_err(|error| self.explain(path, error))?;
        self.seen(path, &real)?;
        let inside = self.profile.reads_everywhere() || self.readable().any(|root| real.starts_with(&root.path));
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
            self.regular(path, old.mode())?;
            if old.mode() & 0o222 == 0 {
                let source = io::Error::other("it is read-only; chmod u+w it first if it really must change");
                return Err(PathError::Io { path: path.to_owned(), source });
            }
        }
        let place = place.with_parents().map_err(|error| self.refuse(path, error))?;
        self.judge(path, &place.path())?;
        replace::replace(&place, old.as_ref(), bytes).map_err(|error| self.refuse(path, error))?;
        let path = place.path();
        let kept = old.is_some_and(|old| old.size() > 0 || !self.absent.contains(&path));
        Ok(Written { created: !kept, path })
    }

    /// Where a file or a folder really lies, or would lie, that may be written.
    ///
    /// # Errors
    /// Any [`PathError`] that says why it may not.
    pub fn may_write(&self, path: &str) -> Result<PathBuf, PathError> {
        let real = root::settled(&self.normal(path));
        self.absolute(path)?;
        self.judge(path, &real).map(|()| real)
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
            // Where a link lies does not matter: what it leads to is written.
            match place.link().map_err(|error| self.refuse(path, error))? {
                Some(next) => asked = next,
                None => return self.judge(path, &place.path()).map(|()| place),
            }
        }
        Err(self.refuse(path, rustix::io::Errno::LOOP.into()))
    }

    fn find(&self, asked: &Path) -> io::Result<Place> {
        if self.everywhere {
            return Place::find(asked, |folder| Root::open(folder)?.into_dir());
        }
        let roots = || [&*self.base].into_iter().chain(&self.write);
        Place::find(asked, |folder| root::through(folder, roots(), |root, rel| root.dir()?.open_dir(rel)))
    }

    /// Whether the real path may be written.
    fn judge(&self, path: &str, real: &Path) -> Result<(), PathError> {
        self.seen(path, real)?;
        if self.only.is_some() {
            return Ok(());
        }
        let longest = |paths: &mut dyn Iterator<Item = &Path>| {
            paths.filter(|root| real.starts_with(root)).map(|root| root.components().count()).max()
        };
        let Some(open) = longest(&mut self.write.iter().map(|root| root.path.as_path())) else {
            return Err(PathError::UnwritablePlace { path: path.to_owned(), allowed: self.writable() });
        };
        let kept = self.protected.iter().chain(self.held(|guarded| &guarded.protected));
        let shut = longest(&mut kept.map(PathBuf::as_path));
        let why = if shut.is_some_and(|shut| shut >= open) {
            "it belongs to the runtime, or runs by itself"
        } else if self.profile != Profile::Full && repository::is_program(real) {
            "git takes programs from it; use the git command"
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

    /// Where writing is allowed, for people and models.
    pub fn writable(&self) -> String {
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
