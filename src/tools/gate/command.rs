//! A command taken apart as a shell would: its simple commands, each as words. What cannot be known without running it, and
//! what is not worth understanding, is not guessed at: it is unclear. This only advises; the walls decide what can happen.

use super::carrier;

/// Most simple commands that are looked at.
const PARTS: usize = 50;
/// Most bytes of a command that is looked at.
const LONGEST: usize = 1 << 20;
/// Most commands inside commands.
const DEEPEST: usize = 8;

/// A simple command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Part {
    /// Without quotes; the first is the program.
    pub(super) words: Vec<String>,
    /// It sets variables for its program or sends its output to a file: more than its words say.
    pub(super) more: bool,
    /// Something of it is only known when it runs.
    pub(super) open: bool,
}

/// The parts of a command, or why they cannot be known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Parts {
    pub(super) parts: Vec<Part>,
    /// Why it may do more than its parts say.
    pub(super) unclear: Option<&'static str>,
}

struct Word {
    text: String,
    /// Something of it is only known when the command runs.
    open: bool,
    /// It has quotes, so it is no keyword.
    quoted: bool,
    /// It begins with a name and `=`.
    assigns: bool,
    /// It may become several words or another one: `{a,b}`, `r?`.
    spreads: bool,
}

struct Reader<'a> {
    rest: std::iter::Peekable<std::str::Chars<'a>>,
    found: Parts,
    depth: usize,
    part: Part,
    word: Option<Word>,
    loops: bool,
    /// A word of the part is only known when it runs.
    open: bool,
}

/// Takes a command apart.
pub(super) fn parts(command: &str) -> Parts {
    read(command, 0)
}

fn read(command: &str, depth: usize) -> Parts {
    let mut reader = Reader {
        rest: command.chars().peekable(),
        found: Parts::default(),
        depth,
        part: Part::default(),
        word: None,
        loops: false,
        open: false,
    };
    if command.len() > LONGEST {
        reader.unclear("it is longer than 1 MB");
    } else if depth > DEEPEST {
        reader.unclear("it has commands inside commands inside commands");
    } else {
        reader.all();
    }
    if reader.found.parts.len() > PARTS {
        reader.found.parts.truncate(PARTS);
        reader.unclear("it has more than 50 parts");
    }
    reader.found
}

impl Reader<'_> {
    fn unclear(&mut self, why: &'static str) {
        self.found.unclear.get_or_insert(why);
    }

    fn all(&mut self) {
        while let Some(one) = self.rest.next() {
            match one {
                ' ' | '\t' => self.end_word(),
                '\n' | ';' => self.end_part(),
                '|' => {
                    self.rest.next_if(|next| matches!(next, '|' | '&'));
                    self.end_part();
                }
                '&' if self.rest.next_if_eq(&'>').is_some() => self.redirected(),
                '&' => {
                    self.rest.next_if_eq(&'&');
                    self.end_part();
                }
                '(' if self.word.is_none() && self.part == Part::default() => {}
                '(' => self.unclear("it has a function, a list or a group inside a word"),
                ')' => self.end_part(),
                '<' | '>' => self.angle(one),
                '#' if self.word.is_none() => while self.rest.next_if(|next| *next != '\n').is_some() {},
                '\\' => self.escaped(),
                '\'' => self.single(),
                '"' => self.double(),
                '`' => self.unclear("it has a command in backticks"),
                '$' => self.dollar(),
                '*' | '?' | '[' | '{' | '}' => {
                    self.push(one);
                    self.word_mut().spreads = true;
                }
                '=' => {
                    let word = self.word_mut();
                    let name = word.text.strip_suffix('+').unwrap_or(&word.text);
                    word.assigns |= !word.quoted && !name.is_empty() && name.chars().all(is_name);
                    word.text.push('=');
                }
                hidden if is_hidden(hidden) => self.unclear("it has characters that cannot be seen"),
                plain => self.push(plain),
            }
            if self.found.parts.len() > PARTS {
                return;
            }
        }
        self.end_part();
    }

    fn word_mut(&mut self) -> &mut Word {
        self.word.get_or_insert(Word {
            text: String::new(),
            open: false,
            quoted: false,
            assigns: false,
            spreads: false,
        })
    }

    fn push(&mut self, one: char) {
        self.word_mut().text.push(one);
    }

    fn escaped(&mut self) {
        match self.rest.next() {
            Some('\n') | None => {}
            Some(one) => {
                self.push(one);
                self.word_mut().quoted = true;
            }
        }
    }

    fn single(&mut self) {
        self.word_mut().quoted = true;
        loop {
            match self.rest.next() {
                Some('\'') => return,
                Some(one) => self.push(one),
                None => return self.unclear("a quote is not closed"),
            }
        }
    }

    fn double(&mut self) {
        self.word_mut().quoted = true;
        loop {
            match self.rest.next() {
                Some('"') => return,
                Some('\\') => match self.rest.next() {
                    Some('\n') => {}
                    Some(one @ ('$' | '`' | '"' | '\\')) => self.push(one),
                    Some(one) => self.word_mut().text.extend(['\\', one]),
                    None => return self.unclear("a quote is not closed"),
                },
                Some('`') => self.unclear("it has a command in backticks"),
                Some('$') => self.dollar(),
                Some(one) => self.push(one),
                None => return self.unclear("a quote is not closed"),
            }
        }
    }

    /// A variable, or a command whose output stands there.
    fn dollar(&mut self) {
        match self.rest.peek().copied() {
            Some('(') => {
                self.rest.next();
                let Some(inner) = self.inside() else { return self.unclear("a $( is not closed") };
                if inner.starts_with('(') {
                    return self.unclear("it has arithmetic");
                }
                let inner = read(&inner, self.depth + 1);
                self.found.parts.extend(inner.parts);
                self.found.unclear = self.found.unclear.or(inner.unclear);
                self.word_mut().open = true;
            }
            Some('{') => {
                self.rest.next();
                let mut name = String::new();
                while let Some(one) = self.rest.next_if(|next| *next != '}') {
                    name.push(one);
                }
                if self.rest.next().is_none() || name.is_empty() || !name.chars().all(is_name) {
                    self.unclear("it has a variable that is changed where it is used");
                }
                self.variable(&name);
            }
            Some('\'' | '"' | '[') => self.unclear("it has a text of special characters"),
            Some(one) if is_name(one) || "?$!#@*-".contains(one) => {
                let mut name = String::new();
                while let Some(one) = self.rest.next_if(|next| is_name(*next)) {
                    name.push(one);
                }
                if name.is_empty() {
                    self.rest.next();
                }
                self.variable(&name);
            }
            Some(_) | None => self.push('$'),
        }
    }

    fn variable(&mut self, name: &str) {
        if name == "IFS" {
            self.unclear("it has the variable IFS");
        }
        self.word_mut().open = true;
    }

    /// What stands in parentheses, up to the one that closes. Quotes are respected.
    fn inside(&mut self) -> Option<String> {
        let (mut text, mut open, mut quote) = (String::new(), 1, None);
        while let Some(one) = self.rest.next() {
            match (one, quote) {
                ('\\', None | Some('"')) => {
                    text.push(one);
                    text.extend(self.rest.next());
                    continue;
                }
                ('\'' | '"', None) => quote = Some(one),
                (_, Some(of)) if of == one => quote = None,
                ('(', None) => open += 1,
                (')', None) => open -= 1,
                _ => {}
            }
            if open == 0 {
                return Some(text);
            }
            text.push(one);
        }
        None
    }

    fn angle(&mut self, one: char) {
        if self.rest.peek() == Some(&'(') {
            return self.unclear("it has a command in place of a file");
        }
        if one == '<' && self.rest.peek() == Some(&'<') {
            self.rest.next();
            return self.unclear("it has a here-document");
        }
        // Digits before it name a descriptor and are no word.
        if self.word.as_ref().is_some_and(|word| !word.quoted && word.text.chars().all(|c| c.is_ascii_digit())) {
            self.word = None;
        }
        if one == '>' {
            self.redirected();
        } else {
            self.rest.next_if_eq(&'>');
            self.target();
        }
    }

    fn redirected(&mut self) {
        self.rest.next_if(|next| matches!(next, '>' | '|'));
        self.target();
    }

    /// The word behind a redirection. Only what goes nowhere or to another descriptor says no more than the words do.
    fn target(&mut self) {
        self.end_word();
        let of_descriptor = self.rest.next_if_eq(&'&').is_some();
        while self.rest.next_if(|next| matches!(next, ' ' | '\t')).is_some() {}
        let mut target = String::new();
        let ends = |next: &char| " \t\n;|&<>()".contains(*next);
        while let Some(one) = self.rest.next_if(|next| !ends(next)) {
            target.push(one);
        }
        let is_plain = |c: char| c.is_alphanumeric() || "._/-+@%,~".contains(c);
        if !target.chars().all(is_plain) {
            self.unclear("it sends its output where only a shell can say");
        }
        let nowhere =
            target == "/dev/null" || (of_descriptor && target.chars().all(|c| c.is_ascii_digit() || c == '-'));
        self.part.more |= !nowhere;
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        self.open |= word.open;
        if !self.part.words.is_empty() {
            return self.part.words.push(word.text);
        }
        if word.assigns {
            if carrier::changes_programs(word.text.split('=').next().unwrap_or_default()) {
                self.unclear("it sets a variable that changes what programs do");
            }
            self.part.more = true;
            return;
        }
        if !word.quoted && !word.open {
            match word.text.as_str() {
                "if" | "then" | "else" | "elif" | "fi" | "while" | "until" | "do" | "done" | "!" | "{" | "}"
                | "time" => {
                    return;
                }
                "for" | "select" => self.loops = true,
                "case" | "esac" | "function" | "coproc" | "[[" => self.unclear("it is a program of its own"),
                _ => {}
            }
        }
        if word.open || word.spreads {
            self.unclear("only a shell can say which program it runs");
        }
        self.part.words.push(word.text);
    }

    fn end_part(&mut self) {
        self.end_word();
        let (mut part, open) = (std::mem::take(&mut self.part), std::mem::take(&mut self.open));
        part.open = open;
        // `for x in a b` runs nothing.
        if std::mem::take(&mut self.loops) || part.words.is_empty() {
            return;
        }
        match carrier::look(&part.words, open) {
            carrier::Look::Plain => {}
            carrier::Look::Unclear(why) => self.unclear(why),
            carrier::Look::Carries(command) => {
                let inner = read(&command, self.depth + 1);
                self.found.parts.extend(inner.parts);
                self.found.unclear = self.found.unclear.or(inner.unclear);
            }
        }
        self.found.parts.push(part);
    }
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Control characters and those that take no room or turn the line around.
pub(super) fn is_hidden(c: char) -> bool {
    matches!(c, '\u{0}'..='\u{8}' | '\u{b}'..='\u{1f}' | '\u{7f}'..='\u{a0}' | '\u{ad}' | '\u{34f}' | '\u{61c}'
        | '\u{115f}' | '\u{1160}' | '\u{1680}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180e}'
        | '\u{2000}'..='\u{200f}' | '\u{2028}'..='\u{202f}' | '\u{205f}'..='\u{206f}' | '\u{3000}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e0fff}')
}
