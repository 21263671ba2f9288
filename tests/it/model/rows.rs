//! The list of faults of model APIs, A01 to A44, held against the tests: each row is named by a test that tries it.

use std::collections::BTreeMap;
use std::path::Path;

use crate::house::source::{Source, read};

/// How many rows the list has.
const ROWS: u32 = 44;

/// The tests of each row: the rows that the lines of documentation right before a test name.
fn tests(sources: &[Source]) -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for source in sources {
        let mut named: Vec<String> = Vec::new();
        for line in source.text.lines().map(str::trim) {
            if let Some(text) = line.strip_prefix("/// ") {
                let words = text.split(|c: char| !c.is_ascii_alphanumeric());
                named.extend(words.filter(|word| is_row(word)).map(str::to_owned));
            } else if line.starts_with("#[") && line.contains("test") {
                for row in named.drain(..) {
                    found.entry(row).or_default().push(source.path.display().to_string());
                }
            } else if !line.starts_with("#[") {
                named.clear();
            }
        }
    }
    found
}

fn is_row(word: &str) -> bool {
    word.len() == 3 && word.strip_prefix('A').is_some_and(|number| number.bytes().all(|b| b.is_ascii_digit()))
}

#[test]
fn every_row_of_group_a_has_a_test() {
    let found = tests(&read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it"), "rs"));
    let rows = (1..=ROWS).map(|row| format!("A{row:02}"));
    let missing: Vec<String> = rows.filter(|row| !found.contains_key(row)).collect();
    assert!(missing.is_empty(), "no test names {missing:?}");
    let beyond: Vec<&String> = found.keys().filter(|row| row[1..].parse::<u32>().is_ok_and(|n| n > ROWS)).collect();
    assert!(beyond.is_empty(), "the list ends with A{ROWS}: {beyond:?}");
}

#[test]
fn only_the_words_before_a_test_count() {
    let source =
        "/// A01, A02.\n#[tokio::test]\nasync fn a() {}\n/// A03.\nfn b() {}\n#[test]\nfn c() {}\n// A04\n#[test]\n";
    let found = tests(&[Source::new("x.rs", source)]);
    assert_eq!(found.into_keys().collect::<Vec<_>>(), ["A01", "A02"]);
}
