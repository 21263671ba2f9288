//! Promises about tools as a library user makes them.

use std::path::PathBuf;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tillerman::message::{CallId, RawArgs};
use tillerman::tool::{FnTool, Tool, ToolContext, ToolError, ToolOutput, Toolbox};
use tokio_util::sync::CancellationToken;

#[derive(Deserialize, JsonSchema)]
struct Greeting {
    /// Whom to greet.
    name: String,
    /// How often.
    #[serde(default = "once")]
    times: u32,
}

fn once() -> u32 {
    1
}

fn greet() -> Arc<dyn Tool> {
    Arc::new(FnTool::new("greet", "Greets somebody.", true, |args: Greeting, _cx| async move {
        Ok::<_, ToolError>(vec![format!("Hello, {}!", args.name); args.times as usize].join(" "))
    }))
}

async fn call(tool: &dyn Tool, args: &str) -> Result<ToolOutput, ToolError> {
    let cx = ToolContext {
        call: CallId("c".into()),
        cancel: CancellationToken::new(),
        progress: Arc::new(|_| {}),
        artifacts: PathBuf::from("/nonexistent"),
        secrets: tillerman::secret::Secrets::default(),
    };
    tool.call(RawArgs(args.into()), &cx).await
}

#[tokio::test]
async fn s0_64_a_tool_of_ones_own_has_typed_arguments_with_defaults() {
    let output = |text: &str| Ok(ToolOutput::text(text));
    assert_eq!(call(&*greet(), r#"{"name":"Ada"}"#).await, output("Hello, Ada!"));
    assert_eq!(call(&*greet(), r#"{"name":"Ada","times":2}"#).await, output("Hello, Ada! Hello, Ada!"));
}

#[test]
fn s4_18_the_schema_comes_from_the_types_and_the_doc_comments() {
    let tool = greet();
    let schema = &tool.spec().schema;
    assert_eq!(schema["required"], json!(["name"]));
    assert_eq!(schema["properties"]["name"]["description"], "Whom to greet.");
    assert_eq!(schema["properties"]["times"]["description"], "How often.");
}

#[test]
fn s0_33_s4_19_a_tool_is_its_name_its_description_its_parameters_and_what_it_does() {
    let tool = greet();
    let spec = tool.spec();
    assert_eq!((spec.name.as_str(), &*spec.description, spec.read_only), ("greet", "Greets somebody.", true));
    assert_eq!(spec.schema["type"], "object");
}

#[tokio::test]
async fn s0_03_wrong_arguments_are_a_sentence_that_names_every_fault() {
    let error = call(&*greet(), r#"{"times":"often"}"#).await.unwrap_err().to_string();
    assert!(error.contains("name") && error.contains("times"), "{error}");
}

#[test]
fn s0_34_s4_20_tools_are_collected_and_found_by_name() {
    let toolbox = Toolbox::new(vec![greet()]).unwrap();
    assert_eq!(toolbox.find("greet").map(|tool| tool.spec().name.clone()).as_deref(), Some("greet"));
    assert!(toolbox.find("gree").is_none());
    let twice = Toolbox::new(vec![greet(), greet()]).err().map(|error| error.to_string()).unwrap_or_default();
    assert!(twice.contains("greet"), "a name taken twice is refused by name: {twice:?}");
}
