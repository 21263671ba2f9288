//! Who gets the rows at the bottom of the terminal, and what is in them.

use tillerman::repl::composer::View;
use tillerman::repl::painter::Size;
use tillerman::repl::panel::{Scene, fit, input_rows, panel};

fn rows(name: &str, many: usize) -> Vec<String> {
    (1..=many).map(|number| format!("{name} {number}")).collect()
}

fn scene() -> Scene {
    let status = "status".to_owned();
    Scene {
        live: rows("live", 9),
        card: rows("card", 3),
        crew: rows("crew", 4),
        pending: rows("note", 2),
        status,
        ..Scene::default()
    }
}

fn view() -> View {
    View { rows: vec![" > one".to_owned(), "   two".to_owned()], cursor: (1, 6), menu: rows("choice", 2) }
}

#[test]
fn everything_has_its_place_where_there_is_room() {
    let panel = panel(&scene(), &view(), Size { width: 80, height: 40 });
    let expected = [
        rows("live", 9),
        rows("card", 3),
        rows("crew", 4),
        rows("note", 2),
        vec![" > one".to_owned(), "   two".to_owned()],
        rows("choice", 2),
        vec!["status".to_owned()],
    ];
    assert_eq!((panel.rows, panel.cursor), (expected.concat(), (19, 6)));
}

#[test]
fn what_is_typed_comes_first_then_the_state_then_what_waits_for_a_word() {
    let mut seen = Vec::new();
    for height in [2, 3, 4, 7, 10, 24] {
        let panel = panel(&scene(), &view(), Size { width: 80, height });
        assert!(panel.rows.len() < height, "{height}: {:?}", panel.rows);
        assert!(panel.cursor.0 < panel.rows.len(), "{height}: {:?}", panel.cursor);
        seen.push(panel.rows.join("|"));
    }
    let expected = [
        " > one",
        " > one|   two",
        " > one|   two|status",
        "card 1|card 2|card 3| > one|   two|status",
        "card 1|card 2|card 3|note 1| > one|   two|choice 1|choice 2|status",
        "live 1|live 2|live 3|live 4|live 5|live 6|live 7|live 8|live 9|card 1|card 2|card 3|crew 1|crew 2|crew 3|crew 4\
         |note 1|note 2| > one|   two|choice 1|choice 2|status",
    ];
    assert_eq!(seen, expected);
    assert_eq!([1, 8, 24, 100].map(|height| input_rows(Size { width: 80, height })), [1, 4, 12, 12]);
}

#[test]
fn a_row_for_another_width_is_cut_and_keeps_its_colours() {
    assert_eq!(fit("\x1b[31mred字字\x1b[0m", 6), "\x1b[31mred字");
    assert_eq!(fit("plain", 80), "plain");
    let panel = panel(&Scene { status: "s".repeat(50), ..Scene::default() }, &view(), Size { width: 20, height: 9 });
    assert_eq!(panel.rows.last().unwrap(), &"s".repeat(19));
}
