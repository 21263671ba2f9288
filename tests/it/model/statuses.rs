//! Which status is tried again, in every wire format, and what is left of a conversation when nothing helps.

use std::sync::Arc;

use tillerman::message::Message;
use tillerman::model::http::Timeouts;
use tillerman::model::{Delta, Fault};

use super::talk::{ALL, Ask, id_of, models};
use crate::server::{Response, Server, says};

/// A06, A13: status, and whether another attempt is made.
const STATUSES: [(u16, bool); 22] = [
    (400, false),
    (405, false),
    (406, false),
    (408, true),
    (409, true),
    (410, false),
    (422, false),
    (425, true),
    (429, true),
    (500, true),
    (501, false),
    (502, true),
    (503, true),
    (504, true),
    (505, false),
    (511, false),
    (520, true),
    (521, true),
    (522, true),
    (523, true),
    (524, true),
    (529, true),
];

/// A06, A13.
#[tokio::test]
async fn what_passes_by_itself_is_tried_again_and_nothing_else() {
    for id in ALL {
        let plays = STATUSES.map(|(status, again)| async move {
            let server = Server::list([Response::status(status, ""), says().text("ok").into()]);
            let model = models(&server, Timeouts::default()).get(&id_of(id)).unwrap();
            let (reply, deltas) = Ask::new([Message::user("hi")]).send(&model).await;
            assert_eq!((reply.is_ok(), server.requests().len()), (again, 1 + usize::from(again)), "{id} {status}");
            let retries = deltas.iter().filter(|delta| matches!(delta, Delta::Retrying { attempt: 2, .. })).count();
            assert_eq!(retries, usize::from(again), "{id} {status}");
        });
        futures_util::future::join_all(plays).await;
    }
}

/// A13: five attempts, and the last word is the provider's.
#[tokio::test]
async fn five_attempts_are_made_and_then_it_is_told() {
    let plays = ALL.map(|id| async move {
        let server = Server::answer(|_| Response::status(529, r#"{"error":{"message":"too hot"}}"#));
        let model = models(&server, Timeouts::default()).get(&id_of(id)).unwrap();
        let error = Ask::new([Message::user("hi")]).send(&model).await.0.expect_err("hot");
        assert_eq!((error.fault, server.requests().len()), (Fault::Unavailable, 5), "{id}: {error}");
        assert_eq!(error.message, "529 from 127.0.0.1: too hot (after 5 attempts)", "{id}");
    });
    futures_util::future::join_all(plays).await;
}

/// A04: the next request is the same, byte for byte.
#[tokio::test]
async fn a_refused_request_leaves_the_conversation_as_it_was() {
    for id in ALL {
        let server = Server::list([Response::status(400, "{}"), says().text("ok").into()]);
        let model = models(&server, Timeouts::default()).get(&id_of(id)).unwrap();
        let ask = Ask::new([Message::user("hi")]);
        let before: Vec<Message> = ask.messages.iter().map(|message| Message::clone(message)).collect();
        assert_eq!(ask.send(&model).await.0.expect_err("refused").fault, Fault::BadRequest, "{id}");
        assert!(ask.send(&model).await.0.is_ok(), "{id}");
        let requests = server.requests();
        assert_eq!(requests[0].raw, requests[1].raw, "{id}");
        assert_eq!(ask.messages.iter().map(Arc::as_ref).collect::<Vec<_>>(), before.iter().collect::<Vec<_>>());
    }
}
