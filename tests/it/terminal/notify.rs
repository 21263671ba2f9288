//! What reaches a person who looks elsewhere.

use tillerman::terminal::notify::{Notifier, title};

fn notifier(pairs: &[(&str, &str)]) -> Notifier {
    let pairs: Vec<(String, String)> = pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    Notifier::of(&move |name| pairs.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone()))
}

#[test]
fn each_terminal_is_told_in_its_own_way() {
    let told = [
        notifier(&[("TERM_PROGRAM", "iTerm.app")]),
        notifier(&[("TERM", "xterm-kitty")]),
        notifier(&[("TERM", "foot")]),
        notifier(&[("TERM", "xterm-256color")]),
        notifier(&[]),
    ];
    assert_eq!(told, [Notifier::Text, Notifier::Text, Notifier::Titled, Notifier::Bell, Notifier::Bell]);
    assert_eq!(Notifier::Text.notify("t_001 done", false), "\x1b]9;t_001 done\x07\x07");
    assert_eq!(Notifier::Titled.notify("t_001 done", false), "\x1b]777;notify;tillerman;t_001 done\x07\x07");
    assert_eq!(Notifier::Bell.notify("t_001 done", true), "\x07");
    assert_eq!(Notifier::Text.notify("done", true), "\x1bPtmux;\x1b\x1b]9;done\x07\x1b\\\x07");
}

#[test]
fn what_a_worker_is_called_can_do_nothing_to_the_terminal() {
    let told = Notifier::Titled.notify("a\x07b;c\x1b]0;owned\x07\nd", false);
    assert_eq!(told.matches('\x1b').count(), 1, "{told:?}");
    assert_eq!(told.matches('\x07').count(), 2, "{told:?}");
    assert_eq!(told.matches(';').count(), 3, "{told:?}");
}

#[test]
fn the_title_says_who_works_and_who_waits() {
    assert_eq!(title(false, 0), "\x1b]0;tillerman\x07");
    assert_eq!(title(false, 2), "\x1b]0;▶2 tillerman\x07");
    assert_eq!(title(true, 2), "\x1b]0;! tillerman needs you\x07");
}
