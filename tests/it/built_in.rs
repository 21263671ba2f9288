//! What is built into the program in another form than it is written in.

use std::fs;
use std::path::Path;

use serde_json::Value;

/// Set, it has the built-in list made anew from what is written.
const WRITE: &str = "WRITE_CATALOG";

/// The list as it is built in: a line for each provider, every alias written out.
fn made(written: &str) -> String {
    let written: Value = serde_yaml::from_str(written).unwrap();
    let [(word, Value::Array(providers))] = written.as_object().unwrap().iter().collect::<Vec<_>>()[..] else {
        panic!("defaults/models.yaml is a list of providers and nothing else");
    };
    let lines: Vec<String> = providers.iter().map(Value::to_string).collect();
    format!("{{\"{word}\":[\n{}\n]}}\n", lines.join(",\n"))
}

#[test]
fn the_built_in_list_of_models_is_the_one_that_is_written() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let made = made(&fs::read_to_string(root.join("defaults/models.yaml")).unwrap());
    let path = root.join("src/model/catalog.json");
    if std::env::var_os(WRITE).is_some() {
        fs::write(&path, &made).unwrap();
    }
    let same = fs::read_to_string(&path).unwrap() == made;
    assert!(
        same,
        "src/model/catalog.json is not what defaults/models.yaml says; this makes it anew:\n  \
         {WRITE}=1 cargo test --test it built_in"
    );
}

#[test]
fn aliases_and_order_of_the_written_list_are_kept() {
    let written = "providers:\n  - { id: b, effort: &low { low: { think: 0.10 } } }\n  - { id: a, effort: *low }\n";
    let expected = "{\"providers\":[\n{\"id\":\"b\",\"effort\":{\"low\":{\"think\":0.1}}},\n\
                    {\"id\":\"a\",\"effort\":{\"low\":{\"think\":0.1}}}\n]}\n";
    assert_eq!(made(written), expected);
}
