//! The real program on a real terminal of 80 columns and 24 rows, and what a person sees of it.

use std::io::{Read, Write};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use rustix::process::{Pid, Signal, kill_process};

use crate::patience::PATIENCE;

/// Whoever waits also looks whenever something is drawn.
const LOOK: Duration = Duration::from_millis(10);
/// Between two presses of a person who waits for an effect.
const HABIT: Duration = Duration::from_millis(400);
const COLUMNS: u16 = 80;
const ROWS: u16 = 24;

pub struct Terminal {
    child: Box<dyn Child + Send + Sync>,
    input: Input,
    screen: Arc<Screen>,
    _master: Box<dyn MasterPty + Send>,
}

/// What is drawn, and a bell for whoever waits for more.
struct Screen {
    parser: Mutex<vt100::Parser>,
    /// What was drawn since the last key was typed.
    answer: Mutex<Vec<u8>>,
    drawn: Condvar,
}

type Input = Arc<Mutex<Box<dyn Write + Send>>>;

impl Terminal {
    /// Starts tillerman in a workspace, with a home of its own and no keys.
    pub fn start(workspace: &Path, home: &Path, args: &[&str]) -> Terminal {
        Terminal::sized(workspace, home, args, ROWS)
    }

    /// The same with so many rows.
    pub fn sized(workspace: &Path, home: &Path, args: &[&str], rows: u16) -> Terminal {
        let size = PtySize { rows, cols: COLUMNS, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).unwrap();
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_tillerman"));
        command.args(args);
        command.cwd(workspace);
        command.env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", home);
        command.env("TILLERMAN_HOME", home);
        command.env("TILLERMAN_OFFLINE", "1");
        command.env("TERM", "xterm-256color");
        command.env("NO_COLOR", "1");
        let child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let parser = Mutex::new(vt100::Parser::new(rows, COLUMNS, 1000));
        let screen = Arc::new(Screen { parser, answer: Mutex::default(), drawn: Condvar::new() });
        let output = pair.master.try_clone_reader().unwrap();
        let input: Input = Arc::new(Mutex::new(pair.master.take_writer().unwrap()));
        let shown = screen.clone();
        thread::spawn(move || draw(output, &shown));
        Terminal { child, input, screen, _master: pair.master }
    }

    pub fn pid(&self) -> u32 {
        self.child.process_id().unwrap()
    }

    pub fn type_keys(&self, keys: &str) {
        self.screen.answer.lock().unwrap().clear();
        let mut input = self.input.lock().unwrap();
        input.write_all(keys.as_bytes()).unwrap();
        input.flush().unwrap();
    }

    /// Types a line and sends it, once the prompt shows it whole.
    pub fn say(&self, line: &str) {
        self.type_keys(line);
        let end: String = line.chars().rev().take(30).collect::<Vec<_>>().into_iter().rev().collect();
        self.wait_until(&format!("{end:?} in the prompt"), |_| {
            self.cursor_line().0.trim_end().ends_with(end.trim_end())
        });
        self.type_keys("\r");
    }

    /// Waits until the text stands on the screen, or was drawn since the last key.
    pub fn wait_for(&self, text: &str) {
        let was_drawn = || String::from_utf8_lossy(&self.screen.answer.lock().unwrap()).contains(text);
        self.wait_until(text, |screen| screen.contains(text) || was_drawn());
    }

    /// Waits for an empty prompt of this kind.
    pub fn wait_for_prompt(&self, prompt: &str) {
        let empty = (prompt.trim_end().to_owned(), 3);
        self.wait_until(&format!("the prompt {prompt:?}"), |_| {
            let (line, column) = self.cursor_line();
            (line.trim_end().to_owned(), column) == empty
        });
    }

    /// As long as a person takes to read a question: a word that comes sooner is not taken for its answer.
    pub fn read(&self) {
        thread::park_timeout(2 * HABIT);
    }

    /// Waits until no run goes on, whatever stands in the prompt.
    pub fn wait_for_prompt_free(&self) {
        self.wait_until("no run", |screen| !screen.contains("esc stop"));
    }

    /// Waits until the screen is as wanted, and shows it when it never is.
    pub fn wait_until(&self, what: &str, wanted: impl Fn(&str) -> bool) {
        let began = Instant::now();
        loop {
            let screen = self.contents();
            if wanted(&screen) {
                return;
            }
            assert!(began.elapsed() < PATIENCE, "never seen: {what}\n{screen}");
            self.screen.wait();
        }
    }

    /// All rows, without blanks at their ends.
    pub fn contents(&self) -> String {
        self.screen.parser().screen().contents()
    }

    /// The row with the cursor, and the cursor's column.
    pub fn cursor_line(&self) -> (String, u16) {
        let parser = self.screen.parser();
        let (row, column) = parser.screen().cursor_position();
        let line = parser.screen().rows(0, COLUMNS).nth(row.into()).unwrap_or_default();
        (line, column)
    }

    /// Sends SIGTERM.
    pub fn terminate(&self) {
        let id = self.child.process_id().and_then(|id| Pid::from_raw(id.cast_signed())).unwrap();
        kill_process(id, Signal::TERM).unwrap();
    }

    /// Types these keys over and over, as a person does, until the program ends, which must be well.
    pub fn press_until_the_end(mut self, keys: &str) {
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            // It may end in between.
            let _ = self.input.lock().unwrap().write_all(keys.as_bytes());
            let pressed = Instant::now();
            while pressed.elapsed() < HABIT {
                if let Some(status) = self.child.try_wait().unwrap() {
                    return assert_eq!(status.exit_code(), 0);
                }
                self.screen.wait();
            }
        }
        panic!("still running\n{}", self.contents());
    }

    /// Waits for the program to end; answers its exit code.
    pub fn wait_for_end(mut self) -> u32 {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.exit_code();
            }
            assert!(began.elapsed() < PATIENCE, "still running\n{}", self.contents());
            self.screen.wait();
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It has ended in every test that passes.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Screen {
    fn parser(&self) -> MutexGuard<'_, vt100::Parser> {
        self.parser.lock().unwrap()
    }

    fn draw(&self, bytes: &[u8]) {
        self.parser().process(bytes);
        self.answer.lock().unwrap().extend_from_slice(bytes);
        self.drawn.notify_all();
    }

    /// Until something is drawn, but not for long.
    fn wait(&self) {
        drop(self.drawn.wait_timeout(self.parser(), LOOK).unwrap());
    }
}

/// Draws what the program writes.
fn draw(mut output: Box<dyn Read + Send>, screen: &Screen) {
    let mut bytes = [0; 4096];
    while let Ok(count @ 1..) = output.read(&mut bytes) {
        screen.draw(&bytes[..count]);
    }
}
