//! The built-in tools as a model calls them: exact texts, exact errors.

mod basics;
mod calculator;
mod edit;
mod escalate;
mod fetch;
mod files;
mod folders;
mod groups;
pub mod jobs;
mod knowledge;
mod notes;
pub mod pictures;
mod presets;
mod python;
mod search;
mod shell;
mod todo;
mod twins;
mod walls;

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tempfile::TempDir;
use tillerman::message::{CallId, RawArgs};
use tillerman::tool::{ToolContext, ToolError, ToolOutput, Toolbox};
use tillerman::tools::{self, ToolSettings};
use tillerman::workspace::policy::{PathPolicy, Profile};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// A workspace with the built-in tools.
pub struct Bench {
    dir: TempDir,
    pub tools: Toolbox,
    pub cx: ToolContext,
    pub shown: Arc<Mutex<String>>,
    shows: Arc<Notify>,
}

impl Bench {
    pub fn new() -> Bench {
        Bench::with(|settings| settings)
    }

    pub fn with(change: impl FnOnce(ToolSettings) -> ToolSettings) -> Bench {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("ws")).unwrap();
        let policy = PathPolicy::new(Profile::Workspace, &dir.path().join("ws")).unwrap();
        let settings = change(ToolSettings::new(Arc::new(policy)));
        let shown = Arc::new(Mutex::new(String::new()));
        let shows = Arc::new(Notify::new());
        let (show, tell) = (Arc::clone(&shown), Arc::clone(&shows));
        let cx = ToolContext {
            call: CallId("call_1".into()),
            cancel: CancellationToken::new(),
            progress: Arc::new(move |piece| {
                show.lock().unwrap().push_str(&piece);
                tell.notify_one();
            }),
            artifacts: dir.path().join("artifacts"),
            secrets: tillerman::secret::Secrets::default(),
        };
        Bench { tools: Toolbox::new(tools::made(&settings, |_| true)).unwrap(), dir, cx, shown, shows }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join("ws").join(name)
    }

    pub fn put(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), content).unwrap();
    }

    pub fn get(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    pub async fn call(&self, tool: &str, args: Value) -> Result<ToolOutput, ToolError> {
        self.tools.find(tool).unwrap().call(RawArgs(args.to_string()), &self.cx).await
    }

    /// Until a call has shown something.
    pub async fn until_shown(&self) {
        self.shows.notified().await;
    }

    /// The text of a call that works.
    pub async fn text(&self, tool: &str, args: Value) -> String {
        self.call(tool, args).await.unwrap().text
    }

    /// The sentence of a call that does not.
    pub async fn error(&self, tool: &str, args: Value) -> String {
        self.call(tool, args).await.unwrap_err().to_string()
    }
}

#[test]
fn the_usual_tools_are_few_words_long() {
    let dir = tempfile::tempdir().unwrap();
    let settings = ToolSettings::new(Arc::new(PathPolicy::new(Profile::Free, dir.path()).unwrap()));
    let usual = Toolbox::new(tools::selected(&settings, &["default"]).unwrap()).unwrap();
    let core = ["edit_file", "grep", "list", "load", "read_file", "scan", "shell", "write_file"];
    assert_eq!(usual.names().collect::<Vec<_>>(), core);
    let told = serde_json::to_string(usual.specs()).unwrap();
    assert!(told.len() < 2900, "{} bytes for a model to read in each request", told.len());
}

#[test]
fn s2_42_s4_20_tools_are_selected_by_name_and_a_wrong_name_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let settings = ToolSettings::new(Arc::new(PathPolicy::new(Profile::Free, dir.path()).unwrap()));
    let few = tools::selected(&settings, &["shell", "list"]).unwrap();
    assert_eq!(few.iter().map(|tool| tool.spec().name.as_str()).collect::<Vec<_>>(), ["list", "shell"]);
    let error = tools::selected(&settings, &["shell", "gerp"]).err().unwrap().to_string();
    assert_eq!(error, "there is no tool or group gerp; did you mean grep?");
}
