//! When a conversation is shortened and what stays of it, as plain settings; the sets of them that have names. What is
//! done with them is in the files beside this one.

use crate::message::Role;

/// When a conversation is shortened, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compacting {
    /// How long it may become.
    pub trigger: Trigger,
    /// When that is looked at.
    pub when: When,
    /// What stays.
    pub keep: Keep,
    /// Who speaks the summary in the conversation.
    pub role: Role,
    /// The line above the summary.
    pub heading: &'static str,
    /// Most characters of a summary, its heading not counted; `None` leaves it to the model's limit of tokens.
    pub most: Option<usize>,
    /// What people said is quoted below the summary, up to a cap.
    pub quotes: bool,
    /// Which files were read and changed is told below the summary.
    pub files: bool,
    /// A copy of what is replaced is written beside the session, as JSON that other programs read.
    pub archive: bool,
}

/// How long a conversation may become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trigger {
    /// As long as the model takes it. What it refuses then ends the run.
    Never,
    /// Up to this part of the window, in percent, with the prompt and the tools.
    Window(u8),
    /// Up to so many tokens of messages.
    Tokens(u64, Count),
    /// Until it has so many messages of people and of the model; results of tools belong to the call.
    Messages(u64),
}

/// How tokens are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    /// As the window is measured: by what the provider reports and an estimate of what came since.
    Gauge,
    /// Four characters to a token; a picture as the window is measured.
    Characters,
    /// By the vocabulary `cl100k_base`, and four for each message; a picture as above.
    Cl100k,
}

/// When the length is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Before each model call.
    Call,
    /// After each turn: a reply and what its calls answered.
    Turn,
    /// After the answer.
    Run,
}

/// What stays as it was said. A call and its answers are never parted, so it may be a little more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// The last so many messages.
    Last(usize),
    /// All that people said; what was done between is summed up, piece by piece.
    People,
    /// The newest messages that fit into so many tokens, at least the last turn.
    Recent(u64),
    /// The newer half of the messages of people and of the model.
    Half,
}

impl Compacting {
    /// Ours: at 75 % of the window, before a call. What people said stays, quoted; so do recent turns.
    pub const DEFAULT: Compacting = Compacting {
        trigger: Trigger::Window(75),
        when: When::Call,
        keep: Keep::Recent(20_000),
        role: Role::User,
        heading: "[Previous conversation summary]",
        most: None,
        quotes: true,
        files: true,
        archive: false,
    };

    /// S0-50 to S0-52: after the answer, beyond 100,000 tokens of four characters, all but the last four messages.
    pub const S0: Compacting = Compacting {
        trigger: Trigger::Tokens(100_000, Count::Characters),
        when: When::Run,
        keep: Keep::Last(4),
        quotes: false,
        files: false,
        ..Compacting::DEFAULT
    };

    /// S1-12 to S1-14: beyond 80,000 tokens of `cl100k_base`, all but what people said.
    pub const S1: Compacting = Compacting {
        trigger: Trigger::Tokens(80_000, Count::Cl100k),
        keep: Keep::People,
        heading: "[Assistant Execution Summary]",
        quotes: false,
        files: false,
        ..Compacting::DEFAULT
    };

    /// S2-17, S2-71, S2-72: from 40 messages on, the older half, in 500 characters, with a copy.
    pub const S2: Compacting = Compacting {
        trigger: Trigger::Messages(40),
        keep: Keep::Half,
        role: Role::Assistant,
        heading: "[Summary of previous conversation]",
        most: Some(500),
        quotes: false,
        files: false,
        archive: true,
        ..Compacting::DEFAULT
    };

    /// S3-43, S3-44: at 75 % of the window, after a turn; the files that were worked on are told below the summary.
    pub const S3: Compacting = Compacting { when: When::Turn, quotes: false, ..Compacting::DEFAULT };

    /// Not by itself: only when somebody asks for it.
    pub const OFF: Compacting = Compacting { trigger: Trigger::Never, ..Compacting::DEFAULT };

    /// The sets that have a name, ours first.
    pub const NAMED: [(&'static str, Compacting); 6] = [
        ("default", Compacting::DEFAULT),
        ("s0", Compacting::S0),
        ("s1", Compacting::S1),
        ("s2", Compacting::S2),
        ("s3", Compacting::S3),
        ("off", Compacting::OFF),
    ];
}
