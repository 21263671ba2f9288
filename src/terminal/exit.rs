//! How the program ends, as a number that scripts can branch on. What leads to which is decided by the commands.

use std::io;
use std::process::ExitCode;

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::model::Fault;

/// The exit codes; 1 to 7 never change their meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Exit {
    /// All that was asked is done.
    Done,
    /// The work failed.
    Failed,
    /// The command line makes no sense.
    Usage,
    /// No provider, or its key is missing or refused.
    NoProvider,
    /// The provider did not answer, also after retries.
    ProviderDown,
    /// The conversation does not fit the model's window.
    NoRoom,
    /// A limit of turns, time or budget was reached.
    Limit,
    /// Not allowed: trust, sandbox or permission.
    Refused,
    /// Ended by SIGINT.
    Interrupted,
    /// Ended by SIGTERM.
    Terminated,
}

impl Exit {
    /// Every way to end, in the order of the numbers.
    pub const ALL: [Exit; 10] = [
        Exit::Done,
        Exit::Failed,
        Exit::Usage,
        Exit::NoProvider,
        Exit::ProviderDown,
        Exit::NoRoom,
        Exit::Limit,
        Exit::Refused,
        Exit::Interrupted,
        Exit::Terminated,
    ];

    /// The number.
    pub fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::NoProvider => 3,
            Exit::ProviderDown => 4,
            Exit::NoRoom => 5,
            Exit::Limit => 6,
            Exit::Refused => 7,
            Exit::Interrupted => 130,
            Exit::Terminated => 143,
        }
    }

    /// The name, as help and JSON lines show it.
    pub fn name(self) -> &'static str {
        match self {
            Exit::Done => "done",
            Exit::Failed => "failed",
            Exit::Usage => "usage",
            Exit::NoProvider => "no-provider",
            Exit::ProviderDown => "provider-down",
            Exit::NoRoom => "no-room",
            Exit::Limit => "limit",
            Exit::Refused => "refused",
            Exit::Interrupted => "interrupted",
            Exit::Terminated => "terminated",
        }
    }

    /// What it means, in a few words.
    pub fn meaning(self) -> &'static str {
        match self {
            Exit::Done => "all that was asked is done",
            Exit::Failed => "the work failed",
            Exit::Usage => "the command line makes no sense",
            Exit::NoProvider => "no provider, or its key is missing or refused",
            Exit::ProviderDown => "the provider did not answer, also after retries",
            Exit::NoRoom => "the conversation does not fit the model's window",
            Exit::Limit => "a limit of turns, time or budget was reached",
            Exit::Refused => "not allowed: trust, sandbox or permission",
            Exit::Interrupted => "SIGINT",
            Exit::Terminated => "SIGTERM",
        }
    }
}

/// A model's fault, by what a script would do about it.
impl From<Fault> for Exit {
    fn from(fault: Fault) -> Exit {
        match fault {
            Fault::Auth | Fault::Billing | Fault::NoSuchModel | Fault::NoTools => Exit::NoProvider,
            Fault::RateLimited | Fault::Unavailable | Fault::Network | Fault::Garbled => Exit::ProviderDown,
            Fault::Overflow => Exit::NoRoom,
            Fault::BadRequest => Exit::Failed,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

/// Signals that end the program, caught so that it can end in order.
pub struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl Signals {
    /// From now on the signals are caught.
    ///
    /// # Errors
    /// When the system refuses a handler.
    pub fn catch() -> io::Result<Signals> {
        Ok(Signals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for the next one. Dropping the wait loses none.
    pub async fn next(&mut self) -> Exit {
        tokio::select! {
            _ = self.interrupt.recv() => Exit::Interrupted,
            _ = self.terminate.recv() => Exit::Terminated,
            _ = self.hang_up.recv() => Exit::Terminated,
        }
    }
}
