//! The README's tour, typed again: every line that it shows must come from the real program, in the same order.

use std::fs;
use std::path::Path;
use std::process::Command;

use regex::Regex;
use tempfile::TempDir;

use crate::repl::pty::Terminal;

/// Rows of the terminal: nothing that is waited for scrolls away.
const ROWS: u16 = 50;

/// What differs from run to run: times, clocks, dates, names of conversations, and where the folder lies.
struct Plain(Vec<(Regex, &'static str)>);

impl Plain {
    fn new(workspace: &Path) -> Plain {
        let folder = regex::escape(&workspace.display().to_string());
        let rules = [
            (folder.as_str(), "~/proj"),
            (r"\d{8}-\d{6}-\w{9}|\d{8}-\d{4,6}", "ID"),
            (r"\d{4}-\d{2}-\d{2} \d{2}:\d{2}", "DATE"),
            (r"\d+h\d+m|\d+m\d+s", "TIME"),
            (r"\b\d+:\d{2}\b", "TIME"),
            (r"\b\d+(\.\d+)? ?(ms|s|m|h|min)\b|\bnow\b", "TIME"),
            (r"\d+(\.\d+)? (B|KB|bytes)\b", "SIZE"),
            (r"TIME +\d+ +SIZE", "TIME COUNT SIZE"),
            (r"[▁▂▃▄▅▆▇█]+", "METER"),
            (r"ctx \d+% of [\d.kM]+", "CTX"),
            (r"\s+", " "),
        ];
        Plain(rules.iter().map(|(rule, word)| (Regex::new(rule).unwrap(), *word)).collect())
    }

    fn line(&self, line: &str) -> String {
        let plain =
            self.0.iter().fold(line.to_owned(), |line, (rule, word)| rule.replace_all(&line, *word).into_owned());
        plain.trim().to_owned()
    }
}

/// The blocks of a tour: those fenced as `text` between its heading and the next.
fn blocks(readme: &str) -> Vec<Vec<&str>> {
    let (_, tour) = readme.split_once("\n## A tour\n").unwrap();
    let (tour, _) = tour.split_once("\n## ").unwrap();
    tour.split("```text\n").skip(1).map(|rest| rest.split_once("```").unwrap().0.lines().collect()).collect()
}

/// One terminal with the program, and a shell beside it.
struct Stage {
    workspace: TempDir,
    home: TempDir,
    prompt: Option<Terminal>,
    plain: Plain,
}

impl Stage {
    fn new() -> Stage {
        let (workspace, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::create_dir(workspace.path().join("src")).unwrap();
        fs::write(workspace.path().join("src/main.rs"), "fn main() {\n    println!(\"hello\");\n}\n").unwrap();
        let plain = Plain::new(workspace.path());
        Stage { workspace, home, prompt: None, plain }
    }

    fn play(&mut self, block: &[&str]) {
        let mut output: Vec<String> = Vec::new();
        for line in block {
            if let Some(command) = line.strip_prefix("$ ") {
                output = self.shell(command);
            } else if line.starts_with("tillerman 0.") {
                let workspace = self.workspace.path();
                let prompt = Terminal::sized(workspace, self.home.path(), &[], ROWS);
                prompt.wait_for_prompt(" > ");
                self.prompt = Some(prompt);
                self.seen(line);
            } else if let Some(typed) = line.strip_prefix(" > ").filter(|_| !line.ends_with('…')) {
                let prompt = self.prompt.as_ref().unwrap();
                prompt.wait_for_prompt_free();
                prompt.say(typed);
                output.clear();
            } else if !output.is_empty() {
                let wanted = self.plain.line(line);
                let at = output.iter().position(|line| *line == wanted);
                let at = at.unwrap_or_else(|| panic!("the README says {wanted:?}, the program\n{}", output.join("\n")));
                output.drain(..=at);
            } else if !line.trim().is_empty() {
                self.seen(line);
            }
        }
    }

    /// The line stands on the screen, or will.
    fn seen(&self, line: &str) {
        let wanted = self.plain.line(line);
        let there = |screen: &str| screen.lines().any(|line| self.plain.line(line) == wanted);
        self.prompt.as_ref().unwrap().wait_until(&format!("{wanted:?} of the README"), there);
    }

    fn shell(&self, command: &str) -> Vec<String> {
        let binary = Path::new(env!("CARGO_BIN_EXE_tillerman")).parent().unwrap();
        let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap());
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("{command} 2>&1")]).current_dir(self.workspace.path()).env_clear();
        shell.env("PATH", path).env("HOME", self.home.path()).env("TILLERMAN_HOME", self.home.path());
        shell.env("TILLERMAN_OFFLINE", "1");
        let output = shell.output().unwrap();
        String::from_utf8_lossy(&output.stdout).lines().map(|line| self.plain.line(line)).collect()
    }
}

#[test]
fn the_tour_of_the_readme_is_what_the_program_shows() {
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let blocks = blocks(&readme);
    assert!(blocks.len() >= 4, "{} blocks", blocks.len());
    let mut stage = Stage::new();
    blocks.iter().for_each(|block| stage.play(block));
}
