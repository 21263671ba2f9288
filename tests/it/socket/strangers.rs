//! Another user of the machine at the socket: the system keeps them out, and where somebody has opened the file, the program.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use tillerman::runtime::{Done, Order, Runtime};
use tillerman::sandbox::Tier;
use tillerman::server::control::{Host, may_order};

use super::{client, socket};
use crate::runtime::{Ask, Ground, played, says};
use crate::sandbox::{Ground as Walled, text};

/// Where the stranger of [`one_that_is_another_user`] is to connect.
const WHERE: &str = "TILLERMAN_TEST_SOCKET";

/// A user that owns nothing.
const NOBODY: u32 = 65_534;

#[test]
fn only_oneself_and_root_may_order() {
    let table = [((1000, 1000), true), ((0, 1000), true), ((0, 0), true), ((1001, 1000), false), ((1000, 0), false)];
    for ((peer, own), may) in table {
        assert_eq!(may_order(peer, own), may, "{peer} at the socket of {own}");
    }
}

/// What the program answers to an order of the stranger, or why there is no connection.
fn ask(path: &Path) -> String {
    let Ok(mut stream) = UnixStream::connect(path) else { return "not connected".to_owned() };
    // It may be refused before it has said anything.
    let _ = stream.write_all(b"{\"v\":1,\"order\":\"tasks\"}\n");
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).map_or_else(|error| error.to_string(), |_| line)
}

/// No test of its own: the process that [`another_user_is_kept_out`] starts as somebody else.
#[test]
fn one_that_is_another_user() {
    if let Some(path) = std::env::var_os(WHERE) {
        println!("\nstranger: {}", ask(Path::new(&path)).trim_end());
    }
}

/// What a process of another user is told; `None` where none can be started.
fn as_stranger(path: &Path) -> Option<String> {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "socket::strangers::one_that_is_another_user", "--nocapture"]).env(WHERE, path);
    let child = child.uid(NOBODY).gid(NOBODY).current_dir("/").stdin(Stdio::null()).stderr(Stdio::null());
    let said = String::from_utf8(child.output().ok()?.stdout).unwrap();
    let line = said.lines().find_map(|line| line.strip_prefix("stranger: "));
    Some(line.unwrap_or_else(|| panic!("{said}")).to_owned())
}

/// Opens a file and the folders above it, up to that of the test, to everybody.
fn open_to_all(path: &Path, top: &Path) {
    fs::set_permissions(path, Permissions::from_mode(0o777)).unwrap();
    for folder in path.ancestors().skip(1).take_while(|folder| folder.starts_with(top)) {
        fs::set_permissions(folder, Permissions::from_mode(0o755)).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_user_is_kept_out() {
    let ground = Ground::new();
    let runtime = Runtime::start(ground.config(played("idle", |_: Ask| async { says("yes") }))).await.unwrap();
    let _host = Host::open(&runtime).unwrap().unwrap();
    let path = socket(&ground);
    if fs::metadata(ground.path()).unwrap().uid() != 0 {
        eprintln!("SKIPPED: only root can be another user");
        return;
    }
    let stranger = {
        let path = path.clone();
        move || as_stranger(&path)
    };
    let Some(said) = tokio::task::spawn_blocking(stranger).await.unwrap() else {
        eprintln!("SKIPPED: no process of another user can be started from here");
        return;
    };
    assert_eq!(said, "not connected", "the file is its owner's alone");
    open_to_all(&path, &ground.path());
    let opened = path.clone();
    let said = tokio::task::spawn_blocking(move || as_stranger(&opened)).await.unwrap().unwrap();
    let why = format!("user {NOBODY} may not give orders here: this tillerman belongs to user 0");
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&said).unwrap(),
        serde_json::json!({"v": 1, "id": null, "error": why})
    );
    assert_eq!(
        client(&ground).order(&Order::Tasks).await.unwrap(),
        Done::Tasks { rows: vec![] },
        "others are answered"
    );
}

/// S11, S21: or else an agent could answer in the place of a person whom it was to ask.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s11_s21_a_command_within_walls_gives_no_orders() {
    let ground = Ground::new();
    let runtime = Runtime::start(ground.config(played("idle", |_: Ask| async { says("yes") }))).await.unwrap();
    let _host = Host::open(&runtime).unwrap().unwrap();
    let order = format!(
        "{WHERE}={} {} --exact socket::strangers::one_that_is_another_user --nocapture 2>&1",
        socket(&ground).display(),
        std::env::current_exe().unwrap().display()
    );
    for (tier, told) in [
        (Tier::Full, "a command within walls may not give orders here"),
        (Tier::Landlock, "a command within walls may not give orders here"),
        (Tier::Open, "\"rows\":[]"),
    ] {
        let said = text(&Walled::within(tier).run(&order).await);
        assert!(said.contains(told), "{tier}: {said}");
    }
    assert_eq!(
        client(&ground).order(&Order::Tasks).await.unwrap(),
        Done::Tasks { rows: vec![] },
        "others are answered"
    );
}
