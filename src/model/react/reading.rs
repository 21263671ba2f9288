//! A reply in words while it streams: reasoning, calls and the answer are told apart and written into a draft. Each
//! character is looked at a bounded number of times, however the text is cut into pieces.

use std::mem;

use super::input;
use super::mark::{Look, Mark, is_emphasis, look};
use super::rewrite::{CUT, THOUGHT, mark, thought};
use crate::message::{Block, Message, ToolSpec};
use crate::model::draft::Draft;
use crate::model::{Delta, Reply, Request, Stop};

/// Most calls of one reply that are believed.
const MOST_CALLS: usize = 64;

/// A reply while it is read.
pub(super) struct Reading<'a> {
    draft: Draft<'a>,
    tools: &'a [ToolSpec],
    expected: Expected,
    part: Part,
    /// The beginning of a line that may become a mark; `None` inside a line.
    line: Option<String>,
    /// Signs of emphasis that are still to be closed behind a mark.
    emphasis: usize,
    /// Bytes of text that were read.
    heard: usize,
    calls: usize,
    /// Where the answer stands.
    answer: Option<usize>,
}

/// What text is that has no mark before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expected {
    /// Reasoning: the marks are still to come.
    Form,
    /// An answer.
    Answer,
    /// The rest of an answer that was cut, blanks at its beginning included.
    Rest,
}

/// What the text belongs to that comes now.
enum Part {
    Words(Words),
    /// The line with the tool's name, so far.
    Name(String),
    Input(Input),
    /// Of no meaning until the next mark.
    Nothing,
    /// Not believed, to the end.
    Over,
}

/// Reasoning, or the answer.
struct Words {
    answer: bool,
    /// Its mark was there.
    marked: bool,
    /// Something was said, so that blanks count from now on.
    begun: bool,
    /// Blanks that are said only if something follows.
    blanks: String,
    slot: Option<usize>,
}

/// A call whose input is being read.
struct Input {
    tool: Tool,
    /// What stands behind the name.
    behind: String,
    /// And begins with a bracket.
    brackets: bool,
    /// What stands behind the mark of its own; it goes first.
    text: Option<String>,
}

enum Tool {
    Named {
        slot: usize,
        name: String,
    },
    /// Its name is in the input.
    Inside,
    /// None: the input is the answer.
    Answer,
}

/// What was wrong with a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flaw {
    /// There were words, but neither a call nor an answer.
    Formless,
    /// It called tools where there are none.
    Forbidden,
    /// It ended early, with words that nothing says what they are.
    Unmarked,
}

/// What models write as a tool's name when they want none.
const NO_TOOL: [&str; 5] = ["none", "n/a", "no action", "no tool", "nothing"];
/// Longest name of a tool.
const MAX_NAME: usize = 64;

impl<'a> Reading<'a> {
    pub(super) fn new(request: Request<'a>, draft: Draft<'a>, expected: Expected) -> Reading<'a> {
        let (tools, part, line) = (request.tools, Part::Words(Words::unmarked(expected)), Some(String::new()));
        Reading { draft, tools, expected, part, line, emphasis: 0, heard: 0, calls: 0, answer: None }
    }

    /// Takes what the inner model tells.
    pub(super) fn take(&mut self, delta: Delta) {
        match delta {
            Delta::Text(text) => self.hear(&text),
            Delta::Thinking(_) | Delta::Discarded { .. } => self.draft.pass_on(delta),
            Delta::Retrying { .. } => {
                self.draft.pass_on(delta);
                (self.line, self.emphasis, self.heard, self.calls) = (Some(String::new()), 0, 0, 0);
                (self.answer, self.part) = (None, Part::Words(Words::unmarked(self.expected)));
            }
            // Told at the end, under an id of ours.
            Delta::CallOpened { .. } => {}
        }
    }

    /// The message, why it ended and what was wrong with it, when the inner model has said everything.
    pub(super) fn finish(mut self, said: &Reply) -> (Message, Stop, Option<Flaw>) {
        if let Some(rest) = said.message.text().get(self.heard..) {
            self.hear(rest);
        }
        if let Some(line) = self.line.take() {
            self.say(&line);
        }
        let cut = said.stop == Stop::MaxTokens;
        let (unmarked, answering) = match &self.part {
            Part::Words(words) if words.slot.is_some() => (!words.marked && !words.answer, words.answer),
            Part::Words(_) | Part::Name(_) | Part::Input(_) | Part::Nothing | Part::Over => (false, false),
        };
        if let (true, Part::Words(Words { answer: true, slot: Some(slot), blanks, .. })) = (cut, &self.part) {
            // What follows is joined to it as it is.
            self.draft.add(*slot, blanks);
        }
        self.close(cut);
        if cut && (unmarked || answering) {
            let slot = self.draft.open_thinking();
            self.draft.proof(slot, 0, || mark(CUT));
        }
        for call in said.message.calls() {
            let slot = self.draft.open_call("", &call.name, 0);
            self.draft.add(slot, &call.args.0);
        }
        self.draft.stop = Some(said.stop);
        let (mut message, stop) = self.draft.close();
        let thought = message.blocks.iter().any(|block| thought(block).is_some());
        let flaw = match stop {
            Stop::MaxTokens | Stop::Refusal => unmarked.then_some(Flaw::Unmarked),
            Stop::ToolUse => self.tools.is_empty().then_some(Flaw::Forbidden),
            Stop::EndTurn => (thought && message.text().is_empty()).then_some(Flaw::Formless),
            Stop::Paused => None,
        };
        let inner = said.message.blocks.iter().filter(|block| matches!(block, Block::Thinking(_)));
        message.blocks.splice(0..0, inner.cloned());
        (message, stop, flaw)
    }

    fn hear(&mut self, text: &str) {
        self.heard += text.len();
        let mut rest = text;
        while !rest.is_empty() && !matches!(self.part, Part::Over) {
            rest = if self.line.is_some() { self.begin(rest) } else { self.go_on(rest) };
        }
    }

    /// Reads the beginning of a line until it is clear what it is, and answers what follows.
    fn begin<'t>(&mut self, text: &'t str) -> &'t str {
        let Some(mut line) = self.line.take() else { return text };
        for (at, c) in text.char_indices() {
            let rest = &text[at + c.len_utf8()..];
            line.push(c);
            match look(&line) {
                Look::Open if c != '\n' => {}
                Look::Open | Look::Plain => {
                    self.line = (c == '\n').then(String::new);
                    self.say(&line);
                    return rest;
                }
                Look::Found { mark, emphasis } => {
                    self.emphasis = emphasis;
                    self.turn(mark);
                    return rest;
                }
            }
        }
        self.line = Some(line);
        ""
    }

    /// Reads to the end of the line and answers what follows.
    fn go_on<'t>(&mut self, text: &'t str) -> &'t str {
        if self.emphasis > 0 && text.starts_with(is_emphasis) {
            self.emphasis -= 1;
            return &text[1..];
        }
        self.emphasis = 0;
        let (part, rest) = text.split_at(text.find('\n').map_or(text.len(), |at| at + 1));
        if part.ends_with('\n') && !matches!(&self.part, Part::Words(words) if words.answer && words.marked) {
            self.line = Some(String::new());
        }
        self.say(part);
        rest
    }

    /// Adds text to the part that it belongs to.
    fn say(&mut self, text: &str) {
        match &mut self.part {
            Part::Words(words) => words.say(&mut self.draft, &mut self.answer, text),
            Part::Name(line) => {
                line.push_str(text);
                if text.ends_with('\n') {
                    let line = mem::take(line);
                    self.name(&line);
                }
            }
            Part::Input(input) => input.text.as_mut().unwrap_or(&mut input.behind).push_str(text),
            Part::Nothing | Part::Over => {}
        }
    }

    /// Begins the part of a mark.
    fn turn(&mut self, mark: Mark) {
        if let (Mark::Input, Part::Input(input)) = (mark, &mut self.part)
            && input.text.is_none()
        {
            input.text = Some(String::new());
            return;
        }
        self.close(false);
        self.part = match mark {
            Mark::Thought => self.words(false),
            Mark::Action if self.calls < MOST_CALLS => Part::Name(String::new()),
            // What comes after calls without their results is made up.
            Mark::Action | Mark::Observation | Mark::Answer if self.calls > 0 => Part::Over,
            Mark::Answer => self.words(true),
            Mark::Action | Mark::Observation | Mark::Input => Part::Nothing,
        };
    }

    fn words(&self, answer: bool) -> Part {
        let slot = self.answer.filter(|_| answer);
        let blanks = if slot.is_some() { "\n\n" } else { "" }.to_owned();
        Part::Words(Words { answer, marked: true, begun: false, blanks, slot })
    }

    /// Reads the line with the tool's name.
    fn name(&mut self, line: &str) {
        let line = line.trim();
        let input = line.to_ascii_lowercase().find("action input");
        let input = input.and_then(|at| Some((&line[..at], line[at..].split_once(':')?.1)));
        if line.is_empty() {
            self.part = Part::Name(String::new());
        } else if line.starts_with('{') || line.starts_with("```") {
            self.part = Part::Input(Input::of(Tool::Inside, line));
        } else if let Some((name, input)) = input {
            self.open(name, "");
            self.turn(Mark::Input);
            self.say(input);
        } else {
            let at = line.find(['(', '[']).filter(|at| *at > 0).unwrap_or(line.len());
            self.open(&line[..at], &line[at..]);
        }
    }

    /// Begins a call of the tool, if it is meant as one.
    fn open(&mut self, name: &str, behind: &str) {
        let name = name.trim_matches(|c: char| !c.is_alphanumeric() && c != '_' && c != '-');
        let fits = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | '/');
        let plain: String = name.chars().map(|c| if fits(c) { c } else { '_' }).take(MAX_NAME).collect();
        let known = self.tools.iter().any(|tool| tool.name == plain);
        let lower = name.to_ascii_lowercase();
        let tool = match lower.as_str() {
            _ if known => self.call(plain),
            "final answer" | "final_answer" => Tool::Answer,
            "" => return self.part = Part::Nothing,
            _ if NO_TOOL.iter().any(|none| lower == *none || lower.starts_with(&format!("{none} "))) => {
                return self.part = Part::Nothing;
            }
            _ => self.call(plain),
        };
        self.part = Part::Input(Input::of(tool, behind));
    }

    fn call(&mut self, name: String) -> Tool {
        self.calls += 1;
        Tool::Named { slot: self.draft.open_call("", &name, 0), name }
    }

    /// Ends the part. A reply that was `cut` holds only what is whole.
    fn close(&mut self, cut: bool) {
        if let Part::Name(line) = &mut self.part
            && !cut
        {
            let line = mem::take(line);
            self.name(&line);
        }
        if let Part::Input(input) = mem::replace(&mut self.part, Part::Nothing) {
            self.settle(input, cut);
        }
    }

    /// Writes the input of a call down as its arguments.
    fn settle(&mut self, input: Input, cut: bool) {
        let Input { tool, behind, brackets, text } = input;
        let (text, brackets) = match text.filter(|text| !text.trim().is_empty()) {
            Some(text) => (text, false),
            None => (behind, brackets),
        };
        match tool {
            Tool::Named { slot, name } => {
                let tool = self.tools.iter().find(|tool| tool.name == name);
                let args = match (cut, brackets) {
                    (true, _) => input::object(&text).unwrap_or_default(),
                    (false, true) => input::bracketed(&text, tool),
                    (false, false) => input::arguments(&text, tool),
                };
                self.draft.add(slot, &args);
            }
            Tool::Inside => {
                let Some((name, text)) = input::both(&text) else { return };
                self.open(&name, "");
                if let Part::Input(input) = mem::replace(&mut self.part, Part::Nothing) {
                    self.settle(Input { text: Some(text), ..input }, cut);
                }
            }
            Tool::Answer => {
                let text = serde_json::from_str(text.trim()).unwrap_or(text);
                let mut part = self.words(true);
                if let Part::Words(words) = &mut part {
                    words.say(&mut self.draft, &mut self.answer, &text);
                }
            }
        }
    }
}

impl Words {
    fn unmarked(expected: Expected) -> Words {
        let (answer, begun) = (expected != Expected::Form, expected == Expected::Rest);
        Words { answer, marked: false, begun, blanks: String::new(), slot: None }
    }

    fn say(&mut self, draft: &mut Draft<'_>, answer: &mut Option<usize>, text: &str) {
        let text = if self.begun { text } else { text.trim_start() };
        let said = text.trim_end();
        if said.is_empty() {
            self.blanks.push_str(text);
            return;
        }
        let slot = match self.slot {
            Some(slot) => slot,
            None if self.answer => draft.open_text(),
            None => {
                let slot = draft.open_thinking();
                draft.proof(slot, 0, || mark(THOUGHT));
                slot
            }
        };
        (self.begun, self.slot) = (true, Some(slot));
        *answer = answer.or(self.slot.filter(|_| self.answer));
        self.blanks.push_str(said);
        draft.add(slot, &mem::take(&mut self.blanks));
        self.blanks.push_str(&text[said.len()..]);
    }
}

impl Input {
    fn of(tool: Tool, behind: &str) -> Input {
        Input { tool, behind: format!("{behind}\n"), brackets: behind.starts_with(['(', '[']), text: None }
    }
}
