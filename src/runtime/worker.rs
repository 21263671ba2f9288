//! The actor of one running task: it forwards notes and aborts to the run and hands its report to the crew.
//! The run itself is on its own task; what it does there is in `job`.

use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort};
use tokio_util::task::AbortOnDropHandle;

use super::ControlError;
use super::crew::CrewMsg;
use super::job::{self, Job};
use super::launch::launch;
use crate::agent::inbox::{self, Tiller, Unheard};
use crate::message::{NoteId, NoteKind};
use crate::task::{TaskId, TaskReport};

/// Said by a worker that stops because its task is over, so that the crew can tell it from one that died.
pub(super) const OVER: &str = "over";

/// The behaviour; all it knows is in [`State`].
pub(super) struct Worker;

/// What a worker is told.
pub(super) enum WorkerMsg {
    /// To its tiller.
    Note(NoteKind, String, RpcReplyPort<Result<NoteId, ControlError>>),
    /// To its tiller.
    Abort,
    /// The program ends.
    Close,
    /// The run is over, and result.md is written.
    RunEnded(Box<TaskReport>),
}

/// What a worker starts with.
pub(super) struct Assignment {
    pub(super) job: Job,
    pub(super) crew: ActorRef<CrewMsg>,
    /// Notes that came while it waited for its place.
    pub(super) notes: Vec<(NoteKind, String)>,
}

/// What a worker is.
pub(super) struct State {
    id: TaskId,
    crew: ActorRef<CrewMsg>,
    tiller: Tiller,
    /// Dropped with the state: a killed worker leaves no run behind.
    _run: AbortOnDropHandle<()>,
}

/// The first note of every task is #1.
pub(super) const FIRST_NOTE: NoteId = NoteId(1);

impl Actor for Worker {
    type Msg = WorkerMsg;
    type State = State;
    type Arguments = Assignment;

    async fn pre_start(&self, myself: ActorRef<WorkerMsg>, given: Assignment) -> Result<State, ActorProcessingErr> {
        let Assignment { job, crew, notes } = given;
        let (tiller, inbox) = inbox::channel(FIRST_NOTE);
        for (kind, text) in notes {
            // The crew keeps fewer notes for a waiting task than an inbox holds.
            let _ = note(&tiller, kind, text);
        }
        let id = job.id();
        let run = launch(job::carry_out(job, inbox), move |report| {
            // A worker that is gone by now was killed; the crew reports for it.
            let _ = myself.cast(WorkerMsg::RunEnded(Box::new(report)));
        });
        Ok(State { id, crew, tiller, _run: run })
    }

    async fn handle(
        &self,
        myself: ActorRef<WorkerMsg>,
        message: WorkerMsg,
        state: &mut State,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            WorkerMsg::Note(kind, text, reply) => {
                let noted = note(&state.tiller, kind, text).map_err(|unheard| match unheard {
                    Unheard::Sealed(_) => ControlError::AlreadyEnded(state.id),
                    Unheard::Full(_) => ControlError::NotesFull(state.id),
                });
                // Whoever asked may have stopped waiting.
                let _ = reply.send(noted);
            }
            WorkerMsg::Abort => state.tiller.abort(),
            WorkerMsg::Close => state.tiller.interrupt(),
            WorkerMsg::RunEnded(report) => {
                state.crew.cast(CrewMsg::Ended(report))?;
                myself.stop(Some(OVER.to_owned()));
            }
        }
        Ok(())
    }
}

fn note(tiller: &Tiller, kind: NoteKind, text: String) -> Result<NoteId, Unheard> {
    match kind {
        NoteKind::Steer => tiller.steer(text),
        NoteKind::FollowUp | NoteKind::Line => tiller.follow_up(text),
    }
}
