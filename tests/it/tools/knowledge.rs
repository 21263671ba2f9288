//! The tool `search_knowledge`.

use serde_json::json;

use super::Bench;

fn knowledge() -> Bench {
    let bench = Bench::new();
    bench.put(
        "knowledge/prices.md",
        "# Prices\n\nA price is a whole number of cents.\n\n## Discount\n\nTen percent from 5000 cents on.\n",
    );
    bench.put("knowledge/shops/berlin.txt", "The shop in Berlin opens at nine.\nIts prices are in euros.\n");
    let rows: String = (0..200).map(|n| format!("{n},article {n},{}\n", n * 7)).collect();
    bench.put("knowledge/stock.csv", rows);
    bench.put("knowledge/logo.png", "discount");
    bench.put("memory/m.md", "discount");
    bench
}

#[tokio::test]
async fn s2_41_passages_of_knowledge_are_found_the_best_three_first() {
    let bench = knowledge();
    let search = |words: &str| bench.text("search_knowledge", json!({ "words": words }));
    assert_eq!(search("discount").await, "knowledge/prices.md:7: Ten percent from 5000 cents on.");
    assert_eq!(
        search("prices euros").await,
        "knowledge/shops/berlin.txt:1: The shop in Berlin opens at nine. Its prices are in euros.\n\
         knowledge/prices.md:3: A price is a whole number of cents."
    );
    // A table has no paragraphs, so it is read in parts, and three of them are shown.
    let rows = search("article").await;
    let lines: Vec<&str> = rows.lines().collect();
    assert!(lines[..3].iter().all(|line| line.starts_with("knowledge/stock.csv:") && line.len() < 1_300), "{rows}");
    assert_eq!((lines.len(), lines[3]), (4, "[1 more; say more words]"));
    assert_eq!(search("nowhere").await, "no text holds nowhere (3 files below knowledge/)");
}

#[tokio::test]
async fn s2_41_what_changed_since_the_last_search_is_read_anew_and_what_is_gone_is_not_found() {
    let bench = knowledge();
    let search = |words: &str| bench.text("search_knowledge", json!({ "query": words, "top_k": 1 }));
    assert_eq!(search("berlin").await.lines().count(), 1);
    bench.put("knowledge/shops/berlin.txt", "The shop in Hamburg opens at ten, not in Berlin.\n");
    assert!(search("berlin").await.ends_with("The shop in Hamburg opens at ten, not in Berlin."));
    std::fs::remove_file(bench.path("knowledge/shops/berlin.txt")).unwrap();
    assert_eq!(search("berlin").await, "no text holds berlin (2 files below knowledge/)");
    std::fs::remove_dir_all(bench.path("knowledge")).unwrap();
    assert_eq!(search("berlin").await, "no text holds berlin (0 files below knowledge/)");
}
