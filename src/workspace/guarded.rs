//! What of a person, of the system and of the runtime no tool may see or change, whatever folder is worked in. Who is
//! held to it is decided by a policy.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// Below a person's home: keys, tokens and passwords.
#[rustfmt::skip]
const KEYS: &[&str] = &[
    ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker/config.json", ".netrc", ".git-credentials", ".npmrc", ".pypirc",
    ".pgpass", ".my.cnf", ".vault-token", ".password-store", ".cargo/credentials", ".cargo/credentials.toml",
    ".gem/credentials", ".subversion/auth", ".terraform.d/credentials.tfrc.json", ".config/gh", ".config/glab-cli",
    ".config/hub", ".config/gcloud", ".config/op", ".config/rclone", ".config/sops", ".config/git/credentials",
    ".config/google-chrome", ".config/chromium", ".mozilla", ".local/share/keyrings", ".claude/.credentials.json",
    ".codex/auth.json", ".bash_history", ".zsh_history", ".psql_history", ".python_history",
];
/// Variables that name another place for such a thing, and what of it is meant.
const NAMED: &[(&str, &str)] = &[
    ("GNUPGHOME", ""),
    ("KUBECONFIG", ""),
    ("AWS_SHARED_CREDENTIALS_FILE", ""),
    ("GOOGLE_APPLICATION_CREDENTIALS", ""),
    ("DOCKER_CONFIG", "config.json"),
    ("NETRC", ""),
    ("CARGO_HOME", "credentials"),
    ("CARGO_HOME", "credentials.toml"),
];
/// Of the system.
const SYSTEM: &[&str] = &[
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/ssl/private",
];
/// Below a person's home: what runs by itself when a shell, a session or git starts.
#[rustfmt::skip]
const STARTED: &[&str] = &[
    ".bashrc", ".bash_profile", ".bash_login", ".profile", ".zshrc", ".zshenv", ".zprofile", ".gitconfig",
    ".config/autostart",
];
/// The same, for things that are no danger where they do not exist.
#[rustfmt::skip]
const USED: &[&str] = &[
    ".bash_logout", ".bash_aliases", ".zlogin", ".zlogout", ".oh-my-zsh", ".config/fish", ".config/systemd",
    ".config/environment.d", ".config/git", ".config/nvim", ".config/pip", ".pam_environment", ".xprofile", ".xinitrc",
    ".xsession", ".inputrc", ".tmux.conf", ".vim", ".vimrc", ".emacs", ".emacs.d", ".local/bin", "bin", ".cargo/bin",
    ".cargo/config.toml", ".cargo/env", ".rustup", ".nvm", ".pyenv", ".claude", ".codex", ".vscode",
];
/// Of the system, for profiles that write outside of a workspace.
const SCHEDULED: &[&str] = &["/etc", "/boot", "/var/spool/cron", "/root/.ssh"];

/// Whether there is only an empty folder, as stands in the place of a file that commands may not make.
pub fn is_kept_free(path: &Path) -> bool {
    path.is_dir() && fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
}

/// What no tool may see or change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Guarded {
    /// Cannot be read, nor written.
    pub hidden: Vec<PathBuf>,
    /// Stays as it is, also where it does not exist.
    pub protected: Vec<PathBuf>,
    /// Where the runtime keeps its own things. It is among what is protected.
    pub own: Vec<PathBuf>,
}

impl Guarded {
    /// For a person with this environment; `own` is where the runtime keeps its own things.
    pub fn of(own: &Path, env: &dyn Fn(&str) -> Option<OsString>) -> Guarded {
        let mut hidden: Vec<PathBuf> = SYSTEM.iter().map(PathBuf::from).collect();
        let mut protected: Vec<PathBuf> = SCHEDULED.iter().map(PathBuf::from).collect();
        protected.push(own.to_owned());
        let place = |name: &str| env(name).map(PathBuf::from).filter(|path| path.is_absolute());
        if let Some(home) = place("HOME") {
            hidden.extend(KEYS.iter().map(|name| home.join(name)));
            protected.extend(STARTED.iter().map(|name| home.join(name)));
            protected.extend(USED.iter().map(|name| home.join(name)).filter(|path| path.exists()));
        }
        hidden.extend(NAMED.iter().filter_map(|(name, below)| {
            let path = place(name)?;
            Some(if below.is_empty() { path } else { path.join(below) })
        }));
        Guarded { hidden: settled(hidden), protected: settled(protected), own: settled(vec![own.to_owned()]) }
    }
}

/// As they are without links, each once: what lies in a folder that is named already is left out.
fn settled(paths: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = paths.iter().map(|path| super::policy::settled(path)).collect();
    // A link that is itself protected must not be replaced either.
    all.extend(paths);
    all.sort();
    all.dedup_by(|later, kept| later.starts_with(kept));
    all
}
