//! `tillerman man` and `tillerman completions`: the command line in the forms of manuals and shells, from the same tree
//! as its help.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

use clap::{Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;

use crate::args::{Args, VARIABLES, exit_codes};
use crate::terminal::exit::Exit;

/// Prints what makes a shell complete our words.
pub fn completions(shell: Shell) -> Exit {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "tillerman", &mut text);
    // A reader that has gone needs no more.
    let _ = io::stdout().lock().write_all(&text);
    Exit::Done
}

/// Prints all pages one after the other, or writes each into a file of the folder; those of an older version are
/// replaced.
///
/// # Errors
/// A sentence that names the file that cannot be written.
pub fn man(dir: Option<&Path>) -> Result<Exit, String> {
    let mut root = Args::command().disable_help_subcommand(true);
    root.build();
    let mut pages = Vec::new();
    collect(&root, "", &mut pages).map_err(|error| format!("cannot make the manual: {error}"))?;
    let Some(dir) = dir else {
        let text: Vec<u8> = pages.into_iter().flat_map(|(_, page)| page).collect();
        // A reader that has gone needs no more.
        let _ = io::stdout().lock().write_all(&text);
        return Ok(Exit::Done);
    };
    let failed = |path: &Path, error| format!("cannot write {}: {error}; name another folder", path.display());
    fs::create_dir_all(dir).map_err(|error| failed(dir, error))?;
    let many = pages.len();
    for (name, page) in pages {
        let path = dir.join(format!("{name}.1"));
        fs::write(&path, page).map_err(|error| failed(&path, error))?;
    }
    let _ = writeln!(io::stdout().lock(), "wrote {many} pages into {}", dir.display());
    Ok(Exit::Done)
}

/// The page of a command and those of the commands in it, each with its name.
fn collect(command: &Command, path: &str, pages: &mut Vec<(String, Vec<u8>)>) -> io::Result<()> {
    let name = format!("tillerman {path}").trim_end().replace(' ', "-");
    pages.push((name.clone(), page(command.clone(), &name, path)?));
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        let path = format!("{path} {}", sub.get_name());
        collect(sub, path.trim_start(), pages)?;
    }
    Ok(())
}

fn page(command: Command, name: &str, path: &str) -> io::Result<Vec<u8>> {
    let is_root = path.is_empty();
    let has_commands = command.has_subcommands();
    let man = Man::new(command.display_name(name.to_owned())).title(name.to_uppercase());
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    let examples = Args::examples(path).iter().map(|(line, what)| ((*line).to_owned(), *what));
    page.write_all(section("EXAMPLES", examples).as_bytes())?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if has_commands {
        man.render_subcommands_section(&mut page)?;
    }
    if is_root {
        let variables = VARIABLES.iter().map(|(name, what)| ((*name).to_owned(), *what));
        page.write_all(section("ENVIRONMENT", variables).as_bytes())?;
        page.write_all(section("EXIT STATUS", exit_codes()).as_bytes())?;
    }
    Ok(page)
}

/// A heading, and below it what can be typed with what it means.
fn section<'a>(title: &str, rows: impl Iterator<Item = (String, &'a str)>) -> String {
    let mut text = format!(".SH \"{title}\"\n");
    for (left, what) in rows {
        let _ = writeln!(text, ".TP\n\\fB{}\\fR\n{}", escaped(&left), escaped(what));
    }
    text
}

/// A text in which the typesetter finds no orders.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq");
    if text.starts_with('.') { format!("\\&{text}") } else { text }
}
