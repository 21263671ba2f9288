//! A scenario: a scripted model, a few tools, somebody who steers at set times; and what came of it.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::json;
use tillerman::agent::{self, Agent, Limits, Outcome, RunError, Summariser, Tiller, inbox};
use tillerman::event::{AgentEvent, Events, Observer};
use tillerman::ledger::Account;
use tillerman::message::{
    Block, CallId, Image, Message, Note, NoteKind, RawArgs, Role, ToolCall, ToolSpec, Usage, check_answered,
};
use tillerman::model::react::React;
use tillerman::model::tokens::Counter;
use tillerman::model::{Delta, Fault, Model, ModelError, ModelId, Reply, Request, Stop};
use tillerman::session::{Record, Session};
use tillerman::tool::{Tool, ToolContext, ToolError, ToolOutput, Toolbox};

use super::shown;

/// One model call: what it answers, and when.
#[derive(Clone)]
pub struct Step {
    wait: Duration,
    answer: Result<Reply, ModelError>,
}

/// What a call of the script names: id, tool, arguments.
pub type Call<'a> = (&'a str, &'a str, &'a str);

pub struct Scenario {
    pub steps: Vec<Step>,
    pub tools: Vec<Arc<dyn Tool>>,
    pub limits: Limits,
    pub summariser: Option<Summariser>,
    pub account: Option<Account>,
    pub session: Session,
    acts: Vec<(Duration, Act)>,
    hand: Option<Sender<Tiller>>,
    in_words: bool,
}

#[derive(Clone)]
enum Act {
    Steer(String),
    FollowUp(String),
    /// A note that takes a while to be written down; `None` when that fails.
    Post(NoteKind, Duration, Option<String>),
    Abort,
}

pub struct Played {
    pub ended: Result<Outcome, RunError>,
    pub events: Vec<AgentEvent>,
    pub session: Session,
    /// What each model call was sent, one line per message.
    pub requests: Vec<Vec<String>>,
    /// How many tools each model call was offered.
    pub offered: Vec<usize>,
    pub took: Duration,
    pub unheard: Vec<Note>,
    pub tiller: Tiller,
}

pub fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub fn usage(input: u64, output: u64) -> Usage {
    Usage { input, output, ..Usage::default() }
}

impl Scenario {
    /// With a person's line "hi" in an in-memory session, the tool `echo`, and a model that knows nothing to say yet.
    pub fn new() -> Scenario {
        let mut session = Session::in_memory();
        session.append(Record::user("hi")).unwrap();
        Scenario {
            steps: Vec::new(),
            tools: vec![Stub::with("echo", Duration::ZERO, End::Echo, None)],
            limits: Limits::default(),
            summariser: None,
            account: None,
            session,
            acts: Vec::new(),
            hand: None,
            in_words: false,
        }
    }

    pub fn says(self, text: &str) -> Scenario {
        self.calls(text, &[])
    }

    pub fn calls(self, text: &str, calls: &[Call<'_>]) -> Scenario {
        let stop = if calls.is_empty() { Stop::EndTurn } else { Stop::ToolUse };
        self.replies(text, calls, stop)
    }

    pub fn replies(mut self, text: &str, calls: &[Call<'_>], stop: Stop) -> Scenario {
        let text = (!text.is_empty()).then(|| Block::text(text));
        let calls = calls.iter().map(|(id, name, args)| {
            let (id, name, args) = (CallId((*id).to_owned()), (*name).to_owned(), RawArgs((*args).to_owned()));
            Block::Call(ToolCall { id, name, args })
        });
        let message = Message { role: Role::Assistant, blocks: text.into_iter().chain(calls).collect() };
        let model = ModelId { provider: "scripted".into(), model: "test".into() };
        let reply = Reply { message, usage: usage(0, 5), stop, model, cost: None };
        self.steps.push(Step { wait: millis(100), answer: Ok(reply) });
        self
    }

    pub fn fails(mut self, fault: Fault) -> Scenario {
        let error = ModelError { fault, provider: "scripted".into(), message: format!("{fault:?}"), retry_after: None };
        self.steps.push(Step { wait: millis(100), answer: Err(error) });
        self
    }

    /// The last step takes so long.
    pub fn after(mut self, wait: Duration) -> Scenario {
        self.steps.last_mut().unwrap().wait = wait;
        self
    }

    /// The last step reports so many tokens.
    pub fn costs(mut self, usage: Usage) -> Scenario {
        self.steps.last_mut().unwrap().answer.as_mut().unwrap().usage = usage;
        self
    }

    pub fn tool(mut self, tool: Arc<dyn Tool>) -> Scenario {
        self.tools.push(tool);
        self
    }

    pub fn limits(mut self, change: impl FnOnce(&mut Limits)) -> Scenario {
        change(&mut self.limits);
        self
    }

    pub fn account(self, account: Account) -> Scenario {
        Scenario { account: Some(account), ..self }
    }

    pub fn session(mut self, session: Session) -> Scenario {
        self.session = session;
        self
    }

    pub fn steer_at(mut self, at: Duration, text: &str) -> Scenario {
        self.acts.push((at, Act::Steer(text.to_owned())));
        self
    }

    pub fn follow_up_at(mut self, at: Duration, text: &str) -> Scenario {
        self.acts.push((at, Act::FollowUp(text.to_owned())));
        self
    }

    /// A note whose place is reserved then and that is delivered so much later; `None` when it cannot be written down.
    pub fn post_at(mut self, at: Duration, kind: NoteKind, takes: Duration, text: Option<&str>) -> Scenario {
        self.acts.push((at, Act::Post(kind, takes, text.map(str::to_owned))));
        self
    }

    pub fn abort_at(mut self, at: Duration) -> Scenario {
        self.acts.push((at, Act::Abort));
        self
    }

    /// The tiller, as soon as there is a run.
    pub fn hand(mut self) -> (Scenario, Receiver<Tiller>) {
        let (hand, given) = channel();
        self.hand = Some(hand);
        (self, given)
    }

    /// The model gets no tools, but is told of them.
    pub fn in_words(self) -> Scenario {
        Scenario { in_words: true, ..self }
    }

    pub async fn play(self) -> Played {
        let Scenario { steps, tools, limits, summariser, account, mut session, mut acts, hand, in_words } = self;
        let model = Arc::new(Script::new(steps));
        let agent = Agent {
            model: if in_words { Arc::new(React::new(model.clone())) } else { model.clone() },
            summariser,
            counter: Counter::default(),
            tools: Toolbox::new(tools).unwrap(),
            system: "be brief".to_owned(),
            limits,
            artifacts: PathBuf::from("/nonexistent"),
            ledger: None,
            account,
        };
        let (tiller, mut inbox) = inbox::channel(session.next_note());
        let seen = Arc::new(Seen::default());
        let events = Events::to([Arc::clone(&seen) as Arc<dyn Observer>]);
        let since = tokio::time::Instant::now();
        acts.sort_by_key(|(at, _)| *at);
        hand.into_iter().for_each(|hand| hand.send(tiller.clone()).unwrap());
        let hand = tiller.clone();
        let steering = async move {
            for (at, act) in acts {
                tokio::time::sleep_until(since + at).await;
                match act {
                    Act::Steer(text) => drop(hand.steer(text)),
                    Act::FollowUp(text) => drop(hand.follow_up(text)),
                    Act::Post(kind, takes, text) => {
                        let slot = hand.reserve(kind).unwrap();
                        tokio::time::sleep(takes).await;
                        let _ = text.map(|text| slot.deliver(text));
                    }
                    Act::Abort => hand.abort(),
                }
            }
        };
        let run = async {
            let ended = agent::run(&agent, &mut session, &mut inbox, &events).await;
            (ended, since.elapsed())
        };
        let ((ended, took), ()) = tokio::join!(run, steering);
        assert!(tiller.is_sealed(), "a run leaves its inbox sealed");
        check_answered(session.context().iter().map(|message| &**message)).unwrap();
        let seen = seen.0.lock().unwrap().clone();
        let (requests, offered) = model.asked.lock().unwrap().iter().cloned().unzip();
        Played { ended, events: seen, requests, offered, took, unheard: inbox.take_unheard(), session, tiller }
    }
}

impl Played {
    pub fn outcome(&self) -> Outcome {
        self.ended.as_ref().unwrap().clone()
    }

    /// The events, one short line each, but for how much each turn brought.
    pub fn story(&self) -> Vec<String> {
        let told = self.events.iter().filter(|event| !matches!(event, AgentEvent::Progressed { .. }));
        told.map(shown::line).collect()
    }

    /// The conversation, one line per message.
    pub fn context(&self) -> Vec<String> {
        shown::lines(self.session.context())
    }
}

pub fn answered(text: &str) -> Outcome {
    Outcome::Answered(text.to_owned())
}

#[derive(Default)]
struct Seen(Mutex<Vec<AgentEvent>>);

impl Observer for Seen {
    fn observe(&self, event: &AgentEvent) {
        self.0.lock().unwrap().push(event.clone());
    }
}

/// A model that follows its script, streams in two pieces and refuses a conversation that a provider would refuse.
struct Script {
    id: ModelId,
    steps: Mutex<VecDeque<Step>>,
    asked: Mutex<Vec<(Vec<String>, usize)>>,
}

impl Script {
    fn new(steps: Vec<Step>) -> Script {
        Script {
            id: ModelId::parse("scripted/test").unwrap(),
            steps: Mutex::new(steps.into()),
            asked: Mutex::default(),
        }
    }
}

impl Model for Script {
    fn id(&self) -> &ModelId {
        &self.id
    }

    fn reply<'a>(
        &'a self,
        request: Request<'a>,
        on_delta: &'a mut (dyn FnMut(Delta) + Send),
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        check_answered(request.messages.iter().map(|message| &**message)).unwrap();
        self.asked.lock().unwrap().push((shown::lines(request.messages), request.tools.len()));
        let step = self.steps.lock().unwrap().pop_front().expect("the script has a step for every model call");
        Box::pin(async move {
            let Ok(reply) = &step.answer else {
                tokio::time::sleep(step.wait).await;
                return step.answer;
            };
            let text = reply.message.text();
            let (first, second) = text.split_at(text.floor_char_boundary(text.len() / 2));
            for piece in [first, second] {
                tokio::time::sleep(step.wait / 2).await;
                if !piece.is_empty() {
                    on_delta(Delta::Text(piece.to_owned()));
                }
            }
            for call in reply.message.calls() {
                on_delta(Delta::CallOpened { id: call.id.clone(), name: call.name.clone() });
            }
            step.answer
        })
    }
}

/// A tool that waits, then answers its arguments, or panics, or fails.
pub struct Stub {
    spec: ToolSpec,
    wait: Duration,
    writes: Option<PathBuf>,
    end: End,
}

#[derive(Clone)]
pub enum End {
    Echo,
    Fail(String),
    Panic(String),
    Say(String),
    /// Shows so many pictures.
    Show(usize),
    /// Says so, and the run rests.
    Park(String),
    /// Ends by itself when cancelled, with a word about it.
    Heed,
}

impl Stub {
    pub fn with(name: &str, wait: Duration, end: End, writes: Option<&str>) -> Arc<dyn Tool> {
        let spec = ToolSpec {
            name: name.to_owned(),
            description: format!("The tool {name}.").into(),
            schema: json!({"type": "object"}).into(),
            read_only: writes.is_none(),
        };
        Arc::new(Stub { spec, wait, writes: writes.map(PathBuf::from), end })
    }
}

impl Tool for Stub {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn writes(&self, _: &RawArgs) -> Option<PathBuf> {
        self.writes.clone()
    }

    fn call<'a>(&'a self, args: RawArgs, cx: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            match &self.end {
                End::Heed => cx.cancel.cancelled().await,
                _ => tokio::time::sleep(self.wait).await,
            }
            match &self.end {
                End::Echo => Ok(ToolOutput::new(args.0.clone(), json!({"seen": args.0}))),
                End::Say(text) => Ok(ToolOutput::text(text)),
                End::Show(count) => {
                    let image = || Image { media_type: "image/png".into(), data: "aaaa".into() };
                    Ok((0..*count).fold(ToolOutput::text("seen"), |output, _| output.showing(image())))
                }
                End::Park(text) => Ok(ToolOutput::text(text).parking()),
                End::Fail(why) => Err(ToolError::new(why)),
                End::Panic(words) => panic!("{words}"),
                End::Heed => {
                    (cx.progress)("stopping".to_owned());
                    Ok(ToolOutput::text("stopped half way"))
                }
            }
        })
    }
}
