//! The variables of a command: a list of what is let through, and what is added. Keys and tokens never pass.

use std::ffi::{OsStr, OsString};

/// Variables that programs need to find themselves, their tools and their language.
#[rustfmt::skip]
const PASSED: &[&str] = &[
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TEMP", "TMP", "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "CARGO_HOME", "CARGO_TARGET_DIR", "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN", "RUSTFLAGS", "RUST_BACKTRACE", "GOPATH", "GOROOT", "GOCACHE", "GOMODCACHE", "GOPROXY",
    "GOFLAGS", "JAVA_HOME", "MAVEN_OPTS", "GRADLE_USER_HOME", "NODE_PATH", "NODE_OPTIONS", "NVM_DIR",
    "NPM_CONFIG_CACHE", "PNPM_HOME", "BUN_INSTALL", "DENO_DIR", "VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME",
    "PYENV_ROOT", "CONDA_PREFIX", "PIP_CACHE_DIR", "UV_CACHE_DIR", "GEM_HOME", "GEM_PATH", "RBENV_ROOT",
    "BUNDLE_PATH", "COMPOSER_HOME", "DOTNET_ROOT", "ANDROID_HOME", "CC", "CXX", "AR", "LD", "CFLAGS", "CXXFLAGS",
    "CPPFLAGS", "LDFLAGS", "MAKEFLAGS", "CMAKE_PREFIX_PATH", "PKG_CONFIG_PATH", "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH", "LIBRARY_PATH", "CPATH", "NIX_PATH", "NIX_SSL_CERT_FILE", "SSL_CERT_FILE", "SSL_CERT_DIR",
    "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "CI", "SOURCE_DATE_EPOCH", "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL",
    "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy",
    "https_proxy", "all_proxy", "no_proxy",
];

/// Nobody sits at the terminal: no colours, no pager, no editor, no question.
const ADDED: &[(&str, &str)] = &[
    ("AGENT", "tillerman"),
    ("TERM", "dumb"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GIT_EDITOR", "true"),
    ("GIT_TERMINAL_PROMPT", "0"),
];

/// Carries the marks of a command and of those that it runs inside of.
pub(super) const MARK: &str = "TILLERMAN_COMMAND";

/// In how many commands of a tillerman, one inside the other, a program runs that has this environment.
pub fn nesting(env: &dyn Fn(&str) -> Option<OsString>) -> u64 {
    let marks = env(MARK).unwrap_or_default();
    marks.as_encoded_bytes().split(|byte| *byte == b'/').filter(|mark| !mark.is_empty()).count() as u64
}

/// The variables of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Environment {
    variables: Vec<(OsString, OsString)>,
    /// The marks of the commands that we ourselves run inside of.
    outer: OsString,
}

impl Environment {
    /// What of our own variables a command needs, and what tells it that nobody is at the terminal.
    pub fn inherited() -> Environment {
        Environment::of(std::env::vars_os())
    }

    /// The same, from other variables than our own.
    pub fn of(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Environment {
        let (marks, all): (Vec<_>, Vec<_>) = variables.into_iter().partition(|(name, _)| name == MARK);
        let mut variables: Vec<(OsString, OsString)> =
            all.into_iter().filter(|(name, value)| passes(name, value)).collect();
        variables.extend(ADDED.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))));
        let outer = marks.into_iter().next().map(|(_, value)| value).unwrap_or_default();
        Environment { variables, outer }
    }

    /// Adds a variable, or replaces one.
    pub fn with(mut self, name: &str, value: &str) -> Environment {
        self.variables.retain(|(known, _)| known != name);
        self.variables.push((name.into(), value.into()));
        self
    }

    /// Name and value of each, without the mark.
    pub fn variables(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.variables.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }

    /// The value of the mark for a command that is called `id`.
    pub(super) fn mark(&self, id: &str) -> OsString {
        let mut mark = self.outer.clone();
        mark.push("/");
        mark.push(id);
        mark
    }
}

/// A URL with an `@` has a password in it.
fn passes(name: &OsStr, value: &OsStr) -> bool {
    let (Some(name), value) = (name.to_str(), value.to_string_lossy()) else { return false };
    let secret = value.contains("://") && value.contains('@');
    (PASSED.contains(&name) || name.starts_with("LC_")) && !secret
}
