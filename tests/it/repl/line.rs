//! When something may be printed above the line being typed.

use tillerman::repl::line::is_safe;

/// Text with the cursor at `|`.
fn safe(text: &str, width: usize) -> bool {
    let cursor = text.find('|').unwrap();
    is_safe(&text.replace('|', ""), cursor, width)
}

#[test]
fn an_ordinary_line_never_holds_the_news_back() {
    assert!(safe("|", 80));
    assert!(safe("half a li|ne", 80));
    assert!(safe("半行字|", 80));
    assert!(safe(&format!("{}|", "a".repeat(70)), 80));
    assert!(safe(&format!("{}|", "a".repeat(100)), 80), "wrapped, cursor at its end");
}

#[test]
fn news_waits_where_the_editor_would_overwrite_a_row() {
    assert!(!safe(&format!("{}|", "字".repeat(30)), 80), "bytes say two rows, columns say one");
    assert!(!safe(&format!("|{}", "a".repeat(100)), 80), "wrapped, cursor in the first row");
    assert!(!safe(&format!("{}|", "a".repeat(77)), 80), "at the very edge");
    assert!(!safe("one\n|", 80), "the editor does not count an empty last row");
}
