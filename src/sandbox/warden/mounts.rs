//! The walls of the full tier: namespaces, and a tree in which only what was granted can be written. What a process may
//! do beside touching files is not here.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Seek as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::{DirBuilderExt as _, FileTypeExt as _, OpenOptionsExt as _, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::CWD;
use rustix::mount::{
    MountAttrFlags, MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, mount, mount_change, move_mount,
    open_tree,
};
use rustix::thread::UnshareFlags;

use super::super::plan::Plan;
use super::kernel;
use crate::workspace::policy::Bounds;

/// Devices that programs need and that do no harm.
const DEVICES: [&str; 5] = ["null", "zero", "full", "random", "urandom"];
/// An empty file that is put over what may not be read.
const NOTHING: &str = "/dev/.nothing";
/// Where the sockets of services are.
const SERVICES: [&str; 2] = ["/run", "/var/run"];
/// Says where names of the network are looked up; often it is among the services.
const RESOLVER: &str = "/etc/resolv.conf";

/// Something that is put into the tree.
struct Piece {
    at: PathBuf,
    what: What,
}

enum What {
    /// As it is.
    Granted(OwnedFd),
    /// To be read only.
    Fixed(OwnedFd),
    /// An empty folder.
    Empty,
    /// An empty file.
    Nothing,
}

/// What is looked after while walls stand.
pub(super) struct Tree {
    sockets: Sockets,
    /// Protected paths that something was put on.
    fixed: Vec<PathBuf>,
}

/// A list of all sockets outside, which stays that list in a network namespace.
struct Sockets {
    list: File,
    known: Vec<PathBuf>,
    spared: Vec<PathBuf>,
}

/// A step that failed.
fn at<T>(what: &str, result: io::Result<T>) -> Result<T, String> {
    result.map_err(|error| format!("{what}: {error}"))
}

/// Puts this process into namespaces of its own and builds the tree in them.
pub(super) fn build(plan: &Plan) -> Result<Tree, String> {
    let list = at("/proc/net/unix", File::open("/proc/net/unix"))?;
    let mut sockets = Sockets { list, known: Vec::new(), spared: plan.bounds.write.clone() };
    let users = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    let mut own = UnshareFlags::NEWUSER | UnshareFlags::NEWNS | UnshareFlags::NEWIPC | UnshareFlags::NEWUTS;
    own.set(UnshareFlags::NEWNET, !plan.network);
    at("namespaces", kernel::unshare(own))?;
    at("/proc/self/setgroups", fs::write("/proc/self/setgroups", "deny"))?;
    at("/proc/self/uid_map", fs::write("/proc/self/uid_map", format!("{0} {0} 1", users.0)))?;
    at("/proc/self/gid_map", fs::write("/proc/self/gid_map", format!("{0} {0} 1", users.1)))?;
    if !plan.network {
        at("loopback", kernel::loopback())?;
    }
    at(
        "mounts",
        mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC).map_err(io::Error::from),
    )?;
    let pieces = pieces(plan)?;
    let devices = devices()?;
    if !plan.bounds.write.iter().any(|path| path == Path::new("/")) {
        at("a read-only tree", read_only_root())?;
    }
    at("/dev", new_devices(devices))?;
    for index in 0..pieces.len() {
        let piece = &pieces[index];
        at(&piece.at.display().to_string(), put(piece, &pieces))?;
    }
    sockets.mask();
    let fixed = pieces.into_iter().filter(|piece| matches!(piece.what, What::Fixed(_))).map(|piece| piece.at);
    Ok(Tree { sockets, fixed: fixed.collect() })
}

impl Tree {
    /// Between commands: covers sockets that are new, and puts walls again before protected paths that somebody outside
    /// has replaced, as an editor does that saves. What was put there went with the file that was there before.
    pub(super) fn look_after(&mut self) {
        self.sockets.mask();
        for path in self.fixed.iter().filter(|path| is_bare(path)) {
            let again = copy(path, false).and_then(|tree| {
                kernel::set_mount(tree.as_fd(), MountAttrFlags::MOUNT_ATTR_RDONLY, true)?;
                attach(&tree, path)
            });
            // Nothing may be there just now; then it is looked at again.
            drop(again);
        }
    }
}

/// Whether something is there, and nothing was put on it.
fn is_bare(path: &Path) -> bool {
    use rustix::fs::{AtFlags, StatxAttributes, StatxFlags, statx};
    let seen = statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::BASIC_STATS);
    seen.is_ok_and(|seen| !seen.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
}

/// All that is put into the tree, taken from the tree as it was, outermost first.
fn pieces(plan: &Plan) -> Result<Vec<Piece>, String> {
    let bounds = &plan.bounds;
    let mut pieces = Vec::new();
    let mut add = |at: &Path, what: What| pieces.push(Piece { at: at.to_owned(), what });
    for place in SERVICES.map(Path::new).iter().filter(|place| is_folder(place)) {
        add(place, What::Empty);
    }
    for path in carried(plan) {
        add(&path, What::Fixed(at(&path.display().to_string(), copy(&path, false))?));
    }
    for path in bounds.write.iter().filter(|path| path.exists() && path.as_path() != Path::new("/")) {
        add(path, What::Granted(at(&path.display().to_string(), copy(path, false))?));
    }
    for path in bounds.protected.iter().filter(|path| path.exists() && matters(path, bounds)) {
        for ancestor in anchors(path, &bounds.write) {
            add(ancestor, What::Granted(at(&ancestor.display().to_string(), copy(ancestor, false))?));
        }
        add(path, What::Fixed(at(&path.display().to_string(), copy(path, false))?));
    }
    for path in bounds.hidden.iter().filter(|path| path.exists()) {
        add(path, if is_folder(path) { What::Empty } else { What::Nothing });
    }
    // Of several for one place, the last is the strictest.
    pieces.reverse();
    pieces.sort_by_key(|piece| piece.at.components().count());
    let mut kept: Vec<Piece> = Vec::new();
    for piece in pieces {
        if !kept.iter().any(|other| other.at == piece.at) {
            kept.push(piece);
        }
    }
    Ok(kept)
}

/// Whether a protected path could be written, or even seen, if nothing were put there.
fn matters(path: &Path, bounds: &Bounds) -> bool {
    let root = granted_around(path, &bounds.write);
    root.is_some_and(|root| !bounds.hidden.iter().any(|hidden| hidden.starts_with(root) && path.starts_with(hidden)))
}

fn granted_around<'a>(path: &Path, granted: &'a [PathBuf]) -> Option<&'a PathBuf> {
    granted.iter().filter(|root| path.starts_with(root)).max_by_key(|root| root.components().count())
}

/// Folders between a protected path and the granted one around it: moved away, they would take it with them.
fn anchors<'a>(path: &'a Path, granted: &'a [PathBuf]) -> impl Iterator<Item = &'a Path> {
    let root = granted_around(path, granted);
    let above = path.ancestors().skip(1);
    above.take_while(move |above| root.is_some_and(|root| above.starts_with(root) && above != root))
}

/// What lies among the services and is needed nevertheless.
fn carried(plan: &Plan) -> Vec<PathBuf> {
    let mut paths = plan.programs.clone();
    paths.push(plan.bounds.base.clone());
    paths.extend(plan.bounds.read.iter().flatten().cloned());
    if plan.network {
        paths.push(RESOLVER.into());
    }
    let real = paths.iter().filter_map(|path| path.canonicalize().ok());
    let real = real.filter(|path| !plan.bounds.hidden.iter().any(|hidden| path.starts_with(hidden)));
    real.filter(|path| SERVICES.iter().any(|place| path.starts_with(place) && path != Path::new(place))).collect()
}

fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir())
}

/// A copy of a mount from here on, in which nothing gives more rights than this process has.
fn copy(path: &Path, device: bool) -> io::Result<OwnedFd> {
    // All below as well: a part of what somebody else has mounted cannot be had.
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_RECURSIVE;
    let tree = open_tree(CWD, path, flags)?;
    if !device {
        kernel::set_mount(tree.as_fd(), MountAttrFlags::MOUNT_ATTR_NODEV | MountAttrFlags::MOUNT_ATTR_NOSUID, true)?;
    }
    Ok(tree)
}

fn read_only_root() -> io::Result<()> {
    let root = open_tree(CWD, "/", OpenTreeFlags::OPEN_TREE_CLOEXEC)?;
    let none = MountAttrFlags::MOUNT_ATTR_RDONLY | MountAttrFlags::MOUNT_ATTR_NODEV | MountAttrFlags::MOUNT_ATTR_NOSUID;
    kernel::set_mount(root.as_fd(), none, true)
}

fn attach(tree: &OwnedFd, path: &Path) -> io::Result<()> {
    Ok(move_mount(tree, "", CWD, path, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?)
}

fn seal(path: &Path) -> io::Result<()> {
    let tree = open_tree(CWD, path, OpenTreeFlags::OPEN_TREE_CLOEXEC)?;
    kernel::set_mount(tree.as_fd(), MountAttrFlags::MOUNT_ATTR_RDONLY, false)
}

fn memory(path: &Path, options: &std::ffi::CStr) -> io::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    Ok(mount("tmpfs", path, "tmpfs", flags, Some(options))?)
}

fn put(piece: &Piece, all: &[Piece]) -> io::Result<()> {
    match &piece.what {
        What::Granted(tree) => attach(tree, &piece.at),
        What::Fixed(tree) => {
            kernel::set_mount(tree.as_fd(), MountAttrFlags::MOUNT_ATTR_RDONLY, true)?;
            attach(tree, &piece.at)
        }
        What::Nothing => mask(&piece.at),
        What::Empty => {
            memory(&piece.at, c"mode=0755,size=64k,nr_inodes=1k")?;
            for inner in all.iter().filter(|inner| inner.at != piece.at && inner.at.starts_with(&piece.at)) {
                // What is inside of something else that is put here has its place in that.
                let between =
                    |other: &&Piece| other.at != piece.at && other.at != inner.at && other.at.starts_with(&piece.at);
                if !all.iter().any(|other| between(&other) && inner.at.starts_with(&other.at)) {
                    place_for(inner)?;
                }
            }
            seal(&piece.at)
        }
    }
}

/// Something to put a piece on.
fn place_for(piece: &Piece) -> io::Result<()> {
    let is_file = match &piece.what {
        What::Granted(tree) | What::Fixed(tree) => {
            rustix::fs::FileType::from_raw_mode(rustix::fs::fstat(tree)?.st_mode) != rustix::fs::FileType::Directory
        }
        What::Empty => false,
        What::Nothing => true,
    };
    let folder = if is_file { piece.at.parent().unwrap_or(Path::new("/")) } else { &piece.at };
    DirBuilder::new().recursive(true).mode(0o755).create(folder)?;
    if is_file {
        File::create(&piece.at)?;
    }
    Ok(())
}

/// Puts an empty file over another file.
fn mask(path: &Path) -> io::Result<()> {
    let nothing = copy(Path::new(NOTHING), false)?;
    kernel::set_mount(nothing.as_fd(), MountAttrFlags::MOUNT_ATTR_RDONLY, false)?;
    attach(&nothing, path)
}

fn devices() -> Result<Vec<(PathBuf, OwnedFd)>, String> {
    let paths = DEVICES.iter().map(|name| Path::new("/dev").join(name));
    paths.map(|path| Ok((path.clone(), at(&path.display().to_string(), copy(&path, true))?))).collect()
}

/// Devices without those of the machine.
fn new_devices(devices: Vec<(PathBuf, OwnedFd)>) -> io::Result<()> {
    memory(Path::new("/dev"), c"mode=0755,size=64k,nr_inodes=64")?;
    for (path, device) in devices {
        File::create(&path)?;
        attach(&device, &path)?;
    }
    OpenOptions::new().write(true).create_new(true).mode(0o444).open(NOTHING)?;
    for (name, of) in [("fd", "fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")] {
        symlink(format!("/proc/self/{of}"), Path::new("/dev").join(name))?;
    }
    symlink("pts/ptmx", "/dev/ptmx")?;
    for folder in ["/dev/pts", "/dev/shm"] {
        fs::create_dir(folder)?;
    }
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    // Terminals that a command makes for itself; it can do without.
    let _ = mount("devpts", "/dev/pts", "devpts", flags, Some(c"newinstance,ptmxmode=0666,mode=0620"));
    memory(Path::new("/dev/shm"), c"mode=1777,size=25%")?;
    seal(Path::new("/dev"))
}

impl Sockets {
    /// Covers the sockets outside of what is granted that somebody listens at and that are not covered yet.
    fn mask(&mut self) {
        let mut text = Vec::new();
        if self.list.rewind().and_then(|()| self.list.read_to_end(&mut text)).is_err() {
            return;
        }
        let text = String::from_utf8_lossy(&text);
        for path in text.lines().skip(1).filter_map(listener) {
            let spared = self.spared.iter().any(|granted| path.starts_with(granted));
            let is_socket = || fs::symlink_metadata(path).is_ok_and(|meta| meta.file_type().is_socket());
            if !spared && !self.known.iter().any(|known| known == path) && is_socket() && mask(path).is_ok() {
                self.known.push(path.to_owned());
            }
        }
    }
}

/// The path of a line of the list, if it has one and somebody listens there.
fn listener(line: &str) -> Option<&Path> {
    let mut fields = line.splitn(8, ' ');
    let flags = fields.nth(3)?;
    let flags = u32::from_str_radix(flags, 16).ok()?;
    let path = Path::new(line.get(line.find(" /")? + 1..)?);
    (flags & ACCEPTS != 0).then_some(path)
}

/// Set for a socket that somebody listens at.
const ACCEPTS: u32 = 1 << 16;

/// A list of the processes of this namespace, and a limit of how many there may be.
pub(super) fn processes(most: u64) -> io::Result<bool> {
    use rustix::mount::{FsMountFlags, FsOpenFlags, fsconfig_create, fsmount, fsopen};
    let none = MountAttrFlags::MOUNT_ATTR_NODEV | MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    let system = fsopen("proc", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&system)?;
    let tree = fsmount(&system, FsMountFlags::FSMOUNT_CLOEXEC, none)?;
    // Numbers below 300 are given once only, so the limit is above them. Older kernels have one limit for all namespaces.
    let limited = limit(&tree, 300 + most).is_ok();
    kernel::set_mount(tree.as_fd(), MountAttrFlags::MOUNT_ATTR_RDONLY, false)?;
    attach(&tree, Path::new("/proc"))?;
    Ok(limited)
}

fn limit(tree: &OwnedFd, most: u64) -> io::Result<()> {
    use rustix::fs::{Mode, OFlags, openat};
    let file = openat(tree, "sys/kernel/pid_max", OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    let text = most.to_string();
    rustix::io::write(&file, text.as_bytes()).map(drop).map_err(io::Error::from)
}
