//! Commands that nobody gets anything back from, asked about where no rule speaks of them. A short list of what people fear
//! most, for a run without walls or one that was let out of them; what can happen within walls, they decide.

use super::command::Part;

/// Folders without which nothing is left.
#[rustfmt::skip]
const ROOTS: [&str; 16] = [
    "/", "~", "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/opt", "/proc", "/root", "/sbin", "/sys", "/usr", "/var", "/*",
];
/// How the names of disks begin.
const DISKS: [&str; 7] = ["/dev/sd", "/dev/hd", "/dev/vd", "/dev/xvd", "/dev/nvme", "/dev/mmcblk", "/dev/disk"];
/// They end the machine's work.
const ENDING: [&str; 4] = ["shutdown", "reboot", "halt", "poweroff"];

/// What a command as a whole would destroy, by its text alone.
pub(super) fn of_text(text: &str) -> Option<&'static str> {
    let bare: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    if bare.contains(":(){:|:&};:") {
        return Some("it starts processes without end");
    }
    let to_disk = |rest: &str| DISKS.iter().any(|disk| rest.starts_with(disk));
    bare.split('>').skip(1).any(to_disk).then_some("it writes over a disk")
}

/// What a simple command would destroy. `words` begin with the program; a word that is only known when it runs says nothing.
pub(super) fn of_part(part: &Part, words: &[String]) -> Option<&'static str> {
    let [program, rest @ ..] = words else { return None };
    let is_root = |word: &String| {
        let bare = word.strip_suffix("/*").unwrap_or(word).trim_end_matches('/');
        ROOTS.contains(&word.as_str()) || ROOTS.contains(&bare) || (bare.is_empty() && !word.is_empty())
    };
    let of_disk = |word: &String| DISKS.iter().any(|disk| word.trim_start_matches("of=").starts_with(disk));
    let is_recursive = rest.iter().any(|word| {
        word == "--recursive" || (word.starts_with('-') && !word.starts_with("--") && word.contains(['r', 'R']))
    });
    match program.as_str() {
        "rm" | "chmod" | "chown" | "chgrp" if is_recursive && !part.open && rest.iter().any(is_root) => {
            Some("it reaches everything below a folder of the system or your home")
        }
        "dd" if rest.iter().any(|word| word.starts_with("of=") && of_disk(word)) => Some("it writes over a disk"),
        "wipefs" | "shred" | "blkdiscard" | "sgdisk" | "mkswap" if rest.iter().any(of_disk) => {
            Some("it writes over a disk")
        }
        name if (name == "mkfs" || name.starts_with("mkfs.")) && rest.iter().any(of_disk) => {
            Some("it writes over a disk")
        }
        name if ENDING.contains(&name) => Some("it ends the machine's work"),
        "systemctl" if rest.iter().any(|word| ENDING.contains(&word.as_str())) => Some("it ends the machine's work"),
        "init" | "telinit" if rest.iter().any(|word| word == "0" || word == "6") => Some("it ends the machine's work"),
        _ => None,
    }
}
