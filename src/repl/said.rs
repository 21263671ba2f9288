//! What a person says at the prompt: names of templates and skills, mentions, and what their own commands have shown.

use super::command::Misread;
use super::out::Out;
use super::sheet;
use super::talk::Talk;
use crate::runtime::{Said, Seat, SessionGone, Steered, Unsaid};
use crate::terminal::nearest;

impl Talk<'_> {
    /// What can be named with a slash, as it is now.
    pub(super) async fn learn(&self) {
        if matches!(self.out, Out::Above(_)) {
            self.completer.set_vocabulary(&self.runtime.vocabulary().await);
        }
    }

    /// What can be named behind commands, too.
    pub(super) async fn learn_all(&self) {
        if matches!(self.out, Out::Above(_)) {
            self.completer.set_models_of(self.runtime.config());
            self.completer.set_sessions(&self.runtime.sessions().await.unwrap_or_default());
        }
        self.learn().await;
    }

    /// A line that names no command: a template or a skill perhaps. `error` says what it is otherwise.
    pub(super) async fn word(&mut self, line: &str, error: Misread) {
        let Misread::Unknown { name, near } = error else { return self.complain(error).await };
        let names = self.runtime.vocabulary().await.names();
        let Some((_, help)) = names.iter().find(|(known, _)| *known == name) else {
            let own = nearest(&name, names.iter().map(|(name, _)| name.as_str())).map(str::to_owned);
            // What is of this folder was more probably meant than a command that is only like it.
            return self.complain(Misread::Unknown { name, near: own.or(near) }).await;
        };
        if !line.trim_start().starts_with(&name) {
            return self.out.answer(sheet::named(&name, help, self.look)).await;
        }
        self.say(line.trim().to_owned()).await;
    }

    /// What a line says, with all that belongs to it; `None` when it cannot be said, which the person is told.
    async fn meant(&mut self, line: &str) -> Option<Said> {
        match self.runtime.spoken(&self.session, line, Seat::Prompt).await {
            Ok(mut spoken) => {
                self.overheard.tell(&mut spoken.said.text);
                for told in &spoken.told {
                    self.acknowledge(told).await;
                }
                Some(spoken.said)
            }
            Err(error @ (Unsaid::Unknown(_) | Unsaid::Unfilled(_))) => {
                self.complain(error).await;
                None
            }
        }
    }

    pub(super) async fn say(&mut self, line: String) {
        let Some(said) = self.meant(&line).await else { return };
        self.typed_here(&said.text);
        let steered = match said.images.is_empty() {
            true => self.runtime.steer_main(&self.session, said.text).await,
            // A note holds no pictures, so they wait for the end of what is done now.
            false => self.runtime.say(&self.session, said).await.map(Steered::Said),
        };
        self.taken(steered, "steer").await;
    }

    pub(super) async fn follow_up(&mut self, line: String) {
        let Some(said) = self.meant(&line).await else { return };
        self.typed_here(&said.text);
        let steered = match said.images.is_empty() {
            true => self.runtime.follow_up_main(&self.session, said.text).await,
            false => self.runtime.say(&self.session, said).await.map(Steered::Said),
        };
        self.taken(steered, "follow-up").await;
    }

    async fn taken(&mut self, steered: Result<Steered, SessionGone>, what: &str) {
        match steered {
            Ok(Steered::Said(_)) => (self.busy, self.waiting) = (true, true),
            Ok(Steered::Noted(note)) => self.acknowledge(&format!("{what} {note}")).await,
            // The feed tells why.
            Err(SessionGone::NotBegun(_)) => self.waiting = true,
            Err(error) => self.complain(error).await,
        }
    }
}
