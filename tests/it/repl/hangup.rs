//! A terminal that is closed under the program: its window, or the connection it came through.

use std::io::Read;
use std::time::{Duration, Instant};

use portable_pty::{CommandBuilder, PtySize, native_pty_system};

use crate::cli::Place;
use crate::patience::PATIENCE;

/// Reads until the prompt stands. The end is dropped on return.
fn read_until_the_prompt(mut output: Box<dyn Read + Send>) {
    let mut seen = String::new();
    let mut buffer = [0; 4096];
    while !seen.contains(" > ") {
        let length = output.read(&mut buffer).unwrap();
        assert!(length > 0, "the program ended before its prompt: {seen}");
        seen.push_str(&String::from_utf8_lossy(&buffer[..length]));
    }
}

#[test]
fn c29_a_terminal_that_is_closed_ends_the_program() {
    let place = Place::new();
    let pair = native_pty_system().openpty(PtySize { rows: 24, cols: 80, ..PtySize::default() }).unwrap();
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_tillerman"));
    command.cwd(place.path());
    command.env_clear();
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("HOME", place.home.path());
    command.env("TILLERMAN_HOME", place.home.path());
    command.env("TILLERMAN_OFFLINE", "1");
    command.env("TERM", "xterm-256color");
    let mut child = pair.slave.spawn_command(command).unwrap();
    drop(pair.slave);
    read_until_the_prompt(pair.master.try_clone_reader().unwrap());

    drop(pair.master);

    let closed = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            assert_eq!(status.exit_code(), 143);
            return;
        }
        if closed.elapsed() > PATIENCE {
            child.kill().unwrap();
            panic!("it lives on without its terminal");
        }
        std::thread::park_timeout(Duration::from_millis(10));
    }
}
