//! Tables and templates: one task for each row, and what is wrong with those that make none.

use proptest::prelude::*;
use tillerman::task::{Brief, MAX_ROWS, MAX_TABLE, Rows, RowsError};

fn template(title: &str, body: &str) -> Brief {
    Brief { title: title.to_owned(), body: body.to_owned(), agent: Some("coder".to_owned()), ..Brief::default() }
}

/// Titles and bodies of the tasks.
fn filled(table: &str, title: &str, body: &str) -> Result<Vec<(String, String)>, String> {
    let rows = Rows::read(table).map_err(|error| error.to_string())?;
    let briefs = rows.fill(&template(title, body)).map_err(|error| error.to_string())?;
    assert!(briefs.iter().all(|brief| brief.agent.as_deref() == Some("coder")), "the rest is the template's");
    Ok(briefs.into_iter().map(|brief| (brief.title, brief.body)).collect())
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(title, body)| ((*title).to_owned(), (*body).to_owned())).collect()
}

#[test]
fn each_row_of_a_csv_is_a_task() {
    let table = "file, what\nsrc/a.rs,\"parse, then print\"\n src/b.rs ,\"two\nlines\"\n";
    let expected = pairs(&[
        ("look at src/a.rs", "In src/a.rs: parse, then print. { {x} }"),
        ("look at src/b.rs", "In src/b.rs: two\nlines. { {x} }"),
    ]);
    assert_eq!(filled(table, "look at {{file}}", "In {{ file }}: {{what}}. { {x} }"), Ok(expected));
}

#[test]
fn each_line_of_json_is_a_task_and_what_it_lacks_is_empty() {
    let table = "\u{feff}{\"n\": 1, \"who\": \"a\"}\n\n{\"who\": null, \"list\": [1, 2]}\r\n{\"n\": \"{{who}}\"}";
    let expected = pairs(&[("1", "a/"), ("", "/[1,2]"), ("{{who}}", "/")]);
    assert_eq!(filled(table, "{{n}}", "{{who}}/{{list}}"), Ok(expected), "cells are not templates");
}

#[test]
fn a_table_that_makes_no_tasks_is_refused_with_its_line() {
    let empty = "the table has no rows; write a header and a line for each task, or a JSON object on each line";
    for (table, words) in [
        ("", empty),
        ("file\n", empty),
        ("a,b\n1,2\n3\n", "line 3 of the table: it has 1 cells, and the header has 2"),
        ("a,a\n1,2\n", "the table needs one name for each column; `a` is there twice or empty"),
        ("a,\n1,2\n", "the table needs one name for each column; `` is there twice or empty"),
        ("{\"a\": 1}\n{\"a\": }", "line 2 of the table: expected value at line 1 column 7"),
        ("{\"a\": 1}\n[1]", "line 2 of the table: invalid type: sequence, expected a map at line 1 column 0"),
        ("[{\"a\": 1}]", "line 1 of the table: this looks like a JSON array; write one object on each line instead"),
        ("b\n1\n", "the template asks for {{a}}, and the columns are b"),
        ("a\nx\n\"\"\n", "row 2 leaves the task empty; say what is to be done"),
    ] {
        assert_eq!(filled(table, "", "{{a}}").unwrap_err(), words, "{table:?}");
    }
    let same = "the template names no column, so that all tasks would be the same; write for example {{b}} into it";
    assert_eq!(filled("b\n1\n", "{ b }", "do it {{\n}} {{}} {{").unwrap_err(), same);
}

#[test]
fn r08_a_table_is_not_read_beyond_its_limits() {
    let rows = |count: usize| format!("n\n{}", (0..count).map(|n| format!("{n}\n")).collect::<String>());
    assert_eq!(filled(&rows(MAX_ROWS), "", "{{n}}").map(|tasks| tasks.len()), Ok(MAX_ROWS));
    assert_eq!(Rows::read(&rows(MAX_ROWS + 1)), Err(RowsError::TooMany));
    assert_eq!(Rows::read(&"{\"n\":1}\n".repeat(MAX_ROWS + 1)), Err(RowsError::TooMany));
    assert_eq!(Rows::read(&"x".repeat(MAX_TABLE + 1)), Err(RowsError::TooLong));
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(table in "(\\PC|[,\"{}:\n\r])*", body in "(\\PC|[{}\n])*") {
        let _ = Rows::read(&table).map(|rows| rows.fill(&template("", &body)));
    }

    #[test]
    fn every_cell_comes_through(cells in prop::collection::vec("[a-z{}\",\n]{0,12}", 1..20)) {
        let quoted = |cell: &String| format!("\"{}\"\n", cell.replace('"', "\"\""));
        let table = format!("cell\n{}", cells.iter().map(quoted).collect::<String>());
        let expected: Vec<_> = cells.iter().map(|cell| (String::new(), format!("<{}>", cell.trim()))).collect();
        prop_assert_eq!(filled(&table, "", "<{{cell}}>"), Ok(expected));
    }
}
