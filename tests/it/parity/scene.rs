//! A run from its opening line to its outcome, with everything that was seen of it.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use serde_json::{Map, Value};
use tillerman::agent::inbox::{self, Inbox, Tiller};
use tillerman::agent::{self, Agent, Limits, Outcome, RunError};
use tillerman::event::{AgentEvent, Events, Observer};
use tillerman::message::NoteId;
use tillerman::model::Model;
use tillerman::model::scripted::{Asked, Scripted, Step};
use tillerman::model::tokens::Counter;
use tillerman::session::{Record, Session};
use tillerman::tool::{FnTool, Tool, ToolError, ToolOutput, Toolbox};

pub struct Scene {
    pub replies: Arc<Scripted>,
    pub agent: Agent,
    pub session: Session,
    pub tiller: Tiller,
    inbox: Inbox,
}

/// How it ended, and what was seen on the way.
pub struct Played {
    pub outcome: Result<Outcome, RunError>,
    pub events: Vec<AgentEvent>,
    pub asked: Vec<Asked>,
    pub session: Session,
}

impl Scene {
    pub fn new(replies: impl IntoIterator<Item = Step>, tools: Vec<Arc<dyn Tool>>) -> Scene {
        Scene::on(Session::in_memory(), replies, tools)
    }

    pub fn on(mut session: Session, replies: impl IntoIterator<Item = Step>, tools: Vec<Arc<dyn Tool>>) -> Scene {
        let replies = Arc::new(Scripted::replies(replies));
        let (tiller, inbox) = inbox::channel(NoteId(1));
        session.append(Record::user("go")).unwrap();
        let agent = Agent {
            model: Arc::clone(&replies) as Arc<dyn Model>,
            summariser: None,
            counter: Counter::default(),
            tools: Toolbox::new(tools).unwrap(),
            system: "be brief".into(),
            limits: Limits::default(),
            artifacts: PathBuf::from("/nonexistent"),
            ledger: None,
            account: None,
        };
        Scene { replies, agent, session, tiller, inbox }
    }

    pub async fn play(mut self) -> Played {
        let seen = Arc::new(Seen::default());
        let events = Events::to([Arc::clone(&seen) as Arc<dyn Observer>]);
        let outcome = agent::run(&self.agent, &mut self.session, &mut self.inbox, &events).await;
        let events = std::mem::take(&mut *seen.0.lock().unwrap());
        Played { outcome, events, asked: self.replies.asked(), session: self.session }
    }
}

#[derive(Default)]
struct Seen(Mutex<Vec<AgentEvent>>);

impl Observer for Seen {
    fn observe(&self, event: &AgentEvent) {
        self.0.lock().unwrap().push(event.clone());
    }
}

impl Played {
    pub fn answer(&self) -> &str {
        match &self.outcome {
            Ok(Outcome::Answered(answer)) => answer,
            other => panic!("no answer: {other:?}"),
        }
    }

    /// The kinds of the events, pieces of text once however many they were.
    pub fn kinds(&self) -> Vec<String> {
        let kind = |event: &AgentEvent| serde_json::to_value(event).unwrap()["kind"].as_str().unwrap().to_owned();
        let mut kinds: Vec<String> = self.events.iter().map(kind).collect();
        kinds.dedup_by(|a, b| a == b && a == "text");
        kinds
    }

    /// What the model was shown at its n-th call: the texts and results after its own last words.
    pub fn news(&self, call: usize) -> Vec<String> {
        let messages = &self.asked[call].messages;
        let old = messages.iter().rposition(|message| message.role == tillerman::message::Role::Assistant);
        let new = messages[old.map_or(0, |at| at + 1)..].iter();
        new.map(|message| message.text() + &message.results().map(|r| r.output.as_str()).collect::<String>()).collect()
    }
}

/// A tool without arguments of interest.
pub fn tool<F>(name: &str, act: F) -> Arc<dyn Tool>
where
    F: Fn() -> Result<ToolOutput, ToolError> + Send + Sync + Clone + 'static,
{
    Arc::new(FnTool::new(name, "Does something.", true, move |_: Map<String, Value>, _cx| {
        let act = act.clone();
        async move { act() }
    }))
}
