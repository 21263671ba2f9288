//! The decoder of event streams: every rule of the format, every cut, its cap and its cost.

use std::time::Duration;

use tillerman::model::sse::{MAX_EVENT, SseDecoder, SseError, SseEvent};

/// Event, data, id.
type Expected = (&'static str, &'static str, &'static str);

/// Name, stream, what it holds.
const CASES: &[(&str, &[u8], &[Expected])] = &[
    ("lf", b"data: a\n\n", &[("message", "a", "")]),
    ("crlf", b"data: a\r\n\r\ndata: b\r\n\r\n", &[("message", "a", ""), ("message", "b", "")]),
    ("cr", b"data: a\r\rdata: b\r\r", &[("message", "a", ""), ("message", "b", "")]),
    (
        "mixed line ends",
        b"data: a\r\n\ndata: b\n\r\ndata: c\r\n\r",
        &[("message", "a", ""), ("message", "b", ""), ("message", "c", "")],
    ),
    ("byte order mark", b"\xef\xbb\xbfdata: a\n\n", &[("message", "a", "")]),
    ("a second mark is data", b"\xef\xbb\xbf\xef\xbb\xbfdata: a\n\ndata: b\n\n", &[("message", "b", "")]),
    ("many lines", b"data: a\ndata: b\ndata\ndata: c\n\n", &[("message", "a\nb\n\nc", "")]),
    ("one space goes", b"data:  a\ndata:b\n\n", &[("message", " a\nb", "")]),
    ("event name", b"event: ping\ndata: {}\n\n", &[("ping", "{}", "")]),
    ("the name lasts for one event", b"event: x\ndata: 1\n\ndata: 2\n\n", &[("x", "1", ""), ("message", "2", "")]),
    ("no data, no event", b"event: x\n\nid: 3\n\ndata: a\n\n", &[("message", "a", "3")]),
    ("empty data is an event", b"data\n\ndata:\n\n", &[("message", "", ""), ("message", "", "")]),
    (
        "the id stays",
        b"id: 7\ndata: a\n\ndata: b\n\nid\ndata: c\n\n",
        &[("message", "a", "7"), ("message", "b", "7"), ("message", "c", "")],
    ),
    ("an id with NUL does not count", b"id: 7\nid: 8\x00\ndata: a\n\n", &[("message", "a", "7")]),
    ("comments", b": keep-alive\n\n:\ndata: a\n: in between\n\n", &[("message", "a", "")]),
    ("unknown fields", b"foo: 1\nretry: x\ndata: a\n\n", &[("message", "a", "")]),
    ("no last newline", b"data: a\n\ndata: b\n", &[("message", "a", "")]),
    ("UTF-8", "data: grüße 🛶\n\n".as_bytes(), &[("message", "grüße 🛶", "")]),
    ("invalid UTF-8", b"data: a\xff\xf0\x9fb\n\n", &[("message", "a\u{fffd}\u{fffd}b", "")]),
];

fn expected(events: &[Expected]) -> Vec<SseEvent> {
    let event = |(event, data, id): &Expected| SseEvent {
        event: (*event).to_owned(),
        data: (*data).to_owned(),
        id: (*id).to_owned(),
    };
    events.iter().map(event).collect()
}

fn decode<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<SseEvent> {
    let mut decoder = SseDecoder::default();
    chunks.into_iter().flat_map(|chunk| decoder.push(chunk).unwrap()).collect()
}

/// A25.
#[test]
fn every_rule_of_the_format_holds() {
    for (name, stream, events) in CASES {
        assert_eq!(decode([*stream]), expected(events), "{name}, whole");
        assert_eq!(decode(stream.chunks(1)), expected(events), "{name}, byte by byte");
    }
}

/// A24, A26.
#[test]
fn events_survive_any_cut() {
    for (name, stream, events) in CASES {
        for cut in 0..=stream.len() {
            let (head, tail) = stream.split_at(cut);
            assert_eq!(decode([head, &[], tail]), expected(events), "{name} cut at {cut}");
        }
    }
    let reply =
        crate::server::says().thinking("höm", "s").text("grüße 🛶").call("c", "shell", serde_json::json!({"a": "ß"}));
    for stream in [reply.anthropic(), reply.responses(), reply.openai()] {
        let whole = decode([stream.as_bytes()]);
        assert!(whole.len() > 5);
        for cut in 0..=stream.len() {
            let (head, tail) = stream.as_bytes().split_at(cut);
            assert_eq!(decode([head, tail]), whole, "cut at {cut}");
        }
    }
}

#[test]
fn the_wait_before_a_new_connection_is_told() {
    let mut decoder = SseDecoder::default();
    decoder.push(b"retry: 1500\nretry: soon\n\n").unwrap();
    assert_eq!(decoder.retry(), Some(Duration::from_millis(1500)));
}

/// A27.
#[test]
fn an_endless_event_is_refused() {
    let megabyte = vec![b'x'; 1 << 20];
    let endless = |start: &[u8], each: &[u8]| {
        let mut decoder = SseDecoder::default();
        decoder.push(start).unwrap();
        (0..20).find_map(|_| decoder.push(&megabyte).and_then(|_| decoder.push(each)).err())
    };
    assert_eq!(endless(b"data: ", b""), Some(SseError::TooLong), "one line");
    assert_eq!(endless(b"data: ", b"\ndata: "), Some(SseError::TooLong), "many lines");
    let mut fits = b"data: ".to_vec();
    fits.resize(MAX_EVENT - 10, b'x');
    fits.extend_from_slice(b"\n\n");
    assert_eq!(decode([fits.as_slice()]).len(), 1);
}

/// 37 bytes at a time: a decoder that looks at old bytes again would need minutes.
#[test]
fn a_line_of_eight_megabytes_is_read_once() {
    let mut stream = b"data: ".to_vec();
    stream.resize(8 << 20, b'x');
    stream.extend_from_slice(b"\n\n");
    let events = decode(stream.chunks(37));
    assert_eq!(events.iter().map(|event| event.data.len()).collect::<Vec<_>>(), [(8 << 20) - 6]);
}
