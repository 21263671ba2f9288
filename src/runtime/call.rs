//! A report that goes to the call that waits for it instead of to the conversation; once, wherever the wait ends. Who
//! waits, and how long, is decided by the tool `call_agent`.

use std::sync::Arc;

use ractor::{ActorRef, MessagingErr};
use tokio::sync::oneshot;

use super::busy::Token;
use super::crew::{CrewMsg, State};
use super::main_agent::MainMsg;
use super::roster::{Dispatched, Patron};
use super::site::Site;
use crate::task::{Brief, TaskId, TaskReport};

/// The crew's end: takes the report.
pub(super) struct Caller {
    to: oneshot::Sender<TaskReport>,
}

/// The call's end. Dropped, it hands on what it was given and did not take.
pub(super) struct Awaited {
    from: oneshot::Receiver<TaskReport>,
    site: Arc<Site>,
    patron: Patron,
}

/// The two ends for one task.
pub(super) fn pair(site: Arc<Site>, patron: Patron) -> (Caller, Awaited) {
    let (to, from) = oneshot::channel();
    (Caller { to }, Awaited { from, site, patron })
}

impl Awaited {
    /// The report, once there is one. Whoever stops waiting here has not taken it. `None`: nobody will send one.
    pub(super) async fn report(&mut self) -> Option<TaskReport> {
        (&mut self.from).await.ok()
    }
}

impl Drop for Awaited {
    fn drop(&mut self) {
        // From here on the crew tells the main agent by itself.
        self.from.close();
        if let Ok(report) = self.from.try_recv() {
            self.patron.tell(&self.site, report, self.site.busy.token());
        }
    }
}

impl Patron {
    /// Hands a report to the main agent; one that is gone finds it when its session is opened again.
    pub(super) fn tell(&self, site: &Site, report: TaskReport, token: Token) {
        if let Err(MessagingErr::SendErr(MainMsg::Report(report, _))) =
            self.main.cast(MainMsg::Report(Box::new(report), token))
        {
            site.keep(&self.session, *report);
        }
    }
}

impl State {
    /// As a dispatch; the report goes to whoever waits for it.
    pub(super) fn call(
        &mut self,
        myself: &ActorRef<CrewMsg>,
        (brief, caller): (Brief, Caller),
        patron: Patron,
        reply: Dispatched,
    ) {
        self.callers.retain(|_, caller| !caller.to.is_closed());
        let before = self.last;
        self.dispatch(myself, brief, patron, reply);
        if self.last > before {
            self.callers.insert(TaskId(self.last), caller);
        }
    }

    /// Gives the report to the call that waits for it; when none does, to the main agent.
    pub(super) fn hand(&mut self, report: TaskReport, patron: &Patron, token: Token) {
        let untold = match self.callers.remove(&report.id) {
            Some(caller) => caller.to.send(report).err(),
            None => Some(report),
        };
        if let Some(report) = untold {
            patron.tell(&self.site, report, token);
        }
    }
}

/// The calls that wait, by their tasks.
pub(super) type Callers = std::collections::HashMap<TaskId, Caller>;
