//! The tool `system_info`: what the machine is. Nothing of who uses it, and no variable of the environment.

use std::fs;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::shell::Shell;
use super::{ShellSettings, files};
use crate::message::RawArgs;
use crate::tool::truncate::size;
use crate::tool::{Signature, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use crate::workspace::policy::PathPolicy;

/// Asks programs for their versions, each on a line of its own. It runs within the walls of any other command.
const PROGRAMS: &str = "for p in bash git python3 node cargo; do command -v $p >/dev/null 2>&1 && \
                        printf '%s: %s\\n' $p \"$($p --version 2>&1 </dev/null | head -n 1)\"; done; true";
/// Seconds that they may take.
const PATIENCE: u64 = 10;

/// The same for all agents: compiled once, whoever uses it.
static SIGNATURE: LazyLock<Signature> =
    LazyLock::new(|| Signature::of::<Args>("system_info", include_str!("system_info.md"), true));

#[derive(Deserialize, JsonSchema)]
struct Args {}

/// Looks at the machine.
pub(super) struct SystemInfo {
    policy: Arc<PathPolicy>,
    shell: Shell,
}

impl SystemInfo {
    pub(super) fn new(policy: Arc<PathPolicy>, settings: ShellSettings) -> SystemInfo {
        // What it runs is no job of anybody's.
        let settings = ShellSettings { leave: false, ..settings };
        SystemInfo { shell: Shell::new(Arc::clone(&policy), settings, Arc::default()), policy }
    }
}

impl Tool for SystemInfo {
    fn spec(&self) -> &ToolSpec {
        SIGNATURE.spec()
    }

    fn call<'a>(&'a self, args: RawArgs, cx: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        async move {
            let read = SIGNATURE.read::<Args>(&args)?;
            let policy = Arc::clone(&self.policy);
            let mut facts = files::aside(cx, move |_| Ok(machine(policy.base()))).await?;
            // Without a shell the rest is still true.
            if let Ok(programs) = self.shell.output(PROGRAMS, PATIENCE, cx).await {
                let versions = programs.lines().filter_map(|line| line.split_once(": "));
                facts.extend(versions.map(|(name, version)| (name.to_owned(), version.trim().to_owned())));
            }
            let lines: Vec<String> = facts.iter().map(|(name, fact)| format!("{name}: {fact}")).collect();
            let details: Map<String, Value> = facts.into_iter().map(|(name, fact)| (name, json!(fact))).collect();
            Ok(ToolOutput::new(lines.join("\n"), Value::Object(details)).noting(&read.repairs))
        }
        .boxed()
    }
}

fn machine(base: &Path) -> Vec<(String, String)> {
    let line = |path: &str| fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
    let release = line("/etc/os-release").and_then(|text| {
        let name = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
        Some(name.trim_matches('"').to_owned())
    });
    let os = release.unwrap_or_else(|| std::env::consts::OS.to_owned());
    let facts = [
        ("os", Some(os)),
        ("kernel", line("/proc/sys/kernel/osrelease")),
        ("arch", Some(std::env::consts::ARCH.to_owned())),
        ("processors", std::thread::available_parallelism().ok().map(|number| number.to_string())),
        ("memory", line("/proc/meminfo").as_deref().and_then(memory)),
        ("disk of the workspace", disk(base)),
    ];
    facts.into_iter().filter_map(|(name, fact)| Some((name.to_owned(), fact?))).collect()
}

/// `15.5 GB, 3.2 GB free`, of the text of /proc/meminfo.
fn memory(text: &str) -> Option<String> {
    let kilobytes = |name: &str| -> Option<u64> {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        line.trim().trim_end_matches(" kB").parse().ok()
    };
    Some(format!("{}, {} free", size(kilobytes("MemTotal")? << 10), size(kilobytes("MemAvailable")? << 10)))
}

fn disk(base: &Path) -> Option<String> {
    let room = rustix::fs::statvfs(base).ok()?;
    let bytes = |blocks: u64| blocks.saturating_mul(room.f_frsize);
    Some(format!("{}, {} free", size(bytes(room.f_blocks)), size(bytes(room.f_bavail))))
}
