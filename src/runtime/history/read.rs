//! The tool `history_read`: entries of this conversation, word for word.

use std::ops::RangeInclusive;
use std::sync::LazyLock;

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::message::{RawArgs, ToolSpec};
use crate::session::History;
use crate::tool::args::Signature;
use crate::tool::{Tool, ToolContext, ToolError, ToolOutput};

/// Most bytes of words shown.
const MOST: usize = 16_000;

static SIGNATURE: LazyLock<Signature> = LazyLock::new(|| {
    let signature = Signature::of::<Args>("history_read", include_str!("read.md"), true);
    signature.understanding(&[("entry", "entries"), ("id", "entries"), ("ids", "entries")])
});

/// The tool.
pub(super) struct Read {
    history: History,
}

#[derive(Deserialize, JsonSchema)]
struct Args {
    entries: String,
}

impl Read {
    pub(super) fn of(history: History) -> Read {
        Read { history }
    }
}

impl Tool for Read {
    fn spec(&self) -> &ToolSpec {
        SIGNATURE.spec()
    }

    fn call<'a>(&'a self, args: RawArgs, cx: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let read = SIGNATURE.read::<Args>(&args)?;
            let wanted = ranges(&read.args.entries)?;
            let history = self.history.clone();
            let found = super::aside(cx, move |stop| history.read(&wanted, MOST, stop)).await?;
            if found.shown.is_empty() {
                return Err(ToolError::new("no such entry says anything; history_search finds those that do"));
            }
            let mut text = String::new();
            for (entry, words) in &found.shown {
                text.push_str(&format!("[m{} {}, {}]\n{words}\n\n", entry.number, entry.what(), entry.time()));
            }
            if let (Some(first), Some(last)) = (found.left_out.first(), found.left_out.last()) {
                let count = found.left_out.len();
                text.push_str(&format!("({count} more did not fit, m{first} to m{last}: ask for them apart)"));
            }
            Ok(ToolOutput::text(text.trim_end()).noting(&read.repairs))
        })
    }
}

/// `m37`, `37`, `m37-m41`, several with commas or spaces between them.
fn ranges(text: &str) -> Result<Vec<RangeInclusive<u64>>, ToolError> {
    let wrong = || ToolError::new(format!("entries is {text:?}; write names like m37, m40-m44, with commas between"));
    let number = |name: &str| name.trim().trim_start_matches(['m', 'M']).parse::<u64>().map_err(|_| wrong());
    let parts = text.split([',', ' ']).filter(|part| !part.is_empty());
    let ranges = parts.map(|part| match part.split_once(['-', '–', ':']) {
        Some((first, last)) => Ok(number(first)?..=number(last)?),
        None => number(part).map(|number| number..=number),
    });
    let ranges: Vec<_> = ranges.collect::<Result<_, ToolError>>()?;
    if ranges.is_empty() { Err(wrong()) } else { Ok(ranges) }
}
