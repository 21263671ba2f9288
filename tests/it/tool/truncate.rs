//! Cutting long output.

use std::fs;
use std::sync::Arc;

use proptest::prelude::*;
use tillerman::message::CallId;
use tillerman::tool::truncate::{Whole, size};
use tillerman::tool::{Keep, OutputPolicy, ToolContext};
use tokio_util::sync::CancellationToken;

fn cut(keep: Keep, lines: usize, bytes: usize, text: &str) -> String {
    OutputPolicy { keep, lines, bytes }.cut(&Whole::of(text), None).text
}

#[test]
fn s3_42_a_text_is_cut_between_lines_and_the_note_counts() {
    let text = "1\n2\n3\n4\n5\n";
    let table = [
        (Keep::Head, 5, 99, "1\n2\n3\n4\n5\n"),
        (Keep::Head, 2, 99, "1\n2\n[the last 3 lines, 6 bytes are cut]"),
        (Keep::Tail, 2, 99, "[the first 3 lines, 6 bytes are cut]\n4\n5\n"),
        (Keep::HeadTail, 3, 99, "1\n2\n[here 2 lines, 4 bytes are cut]\n5\n"),
        (Keep::Head, 99, 5, "1\n2\n[the last 3 lines, 6 bytes are cut]"),
        (Keep::Tail, 99, 5, "[the first 3 lines, 6 bytes are cut]\n4\n5\n"),
        (Keep::HeadTail, 99, 5, "1\n[here 3 lines, 6 bytes are cut]\n5\n"),
        (Keep::HeadTail, 1, 99, "1\n[here 4 lines, 8 bytes are cut]"),
    ];
    for (keep, lines, bytes, expected) in table {
        assert_eq!(cut(keep, lines, bytes, text), expected, "{keep:?} {lines} {bytes}");
    }
}

#[test]
fn a_line_that_is_too_long_is_cut_between_characters() {
    assert_eq!(cut(Keep::Head, 9, 3, "ééé"), "é\n[the last 4 bytes are cut]");
    assert_eq!(cut(Keep::Tail, 9, 3, "ééé"), "[the first 4 bytes are cut]\né");
    assert_eq!(cut(Keep::Tail, 9, 4, "a\nlong line\n"), "[the first 1 lines, 8 bytes are cut]\nine\n");
}

#[test]
fn what_is_cut_is_kept_in_a_file_of_its_own_for_each_call() {
    let dir = tempfile::tempdir().unwrap();
    let cx = ToolContext {
        call: CallId("toolu/../1".into()),
        cancel: CancellationToken::new(),
        progress: Arc::new(|_| {}),
        artifacts: dir.path().join("made/on/use"),
        secrets: tillerman::secret::Secrets::default(),
    };
    let policy = OutputPolicy { keep: Keep::Head, lines: 1, bytes: 99 };
    assert_eq!(policy.fit("short", &cx).file, None);
    assert!(!cx.artifacts.exists());
    let first = policy.fit("a\nb\n", &cx);
    let file = cx.artifacts.join("toolu____1.txt");
    assert_eq!(
        first.text,
        format!("a\n[the last 1 lines, 2 bytes are cut; the whole output is in {}]", file.display())
    );
    let second = policy.fit("c\nd\n", &cx).file.unwrap();
    assert_eq!((first.file.as_deref(), second.as_path()), (Some(&*file), &*cx.artifacts.join("toolu____1-2.txt")));
    assert_eq!(
        (fs::read_to_string(file).unwrap(), fs::read_to_string(second).unwrap()),
        ("a\nb\n".into(), "c\nd\n".into())
    );
}

#[test]
fn sizes_are_written_for_people() {
    assert_eq!([0, 1023, 1024, 51_200, 3 << 20].map(size), ["0 bytes", "1023 bytes", "1.0 KB", "50.0 KB", "3.0 MB"]);
}

proptest! {
    #[test]
    fn no_text_is_shown_longer_than_allowed(text in "[a-zé\\n]{0,80}", lines in 1usize..9, bytes in 1usize..40) {
        for keep in [Keep::Head, Keep::Tail, Keep::HeadTail] {
            let policy = OutputPolicy { keep, lines, bytes };
            let fitted = policy.cut(&Whole::of(&text), None);
            let shown: String = fitted.text.split_inclusive('\n').filter(|line| !line.starts_with('[')).collect();
            prop_assert_eq!(fitted.cut, !policy.takes(&Whole::of(&text)));
            // The note may stand on a line of its own, which costs one line end.
            prop_assert!(shown.len() <= bytes + 1, "{:?}", fitted.text);
            prop_assert!(Whole::of(&shown).lines <= lines as u64 + 1, "{:?}", fitted.text);
        }
    }
}
