//! The demo's folder: a copy of workspace.example, a home of its own, and afterwards what was written into them.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rust_embed::Embed;
use walkdir::WalkDir;

use crate::config::{self, Config, Flags};
use crate::model::Model;
use crate::model::scripted::Scripted;
use crate::workspace::{Workspace, defaults};

#[derive(Embed)]
#[folder = "workspace.example/"]
struct Example;

/// Where the demo plays.
pub(super) struct Scene {
    /// Holds everything; kept when the demo is over.
    pub(super) dir: PathBuf,
    /// What was there before the play, by path below `dir`.
    before: HashMap<PathBuf, Vec<u8>>,
}

/// A file that the play made or changed.
pub(super) struct Written {
    /// Below the demo's folder.
    pub(super) path: PathBuf,
    /// It was there before.
    pub(super) changed: bool,
}

impl Scene {
    /// Unpacks the example into a new folder below `parent`.
    pub(super) fn build(parent: &Path) -> Result<Scene, String> {
        let failed =
            |error: std::io::Error| format!("cannot make a folder for the demo in {}: {error}", parent.display());
        let dir = tempfile::Builder::new().prefix("tillerman-demo-").tempdir_in(parent).map_err(failed)?.keep();
        let mut before = HashMap::new();
        for name in Example::iter() {
            let Some(file) = Example::get(&name) else { continue };
            let below = Path::new("workspace").join(name.as_ref());
            let path = dir.join(&below);
            path.parent().map_or(Ok(()), fs::create_dir_all).map_err(failed)?;
            fs::write(&path, &file.data).map_err(failed)?;
            before.insert(below, file.data.into_owned());
        }
        fs::create_dir_all(dir.join("home")).map_err(failed)?;
        Ok(Scene { dir, before })
    }

    /// The folder that is worked in.
    pub(super) fn workspace(&self) -> PathBuf {
        self.dir.join("workspace")
    }

    /// The home that stands in for ~/.tillerman.
    pub(super) fn home(&self) -> PathBuf {
        self.dir.join("home")
    }

    /// Settings that see no environment, so that no key and no address of this machine counts.
    pub(super) fn config(&self) -> Result<Config, String> {
        let script = defaults::text("demo.json").ok_or("the script of the demo is missing from this program")?;
        let model = Scripted::from_text("demo", &script).map_err(|error| error.to_string())?;
        let workspace = Workspace::open(&self.workspace(), &self.home()).map_err(|error| error.to_string())?;
        let flags = Flags { model: Some(model.id().to_string()), ..Flags::default() };
        let mut config = config::load(workspace, &flags, &|_| None).map_err(|error| error.to_string())?;
        config.models = config.models.with(Arc::new(model));
        Ok(config)
    }

    /// What the play has written: the work first, then the records of the program.
    pub(super) fn written(&self) -> Vec<Written> {
        let files = [self.workspace(), self.home()].map(|dir| WalkDir::new(dir).sort_by_file_name());
        let files = files.into_iter().flatten().flatten();
        let files = files.filter(|entry| entry.file_type().is_file());
        let below = files.filter_map(|entry| entry.path().strip_prefix(&self.dir).ok().map(Path::to_owned));
        let written = below.filter_map(|path| match self.before.get(&path) {
            None => Some(Written { path, changed: false }),
            Some(old) if fs::read(self.dir.join(&path)).is_ok_and(|new| new != *old) => {
                Some(Written { path, changed: true })
            }
            Some(_) => None,
        });
        written.collect()
    }
}
