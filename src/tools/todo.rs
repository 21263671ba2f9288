//! The tool `todo`: a list of what is to do, kept in a Markdown file of check boxes that a person may edit. Where the file
//! lies is the caller's choice; lines that are no boxes are left as they are.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::files;
use crate::message::RawArgs;
use crate::tool::{Signature, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use crate::workspace::write_atomic;

/// Items of a list.
const MOST: usize = 200;
/// Characters of an item or a title.
const LONGEST: usize = 500;
/// Bytes of the file, which a person may have written.
const LARGEST: u64 = 1 << 20;
/// What other runtimes call our fields.
const NAMES: &[(&str, &str)] = &[
    ("item", "items"),
    ("todo", "items"),
    ("todos", "items"),
    ("tasks", "items"),
    ("text", "items"),
    ("index", "number"),
    ("item_number", "number"),
    ("id", "number"),
    ("name", "title"),
    ("command", "action"),
];

/// The same for all agents: compiled once, whoever uses it.
static SIGNATURE: LazyLock<Signature> =
    LazyLock::new(|| Signature::of::<Args>("todo", include_str!("todo.md"), false).understanding(NAMES));

/// Calls of one turn run side by side.
static WRITING: Mutex<()> = Mutex::new(());

#[derive(Deserialize, JsonSchema)]
struct Args {
    action: Option<Action>,
    items: Option<Vec<String>>,
    /// Of the item to complete.
    #[schemars(range(min = 1))]
    number: Option<usize>,
    title: Option<String>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Action {
    Create,
    Add,
    View,
    Complete,
}

/// Keeps one list.
pub(super) struct Todo {
    file: PathBuf,
}

/// A line with a box.
struct Item {
    /// Of the file, from 0.
    line: usize,
    done: bool,
    text: String,
}

impl Todo {
    pub(super) fn new(file: PathBuf) -> Todo {
        Todo { file }
    }
}

impl Tool for Todo {
    fn spec(&self) -> &ToolSpec {
        SIGNATURE.spec()
    }

    fn writes(&self, _: &RawArgs) -> Option<PathBuf> {
        Some(self.file.clone())
    }

    fn call<'a>(&'a self, args: RawArgs, cx: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        async move {
            let read = SIGNATURE.read::<Args>(&args)?;
            let file = self.file.clone();
            Ok(files::aside(cx, move |_| act(&file, read.args)).await?.noting(&read.repairs))
        }
        .boxed()
    }
}

fn act(file: &Path, args: Args) -> Result<ToolOutput, ToolError> {
    let _one = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    let old = read(file)?;
    let fresh: Vec<String> = args.items.unwrap_or_default().iter().map(|item| line(item)).collect();
    let fresh: Vec<&String> = fresh.iter().filter(|item| !item.is_empty()).collect();
    // Other programs have a tool for each of these, so the action is often in the name that was called.
    let action = args.action.unwrap_or(match (args.number, fresh.as_slice()) {
        (Some(_), _) => Action::Complete,
        (None, []) => Action::View,
        (None, _) => Action::Add,
    });
    match (action, args.number) {
        (Action::View, _) => {}
        (Action::Create, _) => {
            let title = args.title.map(|title| line(&title)).filter(|title| !title.is_empty());
            fits(fresh.len())?;
            set_aside(file, &old)?;
            let head = format!("# {}\n\n", title.unwrap_or_else(|| "To do".to_owned()));
            write(file, &(head + &boxes(&fresh)))?;
        }
        (Action::Add, _) if fresh.is_empty() => return Err(ToolError::new("items is empty; say what to add")),
        (Action::Add, _) => {
            fits(items(&old).len() + fresh.len())?;
            let head = if old.trim().is_empty() { "# To do\n\n" } else { "" };
            let end = if old.is_empty() || old.ends_with('\n') { "" } else { "\n" };
            write(file, &format!("{head}{old}{end}{}", boxes(&fresh)))?;
        }
        (Action::Complete, None) => return Err(ToolError::new("number is missing; say which item is complete")),
        (Action::Complete, Some(number)) => write(file, &completed(&old, number)?)?,
    }
    told(file)
}

fn read(file: &Path) -> Result<String, ToolError> {
    let failed = |error: io::Error| ToolError::new(format!("{} cannot be read: {error}", file.display()));
    match fs::symlink_metadata(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(String::new()),
        Err(error) => return Err(failed(error)),
        Ok(meta) if !meta.is_file() || meta.len() > LARGEST => {
            let what = "it must be a regular file of at most 1 MB; move it away";
            return Err(ToolError::new(format!("{} is no list: {what}", file.display())));
        }
        Ok(_) => {}
    }
    let bytes = fs::read(file).map_err(failed)?;
    String::from_utf8(bytes).map_err(|_| ToolError::new(format!("{} is not UTF-8; mend it first", file.display())))
}

fn write(file: &Path, text: &str) -> Result<(), ToolError> {
    let folder = file.parent().map_or(Ok(()), fs::create_dir_all);
    let written = folder.and_then(|()| write_atomic(file, text.as_bytes()));
    written.map_err(|error| ToolError::new(format!("{} cannot be written: {error}", file.display())))
}

/// An old list with open items stays beside the new one.
fn set_aside(file: &Path, old: &str) -> Result<(), ToolError> {
    match items(old).iter().any(|item| !item.done) {
        true => write(&file.with_extension("old.md"), old),
        false => Ok(()),
    }
}

fn fits(count: usize) -> Result<(), ToolError> {
    match count > MOST {
        true => Err(ToolError::new(format!("a list has at most {MOST} items; nothing was changed"))),
        false => Ok(()),
    }
}

/// One line of harmless length.
fn line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().take(LONGEST).collect()
}

fn boxes(items: &[&String]) -> String {
    items.iter().map(|item| format!("- [ ] {item}\n")).collect()
}

fn items(text: &str) -> Vec<Item> {
    let read = |(line, text): (usize, &str)| {
        let (mark, text) = boxed(text)?;
        Some(Item { line, done: mark != ' ', text: text.trim().to_owned() })
    };
    text.lines().enumerate().filter_map(read).collect()
}

/// The mark in a line's box, and what follows it: `- [x] milk`.
fn boxed(line: &str) -> Option<(char, &str)> {
    let rest = line.trim_start().strip_prefix(['-', '*', '+'])?.trim_start().strip_prefix('[')?;
    let mark = rest.chars().next().filter(|mark| [' ', 'x', 'X'].contains(mark))?;
    Some((mark, rest[1..].strip_prefix(']')?))
}

/// The text with the box of that item marked.
fn completed(text: &str, number: usize) -> Result<String, ToolError> {
    let items = items(text);
    let Some(item) = number.checked_sub(1).and_then(|index| items.get(index)) else {
        let what = if items.is_empty() { "the list is empty".to_owned() } else { format!("there are {}", items.len()) };
        return Err(ToolError::new(format!("there is no item {number}: {what}")));
    };
    let mark = |(at, line): (usize, &str)| match at == item.line {
        true => line.replacen("[ ]", "[x]", 1),
        false => line.to_owned(),
    };
    Ok(text.split_inclusive('\n').enumerate().map(mark).collect())
}

/// The list as it is on the disk.
fn told(file: &Path) -> Result<ToolOutput, ToolError> {
    let items = items(&read(file)?);
    let done = items.iter().filter(|item| item.done).count();
    let mut text = match items.len() {
        0 => "nothing is on the list".to_owned(),
        all => format!("{done} of {all} done"),
    };
    for (number, item) in items.iter().take(MOST).enumerate() {
        let mark = if item.done { 'x' } else { ' ' };
        text.push_str(&format!("\n{}. [{mark}] {}", number + 1, line(&item.text)));
    }
    Ok(ToolOutput::new(text, json!({ "done": done, "items": items.len(), "file": file })))
}
