//! Frontmatter and body: what is read, what is refused and where, what is written. Listing folders is in `scan`.

mod scan;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::time::Instant;

use gray_matter::Pod;
use gray_matter::engine::Engine;
use proptest::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};
use tillerman::markdown::{self, Document, MarkdownError, Yaml};

use crate::patience::PATIENCE;

fn doc(front: Value, body: &str) -> Document<Value> {
    Document { front, body: body.to_owned() }
}

/// Eight levels of nine aliases: 43 million strings if somebody expands them.
pub(super) fn bomb() -> String {
    let mut yaml = String::from("---\na0: &a0 [x]\n");
    for level in 1..=8 {
        let aliases = vec![format!("*a{}", level - 1); 9].join(", ");
        writeln!(yaml, "a{level}: &a{level} [{aliases}]").unwrap();
    }
    yaml + "---\nbody"
}

#[test]
fn frontmatter_is_read_as_written_and_the_body_to_the_byte() {
    let table = [
        ("plain", "---\nname: x\n---\nbody\n", json!({"name": "x"}), "body\n"),
        ("byte order mark", "\u{feff}---\nname: x\n---\nbody", json!({"name": "x"}), "body"),
        ("CRLF", "---\r\nname: x\r\n---\r\nb1\r\nb2\r\n", json!({"name": "x"}), "b1\r\nb2\r\n"),
        ("blank lines around the body", "---\na: 1\n---\n\n\nbody\n\n", json!({"a": 1}), "\n\nbody\n\n"),
        ("closing fence ends the file", "---\na: 1\n---", json!({"a": 1}), ""),
        ("blanks after the fences", "---  \na: 1\n---\t\nb", json!({"a": 1}), "b"),
        ("unclosed", "---\nname: x\n", json!({}), "---\nname: x\n"),
        ("only a fence", "---", json!({}), "---"),
        ("no frontmatter", "# Title\n---\nname: x\n---\n", json!({}), "# Title\n---\nname: x\n---\n"),
        ("byte order mark alone", "\u{feff}# Title", json!({}), "# Title"),
        ("four dashes", "----\na: 1\n----\n", json!({}), "----\na: 1\n----\n"),
        ("blank line first", "\n---\na: 1\n---\n", json!({}), "\n---\na: 1\n---\n"),
        ("empty file", "", json!({}), ""),
        ("empty", "---\n---\nbody", json!({}), "body"),
        ("only a comment", "---\n# nothing yet\n---\nbody", json!({}), "body"),
        ("rule in the body", "---\na: 1\n---\nx\n---\ny\n", json!({"a": 1}), "x\n---\ny\n"),
        ("rule in a block", "---\na: |\n  x\n  ---\n  y\n---\nb", json!({"a": "x\n---\ny\n"}), "b"),
        ("table row", "---\na: 1\n---\n| x |\n| ---\n", json!({"a": 1}), "| x |\n| ---\n"),
        ("indented as a whole", "---\n  a: 1\n  b: 2\n---\n", json!({"a": 1, "b": 2}), ""),
        ("numbers", "---\nid: 007\nx: 1.5\n---\n", json!({"id": "007", "x": 1.5}), ""),
        ("words", "---\na: yes\nb: true\nc: ~\n---\n", json!({"a": "yes", "b": true, "c": null}), ""),
        ("Chinese", "---\n名: 舵手\n---\n正文", json!({"名": "舵手"}), "正文"),
    ];
    for (case, text, front, body) in table {
        assert_eq!(markdown::parse::<Value>(text).unwrap(), doc(front, body), "{case}");
    }
}

#[test]
fn what_is_no_text_in_yaml_is_text_where_text_is_asked_for() {
    let read = markdown::parse::<BTreeMap<String, String>>("---\nname: 123\nid: 007\nok: yes\n---\n").unwrap();
    assert_eq!(
        read.front,
        BTreeMap::from([("id", "007"), ("name", "123"), ("ok", "yes")].map(|(k, v)| (k.into(), v.into())))
    );
}

#[derive(Debug, Deserialize)]
struct Skill {
    #[expect(dead_code, reason = "only its type matters here")]
    name: String,
}

#[test]
fn a_wrong_frontmatter_is_named_with_line_and_column_of_the_file() {
    let table = [
        ("---\nname: [x]\n---\n", 2, 7, "name: invalid type: sequence, expected a string"),
        ("---\n# c\nother: 1\n---\n", 3, 1, "missing field `name`"),
        ("# no frontmatter\n", 1, 1, "missing field `name`"),
        ("---\nname: x\nname: y\n---\n", 2, 1, "duplicate field `name`"),
        ("---\nname: a: b\n---\n", 2, 8, "mapping values are not allowed in this context"),
        ("---\r\nok: 1\r\nname: a: b\r\n---\r\n", 3, 8, "mapping values are not allowed in this context"),
        ("\u{feff}---\nname: \"x\n---\n", 3, 1, "while scanning a quoted scalar at line 2 column 7"),
        ("---\nname:\n\t- x\n---\n", 3, 1, "found character that cannot start any token"),
        ("---\njust words\n---\n", 2, 1, "invalid type: string \"just words\", expected struct Skill"),
    ];
    for (text, line, column, message) in table {
        let error = markdown::parse::<Skill>(text).unwrap_err();
        let MarkdownError::Front { line: l, column: c, message: m, .. } = &error else { panic!("{error}") };
        assert!((*l, *c) == (line, column) && m.contains(message), "{text:?}: {error}");
    }
    let error = markdown::parse::<Skill>("---\nname: [x]\n---\n").unwrap_err();
    assert_eq!(
        error.to_string(),
        "the frontmatter of the text is wrong at line 2, column 7: name: invalid type: sequence, expected a string"
    );
}

#[test]
fn bombs_are_refused_in_no_time() {
    let start = Instant::now();
    let error = markdown::parse::<Value>(&bomb()).unwrap_err().to_string();
    assert!(error.ends_with("repetition limit exceeded"), "{error}");
    // A long text in front of a bomb must not make the bomb seem small.
    let long = format!("---\nlong: [{}1]\n{}", "1, ".repeat(18_000), bomb().strip_prefix("---\n").unwrap());
    let error = markdown::parse::<Value>(&long).unwrap_err().to_string();
    assert!(error.ends_with("its aliases unfold to over 50000 values"), "{error}");
    let few = Yaml::parse("a: &a [1, !tag x]\nb: {c: *a, d: *a}").unwrap();
    assert_eq!(few["b"]["d"], Pod::Array(vec![Pod::Integer(1), Pod::String("x".into())]));
    assert!(Yaml::parse("a: &a [*a]").is_err());
    assert_eq!(Yaml::parse("a: [1, x]").unwrap()["a"], Pod::Array(vec![Pod::Integer(1), Pod::String("x".into())]));

    let deep = format!("---\na: {}\n---\n", "[".repeat(60_000));
    let error = markdown::parse::<Value>(&deep).unwrap_err().to_string();
    assert_eq!(error, "the frontmatter of the text is wrong at line 2, column 132: nested too deeply");

    for deep in ["- ", "? ", "&a ", "!a ", "*a: "] {
        let deep = format!("---\na: 1\n{}\n---\n", deep.repeat(15_000));
        let error = markdown::parse::<Value>(&deep).unwrap_err();
        assert!(matches!(error, MarkdownError::Front { .. }), "{error}");
    }

    let long = format!("---\n{}---\nbody", "# comment\n".repeat(10_000));
    let error = markdown::parse::<Value>(&long).unwrap_err();
    assert_eq!(error.to_string(), "the frontmatter of the text has no closing `---` within 65536 bytes");
    assert!(start.elapsed() < PATIENCE, "{:?}", start.elapsed());
}

#[test]
fn a_file_that_cannot_be_loaded_is_named_with_the_reason() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| {
        fs::write(dir.path().join(name), bytes).unwrap();
    };
    file("latin.md", b"---\na: 1\n---\nline 4\ncaf\xe9\n");
    file("wrong.md", b"---\na: b: c\n---\n");
    let huge = fs::File::create(dir.path().join("huge.md")).unwrap();
    huge.set_len(200 * 1024 * 1024).unwrap();
    let fifo = dir.path().join("fifo.md");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());

    let refused = |name: &str| markdown::load::<Value>(&dir.path().join(name)).unwrap_err().to_string();
    let at = |name: &str| dir.path().join(name).display().to_string();
    assert_eq!(
        refused("missing.md"),
        format!("cannot read {}: No such file or directory (os error 2)", at("missing.md"))
    );
    assert_eq!(refused("."), format!("{}: not a regular file", at(".")));
    assert_eq!(refused("fifo.md"), format!("{}: not a regular file", at("fifo.md")));
    assert_eq!(
        refused("latin.md"),
        format!("{} is not UTF-8 text: bad byte in line 5; save it as UTF-8", at("latin.md"))
    );
    assert_eq!(
        refused("huge.md"),
        format!("{} has 209715200 bytes, over the limit of 10485760 for Markdown files; split it", at("huge.md"))
    );
    assert_eq!(
        refused("wrong.md"),
        format!(
            "the frontmatter of {} is wrong at line 2, column 5: mapping values are not allowed in this context",
            at("wrong.md")
        )
    );
}

#[test]
fn a_loaded_file_is_its_front_and_its_body() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.md");
    fs::write(&path, "---\nname: x\n---\n\nbody\r\n").unwrap();
    let expected = doc(json!({"name": "x"}), "\nbody\r\n");
    assert_eq!(markdown::load::<Value>(&path).unwrap(), expected);
    let open = fs::File::open(&path).unwrap();
    assert_eq!(markdown::load_open::<Value>(&open, Path::new("shown")).unwrap(), expected);
}

#[test]
fn what_is_written_reads_well_and_is_quoted_where_a_reader_might_stumble() {
    let front = json!({
        "id": "t_001", "title": "Fix: the bug", "answer": "no", "on": "off", "port": "8080", "n": 3, "at": "14:03",
        "touches": ["src/main.rs", "*.md"], "none": null, "empty": [], "limits": {"turns": 7, "why": "a # b"},
        "pairs": [{"run": "cargo test", "ok": "yes"}], "name": "舵手",
    });
    let text = markdown::render(&front, "body\n").unwrap();
    let expected = "---\nid: t_001\ntitle: \"Fix: the bug\"\nanswer: \"no\"\n\"on\": \"off\"\nport: \"8080\"\n\"n\": 3\n\
                    at: \"14:03\"\ntouches:\n  - src/main.rs\n  - \"*.md\"\nnone: null\nempty: []\nlimits:\n  turns: 7\n  \
                    why: \"a # b\"\npairs:\n  - {\"run\": \"cargo test\", \"ok\": \"yes\"}\nname: 舵手\n---\nbody\n";
    assert_eq!(text, expected);
    assert_eq!(markdown::parse::<Value>(&text).unwrap(), doc(front, "body\n"));
    assert_eq!(markdown::render(&"x", "").unwrap_err().to_string(), "cannot write this as frontmatter: it has no keys");
}

fn leaf() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1e15..1e15f64).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        "[a-z0-9:#,.~ '\"{}-]{0,6}".prop_map(Value::from),
        prop::sample::select(vec![
            "yes",
            "No",
            "NULL",
            "~",
            "",
            "- x",
            "1e3",
            "0x1f",
            ".nan",
            "2026-11-20",
            "<<",
            "---"
        ])
        .prop_map(Value::from),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    leaf().prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map(any::<String>(), inner, 0..4)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn whatever_is_written_is_read_back(
        pairs in prop::collection::hash_map("\\PC{0,12}|[\\x00-\\xff]{0,4}", value(), 0..6),
        body in any::<String>(),
    ) {
        let front = Value::Object(pairs.into_iter().collect());
        let text = markdown::render(&front, &body).unwrap();
        let read = markdown::parse::<Value>(&text);
        prop_assert_eq!(read.unwrap(), doc(front, &body), "{}", text);
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "(\u{feff})?---[ \r\n]\\PC{0,80}(\r?\n)?(---)?[\\s\\S]{0,20}") {
        if let Ok(read) = markdown::parse::<Value>(&text) {
            prop_assert!(text.ends_with(&read.body));
        }
    }
}
