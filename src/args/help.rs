//! How the command line explains itself: examples first, then the words and options, one idea per line. The same tree
//! gives the screens of `--help`. Which examples there are is in `examples`.

use std::fmt::Write as _;

use clap::builder::{StyledStr, Styles};
use clap::{Arg, Command, CommandFactory};

use super::{Args, examples};
use crate::terminal::exit::Exit;
use crate::terminal::wrap::{columns, wrapped};

/// Columns of the texts: they fit every terminal that people use.
const WIDTH: usize = 80;

/// What stands left of an explanation is given at most so much room; what is longer has a line of its own.
const MOST_LEFT: usize = 30;

/// Examples of the program itself that `-h` shows.
const FIRST: usize = 4;

/// The commands that `-h` of the program shows.
const USUAL: [&str; 6] = ["run", "tasks", "sessions", "init", "doctor", "demo"];

/// Commands that belong together, in the order in which `--help` shows them; what is in no group comes last.
const GROUPS: [(&str, &[&str]); 3] = [
    ("Work", &["run", "tasks", "sessions", "compaction", "notes", "rpc", "serve"]),
    ("Set up", &["init", "doctor", "config", "models", "permissions", "tool", "completions", "man"]),
    ("More", &[]),
];

/// Commands that take all common options, so that their `--help` shows them.
const TAKE_ALL: [&str; 2] = ["", "run"];

const TEMPLATE: &str = "{about-with-newline}\n{before-help}{usage-heading} {usage}{after-help}";

/// Variables of the environment that the program follows, and what each is for.
pub const VARIABLES: [(&str, &str); 8] = [
    ("ANTHROPIC_API_KEY, …", "A key chooses its provider; `tillerman doctor` lists them all"),
    ("ANTHROPIC_BASE_URL, …", "The address of a provider"),
    ("ANTHROPIC_MODEL, …", "The model of a provider"),
    ("TILLERMAN_HOME", "The folder of settings and conversations, instead of ~/.tillerman"),
    ("TILLERMAN_OFFLINE=1", "Look for no model server on this machine"),
    ("TILLERMAN_LOG=debug", "What is written to the log: error, warn, info, debug or trace"),
    ("TILLERMAN_PLAIN=1", "Always --plain, for a screen reader or a log"),
    ("NO_COLOR, FORCE_COLOR", "Never, or always, use colours; --color goes before them"),
];

/// The command line with its explanations.
pub(super) fn dressed() -> Command {
    let bare = Args::command();
    let common: Vec<Arg> = bare.get_arguments().filter(|arg| arg.is_global_set()).cloned().collect();
    dress(bare, "", &[], &common)
}

/// Dresses a command, and the commands in it. `inherited` are options of the commands around it but for the common ones.
fn dress(command: Command, path: &str, inherited: &[Arg], common: &[Arg]) -> Command {
    let is_common = |arg: &&Arg| common.iter().any(|one| one.get_id() == arg.get_id());
    let own: Vec<Arg> = command.get_arguments().filter(|arg| !is_common(arg)).chain(inherited).cloned().collect();
    let passed: Vec<Arg> = own.iter().filter(|arg| arg.is_global_set()).cloned().collect();
    let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    let page = Page { command: &command, path, own: &own, common, styles: Styles::styled() };
    let (short, long) = (page.after(false), page.after(true));
    let before = page.examples(if path.is_empty() { FIRST } else { usize::MAX });
    let before_long = page.examples(usize::MAX);
    let about = command.get_about().map(|about| fitted(&about.to_string()));
    let long_about = command.get_long_about().map(|about| fitted(&about.to_string()));
    let mut dressed = command.help_template(TEMPLATE).before_help(before).before_long_help(before_long);
    dressed = dressed.after_help(short).after_long_help(long);
    dressed = match (about, long_about) {
        (Some(about), Some(long)) => dressed.about(about).long_about(long),
        (Some(about), None) => dressed.about(about),
        (None, _) => dressed,
    };
    names.into_iter().fold(dressed, |dressed, name| {
        let path = if path.is_empty() { name.clone() } else { format!("{path} {name}") };
        dressed.mut_subcommand(name, |sub| dress(sub, &path, &passed, common))
    })
}

fn fitted(text: &str) -> String {
    text.split("\n\n").map(|part| wrapped(part, WIDTH).join("\n")).collect::<Vec<_>>().join("\n\n")
}

/// What is said of one command.
struct Page<'a> {
    command: &'a Command,
    path: &'a str,
    own: &'a [Arg],
    common: &'a [Arg],
    styles: Styles,
}

impl Page<'_> {
    fn examples(&self, most: usize) -> StyledStr {
        let rows: Vec<Row> =
            examples::of(self.path).iter().take(most).map(|(line, what)| Row::of(*line, *what)).collect();
        self.section("Examples", &rows, 44).into()
    }

    /// What stands behind the line of usage.
    fn after(&self, long: bool) -> StyledStr {
        let is_root = self.path.is_empty();
        let mut parts = self.commands(long);
        let (words, mut options): (Vec<&Arg>, Vec<&Arg>) = self.own.iter().partition(|arg| arg.is_positional());
        let takes_all = TAKE_ALL.contains(&self.path);
        let (all, heading) = (self.common.iter(), if is_root { "Options" } else { "Common options" });
        let common: Vec<&Arg> = all.filter(|arg| takes_all && (long || !arg.is_hide_short_help_set())).collect();
        let shown = |args: &[&Arg]| -> Vec<Row> {
            let shown = args.iter().filter(|arg| !arg.is_hide_set() && (long || !arg.is_hide_short_help_set()));
            shown.flat_map(|arg| option(arg, long)).collect()
        };
        options.retain(|arg| !arg.is_hide_set());
        parts.push(self.section("Arguments", &shown(&words), MOST_LEFT));
        let (mut own, mut common) = (shown(&options), shown(&common));
        match (is_root, long) {
            (false, _) => own.push(Row::of("-h, --help", "Explain this command")),
            (true, true) => common.extend([
                Row::of("-h, --help", "Explain; --help says more than -h"),
                Row::of("-V, --version", "Say which version this is"),
            ]),
            // The screen ends with how to see more.
            (true, false) => {}
        }
        parts.push(self.section("Options", &own, MOST_LEFT));
        parts.push(self.section(heading, &common, MOST_LEFT));
        if long && takes_all {
            let variables: Vec<Row> = VARIABLES.iter().map(|(name, what)| Row::of(*name, *what)).collect();
            parts.push(self.section("Environment", &variables, MOST_LEFT));
            parts.push(self.section("Exit codes", &codes(), MOST_LEFT));
        }
        parts.push(match (is_root, long) {
            (true, false) => "All commands and options: tillerman --help; one command: tillerman help NAME".to_owned(),
            (true, true) => "More about one command: tillerman help NAME".to_owned(),
            (false, false) if takes_all => format!("All options: tillerman {} --help", self.path),
            (false, true) if takes_all => String::new(),
            (false, _) => "Options that every command has: tillerman --help".to_owned(),
        });
        parts.retain(|part| !part.is_empty());
        parts.join("\n\n").into()
    }

    fn commands(&self, long: bool) -> Vec<String> {
        let row = |sub: &Command| {
            let about = sub.get_about().map(|about| about.to_string()).unwrap_or_default();
            Row::of(sub.get_name(), about)
        };
        let all: Vec<&Command> = self.command.get_subcommands().filter(|sub| !sub.is_hide_set()).collect();
        let named = |names: &[&str]| -> Vec<Row> {
            names.iter().filter_map(|name| all.iter().find(|sub| sub.get_name() == *name)).map(|sub| row(sub)).collect()
        };
        match (self.path.is_empty(), long) {
            (false, _) => vec![self.section("Commands", &all.iter().map(|sub| row(sub)).collect::<Vec<_>>(), 20)],
            (true, false) => vec![self.section("Commands", &named(&USUAL), 20)],
            (true, true) => {
                let is_grouped = |sub: &&&Command| GROUPS.iter().any(|(_, names)| names.contains(&sub.get_name()));
                let rest: Vec<Row> = all.iter().filter(|sub| !is_grouped(sub)).map(|sub| row(sub)).collect();
                let groups = GROUPS.iter().map(|(title, names)| {
                    self.section(title, if names.is_empty() { rest.clone() } else { named(names) }.as_slice(), 20)
                });
                groups.collect()
            }
        }
    }

    /// Rows under a heading, their explanations below each other; nothing when there are none.
    fn section(&self, title: &str, rows: &[Row], most: usize) -> String {
        if rows.is_empty() {
            return String::new();
        }
        let (heading, name) = (self.styles.get_header(), self.styles.get_literal());
        let left = rows.iter().map(|row| columns(&row.left)).filter(|width| *width <= most).max().unwrap_or(0);
        let mut text = format!("{heading}{title}:{heading:#}");
        for row in rows {
            let width = columns(&row.left);
            let _ = write!(text, "\n  {name}{}{name:#}", row.left);
            let mut lines = wrapped(&row.text, WIDTH - left - 4).into_iter();
            if width <= left
                && let Some(first) = lines.next().filter(|line| !line.is_empty())
            {
                let _ = write!(text, "{:1$}{first}", "", left - width + 2);
            }
            for line in lines.filter(|line| !line.is_empty()) {
                let _ = write!(text, "\n{:1$}{line}", "", left + 4);
            }
        }
        text
    }
}

/// Something that can be typed, and what it means.
#[derive(Debug, Clone)]
struct Row {
    left: String,
    text: String,
}

impl Row {
    fn of(left: impl Into<String>, text: impl Into<String>) -> Row {
        Row { left: left.into(), text: text.into() }
    }
}

/// An option or a word; in the long form with a row for each value that it knows.
fn option(arg: &Arg, long: bool) -> Vec<Row> {
    let values: Vec<String> = arg.get_value_names().unwrap_or_default().iter().map(ToString::to_string).collect();
    let values = if values.is_empty() { vec![arg.get_id().to_string().to_uppercase()] } else { values };
    let more = if arg.get_num_args().is_some_and(|most| most.max_values() > 1) { "..." } else { "" };
    let left = match (arg.get_short(), arg.get_long()) {
        (None, None) if arg.is_required_set() => format!("<{}>{more}", values.join(" ")),
        (None, None) => format!("[{}]{more}", values.join(" ")),
        (short, name) => {
            let short = short.map_or("    ".to_owned(), |short| format!("-{short}, "));
            let may_be_bare = arg.get_num_args().is_some_and(|most| most.min_values() == 0);
            let value = match arg.get_action().takes_values() {
                true if may_be_bare => format!("[=<{}>]", values.join(" ")),
                true => format!(" <{}>{more}", values.join(" ")),
                false => String::new(),
            };
            format!("{short}--{}{value}", name.unwrap_or_default())
        }
    };
    let mut text = arg.get_help().map(|help| help.to_string()).unwrap_or_default();
    for alias in arg.get_visible_aliases().unwrap_or_default() {
        text = format!("{text} [or --{alias}]");
    }
    let is_chosen = arg.get_action().takes_values() && !arg.is_hide_possible_values_set();
    let known = if is_chosen { arg.get_possible_values() } else { Vec::new() };
    let each = long && known.iter().any(|value| value.get_help().is_some());
    if !known.is_empty() && !each {
        let names: Vec<&str> = known.iter().map(|value| value.get_name()).collect();
        text = format!("{text} [{}]", names.join(", "));
    }
    let default: Vec<_> = arg.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    if !default.is_empty() && !arg.is_hide_default_value_set() {
        text = format!("{text} [usual: {}]", default.join(" "));
    }
    let values = known.iter().filter(|_| each).map(|value| {
        let help = value.get_help().map(|help| help.to_string()).unwrap_or_default();
        Row::of(format!("      {}", value.get_name()), help)
    });
    std::iter::once(Row::of(left, text)).chain(values).collect()
}

fn codes() -> Vec<Row> {
    exit_codes().map(|(code, meaning)| Row::of(code, meaning)).collect()
}

/// Numbers and names of the exit codes, with what they mean.
pub fn exit_codes() -> impl Iterator<Item = (String, &'static str)> {
    Exit::ALL.iter().map(|exit| (format!("{:<4} {}", exit.code(), exit.name()), exit.meaning()))
}
