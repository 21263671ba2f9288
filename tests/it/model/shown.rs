//! Pictures that tools show, as each wire format has them: with their result where it takes them, else behind all results.

use serde_json::{Value, json};
use tillerman::message::{Block, CallId, Image, Message, ToolResult};

use super::requests::{assistant, call, result, sent};
use super::talk::{ANTHROPIC, CHAT, GEMINI, OLLAMA, RESPONSES};

const URL: &str = "data:image/png;base64,iVBORw0KGgo=";

/// Two calls side by side, of which the first shows a picture; a note came before the second answered.
fn looked() -> Vec<Message> {
    let image = Image { media_type: "image/png".to_owned(), data: "iVBORw0KGgo=".to_owned() };
    let output = "Image: a.png".to_owned();
    let shown = ToolResult { call: CallId("a".to_owned()), output, details: json!({"width": 1}), is_error: false };
    vec![
        Message::user("look"),
        assistant(vec![call("a", "{}"), call("b", "{}")]),
        Message::showing(shown, vec![image]),
        Message::user("quick"),
        result("b", "fine", false),
    ]
}

/// What stands behind the calls.
async fn behind(id: &str, list: &str) -> Vec<Value> {
    let body = sent(id, looked()).await.body;
    let items = body[list].as_array().unwrap();
    let is_call = |item: &Value| {
        ["assistant", "model"].contains(&item["role"].as_str().unwrap_or_default()) || item["type"] == "function_call"
    };
    items[items.iter().rposition(is_call).unwrap() + 1..].to_vec()
}

#[tokio::test]
async fn anthropic_takes_them_within_the_result() {
    let source = json!({"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="});
    let shown = json!([{"type": "text", "text": "Image: a.png"}, {"type": "image", "source": source}]);
    let said = json!([{"type": "tool_result", "tool_use_id": "a", "content": shown},
        {"type": "tool_result", "tool_use_id": "b", "content": "fine"}, {"type": "text", "text": "quick"}]);
    assert_eq!(behind(ANTHROPIC, "messages").await, [json!({"role": "user", "content": said})]);
}

#[tokio::test]
async fn responses_takes_them_within_the_output() {
    let shown = json!([{"type": "input_text", "text": "Image: a.png"},
        {"type": "input_image", "detail": "auto", "image_url": URL}]);
    let said = json!([{"type": "input_text", "text": "quick"}]);
    let expected = [
        json!({"type": "function_call_output", "call_id": "a", "output": shown}),
        json!({"type": "function_call_output", "call_id": "b", "output": "fine"}),
        json!({"type": "message", "role": "user", "content": said}),
    ];
    assert_eq!(behind(RESPONSES, "input").await, expected);
}

#[tokio::test]
async fn chat_completions_has_them_behind_all_results() {
    let shown =
        json!([{"type": "text", "text": "[shown by call a]"}, {"type": "image_url", "image_url": {"url": URL}}]);
    let expected = [
        json!({"role": "tool", "tool_call_id": "a", "content": "Image: a.png"}),
        json!({"role": "tool", "tool_call_id": "b", "content": "fine"}),
        json!({"role": "user", "content": shown}),
        json!({"role": "user", "content": "quick"}),
    ];
    assert_eq!(behind(CHAT, "messages").await, expected);
}

/// It refuses a person's words right behind results, pictures and notes alike.
#[tokio::test]
async fn mistral_hears_the_assistant_between_results_and_a_person() {
    let roles = |body: Value| -> Vec<String> {
        let messages = body["messages"].as_array().unwrap().iter();
        messages.map(|message| message["role"].as_str().unwrap().to_owned()).collect()
    };
    let model = "mistral/mistral-large-4";
    let mut talk = looked();
    let all = ["system", "user", "assistant", "tool", "tool", "assistant", "user", "user"];
    assert_eq!(roles(sent(model, talk.clone()).await.body), all);
    talk.truncate(2);
    talk.extend([result("a", "x", false), result("b", "y", false)]);
    assert_eq!(roles(sent(model, talk.clone()).await.body), all[..5], "nothing stands there that nobody needs");
    talk.push(Message::user("steer"));
    assert_eq!(roles(sent(model, talk.clone()).await.body), all[..7]);
    talk.extend([assistant(vec![Block::text("so")]), Message::user("and?")]);
    assert_eq!(roles(sent(model, talk).await.body), [&all[..7], &["assistant", "user"]].concat());
}

#[tokio::test]
async fn gemini_has_them_behind_all_results() {
    let result =
        |id: &str, said: &str| json!({"functionResponse": {"id": id, "name": "shell", "response": {"output": said}}});
    let parts = json!([
        result("a", "Image: a.png"),
        result("b", "fine"),
        {"text": "[shown by call a]"},
        {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}},
        {"text": "quick"}
    ]);
    assert_eq!(behind(GEMINI, "contents").await, [json!({"role": "user", "parts": parts})]);
}

#[tokio::test]
async fn ollama_has_them_behind_all_results() {
    let result =
        |id: &str, said: &str| json!({"role": "tool", "tool_name": "shell", "tool_call_id": id, "content": said});
    let expected = [
        result("a", "Image: a.png"),
        result("b", "fine"),
        json!({"role": "user", "content": "[shown by call a]", "images": ["iVBORw0KGgo="]}),
        json!({"role": "user", "content": "quick"}),
    ];
    assert_eq!(behind("ollama/qwen3-vl", "messages").await, expected);
    assert_eq!(behind(OLLAMA, "messages").await, expected);
}

#[tokio::test]
async fn a_model_that_sees_none_reads_so_in_the_result() {
    let said = "Image: a.png\n[image left out: deepseek/deepseek-v4-pro takes none]";
    let expected = [
        json!({"role": "tool", "tool_call_id": "a", "content": said}),
        json!({"role": "tool", "tool_call_id": "b", "content": "fine"}),
        json!({"role": "user", "content": "quick"}),
    ];
    assert_eq!(behind("deepseek/deepseek-v4-pro", "messages").await, expected);
}

#[test]
fn pictures_right_behind_a_result_are_its_own() {
    let image = || Block::Image(Image { media_type: "image/png".to_owned(), data: "aaaa".to_owned() });
    let mut message = looked().remove(2);
    message.blocks.extend([image(), Block::text("and"), image()]);
    let owned: Vec<usize> = message.parts().map(|(_, own)| own.len()).collect();
    assert_eq!(owned, [2, 0, 0]);
}
