//! What must not be said: the values of keys, and what looks like one. Finds it in texts and in streams and puts a mark in
//! its place. Who is asked, and where, is not known here.

mod forms;
mod shape;
mod stream;

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, OnceLock};

use aho_corasick::{AhoCorasick, Input, MatchKind};
use serde_json::Value;

pub use self::stream::Stream;

use self::shape::{Measured, SHAPES, Shape};

/// Bytes that a value has at least. Shorter ones are words like any other, and hiding them would garble texts.
const LEAST: usize = 8;

/// The same for a value that is only suspected by the name of its variable.
const LEAST_SUSPECTED: usize = 12;

/// The secrets that are known, each with the name of the variable that it came from, and the shapes of keys of others.
///
/// Cheap to clone. The empty one hides nothing, shapes included. Values cannot be read back, and `Debug` shows names only.
#[derive(Clone, Default)]
pub struct Secrets {
    inner: Option<Arc<Inner>>,
}

struct Inner {
    values: Vec<(String, String)>,
    /// Of the values alone, and of shapes too.
    known: OnceLock<Finder>,
    all: OnceLock<Finder>,
}

/// Bytes of the beginning of a shape for which a stream waits: a text may end in one or two of them at any time.
const TELLING: usize = 3;

/// Finds all of it at once. The patterns are the needles, then the beginnings of the shapes.
struct Finder {
    /// `None` for more patterns than there can be.
    search: Option<AhoCorasick>,
    /// In order, each with the mark that stands for it.
    needles: Vec<(Vec<u8>, Arc<str>)>,
    shapes: &'static [Shape],
    longest: usize,
    begins: [bool; 256],
}

/// What is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Which {
    /// Known values only: in the words of people and models, where a text that looks like a key may be meant.
    Known,
    /// Known values and shapes.
    All,
}

/// Something to hide.
struct Hit {
    /// Where it begins to be recognised; what is hidden may begin later.
    begin: usize,
    start: usize,
    end: usize,
    mark: Arc<str>,
    /// It is one as it stands; otherwise it may become one.
    whole: bool,
    /// More of it may follow.
    open: bool,
}

impl Secrets {
    /// Values with the names under which they are known. Those with under 8 bytes are left out.
    pub fn of<N: Into<String>, V: Into<String>>(values: impl IntoIterator<Item = (N, V)>) -> Secrets {
        let values = values.into_iter().map(|(name, value)| (name.into(), value.into().trim().to_owned()));
        Secrets::over(values.collect())
    }

    /// The same and the variables whose names say that they are secret, like `DEPLOY_TOKEN`. A value of theirs counts from
    /// 12 bytes on and with a digit in it: many hold a word.
    pub fn with_suspected(&self, variables: impl IntoIterator<Item = (String, String)>) -> Secrets {
        let suspected = variables.into_iter().filter(|(name, value)| {
            let value = value.trim();
            says_secret(name)
                && value.len() >= LEAST_SUSPECTED
                && value.bytes().any(|byte| byte.is_ascii_digit())
                && !value.starts_with('/')
        });
        let own = self.inner.iter().flat_map(|inner| inner.values.iter().cloned());
        let suspected = suspected.map(|(name, value)| (name, value.trim().to_owned()));
        Secrets::over(own.chain(suspected).collect())
    }

    fn over(mut values: Vec<(String, String)>) -> Secrets {
        values.retain(|(_, value)| value.len() >= LEAST);
        // The first name of a value counts.
        let mut seen = std::collections::HashSet::new();
        values.retain(|(_, value)| seen.insert(value.clone()));
        Secrets { inner: Some(Arc::new(Inner { values, known: OnceLock::new(), all: OnceLock::new() })) }
    }

    /// A text from outside, a tool's output or a server's words, without known values and without what looks like a key.
    pub fn hide<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.blot(text, Which::All)
    }

    /// Words of a person or a model, without known values.
    pub fn hide_known<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.blot(text, Which::Known)
    }

    /// Hides what [`Secrets::hide`] hides, in place.
    pub fn hide_in(&self, text: &mut String) {
        if let Cow::Owned(hidden) = self.hide(text) {
            *text = hidden;
        }
    }

    /// Hides what [`Secrets::hide_known`] hides, in place.
    pub fn hide_known_in(&self, text: &mut String) {
        if let Cow::Owned(hidden) = self.hide_known(text) {
            *text = hidden;
        }
    }

    /// Hides likewise in every text of a value, keys of objects excepted.
    pub fn hide_in_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.hide_in(text),
            Value::Array(all) => all.iter_mut().for_each(|each| self.hide_in_value(each)),
            Value::Object(all) => all.values_mut().for_each(|each| self.hide_in_value(each)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// For a text of a tool that comes in pieces.
    pub fn stream(&self) -> Stream {
        Stream::new(self.clone(), Which::All)
    }

    /// For words of a model that come in pieces.
    pub fn known_stream(&self) -> Stream {
        Stream::new(self.clone(), Which::Known)
    }

    /// The names of what is known.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.inner.iter().flat_map(|inner| inner.values.iter().map(|(name, _)| name.as_str()))
    }

    /// `None` when there is nothing to look for.
    fn finder(&self, which: Which) -> Option<&Finder> {
        let inner = self.inner.as_ref()?;
        match which {
            Which::Known if inner.values.is_empty() => None,
            Which::Known => Some(inner.known.get_or_init(|| Finder::of(&inner.values, &[]))),
            Which::All => Some(inner.all.get_or_init(|| Finder::of(&inner.values, SHAPES))),
        }
    }

    fn blot<'a>(&self, text: &'a str, which: Which) -> Cow<'a, str> {
        // What is taken out is whole characters: a needle is text, a shape is ASCII.
        self.blot_bytes(text.as_bytes(), which).map_or(Cow::Borrowed(text), |bytes| Cow::Owned(stream::text(bytes)))
    }

    /// `None` when there is nothing to hide.
    fn blot_bytes(&self, text: &[u8], which: Which) -> Option<Vec<u8>> {
        let finder = self.finder(which)?;
        let (mut hidden, mut at, mut from) = (Vec::new(), 0, 0);
        while let Some(hit) = finder.next(text, from) {
            if !hit.whole {
                from = hit.begin + 1;
                continue;
            }
            hidden.extend_from_slice(&text[at..hit.start]);
            hidden.extend_from_slice(hit.mark.as_bytes());
            (at, from) = (hit.end, hit.end);
        }
        if at == 0 {
            return None;
        }
        hidden.extend_from_slice(&text[at..]);
        Some(hidden)
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Secrets").field(&self.names().collect::<Vec<_>>()).finish()
    }
}

impl Finder {
    fn of(values: &[(String, String)], shapes: &'static [Shape]) -> Finder {
        let mut needles: Vec<(Vec<u8>, Arc<str>)> = Vec::new();
        for (name, value) in values {
            let mark: Arc<str> = format!("[secret {name}]").into();
            needles.extend(forms::of(value).into_iter().map(|form| (form, mark.clone())));
        }
        needles.sort_unstable();
        let prefixes = shapes.iter().map(|shape| shape.prefix.as_bytes());
        let patterns = needles.iter().map(|(needle, _)| needle.as_slice()).chain(prefixes);
        let (longest, mut begins) = (patterns.clone().map(<[u8]>::len).max().unwrap_or_default(), [false; 256]);
        for first in patterns.clone().filter_map(|pattern| pattern.first()) {
            begins[usize::from(*first)] = true;
        }
        let search = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(patterns).ok();
        Finder { search, needles, shapes, longest, begins }
    }

    /// The first that begins at `from` or later; the longest of those that begin at the same place.
    fn next(&self, text: &[u8], mut from: usize) -> Option<Hit> {
        while from < text.len() {
            let found = self.search.as_ref()?.find(Input::new(text).span(from..text.len()))?;
            let (start, end, pattern) = (found.start(), found.end(), found.pattern().as_usize());
            if let Some((_, mark)) = self.needles.get(pattern) {
                return Some(Hit { begin: start, start, end, mark: mark.clone(), whole: true, open: false });
            }
            let shape = self.shapes.get(pattern - self.needles.len());
            let hit = shape.and_then(|shape| Some((shape.what, shape.measure(text, start, end)?)));
            if let Some((what, Measured { start: from, end, whole, open })) = hit {
                let mark = format!("[secret: {what}]").into();
                return Some(Hit { begin: start, start: from, end, mark, whole, open });
            }
            from = start + 1;
        }
        None
    }

    /// Where something may begin that the end of the text cuts; `from` or later.
    fn cut(&self, text: &[u8], from: usize) -> usize {
        let first = from.max(text.len().saturating_sub(self.longest.saturating_sub(1)));
        let may_begin = |at: &usize| {
            let rest = &text[*at..];
            if !rest.first().is_some_and(|byte| self.begins[usize::from(*byte)]) {
                return false;
            }
            let next = self.needles.partition_point(|(needle, _)| needle.as_slice() <= rest);
            let of_needle = self.needles.get(next).is_some_and(|(needle, _)| needle.starts_with(rest));
            let of_shape = |shape: &Shape| shape.prefix.len() > rest.len() && shape.prefix.as_bytes().starts_with(rest);
            of_needle || (rest.len() >= TELLING && self.shapes.iter().any(of_shape))
        };
        (first..text.len()).find(may_begin).unwrap_or(text.len())
    }
}

/// Whether a variable's name says that its value is secret.
fn says_secret(name: &str) -> bool {
    const ENDS: [&str; 9] =
        ["_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_PASSWD", "_PASSPHRASE", "_CREDENTIALS", "_PAT", "_AUTH"];
    const WHOLE: [&str; 4] = ["TOKEN", "SECRET", "PASSWORD", "PGPASSWORD"];
    let name = name.to_ascii_uppercase();
    ENDS.iter().any(|end| name.ends_with(end)) || WHOLE.contains(&name.as_str()) || name.contains("_SECRET_")
}
