//! The actor of one running task: it forwards aborts to the run and hands its report to the crew.
//! The run itself is on its own task; what it does there is in `job`.

use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio_util::task::AbortOnDropHandle;

use super::crew::CrewMsg;
use super::job::{self, Job};
use super::launch::launch;
use super::park::{Carried, ParkMsg};
use crate::agent::inbox::{Inbox, Tiller};

/// Said by a worker that stops because its task is over, so that the crew can tell it from one that died.
pub(super) const OVER: &str = "over";

/// The behaviour; all it knows is in [`State`].
pub(super) struct Worker;

/// What a worker is told.
pub(super) enum WorkerMsg {
    /// To its tiller.
    Abort,
    /// The program ends.
    Close,
    /// The run is over: so is the task, or it rests.
    RunEnded(Carried),
}

/// What a worker starts with.
pub(super) struct Assignment {
    pub(super) job: Job,
    pub(super) crew: ActorRef<CrewMsg>,
    /// Stops its run.
    pub(super) tiller: Tiller,
    /// Hears its notes, those too that came while it waited for its place.
    pub(super) inbox: Inbox,
}

/// What a worker is.
pub(super) struct State {
    crew: ActorRef<CrewMsg>,
    tiller: Tiller,
    /// Dropped with the state: a killed worker leaves no run behind.
    _run: AbortOnDropHandle<()>,
}

impl Actor for Worker {
    type Msg = WorkerMsg;
    type State = State;
    type Arguments = Assignment;

    async fn pre_start(&self, myself: ActorRef<WorkerMsg>, given: Assignment) -> Result<State, ActorProcessingErr> {
        let Assignment { job, crew, tiller, inbox } = given;
        let run = launch(job::carry_out(job, inbox), move |carried| {
            // A worker that is gone by now was killed; the crew reports for it.
            let _ = myself.cast(WorkerMsg::RunEnded(carried));
        });
        Ok(State { crew, tiller, _run: run })
    }

    async fn handle(
        &self,
        myself: ActorRef<WorkerMsg>,
        message: WorkerMsg,
        state: &mut State,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            WorkerMsg::Abort => state.tiller.abort(),
            WorkerMsg::Close => state.tiller.interrupt(),
            WorkerMsg::RunEnded(carried) => {
                state.crew.cast(match carried {
                    Carried::Over(report) => CrewMsg::Ended(report),
                    Carried::Rests(task, rest) => CrewMsg::Park(ParkMsg::Rests(task, rest)),
                })?;
                myself.stop(Some(OVER.to_owned()));
            }
        }
        Ok(())
    }
}
