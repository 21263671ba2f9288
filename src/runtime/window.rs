//! What fills the window of a main agent's model: the parts of its prompt, its tools, the conversation. Guessed part by part,
//! beside what the provider counted.

use std::path::PathBuf;
use std::sync::Arc;

use super::assemble;
use super::control::{Control, Ration};
use super::roster::Patron;
use super::site::Site;
use super::{EditError, Runtime, SessionGone};
use crate::model::ModelId;
use crate::model::tokens::Size;
use crate::session::{Kind, Session, SessionId};

/// What fills a window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    /// Whose it is.
    pub model: ModelId,
    /// Tokens that it holds, reply included.
    pub holds: u64,
    /// Tokens after the last model call, as its provider counted them; 0 before the first.
    pub used: u64,
    /// Tokens that are kept free for a reply.
    pub reply: u64,
    /// What is in it with the next request, in order.
    pub parts: Vec<Filling>,
}

/// A part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filling {
    /// What it is.
    pub what: Filled,
    /// Its name: the heading of a part of the prompt, empty for the first; the tool's.
    pub name: String,
    /// The file that it was read from, if it is one file.
    pub path: Option<PathBuf>,
    /// Guessed, and corrected by what the provider reported of earlier requests.
    pub tokens: u64,
}

/// What a part is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filled {
    /// Of the system prompt.
    Prompt,
    /// A tool that the model is told of.
    Tool,
    /// What was said before the conversation was shortened.
    Summary,
    /// What people and workers said.
    Said,
    /// What the model said.
    Replies,
    /// What its tools answered.
    Results,
}

impl Runtime {
    /// What the next request of a conversation would hold, from the files of this moment; during a run, with the
    /// conversation as it is on the disk.
    ///
    /// # Errors
    /// It is not open, may only be looked at, or its agent cannot be made; the text says why.
    pub async fn context(&self, session: &SessionId) -> Result<Window, EditError> {
        let status = self.status(session).await?;
        let main = self.inner.mains().get(session).cloned();
        let main = main.ok_or_else(|| match self.looking() {
            Some(owner) => SessionGone::Looking(owner.clone()),
            None => SessionGone::NotOpen(session.clone()),
        })?;
        let said = self.look(session, |session| Ok(said(session))).await?;
        let control = Control {
            crew: self.inner.door.clone(),
            own: "main".to_owned(),
            patron: Patron { main, session: session.clone(), call: None },
            depth: 0,
            ration: Arc::new(Ration::default()),
            tiller: None,
        };
        let site = self.inner.site.clone();
        let filled = self.inner.site.on_disk(move || fill(&site, control, said)).await;
        let window = filled.and_then(|filled| filled).map_err(EditError::Lost)?;
        Ok(Window { used: status.context, ..window })
    }
}

fn fill(site: &Site, control: Control, said: Vec<(Filled, Size)>) -> Result<Window, String> {
    let (agent, prompt) = assemble::with_prompt(site, control)?;
    let tokens = |size| agent.counter.estimate(size);
    let mut begin = 0;
    let parts = prompt.parts.iter().map(|part| {
        let text = prompt.text.get(begin..part.end).unwrap_or_default();
        begin = part.end;
        let (name, path) = (part.name.to_owned(), part.path.clone());
        Filling { what: Filled::Prompt, name, path, tokens: tokens(Size::guess(text)) }
    });
    let parts: Vec<Filling> = parts.collect();
    let tools = agent.tools.specs().iter().map(|spec| {
        let size = Size::guess(&spec.description).plus(Size::guess(&spec.schema.to_string()));
        Filling { what: Filled::Tool, name: spec.name.clone(), path: None, tokens: tokens(size) }
    });
    let said =
        said.into_iter().map(|(what, size)| Filling { what, name: String::new(), path: None, tokens: tokens(size) });
    Ok(Window {
        model: agent.model.id().clone(),
        holds: agent.limits.context_window,
        used: 0,
        reply: agent.limits.max_tokens,
        parts: parts.into_iter().chain(tools).chain(said).collect(),
    })
}

/// The sizes of what was said, by who said it.
fn said(session: &Session) -> Vec<(Filled, Size)> {
    let of = |kind| match kind {
        Kind::Compaction => Filled::Summary,
        Kind::Assistant => Filled::Replies,
        Kind::ToolResult => Filled::Results,
        _ => Filled::Said,
    };
    let mut sizes =
        [Filled::Summary, Filled::Said, Filled::Replies, Filled::Results].map(|what| (what, Size::default()));
    for (message, origin) in session.context().iter().zip(session.origins()) {
        let what = of(origin.kind);
        for (_, size) in sizes.iter_mut().filter(|(this, _)| *this == what) {
            *size = size.plus(Size::guess_all(std::slice::from_ref(message)));
        }
    }
    sizes.into_iter().filter(|(_, size)| *size != Size::default()).collect()
}
