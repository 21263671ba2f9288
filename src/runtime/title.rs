//! A name for a conversation: a model is asked for it once, in the background. No run waits for it, nothing of it is
//! part of the conversation or of a recording, and a program that ends takes it along.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{sleep, timeout};
use tokio_util::task::AbortOnDropHandle;

use super::conduct::Conversation;
use super::launch::launch;
use super::purse;
use super::site::Site;
use crate::ledger::{Account, Call, Purpose, Sums};
use crate::message::{Message, Role, Usage};
use crate::model::tokens::Size;
use crate::model::{Model, Reply, Request};
use crate::session::{Record, Session, SessionError};

/// How long after an answer it is asked for. A program that ends with its answer shall not pay for a title.
const PAUSE: Duration = Duration::from_millis(500);
/// How long it may take in all.
const DEADLINE: Duration = Duration::from_secs(20);
/// Most characters of a title.
const LENGTH: usize = 60;
/// Most characters of what each side said that are shown for it.
const SHOWN: usize = 2_000;
/// Most tokens of the answer: a model may think before it writes a line.
const MAX_TOKENS: u64 = 1_000;

/// Who asks for the title of one conversation, at most once while it is open.
#[derive(Default)]
pub(super) struct Titler {
    /// Dropped with its main agent, and the question with it.
    asking: Option<AbortOnDropHandle<()>>,
    /// What came of it, until the conversation is home to write it down.
    came: Option<Reply>,
}

/// What was written down.
pub(super) struct Titled {
    /// One line; `None` when the answer was no title.
    pub(super) title: Option<String>,
}

impl Titler {
    /// Asks if there is somebody to ask, the conversation has no title, and both sides have spoken.
    pub(super) fn ask(&mut self, site: &Site, home: &Conversation, came: impl FnOnce(Option<Reply>) + Send + 'static) {
        let Some(namer) = site.config.namer().filter(|_| self.asking.is_none()) else { return };
        // One that cannot be had was warned of at the start.
        let (Ok(model), Some(session)) = (site.unrecorded(namer), home.session()) else { return };
        let Some(begin) = session.title().is_none().then(|| beginning(session)).flatten() else { return };
        let key = format!("{}-title", session.id());
        let account = purse::main(site, session.id());
        self.asking = Some(launch(suggest(model, begin, key, account), came));
    }

    pub(super) fn came(&mut self, reply: Option<Reply>) {
        self.came = reply;
    }

    /// Writes down what came, if the conversation is at home.
    pub(super) fn write(&mut self, home: &mut Conversation) -> Option<Titled> {
        let reply = self.came.take_if(|_| home.session().is_some())?;
        let written = home.note(|session| write(session, reply))?;
        written.inspect_err(|error| tracing::warn!(%error, "no title")).ok()
    }
}

/// The answer is no part of the conversation; its tokens were spent all the same.
fn write(session: &mut Session, reply: Reply) -> Result<Titled, SessionError> {
    let Reply { message, usage, model, cost, .. } = reply;
    let why = "it names the conversation".to_owned();
    session.append(Record::Discarded { usage, model: model.to_string(), cost, why })?;
    let title = tidy(&message.text());
    if let Some(title) = title.clone() {
        session.append(Record::Title { title })?;
    }
    Ok(Titled { title })
}

async fn suggest(model: Arc<dyn Model>, begin: String, cache_key: String, account: Account) -> Option<Reply> {
    sleep(PAUSE).await;
    let cost = Usage { input: Size::guess(&begin).text, output: MAX_TOKENS, ..Usage::default() };
    if !account.affords(Sums::of_call(&cost, account.quote(&cost)), Sums::default()) {
        return None;
    }
    let messages = [Arc::new(Message::user(begin))];
    let system = include_str!("title.md");
    let request = Request { system, messages: &messages, tools: &[], max_tokens: MAX_TOKENS, cache_key: &cache_key };
    match timeout(DEADLINE, model.reply(request, &mut |_| {})).await {
        Ok(Ok(reply)) => {
            let (purpose, model) = (Purpose::Title, reply.model.to_string());
            let (usage, cost) = (reply.usage, reply.cost);
            account.charge(Call { purpose, model: &model, usage, cost, estimated: false }, Sums::default());
            Some(reply)
        }
        Ok(Err(error)) => {
            tracing::warn!(%error, "no title");
            None
        }
        Err(_) => {
            tracing::warn!(model = %model.id(), "no title within {} s", DEADLINE.as_secs());
            None
        }
    }
}

/// What a person said first and was answered first; `None` before there is an answer.
fn beginning(session: &Session) -> Option<String> {
    let first = |role| {
        let mut said = session.context().iter().filter(|message| message.role == role).map(|message| message.text());
        said.find(|text| !text.trim().is_empty())
    };
    let (asked, answered) = (first(Role::User)?, first(Role::Assistant)?);
    let cut = |text: &str| text.chars().take(SHOWN).collect::<String>();
    Some(format!("<person>\n{}\n</person>\n<agent>\n{}\n</agent>\n\nThe title:", cut(&asked), cut(&answered)))
}

/// The name of a conversation: its title, else the beginning of the first line that a person said.
pub(super) fn name(session: &Session) -> Option<String> {
    let first = || {
        let carried = session.compaction().and_then(|compaction| compaction.carried.said.first().cloned());
        carried.or_else(|| session.context().first().map(|message| message.text()))
    };
    session.title().map(str::to_owned).or_else(|| tidy(&first()?))
}

/// One line without marks around it and without characters that a terminal obeys; `None` when nothing is left.
pub(super) fn tidy(text: &str) -> Option<String> {
    const MARKS: [char; 10] = ['"', '\'', '“', '”', '„', '«', '»', '`', '*', '#'];
    let answer = text.rsplit("</think>").next().unwrap_or(text);
    let plain = |line: &str| {
        let words = line.split_whitespace().collect::<Vec<_>>().join(" ");
        let words: String = words.chars().filter(|c| !c.is_control() && !is_invisible(*c)).collect();
        let line = words.trim_start_matches("Title:").trim_matches(|c: char| MARKS.contains(&c) || c.is_whitespace());
        line.strip_suffix('.').unwrap_or(line).to_owned()
    };
    let line = answer.lines().map(plain).find(|line| !line.is_empty())?;
    if line.chars().count() <= LENGTH {
        return Some(line);
    }
    let cut: String = line.chars().take(LENGTH - 1).collect();
    let whole = cut.rsplit_once(' ').map_or(cut.as_str(), |(whole, _)| whole);
    Some(format!("{whole}…"))
}

/// Marks of no width, and those that turn the direction of writing.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}
