//! The real program against a model server, in the wire formats: what a person types, what the model is asked, what is
//! left on the disk.

mod budget;
mod cast;
mod control;
mod fallback;
mod files;
mod money;
mod permit;
mod provider;
mod room;
mod signals;
mod slips;
mod whole;
mod words;

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::cli::{Done, Place};
use crate::repl::pty::Terminal;
use crate::server::{Captured, Response, Says, Server};

/// A key by which a leak would be known.
pub const KEY: &str = "sk-tiller-0123456789abcdef0123456789abcdef";

/// A wire format, and how its provider is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    Anthropic,
    OpenAi,
    Chat,
    Gemini,
    Ollama,
}

pub const WIRES: [Wire; 5] = [Wire::Anthropic, Wire::OpenAi, Wire::Chat, Wire::Gemini, Wire::Ollama];

impl Wire {
    pub fn model(self) -> &'static str {
        match self {
            Wire::Anthropic => "anthropic/claude-test",
            Wire::OpenAi => "openai/gpt-test",
            Wire::Chat => "openai-chat/gpt-test",
            Wire::Gemini => "gemini/gemini-test",
            Wire::Ollama => "ollama/qwen-test",
        }
    }

    /// Where its key is looked for; Ollama needs none, and looks nowhere.
    pub fn variable(self) -> &'static str {
        match self {
            Wire::Anthropic => "ANTHROPIC_API_KEY",
            Wire::OpenAi | Wire::Chat => "OPENAI_API_KEY",
            Wire::Gemini => "GEMINI_API_KEY",
            Wire::Ollama => "OLLAMA_API_KEY",
        }
    }

    pub fn base_url(self, server: &Server) -> String {
        match self {
            Wire::Anthropic | Wire::Ollama => server.base_url(),
            Wire::Gemini => format!("{}/v1beta", server.base_url()),
            Wire::OpenAi | Wire::Chat => format!("{}/v1", server.base_url()),
        }
    }

    /// The reply as an event stream of its own connection, for answers with pauses in them.
    pub fn stream(self, says: &Says) -> String {
        match self {
            Wire::Anthropic => says.anthropic(),
            Wire::OpenAi => says.responses(),
            Wire::Chat => says.openai(),
            Wire::Gemini => says.gemini(),
            Wire::Ollama => says.ollama(),
        }
    }

    /// The head of its stream; add steps.
    pub fn opened(self) -> Response {
        if self == Wire::Ollama { Response::lines() } else { Response::stream() }
    }

    /// What ends an event of its stream.
    pub fn end(self) -> &'static str {
        if self == Wire::Ollama { "\n" } else { "\n\n" }
    }

    /// A reply that is begun and never ended.
    pub fn begun(self, says: &Says) -> Response {
        let whole = self.stream(says);
        // After the first of the two pieces that a text is sent in.
        let second = whole.match_indices("event: response.output_text.delta").nth(1);
        let end = second.map_or(whole.len() * 3 / 4, |(at, _)| at);
        self.opened().send(&whole[..end]).stall()
    }
}

/// A workspace whose `.env` has the key, and a server.
pub struct Stage {
    pub wire: Wire,
    pub place: Place,
    pub server: Server,
}

impl Stage {
    pub fn new(wire: Wire, answer: impl FnMut(&Captured) -> Response + Send + 'static) -> Stage {
        Stage::at(wire, Place::new(), answer)
    }

    pub fn at(wire: Wire, place: Place, answer: impl FnMut(&Captured) -> Response + Send + 'static) -> Stage {
        // Who counts requests counts none for titles.
        let env = format!("{}={KEY}\nTILLERMAN_TITLES=off\n", wire.variable());
        fs::write(place.path().join(".env"), env).unwrap();
        Stage { wire, place, server: Server::answer(answer) }
    }

    /// The prompt on a terminal.
    pub fn prompt(&self) -> Terminal {
        let url = self.wire.base_url(&self.server);
        let args = ["--trust", "-m", self.wire.model(), "--base-url", &url];
        let terminal = Terminal::start(self.place.path(), self.place.home.path(), &args);
        terminal.wait_for_prompt(" > ");
        terminal
    }

    /// `tillerman run` with these words.
    pub fn run(&self, args: &[&str]) -> Done {
        let url = self.wire.base_url(&self.server);
        let mut all = vec!["run", "--trust", "-m", self.wire.model(), "--base-url", &url];
        all.extend(args);
        self.place.tillerman(&all)
    }

    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.place.path().join(path)).unwrap()
    }

    pub fn write(&self, path: &str, text: &str) {
        let path = self.place.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Requests of the main agent, or of workers.
    pub fn requests(&self, main: bool) -> Vec<Captured> {
        self.server.requests().into_iter().filter(|request| is_main(request) == main).collect()
    }
}

/// Only the main agent may dispatch.
pub fn is_main(request: &Captured) -> bool {
    request.tools().iter().any(|tool| tool == "dispatch")
}

/// The turns that the model has had, of which each is an assistant's message.
pub fn turns(request: &Captured) -> usize {
    request.turns()
}

/// Leaves a prompt by its key.
pub fn leave(terminal: Terminal) {
    terminal.type_keys("\u{4}");
    assert_eq!(terminal.wait_for_end(), 0);
}

/// Processes whose command line holds the text.
pub fn processes(text: &str) -> Vec<String> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| {
        let words = fs::read(entry.path().join("cmdline")).ok()?;
        Some(String::from_utf8_lossy(&words).replace('\0', " "))
    });
    lines.filter(|line| line.contains(text)).collect()
}

/// Files below a folder that hold the text.
pub fn files_with(folder: &Path, text: &str) -> Vec<String> {
    let files = walkdir::WalkDir::new(folder).into_iter().flatten().filter(|entry| entry.file_type().is_file());
    let held = files.filter(|entry| {
        let bytes = fs::read(entry.path()).unwrap_or_default();
        bytes.windows(text.len()).any(|window| window == text.as_bytes())
    });
    held.map(|entry| entry.path().display().to_string()).collect()
}

/// The types of JSON lines in order, with the agent of each.
pub fn story_of(lines: &[Value]) -> Vec<String> {
    lines.iter().map(|line| format!("{} {}", text(&line["agent"]), text(&line["type"]))).collect()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
