//! What a person waits for at the prompt: its first picture, a key's echo, and a word of the model, on a terminal of 80 × 24.

use std::io::{Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use tempfile::TempDir;

use crate::server::{Answer, Server, text};
use crate::table::{at, median, ms, row};

/// `cargo bench --bench numbers -- screen`.
pub(crate) const WORD: &str = "screen";

const BINARY: &str = env!("CARGO_BIN_EXE_tillerman");
/// Starts that are measured.
const STARTS: usize = 21;
/// Keys, and words of an answer.
const EACH: usize = 200;
/// Between two of them.
const PAUSE: Duration = Duration::from_millis(15);
/// After so long nothing is waited for any more.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) fn measure() {
    let place = tempfile::tempdir().expect("a temporary folder can be made");
    first_paint(&place);
    echo(&place);
    words(&place);
}

/// A prompt on a terminal, and what it draws, each piece with its time.
struct Prompt {
    child: Box<dyn Child + Send + Sync>,
    input: Box<dyn Write + Send>,
    drawn: Receiver<(Instant, Vec<u8>)>,
    seen: String,
    last: Instant,
    _master: Box<dyn MasterPty + Send>,
}

impl Prompt {
    fn start(folder: &Path, args: &[&str]) -> Prompt {
        let size = PtySize { rows: 24, cols: 80, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).expect("a pseudo terminal can be had");
        let mut command = CommandBuilder::new(BINARY);
        command.args(args);
        command.cwd(folder);
        command.env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", folder);
        command.env("TILLERMAN_HOME", folder.join(".state"));
        command.env("TILLERMAN_OFFLINE", "1");
        command.env("ANTHROPIC_API_KEY", "bench");
        command.env("TERM", "xterm-256color");
        let child = pair.slave.spawn_command(command).expect("the binary starts");
        drop(pair.slave);
        let mut output = pair.master.try_clone_reader().expect("a terminal can be read");
        let input = pair.master.take_writer().expect("a terminal can be written to");
        let (sender, drawn): (Sender<(Instant, Vec<u8>)>, _) = channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 65536];
            while let Ok(count @ 1..) = output.read(&mut bytes) {
                if sender.send((Instant::now(), bytes[..count].to_vec())).is_err() {
                    return;
                }
            }
        });
        Prompt { child, input, drawn, seen: String::new(), last: Instant::now(), _master: pair.master }
    }

    /// When this was first drawn, from here on.
    fn wait_for(&mut self, words: &str) -> Instant {
        self.seen.clear();
        self.find(words)
    }

    /// When this was drawn, with what was drawn last or after it.
    fn find(&mut self, words: &str) -> Instant {
        if self.seen.contains(words) {
            return self.last;
        }
        loop {
            let (when, bytes) = self.drawn.recv_timeout(PATIENCE).expect("it is drawn at last");
            self.last = when;
            self.seen.push_str(&String::from_utf8_lossy(&bytes));
            if self.seen.contains(words) {
                return when;
            }
        }
    }

    fn press(&mut self, keys: &str) -> Instant {
        let pressed = Instant::now();
        self.input.write_all(keys.as_bytes()).and_then(|()| self.input.flush()).expect("it still reads");
        pressed
    }

    fn end(mut self) {
        self.press("\u{4}");
        // It drew its end, or has ended before.
        while self.drawn.recv_timeout(PATIENCE).is_ok() {}
        let _ = self.child.wait();
    }
}

fn first_paint(place: &TempDir) {
    let took = (0..STARTS).map(|_| {
        let started = Instant::now();
        let mut prompt = Prompt::start(place.path(), &["-m", "pilot/pilot"]);
        let painted = prompt.wait_for(" > ");
        prompt.end();
        painted - started
    });
    let took: Vec<Duration> = took.collect();
    row("start → prompt on the screen, median and worst of 21", "< 100 ms", both(&took, 1.0));
}

fn echo(place: &TempDir) {
    let mut prompt = Prompt::start(place.path(), &["-m", "pilot/pilot"]);
    prompt.wait_for(" > ");
    let letters = ["x", "字", "y", "👍"];
    let mut took = Vec::new();
    for key in 0..EACH {
        std::thread::park_timeout(PAUSE);
        let letter = letters[key % letters.len()];
        let pressed = prompt.press(letter);
        took.push(prompt.wait_for(letter) - pressed);
        if key % 30 == 29 {
            prompt.press("\u{15}");
            std::thread::park_timeout(PAUSE);
        }
    }
    prompt.press("\u{15}");
    prompt.end();
    row("key pressed → drawn, median and p99 of 200", "< 5 ms", both(&took, 0.99));
}

fn words(place: &TempDir) {
    let sent: Arc<Mutex<Vec<Instant>>> = Arc::default();
    let times = sent.clone();
    let told = AtomicBool::new(false);
    let server = Server::start(move |_| match told.swap(true, Ordering::SeqCst) {
        false => {
            let pieces = (0..EACH).map(|word| format!("w{word:04} ")).collect();
            Answer::Trickles { pieces, pause: PAUSE, sent: times.clone() }
        }
        // What the conversation is called.
        true => Answer::Says(vec![text("so it is")]),
    });
    let args = ["--trust", "-m", "anthropic/bench", "--base-url", &server.url];
    let mut prompt = Prompt::start(place.path(), &args);
    prompt.wait_for(" > ");
    prompt.press("tell me\r");
    let drawn: Vec<Instant> = (0..EACH).map(|word| prompt.find(&format!("w{word:04}"))).collect();
    let sent = sent.lock().expect("no server thread panics").clone();
    let took: Vec<Duration> = drawn.iter().zip(&sent).map(|(drawn, sent)| *drawn - *sent).collect();
    prompt.end();
    row("a word written by the server → drawn, median and p99 of 200", "< 1 ms added", both(&took, 0.99));
}

fn both(took: &[Duration], part: f64) -> String {
    format!("{} / {}", ms(median(took.iter().copied())), ms(at(took.iter().copied(), part)))
}
