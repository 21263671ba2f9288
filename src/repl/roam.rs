//! Moving about at the prompt: within a conversation, and from one to another. What such a line means is read here too.

use std::fmt::Display;

use jiff::Timestamp;

use super::command::Misread;
use super::out::width;
use super::sheet;
use super::talk::Talk;
use crate::runtime::Open;
use crate::terminal::clean::one_line;
use crate::terminal::tree;

/// Rows of a tree that are shown at once.
const ROWS: usize = 40;
/// Lines that one may go back to without knowing their names.
const LINES: usize = 8;
/// Messages that are shown of where a conversation stands.
const STANDS: usize = 4;

/// Where to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Roam {
    /// All conversations.
    Sessions,
    /// Those in which these words are.
    Search(String),
    /// Another conversation.
    Open(String),
    /// A new one.
    New,
    /// The tree, up to an entry.
    Tree(Option<String>),
    /// All branches.
    Branches,
    /// Back behind an entry; without one, the lines to choose from.
    Branch(Option<String>),
    /// Across to another branch.
    Switch(String),
    /// Into a new conversation that begins like this one.
    Fork(Option<String>),
    /// Another title.
    Rename(String),
    /// Make it shorter.
    Compact,
    /// Say an entry again that was left out.
    Restore(String),
    /// Put it away and begin a new one.
    Archive,
}

/// Reads a command of these; `None` when it is none.
pub(super) fn read(name: &str, rest: &str) -> Option<Result<Roam, Misread>> {
    let word = |rest: &str| (!rest.is_empty()).then(|| rest.to_owned());
    let needs =
        |usage: &str, roam: fn(String) -> Roam| word(rest).map(roam).ok_or_else(|| Misread::Usage(usage.to_owned()));
    Some(match name {
        "/sessions" => match rest.split_once(char::is_whitespace).unwrap_or((rest, "")) {
            ("", _) => Ok(Roam::Sessions),
            ("search", words) if !words.trim().is_empty() => Ok(Roam::Search(words.trim().to_owned())),
            _ => Err(Misread::Usage("/sessions [search WORDS]".to_owned())),
        },
        "/open" => needs("/open ID, for example the beginning of one that /sessions shows", Roam::Open),
        "/new" => Ok(Roam::New),
        "/tree" => Ok(Roam::Tree(word(rest))),
        "/branches" => Ok(Roam::Branches),
        "/branch" => Ok(Roam::Branch(word(rest))),
        "/switch" if rest.is_empty() => Ok(Roam::Branches),
        "/switch" => Ok(Roam::Switch(rest.to_owned())),
        "/fork" => Ok(Roam::Fork(word(rest))),
        "/rename" => needs("/rename TITLE", Roam::Rename),
        "/compact" => Ok(Roam::Compact),
        "/restore" => needs("/restore m37", Roam::Restore),
        "/archive" => Ok(Roam::Archive),
        _ => return None,
    })
}

impl Talk<'_> {
    pub(super) async fn roam(&mut self, roam: Roam) {
        let done = match roam {
            Roam::Sessions => self.sessions().await,
            Roam::Search(words) => self.search(&words).await,
            Roam::Open(id) => self.open(Open::Named(id)).await,
            Roam::New => self.open(Open::New).await,
            Roam::Tree(up_to) => self.tree(up_to.as_deref()).await,
            Roam::Branches => self.branches().await,
            Roam::Branch(None) => self.lines().await,
            Roam::Branch(Some(at)) => self.branch(&at).await,
            Roam::Switch(to) => self.switch(&to).await,
            Roam::Fork(at) => self.fork(at.as_deref()).await,
            Roam::Rename(title) => self.rename(&title).await,
            Roam::Compact => self.compact().await,
            Roam::Restore(entry) => self.restore(&entry).await,
            Roam::Archive => self.archive().await,
        };
        if let Err(why) = done {
            self.complain(why).await;
        }
    }

    async fn sessions(&mut self) -> Result<(), String> {
        let sessions = self.runtime.sessions().await.map_err(text)?;
        self.out.answer(sheet::sessions(&sessions, &self.session, Timestamp::now(), self.look, width())).await;
        Ok(())
    }

    async fn search(&mut self, words: &str) -> Result<(), String> {
        let found = self.runtime.search(words).await.map_err(text)?;
        self.out.answer(sheet::found(&found, self.look, width())).await;
        Ok(())
    }

    /// Goes over to another conversation. What goes on in this one goes on.
    async fn open(&mut self, which: Open) -> Result<(), String> {
        let left = std::mem::take(&mut self.busy);
        let opened = self.runtime.open(which).await;
        let id = opened.inspect_err(|_| self.busy = left).map_err(text)?;
        if id == self.session {
            self.busy = left;
            return self.tell("this is it already").await;
        }
        let before = std::mem::replace(&mut self.session, id);
        self.begin_looking();
        self.runtime.attend(&self.session);
        let status = self.runtime.status(&self.session).await.map_err(text)?;
        (self.busy, self.waiting) = (status.busy, self.waiting || status.busy);
        if left {
            self.tell(&format!("the agent goes on in {before}; /open {before} goes back")).await?;
        }
        let name = status.name.map(|name| format!(" · {}", one_line(&name))).unwrap_or_default();
        self.tell(&format!("{}{name}", self.session)).await?;
        self.stand().await
    }

    async fn tree(&mut self, up_to: Option<&str>) -> Result<(), String> {
        let outline = self.runtime.tree(&self.session, ROWS, up_to).await.map_err(text)?;
        let first = outline.rows.first().map(|row| format!("m{}", row.number)).unwrap_or_default();
        let how = format!("/tree NAME shows {ROWS} rows up to that one, like /tree {first}");
        self.out.answer(tree::tree(&outline, &how, self.look, width())).await;
        Ok(())
    }

    async fn branches(&mut self) -> Result<(), String> {
        let branches = self.runtime.branches(&self.session).await.map_err(text)?;
        self.out.answer(tree::branches(&branches, Timestamp::now(), self.look, width())).await;
        if branches.len() > 1 {
            self.tell("/switch and a name goes to another").await?;
        }
        Ok(())
    }

    async fn lines(&mut self) -> Result<(), String> {
        let turns = self.runtime.turns(&self.session, LINES).await.map_err(text)?;
        let Some(last) = turns.last() else { return self.tell("nothing was said yet on this branch").await };
        self.out.answer([self.look.dim("the place before each of your lines, to say it anew:")]).await;
        self.out.answer(tree::turns(&turns, Timestamp::now(), self.look, width())).await;
        self.tell(&format!("like /branch m{}; /tree shows the names of all", last.before)).await
    }

    async fn branch(&mut self, at: &str) -> Result<(), String> {
        let number = self.runtime.branch(&self.session, at).await.map_err(text)?;
        self.tell(&format!("on from m{number}; what was said after it is in /branches")).await?;
        self.stand().await
    }

    async fn switch(&mut self, to: &str) -> Result<(), String> {
        let number = self.runtime.switch(&self.session, to).await.map_err(text)?;
        self.tell(&format!("on from m{number}")).await?;
        self.stand().await
    }

    async fn fork(&mut self, at: Option<&str>) -> Result<(), String> {
        let fork = self.runtime.fork(&self.session, at).await.map_err(text)?;
        let before = self.session.clone();
        self.open(Open::Named(fork.to_string())).await?;
        self.tell(&format!("forked; /open {before} goes back")).await
    }

    async fn rename(&mut self, title: &str) -> Result<(), String> {
        let title = self.runtime.rename(&self.session, title).await.map_err(text)?;
        self.tell(&format!("called: {}", one_line(&title))).await
    }

    async fn compact(&mut self) -> Result<(), String> {
        self.runtime.compact(&self.session).await.map_err(text)?;
        (self.busy, self.waiting) = (true, true);
        Ok(())
    }

    async fn restore(&mut self, entry: &str) -> Result<(), String> {
        let number = self.runtime.restore(&self.session, entry).await.map_err(text)?;
        self.tell(&format!("said again as m{number}; it stays when the conversation is shortened")).await
    }

    async fn archive(&mut self) -> Result<(), String> {
        let before = self.session.clone();
        self.runtime.archive(&before).await.map_err(text)?;
        self.tell(&format!("archived; `tillerman sessions unarchive {before}` takes it back")).await?;
        self.open(Open::New).await
    }

    /// The last words of where the conversation stands.
    async fn stand(&mut self) -> Result<(), String> {
        let said = self.runtime.transcript(&self.session).await.map_err(text)?;
        self.out.news(sheet::earlier(&said, STANDS, self.look, width())).await;
        Ok(())
    }

    async fn tell(&self, what: &str) -> Result<(), String> {
        self.acknowledge(what).await;
        Ok(())
    }
}

fn text(error: impl Display) -> String {
    error.to_string()
}
