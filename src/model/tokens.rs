//! How many tokens a model makes of a text: a guess without a vocabulary, a count with one, and what is learned from
//! the figures that providers report. Prices are in `price`; when a conversation is too long, the agent decides.
//!
//! No provider says how it counts. A guess, corrected by what the model reported of its earlier requests, is enough as
//! long as nothing hangs on it; the vocabulary (47 MB of memory, a tenth of a second or more to load) is loaded when
//! something does.

mod rough;

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tiktoken_rs::CoreBPE;

use super::ModelId;
use crate::message::{Block, Message};

/// Longest piece that is counted at once, in bytes: what the vocabulary's expressions cost never grows beyond it. A
/// cut costs a token at most.
const PIECE: usize = 4 * 1024;

/// Most bytes that are counted; more is only guessed. Above any window, and a second's work.
const MOST: u64 = 24 * 1024 * 1024;

/// What a message takes besides its words, and a call or a result besides that.
const FRAME: u64 = 4;
const CALL: u64 = 8;

/// What a picture takes. Providers scale large ones down to about this.
pub const IMAGE: u64 = 1_600;

/// A text of fewer tokens teaches nothing: what surrounds it weighs more than what it says.
const LESSON: u64 = 400;

/// How much the newest figure weighs against all before it.
const NEWEST: f64 = 0.3;

/// Bounds of what is learned: a provider that is farther off counts something else.
const BOUNDS: (f64, f64) = (0.5, 2.0);

/// What is assumed of a model that has reported nothing yet: that it counts a little more than we do, as most do.
const UNKNOWN: f64 = 1.1;

/// Estimates what one model counts, and learns from what it reports. Cheap to clone; clones learn together.
#[derive(Debug, Clone, Default)]
pub struct Counter {
    learned: Arc<Mutex<Learned>>,
}

/// The counters of all models that are spoken to.
#[derive(Debug, Default)]
pub struct Counters(Mutex<HashMap<ModelId, Counter>>);

/// The model's figures as a multiple of ours; `None` before the first.
#[derive(Debug, Default)]
struct Learned {
    guesses: Option<f64>,
    counts: Option<f64>,
}

/// The size of texts and messages in our tokens, before anything that was learned of a model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Size {
    /// Guessed or counted.
    pub text: u64,
    /// Of pictures, which no vocabulary counts.
    pub images: u64,
}

impl Counter {
    /// What the model will count for something of which we guess this size.
    pub fn estimate(&self, guess: Size) -> u64 {
        scale(guess, self.learned().guesses)
    }

    /// What the model will count for something of which the vocabulary counts this size.
    pub fn count(&self, count: Size) -> u64 {
        scale(count, self.learned().counts)
    }

    /// The model has been compared with the vocabulary before.
    pub fn knows_counts(&self) -> bool {
        self.learned().counts.is_some()
    }

    /// Takes what the model reported for something of which we guess this size.
    pub fn learn_guess(&self, guess: Size, reported: u64) {
        learn(&mut self.learned().guesses, guess, reported);
    }

    /// Takes what the model reported for something of which the vocabulary counts this size.
    pub fn learn_count(&self, count: Size, reported: u64) {
        learn(&mut self.learned().counts, count, reported);
    }

    fn learned(&self) -> MutexGuard<'_, Learned> {
        self.learned.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counters {
    /// The counter of a model; the same one for all who ask.
    pub fn of(&self, id: &ModelId) -> Counter {
        let mut counters = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counters.entry(id.clone()).or_default().clone()
    }
}

fn scale(size: Size, ratio: Option<f64>) -> u64 {
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "tokens of a text in memory, times two at most"
    )]
    let text = (size.text as f64 * ratio.unwrap_or(UNKNOWN)).round() as u64;
    text.saturating_add(size.images)
}

fn learn(ratio: &mut Option<f64>, size: Size, reported: u64) {
    // What a picture takes is known too badly to learn from the rest.
    if size.text < LESSON || size.images > 0 || reported == 0 {
        return;
    }
    #[allow(clippy::cast_precision_loss, reason = "a ratio needs no more than 15 digits")]
    let new = (reported as f64 / size.text as f64).clamp(BOUNDS.0, BOUNDS.1);
    *ratio = Some(ratio.map_or(new, |old| old + (new - old) * NEWEST));
}

impl Size {
    /// Guesses the size of a text, in one pass.
    pub fn guess(text: &str) -> Size {
        Size { text: rough::rough(text), images: 0 }
    }

    /// Guesses the size of messages.
    pub fn guess_all(messages: &[Arc<Message>]) -> Size {
        messages.iter().map(|message| of(message, &rough::rough)).fold(Size::default(), Size::plus)
    }

    /// Counts a text by the vocabulary `o200k`. The first call of a process loads it, so it belongs on a thread that may
    /// wait. At most 24 MB are counted; the rest is guessed. Linear in the length of the text, whatever it is.
    pub fn count(text: &str) -> Size {
        let mut budget = MOST;
        Size { text: count(tiktoken_rs::o200k_base_singleton(), text, &mut budget), images: 0 }
    }

    /// Counts messages, with the bounds of [`Size::count`] for all of them together.
    pub fn count_all(messages: &[Arc<Message>]) -> Size {
        count_all(tiktoken_rs::o200k_base_singleton(), messages)
    }

    /// Counts messages by the vocabulary `cl100k_base`, which some programs reckon with whatever the model; with the
    /// bounds of [`Size::count`], and loaded by the first call.
    pub fn cl100k(messages: &[Arc<Message>]) -> Size {
        count_all(tiktoken_rs::cl100k_base_singleton(), messages)
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Size) -> Size {
        Size { text: self.text.saturating_add(other.text), images: self.images.saturating_add(other.images) }
    }
}

fn of(message: &Message, tokens: &dyn Fn(&str) -> u64) -> Size {
    let mut size = Size { text: FRAME, images: 0 };
    for block in &message.blocks {
        match block {
            Block::Text { text } => size.text += tokens(text),
            Block::Thinking(thinking) => size.text += tokens(&thinking.text),
            Block::Image(_) => size.images += IMAGE,
            Block::Call(call) => size.text += tokens(&call.name) + tokens(&call.args.0) + CALL,
            Block::Result(result) => size.text += tokens(&result.output) + CALL,
        }
    }
    size
}

fn count_all(vocabulary: &CoreBPE, messages: &[Arc<Message>]) -> Size {
    let budget = Cell::new(MOST);
    let counted = |text: &str| {
        let mut left = budget.get();
        let tokens = count(vocabulary, text, &mut left);
        budget.set(left);
        tokens
    };
    messages.iter().map(|message| of(message, &counted)).fold(Size::default(), Size::plus)
}

fn count(vocabulary: &CoreBPE, mut text: &str, budget: &mut u64) -> u64 {
    let mut sum = 0;
    while !text.is_empty() {
        if *budget == 0 {
            return sum + rough::rough(text);
        }
        let (piece, rest) = text.split_at(cut(text));
        sum += vocabulary.count_ordinary(piece) as u64;
        *budget = budget.saturating_sub(piece.len() as u64);
        text = rest;
    }
    sum
}

/// Where the first piece ends: before a word, if there is one in its second half.
fn cut(text: &str) -> usize {
    if text.len() <= PIECE {
        return text.len();
    }
    let end = text.floor_char_boundary(PIECE);
    let half = text.floor_char_boundary(PIECE / 2);
    // A space begins the token of the word behind it.
    text.get(half..end).and_then(|piece| piece.rfind([' ', '\n'])).map_or(end, |at| half + at)
}
