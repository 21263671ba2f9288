//! Arguments as models really write them: repaired, or refused in a sentence.

use std::collections::BTreeMap;

use proptest::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tillerman::message::RawArgs;
use tillerman::tool::Signature;

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Mode {
    Exact,
    Fuzzy,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Edit {
    /// What is there.
    old_text: String,
    new_text: String,
}

/// Not for the model.
#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Args {
    /// Where.
    path: String,
    edits: Option<Vec<Edit>>,
    #[schemars(range(min = 1))]
    offset: Option<u32>,
    ratio: Option<f64>,
    mode: Option<Mode>,
    all: Option<bool>,
    touches: Option<Vec<String>>,
    labels: Option<BTreeMap<String, String>>,
}

const NAMES: &[(&str, &str)] = &[("file_path", "path")];

fn signature() -> Signature {
    Signature::of::<Args>("edit", "Edits.", false).understanding(NAMES)
}

fn read(raw: &str) -> Result<(Args, Vec<String>), String> {
    let read = signature().read::<Args>(&RawArgs(raw.into())).map_err(|error| error.to_string())?;
    Ok((read.args, read.repairs))
}

fn error(raw: &str) -> String {
    read(raw).unwrap_err()
}

#[test]
fn the_schema_that_is_told_is_small() {
    let expected = json!({
        "type": "object",
        "properties": {
            "path": { "description": "Where.", "type": "string" },
            "edits": { "type": "array", "items": {
                "type": "object",
                "properties": {
                    "old_text": { "description": "What is there.", "type": "string" },
                    "new_text": { "type": "string" },
                },
                "required": ["old_text", "new_text"],
                "additionalProperties": false,
            } },
            "offset": { "type": "integer" },
            "ratio": { "type": "number" },
            "mode": { "type": "string", "enum": ["exact", "fuzzy"] },
            "all": { "type": "boolean" },
            "touches": { "type": "array", "items": { "type": "string" } },
            "labels": { "type": "object", "additionalProperties": { "type": "string" } },
        },
        "required": ["path"],
    });
    assert_eq!(*signature().spec().schema, expected);
}

#[test]
fn what_models_get_wrong_without_doubt_is_repaired_and_noted() {
    let table: &[(&str, Value, &str)] = &[
        (
            r#"{"path":"a","offset":"12"}"#,
            json!({"offset": 12}),
            "offset: a number inside a string was read as a number",
        ),
        (r#"{"path":"a","offset":12.0}"#, json!({"offset": 12}), "offset: a fraction of zero was dropped"),
        (
            r#"{"path":"a","ratio":"0.5"}"#,
            json!({"ratio": 0.5}),
            "ratio: a number inside a string was read as a number",
        ),
        (r#"{"path":"a","all":"True"}"#, json!({"all": true}), "all: \"true\" was read as true"),
        (r#"{"path":"a","all":null}"#, json!({}), "all: null was read as absent"),
        (
            r#"{"path":"a","edits":"[{\"old_text\":\"x\",\"new_text\":\"y\"}]"}"#,
            json!({"edits": [{"old_text": "x", "new_text": "y"}]}),
            "edits: a list inside a string was read as a list",
        ),
        (
            r#"{"path":"a","edits":{"old_text":"x","new_text":"y"}}"#,
            json!({"edits": [{"old_text": "x", "new_text": "y"}]}),
            "edits: a single value was read as a list of one",
        ),
        (
            r#"{"path":"a","labels":"{\"k\":\"v\"}"}"#,
            json!({"labels": {"k": "v"}}),
            "labels: an object inside a string was read as an object",
        ),
        (
            r#"{"path":"a","touches":"src/a.rs"}"#,
            json!({"touches": ["src/a.rs"]}),
            "touches: a single value was read as a list of one",
        ),
        (r#"{"arguments":{"path":"a"}}"#, json!({}), "arguments were inside arguments"),
        (r#"{"name":"edit","input":"{\"path\":\"a\"}"}"#, json!({}), "arguments were inside input"),
        (r#""{\"path\":\"a\"}""#, json!({}), "arguments were JSON inside a string"),
        (r#"[{"path":"a"}]"#, json!({}), "arguments were inside a list"),
        ("```json\n{\"path\":\"a\"}\n```", json!({}), "a code fence around the arguments was dropped"),
        (r#"{"file_path":"a"}"#, json!({}), "file_path was read as path"),
        (r#"{"Path":"a"}"#, json!({}), "Path was read as path"),
    ];
    for (raw, expected, note) in table {
        let mut expected = expected.clone();
        expected["path"] = json!("a");
        let expected: Args = serde_json::from_value(expected).unwrap();
        assert_eq!(read(raw), Ok((expected, vec![(*note).to_owned()])), "{raw}");
    }
}

#[test]
fn right_arguments_are_read_as_they_are() {
    let raw = r#"{"path":"12","ratio":3,"touches":["true"],"labels":{"arguments":"null"}}"#;
    let (args, repairs) = read(raw).unwrap();
    assert_eq!((args.path.as_str(), args.ratio, repairs), ("12", Some(3.0), vec![]));
    assert_eq!(args.labels.unwrap()["arguments"], "null");
}

#[test]
fn no_arguments_are_an_empty_object() {
    let missing = r#"wrong arguments for edit: path is missing. The schema says "path": {"type":"string","description":"Where."}"#;
    for raw in ["", "  ", "null", "{}"] {
        assert_eq!(error(raw), missing);
    }
}

/// A36.
#[test]
fn a36_all_faults_are_named_at_once_with_their_schema_lines() {
    assert_eq!(
        error(r#"{"file":"a","edits":[{"old_text":"x"}],"mode":"regex"}"#),
        concat!(
            r#"wrong arguments for edit: mode: "regex" is not one of "exact" or "fuzzy"; "#,
            r#"file is not a field, there are only path, edits, offset, ratio, mode, all, touches, labels; "#,
            r#"path is missing; edits[0].new_text is missing. "#,
            r#"The schema says "mode": {"type":"string","enum":["exact","fuzzy"]}, "#,
            r#""path": {"type":"string","description":"Where."}, "edits[0].new_text": {"type":"string"}"#
        )
    );
    assert_eq!(
        error(r#"{"path":5,"offset":0}"#),
        concat!(
            r#"wrong arguments for edit: path: 5 is not of type "string"; "#,
            r#"offset: 0 is less than the minimum of 1. "#,
            r#"The schema says "path": {"type":"string","description":"Where."}, "offset": {"type":"integer","minimum":1}"#
        )
    );
    let long = error(&json!({ "path": ["x".repeat(10_000)] }).to_string());
    assert!(long.len() < 300, "{long}");
}

/// A35.
#[test]
fn a35_what_is_not_json_is_refused_whole_with_the_place() {
    let table = [
        (
            r#"{"path":"a","edits":[{"old_te"#,
            r#"EOF while parsing a string at line 1 column 29; they seem to be cut off, near `{"path":"a","edits":[{"old_te`"#,
        ),
        (r#"{"path":"a",}"#, r#"trailing comma at line 1 column 13, near `{"path":"a",}`"#),
        (r#"{"path":"a","ratio":NaN}"#, r#"expected value at line 1 column 21, near `{"path":"a","ratio":NaN}`"#),
        (r#"{"path":"a"} and more"#, r#"trailing characters at line 1 column 14, near `{"path":"a"} and more`"#),
        ("edit a.rs", "expected value at line 1 column 1, near `edit a.rs`"),
    ];
    for (raw, what) in table {
        let expected = format!(
            "the arguments of edit are not JSON: {what}; nothing was done. Send one JSON object, as in {{\"path\": \"…\"}}"
        );
        assert_eq!(error(raw), expected);
    }
    let deep = format!("{{\"path\":{}{}}}", "[".repeat(10_000), "]".repeat(10_000));
    assert!(error(&deep).contains("recursion limit exceeded at line 1"), "{}", error(&deep));
    let inside = json!({ "path": "a", "edits": format!("{}{}", "[".repeat(10_000), "]".repeat(10_000)) }).to_string();
    assert!(error(&inside).contains("is not of type \"array\""), "{}", error(&inside));
}

#[test]
fn a_schema_from_elsewhere_is_enforced_too() {
    let schema = json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] });
    let remote = Signature::with_schema("remote", "Counts.", true, schema);
    let read = remote.read::<Value>(&RawArgs(r#"{"n":"4","more":1}"#.into())).unwrap();
    assert_eq!(read.args, json!({ "n": 4, "more": 1 }));
    assert!(remote.read::<Value>(&RawArgs("{}".into())).is_err());
}

proptest! {
    #[test]
    fn no_text_makes_reading_panic(raw in "\\PC*") {
        let _ = read(&raw);
    }

    #[test]
    fn no_cut_of_right_arguments_is_executed(cut in 1usize..58) {
        let whole = r#"{"path":"a","edits":[{"old_text":"é","new_text":"y"}]}"#;
        let cut = (0..=cut.min(whole.len() - 1)).rev().find(|at| whole.is_char_boundary(*at)).unwrap();
        prop_assert!(cut == 0 || read(&whole[..cut]).is_err());
    }
}
