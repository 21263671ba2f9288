//! The running program as front ends and library users see it: sessions, runs, tasks, and the feed of what happens.
//!
//! [`Runtime`] is a handle; behind it are a main agent per open session, one crew, and a worker per running task, each
//! an actor that only takes messages. Runs are plain futures on tasks of their own. No model, tool or run is ever waited
//! for inside an actor, so a note or an abort is heard at once whatever the run is doing.

mod adopt;
mod answer;
mod ask;
mod asking;
mod assemble;
mod batch;
mod busy;
mod by_hand;
mod call;
mod chosen;
mod conduct;
mod control;
mod conversations;
mod crew;
mod edit;
mod evidence;
mod farewell;
mod feed;
mod grace;
mod ground;
mod handle;
mod handover;
mod history;
mod job;
mod keep;
mod launch;
mod leave;
mod ledger;
mod lookout;
mod mail;
mod main_agent;
mod meter;
mod notes;
mod order;
mod orders;
mod park;
mod pending;
mod permit;
mod prompt;
mod purse;
mod queue;
mod records;
mod recover;
mod remote;
mod report;
mod resume;
mod roles;
mod roster;
mod rows;
mod site;
mod spoken;
mod title;
mod tray;
mod turns;
mod upkeep;
mod view;
mod waiting;
mod window;
mod words;
mod worker;
mod yard;

pub use answer::Replied;
pub use batch::{Batch, Table};
pub use by_hand::{ByHand, by_hand};
pub use chosen::{Chosen, NotChosen};
pub use edit::EditError;
pub use feed::{Envelope, News, Source};
pub use handle::Runtime;
pub use notes::{NoNotes, Noted, noted};
pub use permit::{NoPermission, Permission, Word};
pub use prompt::{Answered, Watching};
pub use purse::{Budgeted, Grant};
pub use recover::last_task;
pub use remote::{Done, Order, Remote};
pub use resume::Resumed;
pub use roles::named_agents;
pub use spoken::{Seat, Spoken, Unsaid, Vocabulary};
pub use tray::{NotWithdrawn, Pending};
pub use view::{
    ControlError, Open, OpenError, RunId, Said, SessionGone, StartError, Status, Steered, TaskDetail, TaskRow,
};
pub use window::{Filled, Filling, Window};

// What front ends show of a conversation's commands in the background is the tool's own.
pub use crate::tools::jobs::JobRow;
// What front ends show of a conversation is the session's own.
pub use crate::session::store::Found;
pub use crate::session::{Branch, Kind, Outline, Row, Summary, Turn};
