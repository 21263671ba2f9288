//! What was made of conversations so far: each message is worked on once, and what came of it is there for the next
//! request. How much is kept has a bound; what is made of a message is not known here.

use std::sync::{Arc, Mutex, PoisonError};

use super::Request;
use crate::message::Message;

/// Most conversations that are kept; the one that was not asked for longest goes first.
pub const KEPT: usize = 32;
/// Most bytes that are kept, the newest conversation apart.
const KEPT_BYTES: usize = 64 << 20;

/// What is made of a conversation, message by message.
pub(super) trait Made: Default {
    /// Bytes that it occupies.
    fn bytes(&self) -> usize;
}

/// The conversations of one model instance.
#[derive(Debug)]
pub(super) struct Kept<T> {
    conversations: Mutex<Vec<Conversation<T>>>,
}

#[derive(Debug)]
struct Conversation<T> {
    key: String,
    seen: Vec<Arc<Message>>,
    made: T,
}

impl<T> Default for Kept<T> {
    fn default() -> Kept<T> {
        Kept { conversations: Mutex::default() }
    }
}

impl<T: Made> Kept<T> {
    /// Brings what was made of the conversation up to date with the request and builds something of it.
    ///
    /// `append` sees each message once, unless the conversation was changed at its beginning.
    pub(super) fn build<U>(
        &self,
        request: &Request<'_>,
        append: impl Fn(&mut T, &Arc<Message>),
        build: impl FnOnce(&mut T) -> U,
    ) -> U {
        // Nothing is locked while the work is done; two calls of one conversation at once merely do it twice.
        let mut conversation = self.take(request);
        for message in &request.messages[conversation.seen.len()..] {
            append(&mut conversation.made, message);
            conversation.seen.push(Arc::clone(message));
        }
        let built = build(&mut conversation.made);
        self.keep(conversation);
        built
    }

    fn take(&self, request: &Request<'_>) -> Conversation<T> {
        let mut kept = self.conversations.lock().unwrap_or_else(PoisonError::into_inner);
        let found = kept.iter().position(|conversation| conversation.key == request.cache_key);
        let found = found.map(|at| kept.remove(at)).filter(|conversation| conversation.begins(request.messages));
        let new = || Conversation { key: request.cache_key.to_owned(), seen: Vec::new(), made: T::default() };
        found.unwrap_or_else(new)
    }

    fn keep(&self, conversation: Conversation<T>) {
        let mut kept = self.conversations.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|other| other.key != conversation.key);
        kept.push(conversation);
        let bytes = |kept: &[Conversation<T>]| kept.iter().map(|other| other.made.bytes()).sum::<usize>();
        while kept.len() > KEPT || (kept.len() > 1 && bytes(&kept) > KEPT_BYTES) {
            kept.remove(0);
        }
    }
}

impl<T> Conversation<T> {
    fn begins(&self, messages: &[Arc<Message>]) -> bool {
        self.seen.len() <= messages.len() && self.seen.iter().zip(messages).all(|(seen, now)| Arc::ptr_eq(seen, now))
    }
}
