//! The rules of the house, held against the real sources, and each rule seen to fire on a small bad sample.

mod rules;
pub mod source;

use std::path::{Path, PathBuf};

use rules::Table;
use source::Source;

/// Rooms and their doors: the table of the design, bottom to top. A change here is a decision that docs/adr/ explains.
const DOORS: &[(&str, &[&str])] = &[
    ("secret", &[]),
    ("message", &["secret"]),
    ("markdown", &[]),
    ("workspace", &[]),
    ("event", &["message", "secret"]),
    ("model", &["message", "secret"]),
    ("session", &["message", "secret"]),
    ("tool", &["message", "secret", "workspace"]),
    ("sandbox", &["secret", "workspace"]),
    ("agent", &["event", "ledger", "message", "model", "session", "tool"]),
    ("task", &["event", "markdown", "message", "sandbox", "workspace"]),
    ("ledger", &["event", "message", "workspace"]),
    ("trace", &["event", "message"]),
    ("tools", &["markdown", "message", "sandbox", "tool", "workspace"]),
    ("skill", &["markdown", "message", "tool", "workspace"]),
    ("role", &["markdown", "message", "tool", "workspace"]),
    ("template", &["markdown", "workspace"]),
    ("knowledge", &["markdown", "model", "tool", "workspace"]),
    ("mcp", &["tool"]),
    ("prompt", &["markdown", "role", "skill", "workspace"]),
    (
        "config",
        &[
            "agent",
            "knowledge",
            "ledger",
            "markdown",
            "mcp",
            "message",
            "model",
            "sandbox",
            "secret",
            "tool",
            "tools",
            "workspace",
        ],
    ),
    ("runtime", &["everything above"]),
    ("terminal", &["event", "message", "model", "runtime", "task"]),
    ("server", &["everything above"]),
    ("cli", &["everything above"]),
    ("repl", &["everything above", "not cli", "not server"]),
    ("args", &["config", "message", "model", "terminal", "workspace"]),
    ("main", &["args", "cli", "config", "repl", "runtime", "sandbox", "server", "terminal", "workspace"]),
];

fn table() -> Table {
    let mut table = Table::new();
    for (at, (room, open)) in DOORS.iter().enumerate() {
        let above = DOORS[..at].iter().map(|(name, _)| *name).filter(|_| open.contains(&"everything above"));
        let named = open.iter().copied().filter(|word| !word.contains(' '));
        let barred = |name: &&str| !open.contains(&format!("not {name}").as_str());
        table.insert(room, above.chain(named).filter(barred).collect());
    }
    // The command line is read by `args`; `cli` does what it says.
    if let Some(cli) = table.get_mut("cli") {
        cli.push("args");
    }
    table
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn src() -> Vec<Source> {
    source::read(&root().join("src"), "rs")
}

/// Every Rust file of the repository, paths from its root.
fn all() -> Vec<Source> {
    let folders = ["src", "tests", "examples", "benches"];
    let read = folders
        .iter()
        .flat_map(|folder| source::read(&root().join(folder), "rs").into_iter().map(move |source| (folder, source)));
    read.map(|(folder, source)| Source { path: Path::new(folder).join(source.path), ..source }).collect()
}

fn none(findings: Vec<String>) {
    assert!(findings.is_empty(), "\n{}\n", findings.join("\n"));
}

#[test]
fn no_room_opens_a_door_that_is_not_in_the_table() {
    none(rules::strange_doors(&src(), &table()));
}

#[test]
fn no_rooms_go_in_a_circle() {
    assert_eq!(rules::cycle(&rules::doors(&src())), None);
    let table = table().into_iter().map(|(room, open)| (room.to_owned(), open.into_iter().map(String::from).collect()));
    assert_eq!(rules::cycle(&table.collect()), None, "the table itself");
}

#[test]
fn only_the_runtime_names_the_actor_library() {
    none(rules::strange_crates(&src(), "ractor", "runtime"));
}

#[test]
fn only_the_sandbox_is_unsafe() {
    none(rules::strange_crates(&src(), "unsafe", "sandbox"));
}

#[test]
fn no_file_is_longer_than_400_lines() {
    none(rules::too_long(&all()));
}

#[test]
fn every_file_says_first_what_lives_in_it() {
    none(rules::silent(&all()));
}

#[test]
fn no_file_has_a_name_that_says_nothing() {
    none(rules::nameless(&all()));
}

#[test]
fn every_tool_has_its_text_beside_it() {
    let texts: Vec<PathBuf> = source::read(&root().join("src"), "md").into_iter().map(|text| text.path).collect();
    none(rules::wordless_tools(&src(), &texts));
}

#[test]
fn every_test_file_is_part_of_the_tests() {
    none(rules::unheard_tests(&source::read(&root().join("tests/it"), "rs")));
}

#[test]
fn the_documents_are_there_and_the_map_names_every_room() {
    let there =
        |path: &str| std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    for path in ["README.md", "CHANGELOG.md", "docs/guarantees.md", "docs/numbers.md"] {
        assert!(there(path).starts_with("# "), "{path} begins with its title");
    }
    let map = there("ARCHITECTURE.md");
    let unnamed = rules::rooms(&src()).into_iter().filter(|room| !map.contains(&format!("`{room}")));
    assert_eq!(unnamed.collect::<Vec<_>>(), [""; 0], "rooms that ARCHITECTURE.md does not name");
}

#[test]
fn no_document_links_to_a_file_that_is_not_there() {
    let top = ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md"].map(Path::new);
    let read =
        |path: &Path| Some(Source { path: path.to_owned(), text: std::fs::read_to_string(root().join(path)).ok()? });
    let docs = source::read(&root().join("docs"), "md").into_iter();
    let docs = docs.map(|text| Source { path: Path::new("docs").join(text.path), ..text });
    let texts: Vec<Source> = top.iter().filter_map(|path| read(path)).chain(docs).collect();
    none(rules::dead_links(&texts, |path| root().join(path).exists()));
}

// Each rule on a bad sample: a rule that cannot fire is a wish.

fn sample(files: &[(&str, &str)]) -> Vec<Source> {
    files.iter().map(|(path, text)| Source::new(path, text)).collect()
}

fn doors_of(path: &str, text: &str) -> Vec<String> {
    let rooms = ["agent", "event", "message", "model", "repl", "tool"].map(String::from);
    Source::new(path, text).doors(&rooms)
}

#[test]
fn doors_are_seen_in_every_spelling() {
    let spellings = [
        ("agent/run.rs", "use crate::model::Model;"),
        ("agent/run.rs", "use crate::{model::Model};"),
        ("agent/run.rs", "use crate::{agent::{a, b::{c, d}}, model};"),
        ("agent/run.rs", "pub(crate) fn f(x: &crate::model::Reply) {}"),
        ("agent/run.rs", "use crate\n    ::model\n    ::Reply;"),
        ("agent/run.rs", "use super::super::model::Reply;"),
        ("agent/mod.rs", "use super::model::Reply;"),
        ("prompt.rs", "use super::{model::Reply};"),
        ("main.rs", "fn main() { tillerman::model::go() }"),
        ("agent/run.rs", "const QUOTE: char = '\"'; use crate::model; const OTHER: char = '\"';"),
        ("agent/run.rs", "fn f<'a>(x: &'a str) -> crate::model::Reply<'a> {}"),
        ("agent/run.rs", r##"const R: &str = r#"a " b"#; use crate::model;"##),
    ];
    for (path, text) in spellings {
        assert_eq!(doors_of(path, text), ["model"], "{path}: {text}");
    }
}

#[test]
fn words_that_open_no_door_are_passed_over() {
    let harmless = [
        (
            "agent/run.rs",
            "//! See [`crate::model::Reply`].\n/// And crate::tool.\n// crate::repl\n/* crate::tool /* x */ crate::repl */",
        ),
        ("agent/run.rs", "const TEXT: &str = \"crate::model \\\" crate::tool\";"),
        ("agent/run.rs", "const RAW: &str = r#\"crate::model \" crate::tool\"#;"),
        ("agent/run.rs", "use crate::agent::inbox; use super::model_of; use super::model::x;"),
        ("agent/run.rs", "use tillerman::model; use other::tool; fn crate_model() {}"),
        ("agent/run.rs", "use crate::nothing; use crate::{self, *};"),
    ];
    for (path, text) in harmless {
        assert_eq!(doors_of(path, text), [""; 0], "{path}: {text}");
    }
}

#[test]
fn a_strange_door_and_an_unknown_room_are_found() {
    let sources = sample(&[
        ("model/http.rs", "use crate::{message, tool};"),
        ("tool.rs", ""),
        ("message.rs", ""),
        ("attic.rs", ""),
    ]);
    let expected = ["model/http.rs opens tool", "attic.rs: room attic is not in the table of doors"];
    assert_eq!(rules::strange_doors(&sources, &table()), expected);
}

#[test]
fn a_front_end_does_not_open_another() {
    let sources =
        sample(&[("repl/mod.rs", "use crate::{cli, runtime};"), ("cli.rs", "use crate::repl;"), ("runtime.rs", "")]);
    assert_eq!(rules::strange_doors(&sources, &table()), ["repl/mod.rs opens cli", "cli.rs opens repl"]);
}

#[test]
fn a_circle_is_found_and_named() {
    let sources =
        sample(&[("a.rs", "use crate::b;"), ("b.rs", "use crate::c;"), ("c.rs", "use crate::{b, d};"), ("d.rs", "")]);
    assert_eq!(rules::cycle(&rules::doors(&sources)).as_deref(), Some("b → c → b"));
    let straight = sample(&[("a.rs", "use crate::{b, c};"), ("b.rs", "use crate::c;"), ("c.rs", "")]);
    assert_eq!(rules::cycle(&rules::doors(&straight)), None);
}

#[test]
fn an_actor_outside_the_runtime_is_found() {
    let sources = sample(&[
        ("runtime/crew.rs", "use ractor::Actor;"),
        ("agent/run.rs", "use ractor::Actor;"),
        ("task.rs", "// ractor"),
    ]);
    assert_eq!(
        rules::strange_crates(&sources, "ractor", "runtime"),
        ["agent/run.rs names ractor, which belongs to runtime"]
    );
}

#[test]
fn a_long_file_is_found_and_400_lines_are_not_long() {
    let sources = sample(&[("a.rs", &"x\n".repeat(401)), ("b.rs", &"x\n".repeat(400))]);
    assert_eq!(rules::too_long(&sources), ["a.rs has 401 lines, over 400"]);
}

#[test]
fn a_silent_file_is_found() {
    let sources = sample(&[("a.rs", "use x;\n//! Late."), ("b.rs", "//!\n"), ("c.rs", "//! What.\n")]);
    assert_eq!(rules::silent(&sources), ["a.rs does not begin with a //! line", "b.rs does not begin with a //! line"]);
}

#[test]
fn a_name_that_says_nothing_is_found() {
    let sources = sample(&[
        ("agent/util.rs", ""),
        ("common/x.rs", ""),
        ("tools/helpers.rs", ""),
        ("misc.rs", ""),
        ("utility.rs", ""),
    ]);
    let found: Vec<String> =
        rules::nameless(&sources).into_iter().map(|line| line.split(':').next().unwrap().to_owned()).collect();
    assert_eq!(found, ["agent/util.rs", "common/x.rs", "tools/helpers.rs", "misc.rs"]);
}

#[test]
fn a_tool_without_its_text_is_found() {
    let tool = "impl Tool for Shell {}";
    let sources = sample(&[
        ("tools/shell.rs", tool),
        ("tools/grep.rs", "impl crate::tool::Tool for Grep {}"),
        ("tools/edit/mod.rs", tool),
        ("tools/list/mod.rs", tool),
        ("tools/glob.rs", "static SIGNATURE: Signature = x();"),
        ("tools/scan/walk.rs", "fn no_tool() {}"),
        ("skill.rs", tool),
    ]);
    let texts = ["tools/shell.md", "tools/edit/edit.md"].map(PathBuf::from);
    assert_eq!(
        rules::wordless_tools(&sources, &texts),
        ["tools/grep.rs", "tools/list/mod.rs", "tools/glob.rs"].map(|file| format!("{file} has no .md with its text"))
    );
}

#[test]
fn a_test_file_that_never_runs_is_found() {
    let sources = sample(&[("main.rs", "//! All.\nmod a;\n"), ("a.rs", ""), ("b/mod.rs", ""), ("b/c.rs", "")]);
    assert_eq!(rules::unheard_tests(&sources), ["tests/it/main.rs lacks `mod b;`"]);
}

#[test]
fn a_dead_link_is_found() {
    let text = "[a](src/a.rs) [b](b.md#part) [c](https://x.y/z) [d](#here) [e](../up.md \"title\") [f](gone.md)";
    let exists =
        |path: &Path| ["docs/src/a.rs", "docs/b.md", "docs/../up.md"].iter().any(|there| path == Path::new(there));
    let found = rules::dead_links(&sample(&[("docs/x.md", text)]), exists);
    assert_eq!(found, ["docs/x.md links to gone.md, which is not there"]);
}
