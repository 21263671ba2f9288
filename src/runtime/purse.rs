//! What tasks may spend, as the crew goes about it: whose word on a budget counts, what is said of it at dispatch, and
//! how people change it. The sums are kept in `ledger`.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::site::Site;
use super::{ControlError, Done, Order, Remote, Runtime, TaskRow};
use crate::config::Config;
use crate::ledger::{Account, Balance, Clock, Estimate, Ledger, Opening, Quote, Short};
use crate::message::{Budget, Change};
use crate::model::ModelId;
use crate::session::SessionId;
use crate::task::{Brief, Task, TaskDir, TaskError, TaskId, TaskStatus, now};

/// What a task was granted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// What it may use.
    pub budget: Budget,
    /// What all tasks of a day have left then, where that is limited.
    pub left: Option<Budget>,
    /// What tasks like it took.
    pub estimate: Option<Estimate>,
}

/// How a task stands with its budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budgeted {
    /// Which.
    pub task: TaskId,
    /// What it may use, and what it has used in all its attempts.
    pub balance: Balance,
}

/// The ledger of a program.
pub(super) fn ledger(config: &Config) -> Ledger {
    let path = config.workspace.state().join("ledger.jsonl");
    Ledger::open(&path, config.fleet, config.whole, Clock::system())
}

/// The account of a main agent.
pub(super) fn main(site: &Site, session: &SessionId) -> Account {
    site.ledger.main(session.as_str()).quoting(quote(site, &site.model_of(Some(session.as_str()))))
}

/// The account of a worker, under the budget that its task.md names now.
pub(super) fn worker(site: &Site, task: &Task, model: &ModelId) -> Result<Account, String> {
    // Somebody may have changed it since the brief was read; from here on the account is told of changes.
    let account = task.dir.held(|| {
        let budget = task.dir.task().map_or(task.brief.budget, |now| now.brief.budget);
        is_priced(site, budget, model)?;
        site.ledger.resume(&Opening { budget, ..opening(task) }).map_err(|short| short.to_string())
    });
    Ok(account?.quoting(quote(site, model)))
}

fn quote(site: &Site, model: &ModelId) -> Quote {
    let price = site.config.models.price(model);
    Arc::new(move |usage| price.as_ref()?.of(usage))
}

/// A task that goes on, with those above it as their files say. Reads these.
pub(super) fn opening(task: &Task) -> Opening {
    let Task { dir, created, brief, .. } = task;
    let above = brief.parent.filter(|parent| *parent < dir.id()).and_then(|parent| {
        let tasks = dir.path().parent()?;
        Some(Box::new(opening(&TaskDir::open(tasks, parent).ok()?.task().ok()?)))
    });
    let (task, agent) = (dir.id().to_string(), brief.agent.clone());
    Opening { task, created: *created, agent, budget: brief.budget, parent: above }
}

/// Where nobody knows the price, a limit in dollars would be an empty promise.
pub(super) fn is_priced(site: &Site, budget: Budget, model: &ModelId) -> Result<(), String> {
    let Config { fleet, whole, models, .. } = &site.config;
    let limit = match (budget.usd, whole.usd, fleet.usd) {
        (Some(usd), ..) => format!("a budget of {usd}"),
        (_, Some(usd), _) => format!("--max-budget-usd {}", usd.dollars()),
        (.., Some(usd)) => format!("fleet_usd {}", usd.dollars()),
        (None, None, None) => return Ok(()),
    };
    match models.price(model) {
        Some(_) => Ok(()),
        None => Err(format!(
            "nobody knows the price of {model}, so {limit} cannot be held: limit tokens, minutes or turns instead, or write \
             its price into models.yaml"
        )),
    }
}

/// A budget is not granted.
pub(super) fn refused(task: TaskId, short: &Short) -> ControlError {
    ControlError::Unfit(match short {
        Short::Pot { .. } => short.to_string(),
        Short::NoLimit { .. } | Short::Closed => format!("{task}: {short}"),
    })
}

/// What is said of a task at its dispatch. Reads the ledger's file when nobody did before.
pub(super) fn grant(site: &Site, brief: &Brief, model: &ModelId) -> Grant {
    let fleet = site.ledger.fleet();
    let left = (!fleet.budget.is_unlimited()).then(|| fleet.left());
    let estimate = site.ledger.estimate(brief.agent.as_deref(), &model.to_string());
    Grant { budget: brief.budget, left, estimate }
}

/// What a task gets that names no budget itself. Where the one that asked for it has a sum, it draws on that.
pub(super) fn usual(site: &Site, brief: &Brief, usual: Budget) -> Budget {
    let above = brief.parent.and_then(|parent| site.ledger.balance(&parent.to_string()));
    let above = above.map(|balance| balance.budget).unwrap_or_default();
    Budget {
        usd: usual.usd.filter(|_| above.usd.is_none()),
        tokens: usual.tokens.filter(|_| above.tokens.is_none()),
        ..usual
    }
}

impl Grant {
    /// There is nothing to say.
    pub(super) fn is_empty(&self) -> bool {
        self.budget.is_unlimited() && self.left.is_none() && self.estimate.is_none()
    }
}

impl fmt::Display for Grant {
    /// `est. $0.18-0.41 (9 similar tasks), may use $0.50; left for today: $3.10`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let estimate = self.estimate.map(|estimate| estimate.to_string());
        let budget = (!self.budget.is_unlimited()).then(|| format!("may use {}", self.budget));
        let said: Vec<String> = estimate.into_iter().chain(budget).collect();
        f.write_str(&said.join(", "))?;
        match self.left {
            Some(left) if said.is_empty() => write!(f, "left for today: {left}"),
            Some(left) => write!(f, "; left for today: {left}"),
            None => Ok(()),
        }
    }
}

impl Runtime {
    /// Changes the budget of a task, also of one that is at work: it counts from its next model call on. One that has
    /// ended may then be resumed.
    ///
    /// # Errors
    /// [`ControlError::NoSuchTask`], and [`ControlError::Unfit`] when all tasks of a day have not as much left, when a
    /// limit that is not there is to be raised, or when dollars are to limit a model of unknown price.
    pub async fn budget(&self, task: TaskId, change: Change) -> Result<Budgeted, ControlError> {
        if let Some(there) = self.elsewhere()? {
            return there.budget(task, Some(change)).await;
        }
        let site = self.inner.site.clone();
        let changed = self.inner.site.on_disk(move || {
            let dir =
                TaskDir::open(&site.config.workspace.tasks(), task).map_err(|_| ControlError::NoSuchTask(task))?;
            dir.change_budget(|found| {
                let (now, change) = counted(&site, &found.brief, change);
                let after = Ledger::changed(now, change).map_err(|short| refused(task, &short))?;
                let brief = Brief { budget: after, ..found.brief.clone() };
                super::assemble::fits(&site, &brief).map_err(ControlError::Unfit)?;
                match site.ledger.change(&task.to_string(), change) {
                    Ok(budget) => Ok(budget),
                    // It is over, or no program has taken it up yet.
                    Err(Short::Closed) => Ok(after),
                    Err(short) => Err(refused(task, &short)),
                }
            })?;
            Ok(Budgeted { task, balance: balance(&site, &dir.task()?) })
        });
        changed.await.map_err(ControlError::Files)?
    }

    /// How a task stands with its budget.
    ///
    /// # Errors
    /// [`ControlError::NoSuchTask`].
    pub async fn budget_of(&self, task: TaskId) -> Result<Budgeted, ControlError> {
        // Where nobody answers there, the files do.
        if let Ok(Some(there)) = self.elsewhere()
            && let Ok(told) = there.budget(task, None).await
        {
            return Ok(told);
        }
        let site = self.inner.site.clone();
        let look = move || {
            let dir =
                TaskDir::open(&site.config.workspace.tasks(), task).map_err(|_| ControlError::NoSuchTask(task))?;
            Ok(Budgeted { task, balance: balance(&site, &dir.task()?) })
        };
        self.inner.site.on_disk(look).await.map_err(ControlError::Files)?
    }

    /// How all tasks of this day, in the zone of this machine, stand together.
    pub async fn fleet(&self) -> Balance {
        if let Ok(Some(there)) = self.elsewhere()
            && let Ok(told) = there.fleet().await
        {
            return told;
        }
        let site = &self.inner.site;
        // Where another writes it, it is read again each time.
        let ledger = if self.looking().is_some() { ledger(&site.config) } else { site.ledger.clone() };
        let looked = self.inner.site.on_disk(move || ledger.fleet()).await;
        looked.unwrap_or_default()
    }
}

impl From<TaskError> for ControlError {
    fn from(error: TaskError) -> ControlError {
        ControlError::Files(error.to_string())
    }
}

impl Remote {
    async fn fleet(&self) -> Result<Balance, String> {
        self.ask(Order::Fleet, |done| if let Done::Fleet { balance } = done { Some(balance) } else { None }).await
    }

    async fn budget(&self, task: TaskId, change: Option<Change>) -> Result<Budgeted, ControlError> {
        let told = |done| if let Done::Budgeted(told) = done { Some(told) } else { None };
        self.ask(Order::Budget { task, change }, told).await.map_err(ControlError::Elsewhere)
    }
}

/// What an order changes, and the order. More turns for a task that only `max_turns` limits are a budget of turns.
fn counted(site: &Site, brief: &Brief, change: Change) -> (Budget, Change) {
    match change {
        Change::Raise(by) if by.turns.is_some() && brief.budget.turns.is_none() => {
            let all = super::assemble::raisable(site, brief);
            // What else cannot be raised is still refused.
            let raised = Ledger::changed(all, change).map_or(change, |_| Change::Set(all.changed(change)));
            (all, raised)
        }
        _ => (brief.budget, change),
    }
}

/// How a task stands, from its account, or from the file once that is closed.
fn balance(site: &Site, task: &Task) -> Balance {
    let id = task.dir.id().to_string();
    site.ledger.balance(&id).unwrap_or_else(|| site.ledger.past(&opening(task)))
}

/// Sets the budget of a new task aside.
pub(super) fn set_aside(site: &Site, id: TaskId, brief: &Brief) -> Result<(), ControlError> {
    let opening = Opening {
        task: id.to_string(),
        // Its worker knows better, once it has read task.md.
        created: now(),
        agent: brief.agent.clone(),
        budget: brief.budget,
        // It is at work, so its account is open.
        parent: brief.parent.map(|parent| Box::new(bare(parent))),
    };
    site.ledger.dispatch(&opening).map(drop).map_err(|short| refused(id, &short))
}

/// A task of which only the number is known.
fn bare(task: TaskId) -> Opening {
    let (task, budget) = (task.to_string(), Budget::default());
    Opening { task, created: now(), agent: None, budget, parent: None }
}

/// Opens the account of a task that goes on. One whose budget was spent must have got more since.
pub(super) fn take_up(site: &Site, task: &Task, ended: TaskStatus) -> Result<(), ControlError> {
    let (id, opening) = (task.dir.id(), opening(task));
    let short = site.ledger.past(&opening).short().filter(|_| ended.is_limited());
    if let Some(what) = short {
        return Err(ControlError::Spent { task: id, what });
    }
    site.ledger.resume(&opening).map(drop).map_err(|short| refused(id, &short))
}

/// Puts the budget into a row as it is now.
pub(super) fn fill(site: &Site, row: &mut TaskRow) {
    if let Some(balance) = site.ledger.balance(&row.id.to_string()) {
        row.budget = balance.budget;
    }
}
