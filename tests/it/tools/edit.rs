//! The tool `edit_file`.

use serde_json::json;

use super::Bench;

async fn check(content: &str, old: &str, new: &str) -> (String, String) {
    let bench = Bench::new();
    bench.put("f", content);
    bench.text("read_file", json!({ "path": "f" })).await;
    let told = match bench.call("edit_file", json!({ "path": "f", "old_text": old, "new_text": new })).await {
        Ok(output) => output.text,
        Err(error) => error.to_string(),
    };
    (told, bench.get("f"))
}

#[tokio::test]
async fn s0_43_the_one_place_is_replaced() {
    assert_eq!(check("a\nb\nc\n", "b\n", "B\nB\n").await, ("Edited f at line 2 (+2 -1)".into(), "a\nB\nB\nc\n".into()));
    assert_eq!(check("a\nb\nc\n", "a\nb", "a\nx").await, ("Edited f at line 2 (+1 -1)".into(), "a\nx\nc\n".into()));
    let (told, content) = check("a\r\nb\r\nc\r\n", "a\nb", "x\ny").await;
    assert_eq!((told.as_str(), content.as_str()), ("Edited f at line 1 (+2 -2)", "x\r\ny\r\nc\r\n"));
}

#[tokio::test]
async fn s0_44_the_errors_begin_with_the_exact_words() {
    let table = [
        ("a\n", "zz", "old_text not found in f; read_file it again and copy the text exactly"),
        (
            "  a(\n",
            "a(\n b",
            "old_text not found; line 1 of f has its first line, so white space or a later line differs",
        ),
        ("a\n", "1: a", "old_text not found; leave out the line numbers of read_file"),
        ("x\ny\nx\n", "x", "found 2 times, must be unique; it begins at lines 1, 3: add lines around it"),
        ("a\n", "", "old_text is empty; say what to replace, or use write_file for a whole file"),
        ("a\n", "new", "old_text and new_text are the same; there is nothing to change"),
    ];
    for (content, old, expected) in table {
        assert_eq!(check(content, old, "new").await, (expected.to_owned(), content.to_owned()));
    }
}

#[tokio::test]
async fn s0_45_f15_a_file_is_edited_only_as_it_was_last_read() {
    let bench = Bench::new();
    bench.put("f", "one two");
    let edit = |old: &str, new: &str| json!({ "path": "f", "old_text": old, "new_text": new });
    assert_eq!(bench.error("edit_file", edit("one", "1")).await, "f was not read yet; read_file it before you edit it");
    bench.text("read_file", json!({ "path": "./f" })).await;
    bench.put("f", "one two three");
    assert_eq!(bench.error("edit_file", edit("one", "1")).await, "f changed since you read it; read_file it again");
    bench.text("read_file", json!({ "path": "f" })).await;
    bench.text("edit_file", edit("one", "1")).await;
    bench.text("replace_text", json!({ "file_path": "f", "old_string": "two", "new_string": "2" })).await;
    assert_eq!(bench.get("f"), "1 2 three");
    bench.text("write_file", json!({ "path": "g", "content": "new" })).await;
    bench.text("edit_file", json!({ "path": "g", "old_text": "new", "new_text": "old" })).await;
    assert_eq!(bench.get("g"), "old");
}

#[tokio::test]
async fn an_edit_is_shown_to_people_as_a_diff() {
    let bench = Bench::new();
    bench.text("write_file", json!({ "path": "f", "content": "a\nb\nc\n" })).await;
    let args = json!({ "path": "f", "old_text": "a\nb\nc", "new_text": "a\nx\ny\nc" });
    let output = bench.call("edit_file", args).await.unwrap();
    let expected = json!({ "line": 2, "added": 2, "removed": 1, "diff": "@@ -2,1 +2,2 @@\n-b\n+x\n+y" });
    assert_eq!(output.details, expected);
}
