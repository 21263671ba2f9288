//! Doing what an order says. What came of it is data for who gave it, or a sentence.

use serde_json::{Map, Value, json};

use super::order::{Answer, Dispatch, Order, Prompt, Streaming, To, Words};
use crate::cli::{image, json, watch};
use crate::message::Budget;
use crate::runtime::{Chosen, Runtime, Said, Steered, Word};
use crate::session::SessionId;
use crate::task::Brief;

/// Whom orders are for.
pub(super) struct Hands {
    pub(super) runtime: Runtime,
    pub(super) session: SessionId,
}

impl Hands {
    /// Does it; orders that start something answer when it is started.
    pub(super) async fn obey(&self, order: Order) -> Result<Value, String> {
        let (runtime, session) = (&self.runtime, &self.session);
        match order {
            Order::Prompt(prompt) => self.prompt(prompt).await,
            Order::Steer(Words { message, task: Some(To(Some(task))) }) => {
                runtime.steer(task, filled(message)?).await.map(|note| json!({"note": note})).map_err(text)
            }
            Order::Steer(Words { message, .. }) => self.steer(message).await,
            Order::FollowUp(Words { message, task: Some(To(Some(task))) }) => {
                runtime.follow_up(task, filled(message)?).await.map(|note| json!({"note": note})).map_err(text)
            }
            Order::FollowUp(Words { message, .. }) => self.follow_up(message).await,
            Order::Abort(to) => match to.task.and_then(|To(task)| task) {
                Some(task) => runtime.abort(task).await.map(|()| json!({})).map_err(text),
                None => runtime.abort_main(session).await.map(|ran| json!({"ran": ran})).map_err(text),
            },
            Order::State => self.state().await,
            Order::Tasks => {
                let rows = runtime.tasks().await;
                Ok(json!({"tasks": rows.iter().map(watch::task).collect::<Vec<Value>>()}))
            }
            Order::Dispatch(dispatch) => {
                let brief = brief(*dispatch)?;
                runtime.dispatch(session, brief).await.map(|task| json!({"task": task})).map_err(text)
            }
            Order::Answer(Answer { task, message, question }) => {
                let replied = runtime.answer(task, question, filled(message)?).await;
                replied.map(|replied| json!(replied)).map_err(text)
            }
            Order::Approve(approve) => {
                let word = if approve.always { Word::Always } else { Word::Once };
                self.permit(approve.permission, word)
            }
            Order::Deny(deny) => self.permit(deny.permission, Word::No(deny.message)),
            Order::Model(set) => runtime.set_model(session, &set.model).await.map(chosen).map_err(text),
            Order::Effort(set) => runtime.set_effort(session, &set.effort).await.map(chosen).map_err(text),
            Order::Compact => runtime.compact(session).await.map(|run| json!({"run": run})).map_err(text),
            Order::Quit => Ok(json!({})),
        }
    }

    async fn prompt(&self, prompt: Prompt) -> Result<Value, String> {
        let Prompt { message, images, streaming } = prompt;
        let images = image::read(&images)?;
        match streaming {
            Some(_) if !images.is_empty() => Err("images cannot be steered in; leave streamingBehavior out".to_owned()),
            Some(Streaming::Steer) => self.steer(message).await,
            Some(Streaming::FollowUp) => self.follow_up(message).await,
            None => {
                let said = Said { text: filled(message)?, images };
                self.runtime.say(&self.session, said).await.map(|run| json!({"run": run})).map_err(text)
            }
        }
    }

    async fn steer(&self, message: String) -> Result<Value, String> {
        self.runtime.steer_main(&self.session, filled(message)?).await.map(steered).map_err(text)
    }

    async fn follow_up(&self, message: String) -> Result<Value, String> {
        self.runtime.follow_up_main(&self.session, filled(message)?).await.map(steered).map_err(text)
    }

    fn permit(&self, permission: Option<u64>, word: Word) -> Result<Value, String> {
        self.runtime.permit(permission, word).map(|permission| json!({"permission": permission})).map_err(text)
    }

    async fn state(&self) -> Result<Value, String> {
        let status = self.runtime.status(&self.session).await.map_err(text)?;
        let mut tasks = Map::new();
        for row in self.runtime.tasks().await {
            let count = tasks.entry(row.status.word()).or_insert_with(|| 0.into());
            *count = (count.as_u64().unwrap_or_default() + 1).into();
        }
        let mut state = json!({
            "session": self.session, "model": status.model.to_string(), "busy": status.busy, "queued": status.queued,
            "context": status.context, "title": status.name, "asking": self.runtime.is_asking(), "tasks": tasks,
            "usage": json::usage(&status.since_open.usage),
        });
        json::add_cost(&mut state, status.since_open.spent);
        Ok(state)
    }
}

fn brief(dispatch: Dispatch) -> Result<Brief, String> {
    let Dispatch { message, title, agent, model, touches, max_turns, after, budget } = dispatch;
    let budget = budget.as_ref().map(Budget::read).transpose().map_err(|error| format!("budget: {error}"))?;
    Ok(Brief {
        title,
        body: filled(message)?,
        agent,
        model,
        touches,
        max_turns,
        after,
        budget: budget.unwrap_or_default(),
        ..Brief::default()
    })
}

/// Words that say something.
fn filled(message: String) -> Result<String, String> {
    if message.trim().is_empty() { Err("message is empty; say what to do".to_owned()) } else { Ok(message) }
}

fn steered(steered: Steered) -> Value {
    match steered {
        Steered::Noted(note) => json!({"note": note}),
        Steered::Said(run) => json!({"run": run}),
    }
}

fn chosen(chosen: Chosen) -> Value {
    let effort = chosen.effort.map(|effort| effort.word());
    json!({"model": chosen.model.to_string(), "effort": effort, "doubt": chosen.doubt})
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
