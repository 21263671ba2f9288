//! The tool `search_notes`.

use std::os::unix::fs::symlink;

use serde_json::json;

use super::Bench;

fn notes() -> Bench {
    let bench = Bench::new();
    let memory = "# Memory\n\n## Build\nRun `make all` twice,\nthe first one fails.\n\n- 2025-03-01 [style] tabs, never spaces\n\
                  - 2025-03-02 [build] the linker needs 4 GB\n";
    bench.put("memory/memory.md", memory);
    bench.put("memory/people/anna.md", "Anna reviews the linker scripts and the build.\n");
    bench.put("memory/data.json", "linker");
    bench.put("other.md", "linker");
    bench
}

#[tokio::test]
async fn c_12_notes_are_found_by_their_words_best_first() {
    let bench = notes();
    let search = |words: &str| bench.text("search_notes", json!({ "words": words }));
    let linker = "memory/memory.md:8: - 2025-03-02 [build] the linker needs 4 GB\n\
                  memory/people/anna.md:1: Anna reviews the linker scripts and the build.";
    assert_eq!(search("LINKER gb").await, linker);
    assert_eq!(search("tab").await, "memory/memory.md:7: - 2025-03-01 [style] tabs, never spaces");
    // What stands under a heading is about it; a paragraph is told whole.
    let build = search("build make").await;
    assert!(build.starts_with("memory/memory.md:4: Run `make all` twice, the first one fails.\n"), "{build}");
    assert_eq!(search("nothing here").await, "no note holds here or nothing (2 files below memory/)");
    assert_eq!(
        bench.error("search_notes", json!({ "words": " ?! " })).await,
        "words holds no word; say what to look for"
    );
}

#[tokio::test]
async fn a_search_of_notes_is_capped_and_stays_in_memory() {
    let bench = notes();
    assert_eq!(
        Bench::new().text("search_notes", json!({ "query": "x" })).await,
        "no note holds x (0 files below memory/)"
    );
    bench.put("memory/many.md", (0..40).map(|n| format!("- needle {n}\n")).collect::<String>());
    bench.put("secret.md", "needle outside");
    symlink(bench.path("secret.md"), bench.path("memory/link.md")).unwrap();
    let text = bench.text("search_notes", json!({ "words": "needle", "limit": 3 })).await;
    assert_eq!(text.lines().count(), 4);
    assert!(text.ends_with("[37 more; say more words]") && !text.contains("outside"), "{text}");
    bench.put("memory/long.md", format!("rare {}", "é".repeat(5_000)));
    let text = bench.text("search_notes", json!({ "words": "rare" })).await;
    assert_eq!(text.chars().count(), "memory/long.md:1: ".len() + 600 + 1);
}
