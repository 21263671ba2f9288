//! The rules of the house as plain functions: sources in, findings out, one sentence each.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::source::{self, Source};

/// Most lines of a file.
pub(super) const MAX_LINES: usize = 400;

/// Which rooms a room may open; `..` in front names rows whose own name and doors are taken over.
pub(super) type Table = BTreeMap<&'static str, Vec<&'static str>>;

/// Names that say nothing.
const NAMELESS: [&str; 4] = ["util", "common", "misc", "helpers"];

/// The rooms of a tree of sources.
pub(super) fn rooms(sources: &[Source]) -> Vec<String> {
    let mut rooms: Vec<String> = sources.iter().map(Source::room).filter(|room| room != "lib").collect();
    rooms.sort();
    rooms.dedup();
    rooms
}

/// Doors that the table does not name, and rooms that it does not know.
pub(super) fn strange_doors(sources: &[Source], table: &Table) -> Vec<String> {
    let rooms = rooms(sources);
    let mut found = Vec::new();
    for source in sources.iter().filter(|source| source.room() != "lib") {
        let Some(open) = table.get(source.room().as_str()) else {
            found.push(format!("{}: room {} is not in the table of doors", source.path.display(), source.room()));
            continue;
        };
        let strange = source.doors(&rooms).into_iter().filter(|door| !open.contains(&door.as_str()));
        found.extend(strange.map(|door| format!("{} opens {door}", source.path.display())));
    }
    found
}

/// The doors that are open in fact, room by room.
pub(super) fn doors(sources: &[Source]) -> BTreeMap<String, Vec<String>> {
    let rooms = rooms(sources);
    let mut graph: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for source in sources.iter().filter(|source| source.room() != "lib") {
        graph.entry(source.room()).or_default().extend(source.doors(&rooms));
    }
    graph
}

/// One circle of rooms, if there is any: `a → b → a`.
pub(super) fn cycle(graph: &BTreeMap<String, Vec<String>>) -> Option<String> {
    let mut open: BTreeMap<&str, Vec<&str>> =
        graph.iter().map(|(room, doors)| (room.as_str(), doors.iter().map(String::as_str).collect())).collect();
    // Rooms that open nothing (any more) are in no circle; what stays when none is left to take away is one.
    while let Some(done) = open.iter().find(|(_, doors)| doors.is_empty()).map(|(room, _)| *room) {
        open.remove(done);
        open.values_mut().for_each(|doors| doors.retain(|door| *door != done));
    }
    open.values_mut().for_each(|doors| doors.retain(|door| graph.contains_key(*door)));
    let mut path = vec![*open.keys().next()?];
    loop {
        let next = *open.get(path.last()?)?.first()?;
        if let Some(start) = path.iter().position(|room| *room == next) {
            path.push(next);
            return Some(path[start..].join(" → "));
        }
        path.push(next);
    }
}

/// Rooms that name an outside crate which only one room may name.
pub(super) fn strange_crates(sources: &[Source], name: &str, owner: &str) -> Vec<String> {
    let names = |source: &&Source| source::tokens(&source::strip(&source.text)).contains(&name);
    let others = sources.iter().filter(|source| source.room() != owner).filter(names);
    others.map(|source| format!("{} names {name}, which belongs to {owner}", source.path.display())).collect()
}

/// Files that are too long.
pub(super) fn too_long(sources: &[Source]) -> Vec<String> {
    let lines = sources.iter().map(|source| (source, source.text.lines().count()));
    lines
        .filter(|(_, lines)| *lines > MAX_LINES)
        .map(|(source, lines)| format!("{} has {lines} lines, over {MAX_LINES}", source.path.display()))
        .collect()
}

/// Files that do not say first what lives in them.
pub(super) fn silent(sources: &[Source]) -> Vec<String> {
    let silent = sources.iter().filter(|source| !source.text.starts_with("//! "));
    silent.map(|source| format!("{} does not begin with a //! line", source.path.display())).collect()
}

/// Files and folders whose name says nothing.
pub(super) fn nameless(sources: &[Source]) -> Vec<String> {
    let says_nothing = |path: &Path| {
        path.iter()
            .any(|part| Path::new(part).file_stem().is_some_and(|stem| NAMELESS.iter().any(|name| stem == *name)))
    };
    let found = sources.iter().filter(|source| says_nothing(&source.path));
    found.map(|source| format!("{}: name it after what it holds", source.path.display())).collect()
}

/// Tools without their text: `x.rs` with a tool needs `x.md` beside it, `x/…rs` needs `x/x.md` or `x.md`.
pub(super) fn wordless_tools(sources: &[Source], texts: &[PathBuf]) -> Vec<String> {
    let tools = sources.iter().filter(|source| source.room() == "tools" && holds_a_tool(source));
    // A gate wears the text of the tool behind it, a frame that of the tool in it.
    let tools = tools.filter(|source| !["tools/gate.rs", "tools/looking.rs"].map(Path::new).contains(&&*source.path));
    tools
        .filter(|source| {
            let beside = source.path.with_extension("md");
            let folder = source.path.parent().unwrap_or(Path::new("")).to_owned();
            let inside = folder.join(folder.file_name().unwrap_or_default()).with_extension("md");
            ![beside, folder.with_extension("md"), inside].iter().any(|text| texts.contains(text))
        })
        .map(|source| format!("{} has no .md with its text", source.path.display()))
        .collect()
}

fn holds_a_tool(source: &Source) -> bool {
    let code = source::strip(&source.text);
    source::tokens(&code).windows(2).any(|pair| pair == ["Tool", "for"] || pair == ["static", "SIGNATURE"])
}

/// Test files that `main.rs` does not name, so that they never run.
pub(super) fn unheard_tests(sources: &[Source]) -> Vec<String> {
    let main = sources.iter().find(|source| source.path == Path::new("main.rs"));
    let heard = |room: &str| main.is_some_and(|main| main.text.contains(&format!("\nmod {room};")));
    let mut unheard: Vec<String> = rooms(sources).into_iter().filter(|room| room != "main" && !heard(room)).collect();
    unheard.iter_mut().for_each(|room| *room = format!("tests/it/main.rs lacks `mod {room};`"));
    unheard
}

/// Links of Markdown files to files that do not exist; addresses and anchors are not followed.
pub(super) fn dead_links(texts: &[Source], exists: impl Fn(&Path) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    for text in texts {
        let targets = text.text.split("](").skip(1).filter_map(|rest| rest.split([')', '#', ' ']).next());
        let files = targets.filter(|target| !target.is_empty() && !target.contains(':'));
        let dead = files.filter(|target| !exists(&text.path.parent().unwrap_or(Path::new("")).join(target)));
        found.extend(dead.map(|target| format!("{} links to {target}, which is not there", text.path.display())));
    }
    found
}
