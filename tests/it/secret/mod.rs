//! What is hidden of a text and of a stream, and what is not (T15, T16, T20).

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use proptest::prelude::*;
use serde_json::json;
use tillerman::secret::Secrets;

mod canary;
mod obedient;
mod run;

/// No key of anybody.
pub const CANARY: &str = "cnry+7f/3a9=d51e0b";

pub fn secrets() -> Secrets {
    Secrets::of([("DEPLOY_TOKEN", CANARY)])
}

fn streamed(secrets: &Secrets, pieces: &[&str]) -> (Vec<String>, String) {
    let mut stream = secrets.stream();
    let shown = pieces.iter().map(|piece| stream.push(piece).into_owned()).collect();
    (shown, stream.end())
}

#[test]
fn t15_a_known_value_is_hidden_under_the_name_of_its_variable() {
    let text = format!("a {CANARY} b {CANARY}{CANARY}");
    assert_eq!(secrets().hide(&text), "a [secret DEPLOY_TOKEN] b [secret DEPLOY_TOKEN][secret DEPLOY_TOKEN]");
    assert_eq!(secrets().hide_known(&text), secrets().hide(&text));
    let mut value = json!({"out": [CANARY, 1, null], "n": {"deep": format!("x{CANARY}")}});
    secrets().hide_in_value(&mut value);
    assert_eq!(value, json!({"out": ["[secret DEPLOY_TOKEN]", 1, null], "n": {"deep": "x[secret DEPLOY_TOKEN]"}}));
}

#[test]
fn t16_encoded_forms_are_hidden_wherever_the_value_begins() {
    let secrets = secrets();
    let forms = [
        URL_SAFE_NO_PAD.encode(CANARY),
        "cnry%2B7f%2F3a9%3Dd51e0b".to_owned(),
        CANARY.bytes().map(|byte| format!("{byte:02x}")).collect(),
        CANARY.bytes().map(|byte| format!("{byte:02X}")).collect(),
    ];
    for form in forms {
        assert!(!secrets.hide(&form).contains(&form[2..form.len() - 3]), "{form}");
    }
    for before in ["", "a", "ab", "user:", "user:p"] {
        let text = STANDARD.encode(format!("{before}{CANARY} and on"));
        let hidden = secrets.hide(&text).into_owned();
        assert!(hidden.contains("[secret DEPLOY_TOKEN]"), "{text} is shown as {hidden}");
    }
    let quoted = Secrets::of([("PASSPHRASE", "a \"quoted\" phrase")]);
    assert_eq!(quoted.hide(r#"{"p":"a \"quoted\" phrase"}"#), r#"{"p":"[secret PASSPHRASE]"}"#);
}

#[test]
fn t16_a_value_that_is_split_over_pieces_is_hidden_and_nothing_else_is_held_back() {
    let (shown, rest) = streamed(&secrets(), &["log in with cnry+7", "f/3a9=", "d51e0b, then go on", " c", "an"]);
    assert_eq!(shown, ["log in with ", "", "[secret DEPLOY_TOKEN], then go on", " ", "can"]);
    assert_eq!(rest, "");
    let (shown, rest) = streamed(&secrets(), &["the end cnry+"]);
    assert_eq!((shown, rest.as_str()), (vec!["the end ".to_owned()], "cnry+"));
    let untouched = secrets().stream().push("nothing here\n").into_owned();
    assert_eq!(untouched, "nothing here\n");
}

#[test]
fn a_longer_value_goes_before_a_shorter_one_that_it_begins_with() {
    let both = Secrets::of([("SHORT", "abcdefgh1"), ("LONG", "abcdefgh1-longer")]);
    assert_eq!(both.hide("abcdefgh1-longer abcdefgh1-l"), "[secret LONG] [secret SHORT]-l");
    let (shown, rest) = streamed(&both, &["abcdefgh1", "-longer", "abcdefgh1", "-lo"]);
    assert_eq!(shown.concat() + &rest, "[secret LONG][secret SHORT]-lo");
}

#[test]
fn t15_keys_of_providers_are_known_by_their_shape() {
    let letters = "a1b2c3d4e5f6g7h8i9j0k1l2m3n4o5p6q7r8s9t0";
    let cases = [
        (format!("sk-ant-api03-{letters}"), "API key"),
        (format!("ghp_{}", &letters[..36]), "GitHub token"),
        (format!("AKIA{}", "ABCD1234EFGH5678"), "AWS key id"),
        (format!("AIza{}", &letters[..35]), "Google key"),
        (format!("xoxb-123456789012-{}", &letters[..24]), "Slack token"),
        (format!("glpat-{}", &letters[..20]), "GitLab token"),
        (format!("hf_{}", &letters[..34]), "Hugging Face token"),
        (format!("sk_live_{}", &letters[..24]), "Stripe key"),
    ];
    let none = Secrets::of([("", "")]);
    for (key, what) in cases {
        assert_eq!(none.hide(&format!("key={key}\n")), format!("key=[secret: {what}]\n"));
        let (first, last) = key.split_at(key.len() / 2);
        let (shown, rest) = streamed(&none, &["key=", first, last, "\n"]);
        assert_eq!(shown.concat() + &rest, format!("key=[secret: {what}]\n"));
        assert_eq!(none.hide_known(&key), key, "words of people may speak of keys");
    }
    let setting = format!("AWS_SECRET_ACCESS_KEY=\"{letters}\"");
    assert_eq!(none.hide(&setting), "AWS_SECRET_ACCESS_KEY=\"[secret: AWS key]\"");
}

#[test]
fn t15_a_private_key_is_hidden_to_its_end_also_with_line_numbers_and_in_json() {
    let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj";
    let key = format!("-----BEGIN PRIVATE KEY-----\n{body}\n{body}\nab==\n-----END PRIVATE KEY-----\n");
    let none = Secrets::of([("", "")]);
    assert_eq!(none.hide(&format!("a\n{key}b")), "a\n[secret: private key]\nb");
    let numbered: String = key.lines().enumerate().map(|(at, line)| format!("{:6}\t{line}\n", at + 1)).collect();
    assert_eq!(none.hide(&numbered), "     1\t[secret: private key]\n");
    let in_json = json!({ "key": key }).to_string();
    assert_eq!(none.hide(&in_json), r#"{"key":"[secret: private key]\n"}"#);
    let pieces: Vec<&str> = key.split_inclusive('\n').collect();
    let (shown, rest) = streamed(&none, &pieces);
    assert_eq!(shown.concat() + &rest, "[secret: private key]\n");
    for harmless in ["find -----BEGIN PRIVATE KEY----- in it", "-----BEGIN CERTIFICATE-----\nMIIE", "----- BEGIN"] {
        assert_eq!(none.hide(harmless), harmless);
    }
}

#[test]
fn ordinary_texts_are_left_as_they_are() {
    let none = Secrets::of([("PORT", "8080"), ("SHORT", "abc1234")]);
    let texts = [
        "risk-assessment-of-the-whole-project-2026-11-22-final",
        "task-0123456789012345678901234567890123456789",
        "sk-some-long-kebab-case-identifier-name",
        "AKIAZ, ghp_short, AIzaNot, abc1234, 8080",
        "-----\nBEGIN\n-----",
        "déjà vu ✓ 日本語",
    ];
    for text in texts {
        assert!(matches!(none.hide(text), Cow::Borrowed(_)), "{text}");
        let (shown, rest) = streamed(&none, &[text]);
        assert_eq!(shown.concat() + &rest, text);
    }
    let nothing = Secrets::default();
    assert_eq!(nothing.hide(&format!("AKIA{}", "ABCD1234EFGH5678")), "AKIAABCD1234EFGH5678");
}

#[test]
fn variables_are_suspected_by_their_names() {
    let suspected = [
        ("DEPLOY_TOKEN", "v4lue-of-token"),
        ("MODE_KEY", "production-only"),
        ("SSH_KEY", "/home/me/.ssh/id_1"),
        ("PATH", "/usr/bin:/bin:/us3"),
        ("DB_PASSWORD", "hunter2hunter2"),
        ("X_TOKEN", "short1"),
    ];
    let suspected = suspected.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let secrets = Secrets::of([("OWN", "known-value")]).with_suspected(suspected);
    assert_eq!(secrets.names().collect::<Vec<_>>(), ["OWN", "DEPLOY_TOKEN", "DB_PASSWORD"]);
}

#[test]
fn t20_debug_shows_names_and_no_values() {
    assert_eq!(format!("{:?}", secrets()), "Secrets([\"DEPLOY_TOKEN\"])");
}

proptest! {
    #[test]
    fn t16_a_stream_says_the_same_as_the_whole_however_it_is_cut(
        parts in prop::collection::vec(prop_oneof![
            Just(CANARY.to_owned()), Just("cnry+7f/".to_owned()), Just(STANDARD.encode(CANARY)), Just("\n".to_owned()),
            Just("cnry%2B7f%2F3a9%3Dd51e0b".to_owned()), "[a-z+/=%é]{0,6}",
        ], 0..8),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let text = parts.concat();
        let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
        at.retain(|at| text.is_char_boundary(*at));
        at.extend([0, text.len()]);
        at.sort_unstable();
        let pieces: Vec<&str> = at.windows(2).map(|cut| &text[cut[0]..cut[1]]).collect();
        let mut stream = secrets().known_stream();
        let mut shown: String = pieces.iter().map(|piece| stream.push(piece).into_owned()).collect();
        shown.push_str(&stream.end());
        prop_assert_eq!(&shown, &secrets().hide_known(&text).into_owned());
        prop_assert!(!shown.contains(CANARY));
    }
}
