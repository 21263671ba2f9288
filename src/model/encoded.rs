//! Conversations as they were sent: every message is encoded once, and the next request is built by appending to the
//! bytes of the last one. So what was sent before is sent again byte for byte, and a long conversation costs no more
//! per turn than a short one. What the bytes mean is the wire format's.

use std::collections::HashMap;
use std::sync::Arc;

use serde::Serialize;

use super::eyes::{left_out, seen};
pub use super::kept::KEPT;
use super::kept::{Kept, Made};
use super::{ModelId, Request};
use crate::message::{CallId, Message, Role, ToolSpec};

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
    /// The tools that the last message with calls calls, by call: some formats want their names with the results.
    pub names: HashMap<CallId, String>,
    /// How many of the messages that come next are written without the proofs in them.
    pub unproven: usize,
}

/// The conversations of one model instance.
#[derive(Debug, Default)]
pub struct Encoded {
    kept: Kept<Transcript>,
    /// Stands in place of pictures, for a model that sees none.
    instead: Option<String>,
}

impl Encoded {
    /// For a model that sees pictures, or reads a text in place of each.
    pub(super) fn of(id: &ModelId, images: bool) -> Encoded {
        Encoded { instead: (!images).then(|| left_out(id)), ..Encoded::default() }
    }

    /// Brings the conversation's transcript up to date with the request and builds something of it.
    ///
    /// `append` sees each message once, unless the conversation was changed at its beginning.
    pub fn build<T>(
        &self,
        request: &Request<'_>,
        append: impl Fn(&mut Transcript, &Message),
        build: impl FnOnce(&mut Transcript) -> T,
    ) -> T {
        let append = |transcript: &mut Transcript, message: &Arc<Message>| {
            append(transcript, &seen(message, self.instead.as_deref()));
        };
        self.kept.build(request, append, build)
    }

    /// Encodes the conversation anew, without the proofs in what was said so far.
    pub(super) fn without_proofs(&self, request: &Request<'_>, append: impl Fn(&mut Transcript, &Message)) {
        self.build(request, &append, |transcript| {
            let tools = std::mem::take(&mut transcript.tools);
            *transcript = Transcript { tools, unproven: request.messages.len(), ..Transcript::default() };
            for message in request.messages {
                append(transcript, &seen(message, self.instead.as_deref()));
            }
        });
    }
}

impl Made for Transcript {
    fn bytes(&self) -> usize {
        self.bytes.len()
    }
}

impl Transcript {
    /// Begins a request: keeps its tools encoded, if it has some, and has room for all that will stand in it.
    pub(super) fn begin(&mut self, request: &Request<'_>, tools: impl FnOnce(&[ToolSpec]) -> Vec<u8>) -> Vec<u8> {
        if !request.tools.is_empty() {
            self.tools = tools(request.tools);
        }
        Vec::with_capacity(self.bytes.len() + self.tools.len() + request.system.len() + 512)
    }

    /// Appends a part to the last message if that has the same role, or opens one, as an object whose list of parts is
    /// its last field. Results stand before other parts, as every such format demands.
    pub fn push_part(&mut self, role: Role, opening: &[u8], part: &[u8], is_result: bool) {
        if self.role != Some(role) {
            self.bytes.extend_from_slice(if self.role.is_some() { b"]}," } else { b"" });
            self.bytes.extend_from_slice(opening);
            self.role = Some(role);
            self.results = self.bytes.len();
        }
        let first = self.bytes.last() == Some(&b'[');
        if !is_result || first {
            self.bytes.extend_from_slice(if first { b"" } else { b"," });
            self.bytes.extend_from_slice(part);
            if is_result {
                self.results = self.bytes.len();
            }
        } else if self.bytes[..self.results].last() == Some(&b'[') {
            self.insert_result(&[part, b","].concat());
            self.results -= 1;
        } else {
            self.insert_result(&[b",", part].concat());
        }
    }

    /// Formats in which a person must speak first get a word for one when the model does, as when the conversation begins
    /// with a summary in its role.
    pub(super) fn person_first(&mut self, role: Role, opening: &[u8], part: &[u8]) {
        if self.role.is_none() && role == Role::Assistant {
            self.push_part(Role::User, opening, part, false);
        }
    }

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
