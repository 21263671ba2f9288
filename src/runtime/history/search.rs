//! The tool `history_search`: words in what was said in this conversation.

use std::sync::LazyLock;

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::message::{RawArgs, ToolSpec};
use crate::session::{FOUND, History};
use crate::tool::args::Signature;
use crate::tool::{Tool, ToolContext, ToolError, ToolOutput};

/// Most hits shown.
const HITS: usize = 20;

static SIGNATURE: LazyLock<Signature> = LazyLock::new(|| {
    let signature = Signature::of::<Args>("history_search", include_str!("search.md"), true);
    signature.understanding(&[("query", "words"), ("text", "words"), ("pattern", "words")])
});

/// The tool.
pub(super) struct Search {
    history: History,
}

#[derive(Deserialize, JsonSchema)]
struct Args {
    words: String,
}

impl Search {
    pub(super) fn of(history: History) -> Search {
        Search { history }
    }
}

impl Tool for Search {
    fn spec(&self) -> &ToolSpec {
        SIGNATURE.spec()
    }

    fn call<'a>(&'a self, args: RawArgs, cx: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let read = SIGNATURE.read::<Args>(&args)?;
            let (history, words) = (self.history.clone(), read.args.words);
            if words.trim().is_empty() {
                return Err(ToolError::new("words is empty; say one or more words that the entry holds"));
            }
            let found = super::aside(cx, move |stop| history.search(&words, HITS, stop)).await?;
            if found.hits.is_empty() {
                let none = "Nothing said in this conversation holds all of these words; try fewer or others.";
                return Ok(ToolOutput::text(none).noting(&read.repairs));
            }
            let mut text = format!("{FOUND} (history_read shows them whole):");
            for hit in &found.hits {
                text.push_str(&format!("\nm{} {}, {}: {}", hit.number, hit.what, hit.time, hit.excerpt));
            }
            if found.more > 0 {
                text.push_str(&format!("\n({} older ones are not shown; more words find fewer)", found.more));
            }
            Ok(ToolOutput::text(text).noting(&read.repairs))
        })
    }
}
