//! The lines that the pilot understands, and nothing else: text in, meaning out. What is done about it is not here.

use super::arithmetic;
use crate::message::Budget;

/// What a line asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Intent<'a> {
    /// News of a worker: the task's id and how it ended.
    Report {
        id: &'a str,
        how: &'a str,
    },
    Run(&'a str),
    Tests,
    Read(&'a str),
    Outline(&'a str),
    Count(&'a str),
    Find(&'a str),
    Grep {
        pattern: &'a str,
        path: Option<&'a str>,
    },
    List(Option<&'a str>),
    Write {
        path: &'a str,
        text: &'a str,
    },
    Dispatch(Order<'a>),
    /// The same steps for each word.
    Batch {
        words: Vec<&'a str>,
        steps: Vec<String>,
    },
    /// A named agent, whose report is waited for.
    Call {
        agent: &'a str,
        steps: Vec<String>,
    },
    /// A task that has ended goes on.
    GoOn {
        id: &'a str,
        text: &'a str,
    },
    Steer {
        id: &'a str,
        text: &'a str,
    },
    Answer {
        id: &'a str,
        text: &'a str,
    },
    /// A worker's question that the main agent may answer.
    Question {
        id: &'a str,
    },
    Abort(&'a str),
    Tasks(Option<&'a str>),
    TodoAdd(&'a str),
    TodoDone(u32),
    TodoList,
    Sum(&'a str),
    Time,
    Help,
    Greeting,
    /// A known word without what it needs; holds the way to write it.
    Incomplete(&'static str),
    Unknown,
}

/// Steps for a worker.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Order<'a> {
    pub(super) title: String,
    pub(super) steps: Vec<String>,
    /// What it comes after.
    pub(super) after: Vec<&'a str>,
    /// What it may use.
    pub(super) budget: Option<&'a str>,
}

/// Each line that is understood, with what it does; shown by `help`.
pub(super) const LINES: &[(&str, &str)] = &[
    ("run CMD", "run a command here"),
    ("dispatch TITLE: CMD; CMD", "give commands to a worker in the background"),
    ("dispatch after t_001: CMD", "when that is over; `budget 5m` instead limits it"),
    ("batch a, b: CMD {{item}}", "a worker for each; `/batch FILE TEXT` for a table"),
    ("call tester: CMD", "give commands to a named agent and wait for it"),
    ("continue t_001 run CMD", "go on with a task that has ended"),
    ("tasks", "what the workers do; `tasks t_001` for one"),
    ("steer t_001 also run CMD", "change its course: also run CMD, skip, stop"),
    ("abort t_001", "end it"),
    ("answer t_001 2", "answer what it asks: an option's number, or words"),
    ("read PATH", "show a file; `outline PATH` only its headings"),
    ("list [PATH]", "what a folder holds"),
    ("find NAME", "files by name; `count PATH` counts lines"),
    ("grep PATTERN [in PATH]", "search in files"),
    ("write PATH: TEXT", "write a file"),
    ("test", "run the project's tests"),
    ("todo [add TEXT | done N]", "a list of what is to do"),
    ("2 * (3 + 4)", "calculate"),
    ("time", "the date and time"),
];

impl<'a> Intent<'a> {
    /// Reads a line, or several: `write` and `dispatch` use all of them, the others the first.
    pub(super) fn of(text: &'a str) -> Intent<'a> {
        let text = text.trim();
        let line = text.lines().next().unwrap_or_default().trim_end();
        if let Some(report) = report(line) {
            return report;
        }
        if let Some(command) = line.strip_prefix('!').or_else(|| line.strip_prefix("$ ")) {
            return some(command, "run CMD", Intent::Run);
        }
        if let Some((id, words)) = line.strip_prefix('@').and_then(task_and_rest) {
            return steer(id, words);
        }
        if arithmetic::is_expression(line) {
            return Intent::Sum(line);
        }
        let (verb, rest) = split_word(line);
        let whole = split_word(text).1;
        let verb = verb.to_lowercase();
        crew(&verb, rest, whole).or_else(|| files(&verb, rest, whole)).unwrap_or_else(|| phrase(&verb, rest, line))
    }
}

fn report(line: &str) -> Option<Intent<'_>> {
    if let Some((id, _)) = line.strip_prefix("[Question ").and_then(|rest| rest.split_once(' ')) {
        return is_task(id).then_some(Intent::Question { id });
    }
    let inside = line.strip_prefix("[Worker ")?.split_once(']')?.0;
    let (how, id) = inside.split_once(' ')?;
    is_task(id).then_some(Intent::Report { id, how })
}

/// Lines about workers.
fn crew<'a>(verb: &str, rest: &'a str, whole: &'a str) -> Option<Intent<'a>> {
    let task = task_and_rest(rest);
    Some(match (verb, task) {
        ("dispatch", _) => dispatch(whole),
        ("batch", _) => batch(whole)?,
        ("call", _) => call(whole)?,
        ("continue" | "resume", Some((id, text))) => Intent::GoOn { id, text },
        ("continue" | "resume", None) if rest.is_empty() => Intent::Incomplete("continue t_001 run CMD"),
        ("steer" | "tell", Some((id, words))) => steer(id, words),
        ("answer", Some((_, ""))) => Intent::Incomplete("answer t_001 2"),
        ("answer", None) if !rest.contains(' ') => Intent::Incomplete("answer t_001 2"),
        ("answer", Some((id, text))) => Intent::Answer { id, text },
        ("steer", None) => Intent::Incomplete("steer t_001 TEXT"),
        ("abort" | "stop" | "cancel", Some((id, ""))) => Intent::Abort(id),
        ("abort" | "stop" | "cancel", None) if !rest.contains(' ') => Intent::Incomplete("abort t_001"),
        ("tasks" | "task" | "status" | "workers", Some((id, ""))) => Intent::Tasks(Some(id)),
        ("tasks" | "status" | "workers", None) if rest.is_empty() => Intent::Tasks(None),
        _ => return None,
    })
}

/// Lines about files and commands. A line that reads like prose is none of them.
fn files<'a>(verb: &str, rest: &'a str, whole: &'a str) -> Option<Intent<'a>> {
    Some(match verb {
        "run" if matches!(rest, "tests" | "the tests" | "test") => Intent::Tests,
        "run" => some(whole, "run CMD", Intent::Run),
        "test" | "tests" if rest.is_empty() => Intent::Tests,
        "read" | "cat" | "show" => one(rest, "read PATH", Intent::Read)?,
        "outline" | "headings" => one(rest, "outline PATH", Intent::Outline)?,
        "count" => one(rest.strip_prefix("lines in ").unwrap_or(rest), "count PATH", Intent::Count)?,
        "find" => one(rest, "find NAME", Intent::Find)?,
        "grep" => grep(rest),
        "list" | "ls" => match folder(rest) {
            "" => Intent::List(None),
            path => one(path, "list [PATH]", |path| Intent::List(Some(path)))?,
        },
        "write" => match whole.split_once(':') {
            Some((path, text)) => {
                one(path, "write PATH: TEXT", |path| Intent::Write { path, text: text.trim_start_matches(' ') })?
            }
            None if rest.is_empty() || split_word(rest).0.contains(['.', '/']) => {
                Intent::Incomplete("write PATH: TEXT")
            }
            None => return None,
        },
        "todo" | "todos" => todo(rest),
        _ => return None,
    })
}

/// Everything else.
fn phrase<'a>(verb: &str, rest: &'a str, line: &'a str) -> Intent<'a> {
    let lower = line.to_lowercase();
    match lower.trim_end_matches(['?', '!', '.']) {
        "" if matches!(line, "" | "?") => Intent::Help,
        "help" | "what can you do" | "who are you" | "commands" => Intent::Help,
        "time" | "date" | "now" | "what time is it" | "what is the time" | "what day is it" => Intent::Time,
        "hi" | "hello" | "hey" | "good morning" | "thanks" | "thank you" => Intent::Greeting,
        _ => match (verb, line.strip_prefix('=')) {
            (_, Some(expression)) => some(expression, "2 * (3 + 4)", Intent::Sum),
            ("calc" | "calculate", None) => some(rest, "2 * (3 + 4)", Intent::Sum),
            ("what", None) => question(rest),
            _ => Intent::Unknown,
        },
    }
}

/// `what is 2 + 2?`
fn question(rest: &str) -> Intent<'_> {
    let sum = rest.strip_prefix("is ").map(|sum| sum.trim_end_matches(['?', ' ', '=']));
    sum.filter(|sum| arithmetic::is_expression(sum)).map_or(Intent::Unknown, Intent::Sum)
}

/// What a word needs, whatever it is.
fn some<'a>(rest: &'a str, usage: &'static str, intent: impl FnOnce(&'a str) -> Intent<'a>) -> Intent<'a> {
    match rest.trim() {
        "" => Intent::Incomplete(usage),
        rest => intent(unquoted(rest)),
    }
}

/// What a word needs, when that is a single word or stands in quotes.
fn one<'a>(rest: &'a str, usage: &'static str, intent: impl FnOnce(&'a str) -> Intent<'a>) -> Option<Intent<'a>> {
    let bare = unquoted(rest);
    let single = bare.len() < rest.trim().len() || !bare.contains(char::is_whitespace);
    single.then(|| some(rest, usage, intent))
}

fn steer<'a>(id: &'a str, text: &'a str) -> Intent<'a> {
    match text {
        "" => Intent::Incomplete("steer t_001 TEXT"),
        text => Intent::Steer { id, text },
    }
}

fn grep(rest: &str) -> Intent<'_> {
    let (pattern, path) = match rest.rsplit_once(" in ") {
        Some((pattern, path)) if !pattern.trim().is_empty() && !path.trim().is_empty() => {
            (pattern.trim(), Some(path.trim()))
        }
        Some(_) | None => (rest, None),
    };
    some(pattern, "grep PATTERN [in PATH]", |pattern| Intent::Grep { pattern, path })
}

/// The path in `list src` or `list the files in src`.
fn folder(rest: &str) -> &str {
    let mut rest = rest.trim_end_matches(['?', '!']);
    loop {
        let (word, after) = split_word(rest);
        match word {
            "all" | "the" | "files" | "in" | "of" | "here" => rest = after,
            _ => return rest,
        }
    }
}

fn todo(rest: &str) -> Intent<'_> {
    let (verb, rest) = split_word(rest);
    match verb {
        "" | "list" | "show" => Intent::TodoList,
        "add" => some(rest, "todo add TEXT", Intent::TodoAdd),
        "done" | "tick" => match rest.trim().parse() {
            Ok(number) if number > 0 => Intent::TodoDone(number),
            Ok(_) | Err(_) => Intent::Incomplete("todo done N"),
        },
        _ => Intent::Incomplete("todo [add TEXT | done N]"),
    }
}

/// `TITLE: STEP; STEP`, or a title and a step per line. Without a title the first step is the title.
fn dispatch(whole: &str) -> Intent<'_> {
    let (head, rest) = head(whole).unwrap_or(("", whole.trim()));
    let steps = steps(rest);
    let Some(first) = steps.first() else { return Intent::Incomplete("dispatch TITLE: CMD; CMD") };
    let (title, after, budget) = terms(head);
    let title = if title.is_empty() { first.clone() } else { title.to_owned() };
    Intent::Dispatch(Order { title, steps, after, budget })
}

/// `WORD, WORD: STEP; STEP`. Prose has no `{{item}}` in its steps.
fn batch(whole: &str) -> Option<Intent<'_>> {
    const USAGE: Intent<'_> = Intent::Incomplete("batch a, b: CMD {{item}}");
    let Some((words, rest)) = head(whole) else { return whole.is_empty().then_some(USAGE) };
    let words: Vec<&str> = words.split(',').map(str::trim).filter(|word| !word.is_empty()).collect();
    let steps = steps(rest);
    let is_whole = !words.is_empty() && steps.iter().any(|step| step.contains("{{item}}"));
    Some(if is_whole { Intent::Batch { words, steps } } else { USAGE })
}

/// `AGENT: STEP; STEP`.
fn call(whole: &str) -> Option<Intent<'_>> {
    const USAGE: Intent<'_> = Intent::Incomplete("call tester: CMD");
    let Some((agent, rest)) = head(whole) else { return whole.is_empty().then_some(USAGE) };
    let (agent, steps) = (agent.trim(), steps(rest));
    match steps.is_empty() || agent.is_empty() {
        _ if agent.contains(char::is_whitespace) => None,
        true => Some(USAGE),
        false => Some(Intent::Call { agent, steps }),
    }
}

/// What stands before a colon on the first line, and what stands after it.
fn head(whole: &str) -> Option<(&str, &str)> {
    let (head, rest) = whole.split_once(':')?;
    (!head.contains('\n')).then(|| (head.trim(), rest.trim()))
}

/// `TITLE after t_001, t_002 budget 5m`, in either order.
fn terms(head: &str) -> (&str, Vec<&str>, Option<&str>) {
    let (mut title, mut after, mut budget) = (head, Vec::new(), None);
    while let Some((before, what, said)) = term(title) {
        match what {
            "after" => after = said.split([' ', ',']).filter(|id| !id.is_empty()).collect(),
            _ => budget = Some(said),
        }
        title = before;
    }
    (title, after, budget)
}

/// The last term, if what it says is no part of the title.
fn term(head: &str) -> Option<(&str, &'static str, &str)> {
    let named = |what: &'static str| {
        let at = head.rfind(what).filter(|at| *at == 0 || head[..*at].ends_with(' '))?;
        Some((head[..at].trim_end(), what, head[at + what.len()..].strip_prefix(' ')?.trim()))
    };
    let is_after = |said: &str| said.split([' ', ',']).filter(|word| !word.is_empty()).all(is_task) && !said.is_empty();
    let after = named("after").filter(|(.., said)| is_after(said));
    after.or_else(|| named("budget").filter(|(.., said)| said.parse::<Budget>().is_ok()))
}

/// Steps on one line, or one on each line.
fn steps(text: &str) -> Vec<String> {
    match text.contains('\n') {
        true => text.lines().map(unmarked).filter(|step| !step.is_empty()).map(str::to_owned).collect(),
        false => split_steps(unmarked(text)),
    }
}

/// A step without its bullet.
fn unmarked(step: &str) -> &str {
    let step = step.trim();
    let bare = ["- [ ] ", "* [ ] ", "- ", "* "].iter().find_map(|mark| step.strip_prefix(mark));
    bare.unwrap_or(step).trim()
}

/// Splits at semicolons that stand outside quotes and are not escaped.
fn split_steps(text: &str) -> Vec<String> {
    let mut steps = vec![String::new()];
    let mut quote = None;
    let mut escaped = false;
    for c in text.chars() {
        let cuts = c == ';' && quote.is_none() && !escaped;
        match (cuts, steps.last_mut()) {
            (false, Some(step)) => step.push(c),
            (true, _) | (false, None) => steps.push(String::new()),
        }
        if !escaped && matches!(c, '\'' | '"' | '`') {
            quote = match quote {
                None => Some(c),
                Some(open) if open == c => None,
                open => open,
            };
        }
        escaped = c == '\\' && !escaped && quote != Some('\'');
    }
    steps.into_iter().map(|step| step.trim().to_owned()).filter(|step| !step.is_empty()).collect()
}

fn task_and_rest(text: &str) -> Option<(&str, &str)> {
    let (id, rest) = split_word(text.trim());
    let id = id.trim_end_matches([':', ',']);
    is_task(id).then_some((id, rest))
}

fn is_task(word: &str) -> bool {
    word.strip_prefix("t_").is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
}

fn split_word(text: &str) -> (&str, &str) {
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (word, rest.trim())
}

/// Without the quotes that some people put around a path or a command.
fn unquoted(text: &str) -> &str {
    let text = text.trim();
    let bare = ['`', '"', '\''].iter().find_map(|quote| {
        let inside = text.strip_prefix(*quote)?.strip_suffix(*quote)?;
        (!inside.contains(*quote)).then_some(inside)
    });
    bare.unwrap_or(text)
}
