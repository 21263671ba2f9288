//! Code in colours: what a word is, found by the grammar of its language. The grammars are several megabytes and are
//! loaded on a thread of their own when code is seen for the first time; until then code is plain.

use std::ops::Range;
use std::sync::{Once, OnceLock};
use std::thread;

use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxReference, SyntaxSet};

use crate::terminal::ink::{Ink, Line, piece};
use crate::terminal::theme::Tone;

/// Bytes of a line that is looked at; a longer one is data.
const LINE: usize = 1000;
/// Lines that are kept until the grammars are there; after more the colours begin anew.
const KEPT: usize = 500;

/// Names that models use for a language, and the one by which its grammar is found.
const ALIASES: [(&str, &str); 10] = [
    ("shell", "sh"),
    ("console", "sh"),
    ("shell-session", "sh"),
    ("zsh", "sh"),
    ("golang", "go"),
    ("csharp", "cs"),
    ("jsonc", "json"),
    ("jsonl", "json"),
    ("python3", "py"),
    ("docker", "dockerfile"),
];

/// What words are, by the scopes that grammars give them; the first that fits.
const TONES: [(&str, Tone); 20] = [
    ("comment", Tone::Comment),
    ("meta.interpolation", Tone::Plain),
    ("constant.numeric", Tone::Number),
    ("constant.language", Tone::Number),
    ("constant.character", Tone::Number),
    ("string", Tone::Literal),
    ("keyword.operator", Tone::Plain),
    ("keyword", Tone::Keyword),
    ("storage", Tone::Keyword),
    ("entity.name.function", Tone::Function),
    ("support.function", Tone::Function),
    ("variable.function", Tone::Function),
    ("entity.name.tag", Tone::Keyword),
    ("entity.name", Tone::Type),
    ("entity.other.attribute-name", Tone::Function),
    ("support.type", Tone::Type),
    ("support.class", Tone::Type),
    ("markup.inserted", Tone::Good),
    ("markup.deleted", Tone::Bad),
    ("markup.heading", Tone::Heading),
];

/// The code of one fence.
#[derive(Debug, Clone)]
pub(super) struct Code {
    language: Option<String>,
    /// Lines that were plain because the grammars were not there.
    unread: Vec<String>,
    state: Option<(ParseState, ScopeStack)>,
}

impl Code {
    /// Of what stands behind a fence: a language, or a file.
    pub(super) fn of(info: &str) -> Code {
        let word = info.split([' ', ',', '{', ':']).next().unwrap_or_default();
        let word = word.rsplit_once('.').map_or(word, |(_, extension)| extension).to_ascii_lowercase();
        let known = ALIASES.iter().find(|(alias, _)| *alias == word).map_or(word.as_str(), |(_, name)| name);
        let language = Some(known.to_owned()).filter(|word| !matches!(word.as_str(), "" | "text" | "txt" | "plain"));
        Code { language, unread: Vec::new(), state: None }
    }

    /// The same without what only later lines need.
    pub(super) fn glimpse(&self) -> Code {
        Code { unread: Vec::new(), language: self.language.clone(), state: self.state.clone() }
    }

    /// The next line in colours, where they can be had.
    pub(super) fn line(&mut self, text: &str) -> Line {
        let Some(language) = &self.language else { return vec![piece(text, Ink::PLAIN)] };
        let Some(grammars) = grammars() else {
            if self.unread.len() < KEPT {
                self.unread.push(text.to_owned());
            }
            return vec![piece(text, Ink::PLAIN)];
        };
        if self.state.is_none() {
            match grammars.find_syntax_by_token(language) {
                Some(grammar) => self.catch_up(grammars, grammar),
                None => self.language = None,
            }
        }
        match &mut self.state {
            Some(state) if text.len() <= LINE => read(state, grammars, text),
            _ => vec![piece(text, Ink::PLAIN)],
        }
    }

    fn catch_up(&mut self, grammars: &SyntaxSet, grammar: &SyntaxReference) {
        let mut state = (ParseState::new(grammar), ScopeStack::new());
        for line in std::mem::take(&mut self.unread).iter().filter(|line| line.len() <= LINE) {
            read(&mut state, grammars, line);
        }
        self.state = Some(state);
    }
}

/// The grammars, once they are there. Whoever asks first has them loaded.
fn grammars() -> Option<&'static SyntaxSet> {
    static LOADING: Once = Once::new();
    static GRAMMARS: OnceLock<SyntaxSet> = OnceLock::new();
    LOADING.call_once(|| {
        let load = || drop(GRAMMARS.set(two_face::syntax::extra_newlines()));
        // Without a thread code stays plain.
        drop(thread::Builder::new().name("grammars".into()).spawn(load));
    });
    GRAMMARS.get()
}

fn read((state, scopes): &mut (ParseState, ScopeStack), grammars: &SyntaxSet, text: &str) -> Line {
    let Ok(changes) = state.parse_line(&format!("{text}\n"), grammars) else {
        return vec![piece(text, Ink::PLAIN)];
    };
    let mut line = Vec::new();
    let mut done = 0;
    for (at, change) in changes {
        add(&mut line, text, done..at, scopes);
        done = done.max(at);
        // A grammar that does not add up has no colours; the text is there.
        drop(scopes.apply(&change));
    }
    add(&mut line, text, done..text.len(), scopes);
    line
}

fn add(line: &mut Line, text: &str, range: Range<usize>, scopes: &ScopeStack) {
    if let Some(word) = text.get(range.start..range.end.min(text.len())).filter(|word| !word.is_empty()) {
        let ink = Ink::PLAIN.toned(tone(scopes));
        match line.last_mut() {
            Some(last) if last.ink == ink => last.text.push_str(word),
            _ => line.push(piece(word, ink)),
        }
    }
}

/// The innermost scope that says what it is.
fn tone(scopes: &ScopeStack) -> Tone {
    static KNOWN: OnceLock<Vec<(Scope, Tone)>> = OnceLock::new();
    let scope = |(name, tone): &(&str, Tone)| Some((Scope::new(name).ok()?, *tone));
    let known = KNOWN.get_or_init(|| TONES.iter().filter_map(scope).collect());
    let tone_of = |one: &Scope| known.iter().find(|(scope, _)| scope.is_prefix_of(*one)).map(|(_, tone)| *tone);
    scopes.as_slice().iter().rev().find_map(tone_of).unwrap_or_default()
}
