//! Every message of a conversation is encoded once, and only so much is kept.

use std::cell::RefCell;
use std::sync::Arc;

use tillerman::message::Message;
use tillerman::model::Request;
use tillerman::model::encoded::{Encoded, KEPT, Transcript};

fn request<'a>(messages: &'a [Arc<Message>], cache_key: &'a str) -> Request<'a> {
    Request { system: "", messages, tools: &[], max_tokens: 1, cache_key }
}

/// The messages that had to be encoded for a request, and all its bytes.
fn encode(encoded: &Encoded, messages: &[Arc<Message>], key: &str) -> (String, String) {
    let seen = RefCell::new(String::new());
    let append = |out: &mut Transcript, message: &Message| {
        seen.borrow_mut().push_str(&message.text());
        out.bytes.extend_from_slice(message.text().as_bytes());
    };
    let all = encoded.build(&request(messages, key), append, |out| String::from_utf8_lossy(&out.bytes).into_owned());
    (seen.into_inner(), all)
}

fn said(texts: &[&str]) -> Vec<Arc<Message>> {
    texts.iter().map(|text| Arc::new(Message::user(*text))).collect()
}

fn pair(seen: &str, all: &str) -> (String, String) {
    (seen.to_owned(), all.to_owned())
}

#[test]
fn only_what_is_new_is_encoded() {
    let encoded = Encoded::default();
    let mut messages = said(&["a", "b"]);
    assert_eq!(encode(&encoded, &messages, "k"), pair("ab", "ab"));
    assert_eq!(encode(&encoded, &messages, "k"), pair("", "ab"), "a retry");
    messages.extend(said(&["c"]));
    assert_eq!(encode(&encoded, &messages, "k"), pair("c", "abc"));
    assert_eq!(encode(&encoded, &said(&["x"]), "other"), pair("x", "x"), "another conversation");
    messages.extend(said(&["d"]));
    assert_eq!(encode(&encoded, &messages, "k"), pair("d", "abcd"), "the first is still kept");
}

#[test]
fn a_changed_beginning_is_encoded_anew() {
    let encoded = Encoded::default();
    let messages = said(&["a", "b", "c"]);
    encode(&encoded, &messages, "k");
    assert_eq!(encode(&encoded, &messages[..2], "k"), pair("ab", "ab"), "shorter");
    assert_eq!(encode(&encoded, &messages[1..], "k"), pair("bc", "bc"), "compacted");
    assert_eq!(encode(&encoded, &said(&["b", "c"]), "k"), pair("bc", "bc"), "equal, but others");
}

#[test]
fn old_conversations_are_let_go() {
    let encoded = Encoded::default();
    let first = said(&["a"]);
    encode(&encoded, &first, "first");
    let weak = Arc::downgrade(&first[0]);
    drop(first);
    assert!(weak.upgrade().is_some(), "it is kept");
    for n in 0..KEPT {
        encode(&encoded, &said(&["x"]), &n.to_string());
    }
    assert!(weak.upgrade().is_none());
    let big = said(&[&"x".repeat(40 << 20)]);
    encode(&encoded, &big, "big");
    let weak = Arc::downgrade(&big[0]);
    drop(big);
    encode(&encoded, &said(&[&"y".repeat(40 << 20)]), "bigger");
    assert!(weak.upgrade().is_none(), "together they are too big");
}
