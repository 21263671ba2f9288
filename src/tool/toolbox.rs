//! The tools of one agent: found by name, described in a fixed order. What a tool does is not known here.

use std::fmt;
use std::sync::Arc;

use super::names::{bare, meanings};
use super::{Tool, ToolSpec};

/// An immutable set of tools, cheap to clone.
///
/// The order of [`Toolbox::specs`] is the order of names and never changes, so that every request of a run begins with
/// the same bytes.
#[derive(Clone)]
pub struct Toolbox {
    shelf: Arc<Shelf>,
}

struct Shelf {
    specs: Vec<ToolSpec>,
    tools: Vec<Arc<dyn Tool>>,
}

/// Two tools of one toolbox have the same name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("two tools are called {0}; give one of them another name or leave it out")]
pub struct DuplicateTool(pub String);

impl Toolbox {
    /// Sorts the tools by name and keeps their specs.
    ///
    /// # Errors
    /// [`DuplicateTool`] with the first name that occurs twice.
    pub fn new(mut tools: Vec<Arc<dyn Tool>>) -> Result<Toolbox, DuplicateTool> {
        tools.sort_by(|a, b| a.spec().name.cmp(&b.spec().name));
        let specs: Vec<ToolSpec> = tools.iter().map(|tool| tool.spec().clone()).collect();
        match specs.windows(2).find(|pair| pair[0].name == pair[1].name) {
            Some(pair) => Err(DuplicateTool(pair[0].name.clone())),
            None => Ok(Toolbox { shelf: Arc::new(Shelf { specs, tools }) }),
        }
    }

    /// A toolbox without tools.
    pub fn empty() -> Toolbox {
        Toolbox { shelf: Arc::new(Shelf { specs: Vec::new(), tools: Vec::new() }) }
    }

    /// What a model is told, sorted by name.
    pub fn specs(&self) -> &[ToolSpec] {
        &self.shelf.specs
    }

    /// The names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.shelf.specs.iter().map(|spec| spec.name.as_str())
    }

    /// The tool that a model means by `name`.
    ///
    /// The exact name goes first. Then a namespace (`functions.shell`), other capitals (`Shell`) and the names that
    /// other runtimes use (`bash`) are understood too. `None` when it means none of ours.
    pub fn find(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.exact(name).or_else(|| {
            let bare = bare(name);
            self.exact(&bare).or_else(|| meanings(&bare).find_map(|ours| self.exact(ours)))
        })
    }

    fn exact(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        let found = self.shelf.specs.binary_search_by(|spec| spec.name.as_str().cmp(name)).ok()?;
        self.shelf.tools.get(found)
    }
}

impl fmt::Debug for Toolbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}
