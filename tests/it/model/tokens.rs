//! Tokens: what a guess is worth, what a count is, and what is learned from the figures of a provider.

use std::fmt::Write as _;
use std::sync::Arc;

use proptest::prelude::*;
use tillerman::message::{Block, CallId, Image, Message, Role, ToolResult};
use tillerman::model::ModelId;
use tillerman::model::tokens::{Counter, Counters, Size};

use super::talk::worked;

const ENGLISH: &str = "The harbour lay quiet that morning, and only the gulls seemed to have any business there. A man \
    in a grey coat walked along the quay, counting the boats as he went, and wrote each name into a small book. When \
    he came to the last one he stopped, looked at it for a long while, and then asked the boy who was mending a net \
    whether she was for sale. The boy laughed. Nobody, he said, had taken her out since his grandfather died, and the \
    planks were so rotten that a child could push a finger through them. But the man had already climbed aboard.";

const CHINESE: &str = "那天早上港口很安静,只有海鸥好像有事可做。一个穿灰色大衣的男人沿着码头走,一边走一边数船,把每条船的名字写进\
    一个小本子里。走到最后一条船的时候,他停了下来,看了很久,然后问那个正在补网的男孩这条船卖不卖。男孩笑了。他说,自从祖父去世以后,\
    没有人再开过这条船,木板已经烂得连小孩都能用手指戳穿。可是那个男人已经上了船。他打开舱门,点亮一盏旧灯,在桌子上摊开一张海图。";

const GERMAN: &str = "Der Hafen lag an diesem Morgen still da, und nur die Möwen schienen etwas zu tun zu haben. Ein \
    Mann in einem grauen Mantel ging den Kai entlang, zählte im Vorübergehen die Boote und schrieb jeden Namen in ein \
    kleines Heft. Beim letzten blieb er stehen, betrachtete es lange und fragte dann den Jungen, der ein Netz flickte, \
    ob es zu verkaufen sei.";

const RUSSIAN: &str = "В то утро гавань была тихой, и только у чаек, казалось, были какие-то дела. Человек в сером \
    пальто шёл вдоль набережной, считал на ходу лодки и записывал каждое название в маленькую книжку. У последней он \
    остановился, долго смотрел на неё, а потом спросил мальчика, который чинил сеть, продаётся ли она.";

const RUST: &str = include_str!("../../../src/agent/run.rs");
const YAML: &str = include_str!("../../../defaults/models.yaml");

/// Bytes that look like chance, the same every time, in base64 with lines.
fn base64() -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut state = 42_u64;
    let mut text = String::new();
    for at in 1..=6_000 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        text.push(char::from(LETTERS[(state >> 58) as usize]));
        if at % 76 == 0 {
            text.push('\n');
        }
    }
    text
}

fn table() -> String {
    (0..300).fold(String::new(), |mut text, row| {
        writeln!(text, "{row},{}.{},{:x}", row * 7919 % 1000, row * 31 % 97, row * 48_271).unwrap();
        text
    })
}

fn samples() -> [(&'static str, String); 8] {
    [
        ("english", ENGLISH.into()),
        ("chinese", CHINESE.into()),
        ("german", GERMAN.into()),
        ("russian", RUSSIAN.into()),
        ("rust", RUST.into()),
        ("yaml", YAML.into()),
        ("base64", base64()),
        ("table", table()),
    ]
}

#[test]
fn a_guess_is_within_a_quarter_of_the_count_whatever_the_text() {
    for (name, text) in samples() {
        let (guess, count) = (Size::guess(&text).text, Size::count(&text).text);
        let off = guess as f64 / count as f64;
        assert!((0.75..1.25).contains(&off), "{name}: {guess} guessed, {count} counted");
    }
}

#[test]
fn a_count_in_pieces_is_the_count_of_the_whole() {
    let vocabulary = tiktoken_rs::o200k_base_singleton();
    for (name, text) in samples() {
        let text = text.repeat(30_000 / text.len() + 1);
        let (pieces, whole) = (Size::count(&text).text, vocabulary.count_ordinary(&text) as u64);
        assert!(pieces.abs_diff(whole) <= whole / 500, "{name}: {pieces} in pieces, {whole} as a whole");
    }
}

/// The words of a message are most of a request, but not all of it: a provider adds its frame, and has a vocabulary of
/// its own.
fn provider(text: &str, own: f64) -> u64 {
    (Size::count(text).text as f64 * own) as u64 + 12
}

#[test]
fn after_three_reports_a_count_is_within_three_percent() {
    for own in [0.85, 1.0, 1.3, 1.7] {
        let counter = Counter::default();
        for lesson in [RUST, &ENGLISH.repeat(5), &CHINESE.repeat(4)] {
            counter.learn_count(Size::count(lesson), provider(lesson, own));
        }
        for (name, text) in samples() {
            let text = text.repeat(8_000 / text.len() + 1);
            let (ours, theirs) = (counter.count(Size::count(&text)), provider(&text, own));
            assert!(ours.abs_diff(theirs) * 100 <= theirs * 3, "{name} at {own}: {ours}, reported {theirs}");
        }
    }
}

#[test]
fn what_is_learned_is_bounded_smooth_and_shared() {
    let counters = Counters::default();
    let (fast, slow) = (ModelId::parse("a/fast").unwrap(), ModelId::parse("a/slow").unwrap());
    let size = Size { text: 10_000, images: 0 };
    assert_eq!(counters.of(&fast).estimate(size), 11_000, "of an unknown model a little more is assumed");
    counters.of(&fast).learn_guess(size, 15_000);
    assert_eq!(counters.of(&fast).estimate(size), 15_000, "the first report is believed");
    assert_eq!(counters.of(&slow).estimate(size), 11_000, "another model is not concerned");
    assert_eq!(counters.of(&fast).count(size), 11_000, "a guess teaches nothing of counts");
    counters.of(&fast).learn_guess(size, 10_000);
    assert_eq!(counters.of(&fast).estimate(size), 13_500, "a later one weighs three tenths");
    for reported in [9, u64::MAX] {
        let counter = Counter::default();
        counter.learn_guess(size, reported);
        assert_eq!(counter.estimate(size), if reported == 9 { 5_000 } else { 20_000 });
    }
}

#[test]
fn short_texts_pictures_and_silence_teach_nothing() {
    let counter = Counter::default();
    let lessons = [(399, 0, 800), (10_000, 1_600, 20_000), (10_000, 0, 0)];
    for (text, images, reported) in lessons {
        counter.learn_guess(Size { text, images }, reported);
        counter.learn_count(Size { text, images }, reported);
    }
    let size = Size { text: 1_000, images: 0 };
    assert_eq!((counter.estimate(size), counter.count(size), counter.knows_counts()), (1_100, 1_100, false));
}

#[test]
fn a_picture_counts_as_one_and_not_by_its_bytes() {
    let picture = Image { media_type: "image/png".into(), data: "A".repeat(1_000_000) };
    let message = Arc::new(Message { role: Role::User, blocks: vec![Block::Image(picture), Block::text("look")] });
    let size = Size::guess_all(&[message]);
    assert_eq!(size, Size { text: 5, images: 1_600 });
    assert_eq!(Counter::default().estimate(size), 1_606);
}

#[test]
fn a_result_counts_with_its_frame_and_without_its_details() {
    let result = ToolResult {
        call: CallId("c1".into()),
        output: "two words".into(),
        details: serde_json::json!({"all": "x".repeat(10_000)}),
        is_error: false,
    };
    let message = Arc::new(Message::result(result));
    assert_eq!(Size::count_all(&[Arc::clone(&message), message]).text, 2 * (2 + 4 + 8));
}

/// Texts that break expressions with backtracking and vocabularies that merge pair by pair.
fn traps() -> Vec<String> {
    let accents = "\u{301}".repeat(50_000);
    let nested = "[".repeat(100_000);
    let mixed = "a A\u{301}1\t \n".repeat(12_000);
    let mut traps: Vec<String> = ["a", " ", "\n", "A", "1", "\t\n", "一", "🦀", "'s", "=", "\0"]
        .iter()
        .map(|piece| piece.repeat(100_000 / piece.len()))
        .collect();
    traps.extend([accents, nested, mixed, format!("{}x", " ".repeat(100_000))]);
    traps
}

#[test]
fn no_text_takes_more_than_its_length() {
    for text in traps() {
        let (begin, _) = text.split_at(text.floor_char_boundary(text.len() / 10));
        let (short, long) = (Size::count(begin).text.max(1), Size::count(&text).text);
        assert!((8..13).contains(&(long / short)), "{:?}: {short} of a tenth, {long} of all", text.chars().next());
        assert!(Size::guess(&text).text <= text.len() as u64 * 2);
    }
}

#[test]
fn a_megabyte_of_one_letter_is_counted_in_a_breath() {
    let text = "a".repeat(1_000_000);
    let before = worked();
    let (guess, count) = (Size::guess(&text).text, Size::count(&text).text);
    assert_eq!(count, 125_000, "eight letters a token");
    assert!((100_000..150_000).contains(&guess), "{guess}");
    // Quadratic it would take minutes, also in a build for tests.
    let took = worked() - before;
    assert!(took.as_secs() < 30, "{took:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_text_has_a_size(text in "\\PC{0,400}|[ \\t\\r\\n'sA-z\u{300}-\u{36f}]{0,9000}") {
        let (guess, count) = (Size::guess(&text).text, Size::count(&text).text);
        prop_assert!(count <= text.len() as u64);
        prop_assert!(guess <= text.len() as u64 * 2);
    }
}
