//! Branches as people see them: listed, gone to, gone back on, drawn as a tree.

use tillerman::session::{Branch, Compaction, EntryId, Kind, Page, Record, Row, Session, SessionError};

use super::{add, note, recorded, result, says, started, words};

/// `name who words | parts from`, the current one with a star.
fn line(branch: &Branch) -> String {
    let mark = if branch.is_current { "*" } else { " " };
    let parts = branch.parts_at.map(|at| format!(" | parts at m{at}")).unwrap_or_default();
    let (number, messages, kind) = (branch.number, branch.messages, branch.kind);
    format!("{mark} m{number} {messages} {kind:?} {}{parts}", branch.words)
}

fn branches(session: &Session) -> Vec<String> {
    let branches = session.branches().unwrap();
    assert_eq!(branches.iter().filter(|branch| branch.is_current).count(), usize::from(!branches.is_empty()));
    branches.iter().map(line).collect()
}

fn named(session: &Session, name: &str) -> EntryId {
    session.entry_named(name).unwrap()
}

/// Three branches: two from the first answer, one from the second.
fn grown() -> Session {
    let mut session = Session::in_memory();
    add(&mut session, Record::user("one"));
    let first = add(&mut session, says("two", &[]));
    add(&mut session, Record::user("three"));
    let second = add(&mut session, says("four", &[]));
    add(&mut session, Record::Title { title: "Numbers".into() });
    session.branch(first).unwrap();
    add(&mut session, Record::user("drei"));
    session.branch(second).unwrap();
    add(&mut session, Record::user("five"));
    add(&mut session, says("six", &[]));
    session
}

#[test]
fn every_branch_is_listed_with_its_end_and_where_it_parts() {
    assert_eq!(branches(&Session::in_memory()), [""; 0]);
    let mut session = grown();
    let expected = ["  m6 3 User drei | parts at m1", "* m9 6 Assistant six"];
    assert_eq!(branches(&session), expected);
    let second = named(&session, "m3");
    session.branch(second).unwrap();
    let expected = ["* m3 4 Assistant four", "  m6 3 User drei | parts at m1", "  m9 6 Assistant six | parts at m3"];
    assert_eq!(branches(&session), expected, "the place in the midst of another is one of them");
}

#[test]
fn switching_goes_to_the_end_of_the_branch_and_writes_nothing_when_it_is_there() {
    let mut session = grown();
    let entries = session.entries();
    let six = named(&session, "m9");
    assert_eq!(session.switch(named(&session, "m8")).unwrap(), six, "the branch it is on");
    assert_eq!(session.entries(), entries);
    let drei = named(&session, "m6");
    assert_eq!(session.switch(drei).unwrap(), drei);
    assert_eq!(words(&session), ["User one", "Assistant two", "User drei"]);
    assert_eq!(session.switch(named(&session, "m2")).unwrap(), six, "the part that was written last");
    assert_eq!(words(&session).len(), 6);
    let nowhere: EntryId = "01ARZ3NDEKTSV4RRFFQ69G5FAV".parse().unwrap();
    assert!(matches!(session.switch(nowhere), Err(SessionError::NoEntry(id)) if id == nowhere));
}

#[test]
fn a_line_is_offered_with_the_place_before_it_also_when_a_compaction_has_replaced_it() {
    let dir = tempfile::tempdir().unwrap();
    let mut session = Session::open(&recorded(dir.path())).unwrap();
    let turns = |session: &Session, most| -> Vec<String> {
        let turns = session.turns(most).unwrap();
        turns.iter().map(|turn| format!("m{} after m{}: {}", turn.number, turn.before, turn.words)).collect()
    };
    let expected = ["m1 after m0: grüße", "m7 after m6: hurry", "m10 after m9: more"];
    assert_eq!(turns(&session, 10), expected);
    let compaction = Compaction { before: 9, after: 1, ..Compaction::default() };
    add(&mut session, Record::Compaction(Box::new(compaction)));
    assert_eq!(turns(&session, 2), expected[1..]);
    session.branch(named(&session, "m0")).unwrap();
    assert_eq!((turns(&session, 10), words(&session)), (vec![], vec![]));
    let summary = "  m15 7 Compaction summary of what was said before: 9 → 1 tokens";
    assert_eq!(branches(&session), ["* m0 0 Session ", summary]);
}

/// A row as text: depth, names, who, words.
fn drawn(row: &Row) -> String {
    let mark = match (row.is_here, row.is_current) {
        (true, _) => "●",
        (false, true) => "│",
        (false, false) => " ",
    };
    let names =
        if row.last == row.number { format!("m{}", row.number) } else { format!("m{}–m{}", row.number, row.last) };
    format!("{mark}{} {names} {:?} {} {}", "  ".repeat(row.depth), row.kind, row.calls, row.words)
}

fn tree(session: &Session, page: Page) -> (Vec<String>, usize, usize) {
    let outline = session.outline(page).unwrap();
    (outline.rows.iter().map(drawn).collect(), outline.before, outline.after)
}

const ALL: Page = Page { most: 1000, up_to: None };

#[test]
fn a_tree_has_a_row_for_each_message_with_branches_beside_the_way() {
    let session = grown();
    let (rows, before, after) = tree(&session, ALL);
    assert_eq!((before, after), (0, 0));
    assert_eq!(
        rows,
        [
            "│ m0 User 0 one",
            "│ m1 Assistant 0 two",
            "    m6 User 0 drei",
            "│ m2 User 0 three",
            "│ m3 Assistant 0 four",
            "│ m8 User 0 five",
            "● m9 Assistant 0 six",
        ]
    );
}

#[test]
fn stretches_of_tool_calls_are_one_row() {
    let mut session = Session::in_memory();
    add(&mut session, Record::user("go"));
    for id in ["a", "b", "c"] {
        add(&mut session, says("", &[id, "x"]));
        add(&mut session, started(id));
        add(&mut session, result(id));
        add(&mut session, result("x"));
    }
    add(&mut session, note(1, "hurry"));
    add(&mut session, says("well", &["d"]));
    add(&mut session, result("d"));
    add(&mut session, says("done\n  now", &[]));
    let (rows, ..) = tree(&session, ALL);
    let expected = [
        "│ m0 User 0 go",
        "│ m1–m12 Assistant 6 echo ×6",
        "│ m13 Note 0 hurry",
        "│ m14–m15 Assistant 0 well",
        "● m16 Assistant 0 done now",
    ];
    assert_eq!(rows, expected);
}

#[test]
fn a_tree_is_shown_in_pages() {
    let mut session = Session::in_memory();
    for number in 0..100 {
        add(&mut session, Record::user(format!("line {number}")));
    }
    let (rows, before, after) = tree(&session, Page { most: 3, up_to: None });
    assert_eq!((rows.len(), before, after), (3, 97, 0));
    assert_eq!(rows[2], "● m99 User 0 line 99");
    let up_to = Some(named(&session, "m50"));
    let (rows, before, after) = tree(&session, Page { most: 2, up_to });
    assert_eq!((rows, before, after), (vec!["│ m49 User 0 line 49".into(), "│ m50 User 0 line 50".into()], 49, 49));
    assert_eq!(tree(&Session::in_memory(), ALL), (vec![], 0, 0));
}

/// The depth of a tree is no depth of calls.
#[test]
fn a_tree_of_hundreds_of_branches_is_listed_and_drawn() {
    let mut session = Session::in_memory();
    let mut before = add(&mut session, Record::user("line"));
    for _ in 0..300 {
        let next = add(&mut session, says("on", &[]));
        add(&mut session, Record::user("aside"));
        session.branch(before).unwrap();
        before = next;
    }
    assert_eq!(session.branches().unwrap().len(), 301);
    let deepest = session.outline(Page { most: usize::MAX, up_to: None }).unwrap();
    assert_eq!(deepest.rows.len(), 601);
    assert_eq!(deepest.rows.iter().filter(|row| row.kind == Kind::User).count(), 301);
}
