//! The tool `todo`.

use std::fs;

use serde_json::{Value, json};

use super::Bench;

#[tokio::test]
async fn s4_24_to_s4_27_a_list_is_made_added_to_shown_and_ticked_off_in_a_file() {
    let bench = Bench::new();
    assert_eq!(bench.text("todo", json!({})).await, "nothing is on the list");
    let made = json!({ "action": "create", "title": "Ship it", "items": ["build", "test\n  twice"] });
    assert_eq!(bench.text("todo", made).await, "0 of 2 done\n1. [ ] build\n2. [ ] test twice");
    let added = json!({ "action": "add", "items": "tell people" });
    assert_eq!(bench.text("todo", added).await, "0 of 3 done\n1. [ ] build\n2. [ ] test twice\n3. [ ] tell people");
    let output = bench.call("todo", json!({ "action": "complete", "number": 2 })).await.unwrap();
    assert_eq!(output.text, "1 of 3 done\n1. [ ] build\n2. [x] test twice\n3. [ ] tell people");
    assert_eq!((&output.details["done"], &output.details["items"]), (&json!(1), &json!(3)));
    assert_eq!(bench.get("memory/todo.md"), "# Ship it\n\n- [ ] build\n- [x] test twice\n- [ ] tell people\n");
}

#[tokio::test]
async fn s4_24_to_s4_27_other_programs_have_a_tool_for_each_of_these() {
    let bench = Bench::new();
    let calls: [(&str, Value); 4] = [
        ("create_todo_list", json!({ "items": ["a", "b"] })),
        ("add_todo_item", json!({ "item": "c" })),
        ("mark_item_complete", json!({ "index": 3 })),
        ("view_todo_list", json!({})),
    ];
    let mut last = String::new();
    for (tool, args) in calls {
        last = bench.text(tool, args).await;
    }
    assert_eq!(last, "1 of 3 done\n1. [ ] a\n2. [ ] b\n3. [x] c");
}

#[tokio::test]
async fn what_a_person_wrote_into_the_list_stays_and_counts() {
    let bench = Bench::new();
    bench.put("memory/todo.md", "# Mine\nwords\n\n* [X] done [ ] already\n  - [ ] inner\n- no box\n- [?] neither");
    assert_eq!(bench.text("todo", json!({ "number": 2 })).await, "2 of 2 done\n1. [x] done [ ] already\n2. [x] inner");
    bench.text("todo", json!({ "items": ["new"] })).await;
    let expected = "# Mine\nwords\n\n* [X] done [ ] already\n  - [x] inner\n- no box\n- [?] neither\n- [ ] new\n";
    assert_eq!(bench.get("memory/todo.md"), expected);
    bench.text("todo", json!({ "action": "create", "items": ["other"] })).await;
    assert_eq!(
        (bench.get("memory/todo.md"), bench.get("memory/todo.old.md")),
        ("# To do\n\n- [ ] other\n".into(), expected.into())
    );
}

#[tokio::test]
async fn a_list_that_cannot_be_changed_says_why_and_stays() {
    let bench = Bench::new();
    let error = |args| bench.error("todo", args);
    assert_eq!(error(json!({ "action": "complete", "number": 1 })).await, "there is no item 1: the list is empty");
    bench.text("todo", json!({ "items": vec!["x"; 199] })).await;
    let before = bench.get("memory/todo.md");
    assert_eq!(error(json!({ "items": ["a", "b"] })).await, "a list has at most 200 items; nothing was changed");
    assert_eq!(error(json!({ "number": 200 })).await, "there is no item 200: there are 199");
    assert_eq!(error(json!({ "action": "add" })).await, "items is empty; say what to add");
    assert_eq!(error(json!({ "action": "complete" })).await, "number is missing; say which item is complete");
    assert!(error(json!({ "action": "drop" })).await.contains("action: "), "the words are told");
    assert_eq!(bench.get("memory/todo.md"), before);
    fs::remove_file(bench.path("memory/todo.md")).unwrap();
    fs::create_dir(bench.path("memory/todo.md")).unwrap();
    let told = error(json!({})).await;
    assert!(told.ends_with("is no list: it must be a regular file of at most 1 MB; move it away"), "{told}");
}
