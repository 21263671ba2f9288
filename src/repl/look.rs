//! A prompt that looks on where another process works: what that adds to its conversation is shown, and where it goes on in a
//! new one, the prompt goes along.

use std::sync::Arc;

use super::out::width;
use super::sheet;
use super::talk::Talk;
use crate::event::AgentEvent;
use crate::message::{Message, Role};
use crate::runtime::{Envelope, News, Open, Runtime, Source};
use crate::session::SessionId;
use crate::terminal::Look;

/// What the program says to the model in a person's place begins so.
const NEWS: [&str; 2] = ["[Worker ", "[Question "];

/// Lines typed here that are kept.
const OWN: usize = 64;

/// How far the conversation of another process was shown.
pub(super) struct Looked {
    messages: Option<usize>,
    /// What is said is told as it happens.
    told: bool,
    left: bool,
    /// The person here has chosen no conversation, so the one that goes on is shown.
    along: bool,
    /// Lines that were typed here and did not come back yet.
    own: Vec<String>,
}

impl Looked {
    pub(super) fn now(runtime: &Runtime) -> Looked {
        Looked { messages: None, told: runtime.is_told(), left: false, along: true, own: Vec::new() }
    }

    /// The same from a message on: what is said while the terminal is made ready is not missed.
    pub(super) fn after(runtime: &Runtime, seen: usize) -> Looked {
        Looked { messages: Some(seen), ..Looked::now(runtime) }
    }

    /// What people said there, but not here.
    fn lines(&mut self, said: &[Arc<Message>], look: Look) -> Vec<String> {
        let mut others = Vec::new();
        for message in said.iter().filter(|message| message.role == Role::User) {
            let text = message.text();
            let is_news = !text.trim().is_empty() && !NEWS.iter().any(|head| text.starts_with(head));
            match self.own.iter().position(|own| own.trim() == text.trim()) {
                Some(own) => drop(self.own.remove(own)),
                None if is_news => others.push(message.clone()),
                None => {}
            }
        }
        sheet::earlier(&others, sheet::EARLIER, look, width())
    }
}

impl Talk<'_> {
    /// These words were typed here, and are on the screen already.
    pub(super) fn typed_here(&mut self, text: &str) {
        if let Some(looked) = &mut self.looked {
            looked.own.truncate(OWN);
            looked.own.insert(0, text.to_owned());
        }
    }

    /// Another conversation is shown from its end on.
    pub(super) fn begin_looking(&mut self) {
        let chosen = |_: &_| Looked { along: false, ..Looked::now(self.runtime) };
        self.looked = self.runtime.looking().map(chosen);
    }

    /// Shows what another process has added to the conversation.
    pub(super) async fn look_on(&mut self) {
        if self.looked.is_none() {
            return;
        }
        self.find_first().await;
        let said = self.runtime.transcript(&self.session).await.unwrap_or_default();
        let (told, is_left) = (self.runtime.is_told(), self.runtime.is_left());
        let Some(looked) = &mut self.looked else { return };
        // It is shorter after a compaction; and what was there at the start was shown at the start.
        let shown = looked.messages.replace(said.len()).unwrap_or(said.len()).min(said.len());
        self.busy &= told;
        // What is told as it happens is shown already but for what people say; what came before that is not.
        let mut lines = match std::mem::replace(&mut looked.told, told) && told {
            true => looked.lines(&said[shown..], self.look),
            false => sheet::earlier(&said[shown..], sheet::EARLIER, self.look, width()),
        };
        if is_left && !std::mem::replace(&mut looked.left, true) {
            lines.push(self.look.dim("the other tillerman has ended: leave and start again to work here"));
        }
        self.out.news(lines).await;
    }

    /// The first conversation, where there was none yet and nothing tells of it.
    async fn find_first(&mut self) {
        if self.runtime.is_told() || !self.is_blank().await {
            return;
        }
        if let Ok(id) = self.runtime.open(Open::Latest).await
            && id != self.session
        {
            self.session = id;
            self.looked = Some(Looked { messages: Some(0), told: false, ..Looked::now(self.runtime) });
        }
    }

    async fn is_blank(&self) -> bool {
        self.runtime.transcript(&self.session).await.is_ok_and(|said| said.is_empty())
    }

    /// Goes over to the conversation in which a run begins there, if none was shown yet or it is a newer one; answers
    /// whether it did.
    pub(super) async fn go_along(&mut self, envelope: &Envelope) -> bool {
        let Source::Main { session, .. } = &envelope.source else { return false };
        let begins = matches!(&envelope.news, News::Agent(AgentEvent::RunStarted));
        if begins && *session == self.session {
            self.look_on().await;
        }
        if !begins || *session == self.session || !self.looked.as_ref().is_some_and(|looked| looked.along) {
            return false;
        }
        if session.as_str() <= self.session.as_str() && !self.is_blank().await {
            return false;
        }
        self.follow_over(session).await
    }

    async fn follow_over(&mut self, session: &SessionId) -> bool {
        let Ok(id) = self.runtime.open(Open::Named(session.to_string())).await else { return false };
        self.session = id;
        let said = self.runtime.transcript(&self.session).await.unwrap_or_default();
        // What comes after the line is told as it happens.
        let last = said.iter().rposition(|message| message.role == Role::User);
        let own = self.looked.take().map(|looked| looked.own).unwrap_or_default();
        let is_own =
            |at: &usize| said.get(*at).is_some_and(|said| own.iter().any(|own| own.trim() == said.text().trim()));
        let line = last.map_or(0, |at| if is_own(&at) { at } else { at + 1 });
        self.looked = Some(Looked { messages: Some(said.len()), own, ..Looked::now(self.runtime) });
        let lines = sheet::earlier(&said[..line], sheet::EARLIER, self.look, width());
        self.out.news(lines).await;
        true
    }
}
