//! What Landlock lets a command do with files, and with whom it may talk. Mounts and system calls are not here.

use std::fs;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, BitFlags, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError, Scope, path_beneath_rules,
};

use super::super::Tier;
use super::super::plan::Plan;

/// The newest set of rights that this was tried with; of older kernels, what they have.
const KNOWN: ABI = ABI::V7;
/// What programs need of a system to run at all.
#[rustfmt::skip]
const SYSTEM: [&str; 14] = [
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/dev", "/proc", "/sys", "/run",
];
/// Folders with names that more is read of than hidden; beyond, none of them can be read.
const NAMES: usize = 10_000;

/// The rules of a plan; `None` where the kernel knows no Landlock.
pub(super) fn rules(plan: &Plan) -> Result<Option<OwnedFd>, String> {
    make(plan).map_err(|error| format!("Landlock: {error}"))
}

/// Whether the kernel knows Landlock.
pub(super) fn are_known() -> bool {
    let made = Ruleset::default().handle_access(AccessFs::from_read(ABI::V1)).and_then(Ruleset::create);
    made.is_ok_and(|made| Option::<OwnedFd>::from(made).is_some())
}

fn make(plan: &Plan) -> Result<Option<OwnedFd>, RulesetError> {
    let (all, read) = (AccessFs::from_all(KNOWN), AccessFs::from_read(KNOWN));
    let device = AccessFs::WriteFile | AccessFs::ReadFile | AccessFs::ReadDir | AccessFs::Truncate | AccessFs::IoctlDev;
    let look = BitFlags::from(AccessFs::ReadDir);
    let (roots, passed) = readable(plan);
    let devices: &[&str] = match plan.tier {
        Tier::Full => &["/dev"],
        _ => &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/ptmx", "/dev/pts"],
    };
    let created = Ruleset::default().handle_access(all)?.scope(Scope::from_all(KNOWN))?.create()?;
    let created = created
        .add_rules(path_beneath_rules(roots, read))?
        .add_rules(path_beneath_rules(passed, look))?
        .add_rules(path_beneath_rules(devices, device))?
        .add_rules(path_beneath_rules(["/dev/shm"].iter().filter(|_| plan.tier == Tier::Full), all))?
        .add_rules(path_beneath_rules(&plan.bounds.write, all))?;
    Ok(created.into())
}

/// What may be read, and what is on the way there. In the full tier mounts are over what is hidden.
fn readable(plan: &Plan) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let roots: Vec<PathBuf> = match &plan.bounds.read {
        None => vec!["/".into()],
        Some(roots) => {
            let system = SYSTEM.iter().map(PathBuf::from);
            system.chain(plan.programs.clone()).chain(roots.clone()).chain([plan.bounds.base.clone()]).collect()
        }
    };
    let (mut found, mut passed) = (Vec::new(), Vec::new());
    for root in roots {
        match plan.tier {
            Tier::Full => found.push(root),
            _ => around(&root, &plan.bounds.hidden, &mut found, &mut passed),
        }
    }
    (found, passed)
}

/// Everything below a folder but what is hidden: a right for a folder is one for all in it, so each neighbour of a
/// hidden path gets its own.
fn around(at: &Path, hidden: &[PathBuf], found: &mut Vec<PathBuf>, passed: &mut Vec<PathBuf>) {
    if hidden.iter().any(|path| at.starts_with(path)) {
        return;
    }
    if !hidden.iter().any(|path| path.starts_with(at)) {
        return found.push(at.to_owned());
    }
    passed.push(at.to_owned());
    for entry in fs::read_dir(at).into_iter().flatten().flatten().take(NAMES) {
        // What a link leads to has its own place.
        if entry.file_type().is_ok_and(|kind| !kind.is_symlink()) {
            around(&entry.path(), hidden, found, passed);
        }
    }
}
