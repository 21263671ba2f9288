//! Conversations as they were sent: every message is encoded once, and the next request is built by appending to the
//! bytes of the last one. So what was sent before is sent again byte for byte, and a long conversation costs no more
//! per turn than a short one. What the bytes mean is the wire format's.

use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;

use super::Request;
use crate::message::{Message, Role};

/// Most conversations that are kept; the one that was not asked for longest goes first.
pub const KEPT: usize = 32;
/// Most bytes that are kept, the newest conversation apart.
const KEPT_BYTES: usize = 64 << 20;

/// The messages of a conversation in a wire format, without what closes them.
#[derive(Debug, Default)]
pub struct Transcript {
    /// What was encoded so far.
    pub bytes: Vec<u8>,
    /// The role of the last message.
    pub role: Option<Role>,
    /// Where the next result goes: behind the results that follow the assistant's last message.
    pub results: usize,
    /// The tools of the last request that had some, encoded: a request without them forbids their use, but its
    /// provider still wants to know what the calls in the conversation were.
    pub tools: Vec<u8>,
}

/// The conversations of one model instance.
#[derive(Debug, Default)]
pub struct Encoded {
    kept: Mutex<Vec<Conversation>>,
}

#[derive(Debug, Default)]
struct Conversation {
    key: String,
    sent: Vec<Arc<Message>>,
    transcript: Transcript,
}

impl Encoded {
    /// Brings the conversation's transcript up to date with the request and builds something of it.
    ///
    /// `append` sees each message once, unless the conversation was changed at its beginning.
    pub fn build<T>(
        &self,
        request: &Request<'_>,
        append: impl Fn(&mut Transcript, &Message),
        build: impl FnOnce(&mut Transcript) -> T,
    ) -> T {
        // Nothing is locked while bytes are written; two calls of one conversation at once merely encode twice.
        let mut conversation = self.take(request);
        for message in &request.messages[conversation.sent.len()..] {
            append(&mut conversation.transcript, message);
            conversation.sent.push(message.clone());
        }
        let built = build(&mut conversation.transcript);
        self.keep(conversation);
        built
    }

    fn take(&self, request: &Request<'_>) -> Conversation {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let found = kept.iter().position(|conversation| conversation.key == request.cache_key);
        let found = found.map(|at| kept.remove(at)).filter(|conversation| conversation.begins(request.messages));
        found.unwrap_or_else(|| Conversation { key: request.cache_key.to_owned(), ..Conversation::default() })
    }

    fn keep(&self, conversation: Conversation) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|other| other.key != conversation.key);
        kept.push(conversation);
        while kept.len() > KEPT || (kept.len() > 1 && kept.iter().map(Conversation::size).sum::<usize>() > KEPT_BYTES) {
            kept.remove(0);
        }
    }
}

impl Conversation {
    fn begins(&self, messages: &[Arc<Message>]) -> bool {
        self.sent.len() <= messages.len() && self.sent.iter().zip(messages).all(|(sent, now)| Arc::ptr_eq(sent, now))
    }

    fn size(&self) -> usize {
        self.transcript.bytes.len()
    }
}

impl Transcript {
    /// Puts bytes behind the results of the assistant's last message, before anything a person said since.
    pub fn insert_result(&mut self, bytes: &[u8]) {
        self.bytes.splice(self.results..self.results, bytes.iter().copied());
        self.results += bytes.len();
    }
}

/// Appends a value as JSON.
pub(super) fn json<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    let start = out.len();
    if serde_json::to_writer(&mut *out, value).is_err() {
        // Texts, numbers and JSON values can always be written; a hole in the request would be worse than a null.
        out.truncate(start);
        out.extend_from_slice(b"null");
    }
}

/// Appends `,"name":value` to an object that has a field already.
pub(super) fn field<T: Serialize + ?Sized>(out: &mut Vec<u8>, name: &str, value: &T) {
    out.push(b',');
    json(out, name);
    out.push(b':');
    json(out, value);
}
