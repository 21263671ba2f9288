//! Finding tools, and making one of a function.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::json;
use tillerman::message::{CallId, RawArgs};
use tillerman::tool::{DuplicateTool, FnTool, Tool, ToolContext, ToolError, ToolOutput, Toolbox, aliases, our_name};
use tokio_util::sync::CancellationToken;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Args {
    count: u32,
}

fn tool(name: &str) -> Arc<dyn Tool> {
    Arc::new(FnTool::new(name, "Counts.", true, |args: Args, cx| async move {
        match args.count {
            0 => Err(ToolError::new("count is zero; say how many")),
            count => Ok(format!("{} counted to {count}", cx.call)),
        }
    }))
}

fn cx() -> ToolContext {
    ToolContext {
        call: CallId("c".into()),
        cancel: CancellationToken::new(),
        progress: Arc::new(|_| {}),
        artifacts: PathBuf::from("/nonexistent"),
        secrets: tillerman::secret::Secrets::default(),
    }
}

#[test]
fn tools_are_sorted_and_a_name_is_given_once() {
    let tools = Toolbox::new(vec![tool("shell"), tool("edit_file"), tool("list")]).unwrap();
    assert_eq!(tools.names().collect::<Vec<_>>(), ["edit_file", "list", "shell"]);
    assert_eq!(tools.specs().iter().map(|spec| spec.name.as_str()).collect::<Vec<_>>(), ["edit_file", "list", "shell"]);
    let twice = Toolbox::new(vec![tool("b"), tool("a"), tool("b")]).err().unwrap();
    assert_eq!(twice, DuplicateTool("b".into()));
    assert_eq!(twice.to_string(), "two tools are called b; give one of them another name or leave it out");
    assert!(Toolbox::empty().specs().is_empty());
}

#[test]
fn s4_28_to_s4_33_names_of_other_runtimes_are_understood() {
    let tools = Toolbox::new(["shell", "read_file", "write_file", "edit_file", "list"].map(tool).into()).unwrap();
    let table = [
        ("shell", Some("shell")),
        ("bash", Some("shell")),
        ("Bash", Some("shell")),
        ("functions.shell", Some("shell")),
        ("terminal", Some("shell")),
        ("run_shell_command", Some("shell")),
        ("read", Some("read_file")),
        ("write", Some("write_file")),
        ("edit", Some("edit_file")),
        ("replace_text", Some("edit_file")),
        ("MultiEdit", Some("edit_file")),
        ("execute_command", Some("shell")),
        ("list_files_recursive", Some("list")),
        ("search_files", None),
        ("", None),
        ("rm", None),
    ];
    for (name, expected) in table {
        assert_eq!((name, tools.find(name).map(|tool| tool.spec().name.as_str())), (name, expected));
    }
    let both = Toolbox::new(vec![tool("glob"), tool("list")]).unwrap();
    let found = [&tools, &both].map(|tools| tools.find("Glob").map(|tool| tool.spec().name.clone()));
    assert_eq!(found, [Some("list".to_owned()), Some("glob".to_owned())], "what is there is taken");
    let own = Toolbox::new(vec![tool("bash"), tool("shell")]).unwrap();
    assert_eq!(own.find("bash").unwrap().spec().name, "bash");
}

/// Rules and role files name tools by the same table as models do.
#[test]
fn a_name_of_another_program_has_one_of_ours_and_a_strange_one_stays() {
    let table = [
        ("Bash", "shell"),
        ("functions.bash", "shell"),
        ("Shell", "shell"),
        ("WebFetch", "fetch_url"),
        ("Glob", "glob"),
        ("python_repl", "python"),
        ("get_current_time", "current_time"),
        ("read_file", "read_file"),
        ("MyTool", "MyTool"),
        ("", ""),
    ];
    for (name, expected) in table {
        assert_eq!((name, &*our_name(name)), (name, expected));
    }
    assert_eq!(aliases("fetch_url").collect::<Vec<_>>(), ["fetch", "web_fetch", "webfetch"]);
    assert!(aliases("grep").all(|alias| alias != "grep"));
}

#[tokio::test]
async fn c_10_a_function_is_a_tool() {
    let count = tool("count");
    let call = |args: &str| count.call(RawArgs(args.into()), Box::leak(Box::new(cx())));
    assert_eq!(call(r#"{"count":3}"#).await, Ok(ToolOutput::text("c counted to 3")));
    assert_eq!(call(r#"{"count":0}"#).await, Err(ToolError::new("count is zero; say how many")));
    let repaired = call(r#"{"count":"3"}"#).await.unwrap();
    let note = json!({ "repairs": ["count: a number inside a string was read as a number"] });
    assert_eq!((repaired.text.as_str(), repaired.details), ("c counted to 3", note));
    assert!(call("{}").await.unwrap_err().to_string().starts_with("wrong arguments for count: count is missing"));
}
