//! Programs that run other programs, by a text or by their arguments: behind them a rule looks for what is really run. The
//! list is a hint for people; whatever it does not know, the walls still hold.

/// What a simple command is, beyond its words.
pub(super) enum Look {
    /// It is what its first word says.
    Plain,
    /// It runs this text as a command.
    Carries(String),
    /// It may run what its words do not say.
    Unclear(&'static str),
}

/// They run the rest of their words.
#[rustfmt::skip]
const WRAPPERS: &[&str] = &[
    "env", "sudo", "doas", "nohup", "nice", "ionice", "time", "timeout", "stdbuf", "setsid", "command", "builtin", "exec",
    "xargs", "parallel", "chrt", "taskset", "flock", "watch", "strace", "ltrace", "unshare", "nsenter", "chroot",
    "systemd-run", "busybox", "toybox", "runuser", "su", "script", "gdb", "valgrind", "fakeroot", "dbus-run-session",
    "firejail", "bwrap", "unbuffer", "pkexec", "rlwrap", "torsocks", "setpriv", "start-stop-daemon", "daemonize", "find",
    "entr", "ssh-agent", "ld.so", "ld-linux-x86-64.so.2", "prlimit", "numactl", "cgexec", "expect", "hyperfine", "perf",
];

const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "ksh", "mksh", "fish", "ash", "csh", "tcsh", "rbash", "pwsh"];

/// Builtins that change what later words mean, or run a text later.
#[rustfmt::skip]
const CHANGING: &[&str] = &[
    "alias", "trap", "bind", "complete", "compgen", "enable", "hash", "source", ".", "mapfile", "readarray", "shopt", "set",
    "export", "declare", "typeset", "local", "readonly", "read", "printf", "let", "getopts", "fc", "history", "at", "batch",
    "crontab", "socat", "nc", "ncat", "netcat", "vi", "vim", "nvim", "ex", "ed", "emacs", "nano", "less", "more", "man",
    "view", "dc", "m4", "tclsh", "osascript", "rsync", "scp", "sftp", "ssh", "docker", "podman", "kubectl", "screen", "tmux",
    "zip", "gcore", "dlopen", "logrotate", "run-parts", "openvt", "mail", "ftp", "telnet", "psql", "sqlite3", "mysql",
];

const INTERPRETERS: &[&str] =
    &["python", "perl", "ruby", "node", "nodejs", "php", "lua", "luajit", "deno", "bun", "rscript", "julia", "guile"];

const CODE: &str = "it runs a program that is given as text";

/// Looks at the words of a simple command; the first is the program. `open`: something of them is only known when it runs.
pub(super) fn look(words: &[String], open: bool) -> Look {
    let program = program(&words[0]);
    let rest = &words[1..];
    let has = |flags: &[&str]| rest.iter().any(|word| flags.iter().any(|flag| word.starts_with(flag)));
    if CHANGING.contains(&program.as_str()) {
        let harmless = match program.as_str() {
            "set" => rest.iter().all(|word| {
                word.trim_start_matches(['-', '+']).chars().all(|c| "euxo".contains(c)) || word == "pipefail"
            }),
            "printf" => !has(&["-v"]),
            "export" => rest.iter().all(|word| !changes_programs(word.split('=').next().unwrap_or_default())),
            _ => false,
        };
        return if harmless { Look::Plain } else { Look::Unclear("it may run what its words do not say") };
    }
    if program == "eval" {
        return if open { Look::Unclear(CODE) } else { Look::Carries(rest.join(" ")) };
    }
    if SHELLS.contains(&program.as_str()) {
        let is_code = |word: &String| word.starts_with('-') && !word.starts_with("--") && word.contains('c');
        return match rest.iter().position(is_code) {
            Some(_) if open => Look::Unclear(CODE),
            Some(at) => rest.get(at + 1).map_or(Look::Unclear(CODE), |text| Look::Carries(text.clone())),
            None if rest.iter().any(|word| !word.starts_with('-')) && !has(&["-s", "--rcfile", "--init-file"]) => {
                Look::Plain
            }
            None => Look::Unclear(CODE),
        };
    }
    let is_interpreter = INTERPRETERS.iter().any(|name| {
        program.strip_prefix(name).is_some_and(|version| version.chars().all(|c| c.is_ascii_digit() || c == '.'))
    });
    let unclear = match program.as_str() {
        _ if is_interpreter => is_given_code(rest),
        "awk" | "gawk" | "mawk" | "nawk" => {
            open || has(&["-f", "-e", "-i", "-l"]) || rest.iter().any(|word| runs_in_awk(word))
        }
        "sed" | "gsed" => open || has(&["-f", "--file"]) || rest.iter().any(|word| runs_in_sed(word)),
        "git" => runs_in_git(rest),
        "tar" | "bsdtar" => {
            has(&["--to-command", "--checkpoint-action", "-I", "--use-compress", "--rsh", "--info-script", "-F"])
        }
        "make" | "gmake" => has(&["--eval", "SHELL=", ".SHELLFLAGS=", "-f", "--file", "--makefile"]),
        "gcc" | "g++" | "cc" | "clang" => has(&["-wrapper", "-fplugin", "-B"]),
        "sort" => has(&["--compress-prog"]),
        "rg" | "ripgrep" => has(&["--pre", "--hostname-bin"]),
        "curl" => has(&["-K", "--config"]),
        "npm" | "pnpm" | "yarn" => {
            has(&["--script-shell"]) || rest.first().is_some_and(|word| word == "exec" || word == "x")
        }
        "npx" | "uvx" | "pipx" => true,
        "xargs" | "parallel" => rest.iter().all(|word| word.starts_with('-')),
        "find" => has(&["-exec", "-ok", "-fprint", "-fls", "-delete"]),
        "su" | "script" | "flock" | "watch" | "timeout" | "env" | "nsenter" => {
            has(&["-c", "-S", "--command", "--split-string"])
        }
        "expect" | "gdb" | "busybox" => rest.is_empty() || has(&["-c", "-e", "-x", "-b"]),
        _ => false,
    };
    if unclear { Look::Unclear("it may run what its words do not say") } else { Look::Plain }
}

/// An interpreter that is given its program as text, or reads it from its input.
fn is_given_code(rest: &[String]) -> bool {
    let own = rest.iter().take_while(|word| word.starts_with('-'));
    let is_code = |word: &String| match word.strip_prefix("--") {
        Some(long) => long.starts_with("eval") || long.starts_with("print") || long.starts_with("run"),
        None => word.as_str() == "-" || word.contains(['c', 'e', 'E', 'r', 'p']),
    };
    let tells = |word: &String| ["--version", "-V", "-v", "--help", "-h"].contains(&word.as_str());
    let has_file = own.clone().count() < rest.len();
    own.clone().any(is_code) || rest.first().is_some_and(|word| word == "eval") || !(has_file || own.clone().any(tells))
}

/// What the words of a command may run: itself, and what stands behind programs that run the rest of their words.
pub(super) fn runs(words: &[String]) -> Vec<Vec<String>> {
    let own: Vec<String> = match words {
        [first, rest @ ..] => std::iter::once(program(first)).chain(rest.iter().cloned()).collect(),
        [] => return Vec::new(),
    };
    let mut all = vec![words.to_vec()];
    if WRAPPERS.contains(&own[0].as_str()) {
        // Which of its words are its own options is not worth knowing: each may be the program.
        for at in 1..words.len() {
            all.push(words[at..].to_vec());
            all.push(std::iter::once(program(&words[at])).chain(words[at + 1..].iter().cloned()).collect());
        }
    }
    all.push(own);
    all
}

/// The name of a program without its folder.
fn program(word: &str) -> String {
    word.rsplit('/').next().unwrap_or(word).to_ascii_lowercase()
}

/// Variables by which a program is made to run another.
pub(super) fn changes_programs(name: &str) -> bool {
    let name = name.trim_end_matches('+').to_ascii_uppercase();
    const PARTS: [&str; 15] = [
        "PAGER", "EDITOR", "VISUAL", "GIT_", "SSH", "LD_", "DYLD_", "BROWSER", "OPENER", "_OPTIONS", "STARTUP",
        "PRELOAD", "ASKPASS", "WRAPPER", "SHELL",
    ];
    const WHOLE: [&str; 12] = [
        "PATH",
        "IFS",
        "ENV",
        "BASH_ENV",
        "PS4",
        "PROMPT_COMMAND",
        "PERL5OPT",
        "RUBYOPT",
        "PYTHONPATH",
        "RUSTC",
        "CDPATH",
        "LESSOPEN",
    ];
    WHOLE.contains(&name.as_str()) || PARTS.iter().any(|part| name.contains(part))
}

fn runs_in_awk(word: &str) -> bool {
    ["system", "getline", "|", "@load", "@include", ">"].iter().any(|part| word.contains(part))
}

/// The commands `e` and `w`, and their flags of `s`.
fn runs_in_sed(word: &str) -> bool {
    let is_command = |part: &str| {
        let part = part.trim_start().trim_start_matches(|c: char| c.is_ascii_digit() || "$,!".contains(c)).trim_start();
        part.starts_with("e ")
            || part == "e"
            || part.starts_with("w ")
            || part.starts_with('/')
            || part.starts_with('\\')
    };
    let flags = word.rsplit(['/', '|', '#', ',', '!', '@', '%', '_', ':']).next().unwrap_or_default();
    let by_flag = word.starts_with('s') && flags != word && flags.chars().take(6).any(|c| matches!(c, 'e' | 'w'));
    by_flag
        || (!word.starts_with('-')
            && word.split([';', '\n', '{', '}']).any(is_command)
            && !std::path::Path::new(word).is_absolute())
}

fn runs_in_git(rest: &[String]) -> bool {
    const FLAGS: [&str; 14] = [
        "-c",
        "--config-env",
        "--exec-path",
        "--ext-diff",
        "--textconv",
        "--upload-pack",
        "--receive-pack",
        "--exec",
        "-x",
        "-O",
        "--open-files-in-pager",
        "-p",
        "--paginate",
        "ext::",
    ];
    const WORDS: [&str; 11] = [
        "config",
        "bisect",
        "submodule",
        "filter-branch",
        "difftool",
        "mergetool",
        "hook",
        "foreach",
        "daemon",
        "shell",
        "send-email",
    ];
    rest.iter().any(|word| {
        FLAGS.iter().any(|flag| {
            word == flag || word.starts_with(&format!("{flag}=")) || (*flag == "ext::" && word.contains(flag))
        })
    }) || rest.iter().any(|word| word.starts_with("-O") || word.starts_with("-c"))
        || rest.iter().find(|word| !word.starts_with('-')).is_some_and(|word| WORDS.contains(&word.as_str()))
}
