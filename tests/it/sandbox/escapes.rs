//! The escape zoo: everything in [`attempts`] is tried within each kind of walls, as root and as another user. Namespaces let
//! nothing through; what Landlock alone lets through is exactly what docs/guarantees.md lists.

use std::env;
use std::fs;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::Path;
use std::process::{Child, Command as Program};

use tillerman::sandbox::{self, Command, Environment, Limits, Tier, Walls};
use tillerman::secret::Secrets;
use tillerman::workspace::policy::Bounds;
use tokio_util::sync::CancellationToken;

use super::{attempts, settings, text};
use crate::battery::skipped;

/// Set in the process of this test that runs as another user.
const OTHER: &str = "TILLERMAN_TEST_OTHER_USER";

/// What Landlock cannot hold.
const GAPS: [&str; 9] = [
    "F18 ALLOWED: a hook of git",
    "F18 ALLOWED: the settings of git",
    "F18 ALLOWED: the folder around them moved away",
    "F19 ALLOWED: our own settings",
    "F19 ALLOWED: our own settings replaced",
    "F20 ALLOWED: what stands for them moved away",
    "F22 ALLOWED: the mode of a file outside",
    "F22 ALLOWED: the time of a file outside",
    "S11 ALLOWED: a socket with a path outside",
];

/// Folders, listeners and a process for a program to try itself on. Everything belongs to this user.
struct Scene {
    dir: tempfile::TempDir,
    process: Child,
    tcp: TcpListener,
    name: String,
    _listeners: [UnixListener; 2],
}

impl Scene {
    fn new() -> Scene {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for folder in ["inside/.git/hooks", "inside-evil", "outside", "secrets"] {
            fs::create_dir_all(at(folder)).unwrap();
        }
        for file in ["inside/.git/config", "inside/config.md", "outside/file", "outside/.bashrc", "secrets/key"] {
            fs::write(at(file), "canary").unwrap();
        }
        let name = format!("tillerman-zoo-{}", ulid::Ulid::generate());
        let bare = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        let listeners = [UnixListener::bind(at("outside/socket")).unwrap(), bare];
        let process = Program::new("sleep").arg("300").spawn().unwrap();
        Scene { process, tcp: TcpListener::bind("127.0.0.1:0").unwrap(), name, _listeners: listeners, dir }
    }

    fn bounds(&self) -> Bounds {
        let at = |name: &str| self.dir.path().join(name);
        let protected = ["inside/.git/hooks", "inside/.git/config", "inside/config.md", "inside/mcp.json"];
        Bounds {
            base: at("inside"),
            read: None,
            write: vec![at("inside")],
            protected: protected.map(at).to_vec(),
            hidden: vec![at("secrets")],
        }
    }

    /// What was allowed of what a program tries.
    fn tried(&self, tier: Tier) -> Vec<String> {
        let walls = if tier == Tier::Open { Walls::open() } else { Walls::around(settings(self.bounds(), tier)) };
        let at = |name: &str| self.dir.path().join(name).display().to_string();
        let environment = Environment::inherited()
            .with("ZOO_INSIDE", &at("inside"))
            .with("ZOO_OUTSIDE", &at("outside"))
            .with("ZOO_SECRET", &at("secrets/key"))
            .with("ZOO_PID", &self.process.id().to_string())
            .with("ZOO_PORT", &self.tcp.local_addr().unwrap().port().to_string())
            .with("ZOO_NAME", &self.name)
            .with("ZOO_HARMLESS", if tier == Tier::Open { "yes" } else { "no" });
        let exe = env::current_exe().unwrap();
        let text_ = format!("'{}' --exact sandbox::escapes::inside --ignored --nocapture", exe.display());
        let spool = self.dir.path().join("spool");
        let command = Command {
            text: text_,
            cwd: self.dir.path().join("inside"),
            environment,
            spool,
            stdin: None,
            secrets: Secrets::default(),
            walls,
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (limits, cancel) = (Limits::default(), CancellationToken::new());
        let finished = runtime.block_on(sandbox::run(&command, &limits, &cancel, &mut |_| {})).unwrap();
        let said = text(&finished);
        assert!(said.contains("S22 "), "{tier}: {said}");
        said.lines().filter(|line| line.contains(" ALLOWED: ")).map(str::to_owned).collect()
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = self.process.kill().and_then(|()| self.process.wait());
    }
}

/// As this user and, when that is root, in another process as one that is not.
fn as_everybody(test: &str, check: impl Fn()) {
    check();
    if env::var_os(OTHER).is_some() {
        return;
    }
    if !rustix::process::getuid().is_root() || !Path::new("/usr/bin/setpriv").exists() {
        return skipped("only root can try it as another user, with setpriv");
    }
    let null = fs::metadata("/dev/null").unwrap().permissions().mode();
    if null & 0o006 != 0o006 {
        return skipped("/dev/null of this machine is not for other users");
    }
    let exe = env::current_exe().unwrap();
    let mut other = Program::new("/usr/bin/setpriv");
    other.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(exe).args(["--exact", test, "--nocapture"]);
    let output = other.env(OTHER, "1").env("TMPDIR", "/tmp").env("HOME", "/nonexistent").output().unwrap();
    let said = [output.stdout, output.stderr].map(|said| String::from_utf8_lossy(&said).into_owned()).concat();
    assert!(output.status.success() && said.contains("1 passed"), "as another user: {said}");
}

#[test]
fn the_escape_zoo_finds_no_way_out_of_namespaces() {
    as_everybody("sandbox::escapes::the_escape_zoo_finds_no_way_out_of_namespaces", || {
        assert_eq!(Scene::new().tried(Tier::Full), [""; 0]);
    });
}

#[test]
fn the_escape_zoo_finds_the_known_ways_out_of_landlock_and_no_other() {
    as_everybody("sandbox::escapes::the_escape_zoo_finds_the_known_ways_out_of_landlock_and_no_other", || {
        assert_eq!(Scene::new().tried(Tier::Landlock), GAPS);
    });
}

#[test]
fn the_escape_zoo_can_get_out_where_there_are_no_walls() {
    let allowed = Scene::new().tried(Tier::Open);
    for id in ["F01", "F02", "F03", "F04", "F06", "F18", "F20", "F22", "S09", "S10", "S11", "S12", "S22"] {
        assert!(allowed.iter().any(|line| line.starts_with(id)), "{id} is never allowed: {allowed:#?}");
    }
}

/// Not a test: what runs within.
#[test]
#[ignore = "tries to get out of walls and must run within some"]
fn inside() {
    let harmless = env::var("ZOO_HARMLESS").unwrap() == "yes";
    for line in attempts::all(|name| env::var(name).unwrap(), harmless) {
        println!("{line}");
    }
}
