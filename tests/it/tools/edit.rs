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
    let expected = json!({ "line": 2, "added": 2, "removed": 1, "diff": "--- a/f\n+++ b/f\n@@ -1,3 +1,4 @@\n a\n-b\n+x\n+y\n c\n" });
    assert_eq!(output.details, expected);
}

/// The told text or sentence of several edits, and what the file holds then.
async fn check_several(content: &str, edits: &[(&str, &str)]) -> (String, String) {
    let bench = Bench::new();
    bench.put("f", content);
    bench.text("read_file", json!({ "path": "f" })).await;
    let edits: Vec<_> = edits.iter().map(|(old, new)| json!({ "old_text": old, "new_text": new })).collect();
    let told = match bench.call("edit_file", json!({ "path": "f", "edits": edits })).await {
        Ok(output) => output.text,
        Err(error) => error.to_string(),
    };
    (told, bench.get("f"))
}

#[tokio::test]
async fn several_edits_are_all_made_in_the_text_that_was_read_or_none() {
    let text = "a\nb\nc\nd\n";
    let several = check_several(text, &[("d", "D\nE"), ("b", "a\nB"), ("a\n", "")]).await;
    // What the second one brings is not what the third one looks for.
    assert_eq!(several, ("Edited f in 2 places, lines 2, 4 (+3 -2)".into(), "a\nB\nc\nD\nE\n".into()));
    let undone = check_several(text, &[("a\n", ""), ("b", "a\nb")]).await;
    assert_eq!(undone, ("Edited f at line 1 (+0 -0)".into(), text.into()));
    let table: [(&[(&str, &str)], &str); 6] = [
        (&[("a", "1"), ("zz", "2")], "edits[1]: old_text not found in f; read_file it again and copy the text exactly"),
        (
            &[("\n", "1"), ("a", "2")],
            "edits[0]: found 4 times, must be unique; it begins at lines 1, 2, 3, 4: add lines around it",
        ),
        (
            &[("c\nd", "1"), ("a", "2"), ("b\nc", "3")],
            "edits[2] and edits[0] overlap at line 3; make one edit of them; nothing was done",
        ),
        (&[("a", "1"), ("a", "2")], "edits[0] and edits[1] overlap at line 1; make one edit of them; nothing was done"),
        (
            &[("a", "1"), ("", "2")],
            "edits[1]: old_text is empty; say what to replace, or use write_file for a whole file",
        ),
        (&[("a", "a")], "edits[0]: old_text and new_text are the same; there is nothing to change"),
    ];
    for (edits, expected) in table {
        assert_eq!(check_several(text, edits).await, (expected.to_owned(), text.to_owned()));
    }
}

#[tokio::test]
async fn an_edit_takes_one_pair_or_several_and_understands_names_of_others() {
    let bench = Bench::new();
    bench.text("write_file", json!({ "path": "f", "content": "a\nb\n" })).await;
    let pair = json!({ "old_string": "a", "new_string": "A" });
    let args = json!({ "file_path": "f", "old_text": "", "new_text": "", "edits": [pair] });
    assert_eq!(bench.text("edit_file", args).await, "Edited f at line 1 (+1 -1)");
    let error = |args| bench.error("edit_file", args);
    assert_eq!(
        error(json!({ "path": "f", "old_text": "b", "new_text": "B", "edits": [pair] })).await,
        "send either old_text and new_text, or edits, not both; nothing was done"
    );
    let missing = "old_text is missing; send old_text and new_text, or edits";
    assert_eq!(error(json!({ "path": "f" })).await, missing);
    assert_eq!(error(json!({ "path": "f", "edits": [] })).await, missing);
    assert_eq!(
        error(json!({ "path": "f", "old_text": "b" })).await,
        "new_text is missing; send old_text and new_text, or edits"
    );
    let many = vec![json!({ "old_text": "b", "new_text": "B" }); 101];
    assert_eq!(
        error(json!({ "path": "f", "edits": many })).await,
        "101 edits are too many for one call; send 100 at most"
    );
    let strange = error(json!({ "path": "f", "edits": [{ "old_text": "b", "line": 1 }] })).await;
    assert!(
        strange.contains("edits[0].new_text is missing") && strange.contains("edits[0].line is not a field"),
        "{strange}"
    );
    assert_eq!(bench.get("f"), "A\nb\n");
}

/// The diff is one that the program `patch` makes the new text of.
#[tokio::test]
async fn the_diff_of_several_edits_turns_the_old_text_into_the_new() {
    let bench = Bench::new();
    let old = "1\n2\n3\n4\n5\n6 six\n7\n8";
    bench.text("write_file", json!({ "path": "f", "content": old })).await;
    let edits = [("1\n", "0\n1\n"), ("3\n4\n", ""), ("six", "sixty\n6½"), ("6 ", "#"), ("8", "9")];
    let edits: Vec<_> = edits.iter().map(|(old, new)| json!({ "old_text": old, "new_text": new })).collect();
    let output = bench.call("edit_file", json!({ "path": "f", "edits": edits })).await.unwrap();
    assert_eq!(bench.get("f"), "0\n1\n2\n5\n#sixty\n6½\n7\n9");
    let diff = output.details["diff"].as_str().unwrap();
    let expected = "--- a/f\n+++ b/f\n@@ -1,2 +1,3 @@\n+0\n 1\n 2\n@@ -3,3 +4,1 @@\n-3\n-4\n 5\n@@ -6,2 +5,3 @@\n-6 six\n+#sixty\n\
                    +6½\n 7\n@@ -8,1 +8,1 @@\n-8\n\\ No newline at end of file\n+9\n\\ No newline at end of file\n";
    assert_eq!(diff, expected);
}
