//! What the setting `tools` means.

use tillerman::tools::{Enabled, GROUPS, groups};

/// The tools that are on, without the usual ones where all of these are.
fn on(words: &[&str]) -> Result<Vec<&'static str>, String> {
    let enabled = Enabled::read(words).map_err(|error| error.to_string())?;
    Ok(groups::names().into_iter().filter(|name| enabled.has(name)).collect())
}

fn usual() -> Vec<&'static str> {
    let mut usual: Vec<_> = GROUPS.iter().filter(|group| group.usual).flat_map(|group| group.tools).copied().collect();
    usual.sort_unstable();
    usual
}

#[test]
fn a_list_names_tools_and_groups_and_a_sign_changes_the_usual_set() {
    let with = |more: &[&'static str], less: &[&str]| {
        let mut all: Vec<_> = usual().into_iter().chain(more.iter().copied()).collect();
        all.retain(|name| !less.contains(name));
        all.sort_unstable();
        Ok(all)
    };
    assert_eq!(on(&["default"]), with(&[], &[]));
    assert_eq!(on(&["default", "current_time", "-grep"]), with(&["current_time"], &["grep"]));
    assert_eq!(on(&["+current_time"]), with(&["current_time"], &[]));
    assert_eq!(on(&["-grep", "-history"]), with(&[], &["grep", "history_read", "history_search"]));
    assert_eq!(on(&["-shell", "all"]).map(|all| all.contains(&"shell")), Ok(false), "leaving out goes first");
    assert_eq!(on(&["all"]), Ok(groups::names()));
    assert_eq!(on(&["shell", "list"]), Ok(vec!["list", "shell"]));
    assert_eq!(on(&["Bash", "functions.ls", "get_current_time"]), Ok(vec!["current_time", "list", "shell"]));
    assert_eq!(on(&["skills"]), Ok(vec!["load_skill"]));
    assert_eq!(on(&[]), Ok(vec![]));
}

#[test]
fn a_word_that_names_nothing_is_an_error_with_those_that_are_near() {
    let wrong = |word: &str| on(&["default", word]).unwrap_err();
    assert_eq!(wrong("gerp"), "there is no tool or group gerp; did you mean grep?");
    assert_eq!(wrong("-histroy"), "there is no tool or group histroy; did you mean history?");
}

#[test]
fn a_role_may_ask_for_what_is_usually_off_and_not_for_what_is_barred() {
    let on_demand = |words: &[&str]| Enabled::read(words).unwrap().has_on_demand("current_time");
    assert!(Enabled::default().has_on_demand("current_time") && !Enabled::default().has("current_time"));
    assert_eq!(Enabled::read(&["default"]), Ok(Enabled::default()));
    assert!(on_demand(&["default", "-grep"]) && on_demand(&["-grep"]) && on_demand(&["current_time"]));
    assert!(!on_demand(&["shell", "list"]) && !on_demand(&["-current_time"]) && !on_demand(&[]));
    assert!(Enabled::read(&["default", "current_time"]).unwrap().is_wider_than_usual());
    assert!(!Enabled::read(&["shell", "-grep"]).unwrap().is_wider_than_usual());
}

#[test]
fn a_main_agent_notes_where_notes_were_asked_for_by_whatever_word() {
    let notes = |words: &[&str]| Enabled::read(words).unwrap().has_notes();
    for words in [
        &["default", "notes"][..],
        &["default", "search_notes"],
        &["default", "note"],
        &["+note"],
        &["all"],
        &["notes"],
    ] {
        assert!(notes(words), "{words:?}");
    }
    // To keep them is not to search them.
    assert!(notes(&["default", "notes", "-search_notes"]));
    for words in [&["default"][..], &["-grep"], &["shell", "crew"], &["all", "-notes"], &["all", "-note"]] {
        assert!(!notes(words), "{words:?}");
    }
}
