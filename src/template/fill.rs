//! What a person typed behind a template's name, put into its places. One pass: what was put in is not read again.

/// A piece of a template that was filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// To be said as it is.
    Text(String),
    /// A shell command, whose output takes its place.
    Command(String),
}

/// Puts the arguments in: `$ARGUMENTS` and `$@` are all of them, `$1` to `$9` one, `${@:2}` those from the second on and
/// `${@:2:3}` three of them. In a command, which stands behind an exclamation mark in backquotes, each is quoted for the
/// shell. Where a template has no such place, what was typed stands at its end.
pub(super) fn fill(body: &str, args: &str) -> Vec<Part> {
    let words = words(args);
    let given = Given { whole: args, words: &words };
    let (mut parts, mut used) = (Vec::new(), false);
    let mut rest = body;
    let mut before = None;
    while let Some(at) = mark(rest, before) {
        text(&mut parts, &given, &rest[..at], &mut used);
        let inside = &rest[at + 2..];
        let Some(end) = inside.find('`') else { break };
        let mut command = String::new();
        used |= given.put(&mut command, &inside[..end], true);
        parts.push(Part::Command(command));
        (rest, before) = (&inside[end + 1..], Some('`'));
    }
    text(&mut parts, &given, rest, &mut used);
    if !used && !args.is_empty() {
        parts.push(Part::Text(format!("\n\n{args}")));
    }
    parts
}

/// Where a command begins: at a start or behind a blank, and closed on its line.
fn mark(text: &str, before: Option<char>) -> Option<usize> {
    text.match_indices("!`").map(|(at, _)| at).find(|at| {
        let apart = text[..*at].chars().next_back().or(before).is_none_or(char::is_whitespace);
        let inside = &text[*at + 2..];
        apart && inside.find('`').is_some_and(|end| end > 0 && !inside[..end].contains('\n'))
    })
}

fn text(parts: &mut Vec<Part>, given: &Given<'_>, text: &str, used: &mut bool) {
    let mut filled = String::new();
    *used |= given.put(&mut filled, text, false);
    if !filled.is_empty() {
        parts.push(Part::Text(filled));
    }
}

struct Given<'a> {
    whole: &'a str,
    words: &'a [String],
}

impl Given<'_> {
    /// Appends a text with the arguments in their places; answers whether there was one.
    fn put(&self, to: &mut String, text: &str, is_command: bool) -> bool {
        let mut used = false;
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            to.push_str(&rest[..at]);
            rest = &rest[at..];
            match self.place(rest) {
                Some((length, words)) => {
                    used = true;
                    match words {
                        // As it was typed, blanks and quotes included.
                        None if !is_command => to.push_str(self.whole),
                        None => to.push_str(&quoted(self.words)),
                        Some(words) if is_command => to.push_str(&quoted(words)),
                        Some(words) => to.push_str(&words.join(" ")),
                    }
                    rest = &rest[length..];
                }
                None => {
                    to.push('$');
                    rest = &rest[1..];
                }
            }
        }
        to.push_str(rest);
        used
    }

    /// How long the place at the beginning of the text is, and what belongs there; `None` are all arguments.
    fn place(&self, text: &str) -> Option<(usize, Option<&[String]>)> {
        for all in ["$ARGUMENTS", "$@"] {
            if text.starts_with(all) {
                return Some((all.len(), None));
            }
        }
        if let Some(inside) = text.strip_prefix("${@:") {
            let inside = &inside[..inside.find('}')?];
            let (from, count) = inside.split_once(':').map_or((inside, None), |(from, count)| (from, Some(count)));
            let from = from.parse::<usize>().ok()?.saturating_sub(1).min(self.words.len());
            let left = self.words.len() - from;
            let count = count.map_or(Ok(left), str::parse).ok()?.min(left);
            return Some(("${@:}".len() + inside.len(), Some(&self.words[from..from + count])));
        }
        let number = text[1..].chars().next()?.to_digit(10).filter(|digit| *digit > 0)? as usize;
        let mut after = text[2..].chars();
        let is_digit = |next: Option<char>| next.is_some_and(|next| next.is_ascii_digit());
        // `$10` and `$1.50` are sums of money.
        let is_sum = match after.next() {
            Some('.' | ',') => is_digit(after.next()),
            next => is_digit(next),
        };
        let word = self.words.get(number - 1).map_or(&[][..], std::slice::from_ref);
        (!is_sum).then_some((2, Some(word)))
    }
}

/// Words as a shell takes them; a quote without its end is a letter like any other.
fn words(args: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = args.trim_start();
    while let Some(first) = rest.chars().next() {
        let closed = matches!(first, '"' | '\'').then(|| rest[1..].find(first)).flatten();
        let (word, after) = match closed {
            Some(end) => (&rest[1..=end], &rest[end + 2..]),
            None => rest.split_at(rest.find(char::is_whitespace).unwrap_or(rest.len())),
        };
        words.push(word.to_owned());
        rest = after.trim_start();
    }
    words
}

fn quoted(words: &[String]) -> String {
    let quote = |word: &String| format!("'{}'", word.replace('\'', r"'\''"));
    words.iter().map(quote).collect::<Vec<_>>().join(" ")
}
