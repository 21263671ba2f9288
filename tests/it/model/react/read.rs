//! What is read from the words of a model.

use std::time::Duration;

use proptest::prelude::*;
use tillerman::model::scripted::Step;
use tillerman::model::{Delta, Stop};

use super::super::talk::worked;
use super::{Heard, blocks, hear, question, told};

async fn check(text: &str, expected: &[&str]) {
    for chunk in [text.len(), 7, 3, 1] {
        let Heard { reply, deltas, sent } = hear([Step::says(text).in_chunks(chunk)], &question()).await;
        assert_eq!(blocks(&reply.message), expected, "in pieces of {chunk}: {text}");
        let names = |line: &String| match line.split_once(" {") {
            Some((name, _)) => name.to_owned(),
            None => line.clone(),
        };
        let streamed = told(&deltas);
        let expected: Vec<String> = blocks(&reply.message).iter().map(names).collect();
        // Two thoughts with nothing between them are two blocks, but one stream.
        assert_eq!(streamed.join("").replace("thought ", ""), expected.join("").replace("thought ", ""), "{text}");
        assert_eq!(sent.len(), 1, "{text}");
        let calls = reply.message.calls().next().is_some();
        assert_eq!(reply.stop, if calls { Stop::ToolUse } else { Stop::EndTurn }, "{text}");
    }
}

/// S4-06, S4-07.
#[tokio::test]
async fn s4_06_s4_07_thoughts_calls_and_the_answer_are_told_apart() {
    check(
        "Thought: look first\nAction: read\nAction Input: {\"path\": \"a.txt\"}",
        &["thought look first", r#"read {"path": "a.txt"}"#],
    )
    .await;
    check("Thought: I know\nFinal Answer: It is a list.", &["thought I know", "text It is a list."]).await;
    check("Final Answer:\n\n# Title\n\n- one\n\n  two\n", &["text # Title\n\n- one\n\n  two"]).await;
    check(
        "Thought: a\n\nb\n\nThought: c\nAction: now\nAction Input: {}\nThought: d\nAction: read\nAction Input: {\"path\":\"b\"}",
        &["thought a\n\nb", "thought c", "now {}", "thought d", r#"read {"path":"b"}"#],
    )
    .await;
    check("I look.\nAction: now", &["thought I look.", "now {}"]).await;
    check(
        "Final Answer: press\nAction: none of this is one\nThought: nor this",
        &["text press\nAction: none of this is one\nThought: nor this"],
    )
    .await;
}

/// S4-09.
#[tokio::test]
async fn s4_09_marks_are_known_in_any_dress() {
    let dressed = [
        "THOUGHT: look\nACTION: read\nACTION INPUT: {\"path\": 1}",
        "thought:look\naction:read\naction input:{\"path\": 1}",
        "**Thought:** look\n**Action:** read\n**Action Input:** {\"path\": 1}",
        "**Thought**: look\n**Action**: `read`\n**Action Input**: `{\"path\": 1}`",
        "### Thought: look\r\n### Action: read\r\n### Action Input:\r\n```json\r\n{\"path\": 1}\r\n```\r\n",
        "  - Thought :  look\n  - Action :  read\n  - Action_Input :  {\"path\": 1}",
        "> *Thought 1:* look\n> *Action 1:* \"read\"\n> *Action Input 1:* {\"path\": 1}",
        "Thought: look\n\n\nAction:\n\nread\n\nAction Input:\n\n{\"path\": 1}\n\n",
        "Thought: look\nAction: read\n{\"path\": 1}",
        "Thought: look\nAction: read({\"path\": 1})",
        "Thought: look\nAction: read(path=1)",
        "Thought: look\nAction: read, Action Input: {\"path\": 1}",
        "Thought：look\nAction：read\nAction Input：{\"path\": 1}",
        "Thought: look\nAction: read()\nAction Input: {\"path\": 1}\nI will wait for the result.",
        "Thought: look\nAction:\n```json\n{\"action\": \"read\", \"action_input\": {\"path\": 1}}\n```",
        "Thought: look\nAction: {\"name\": \"read\", \"arguments\": {\"path\": 1}}",
    ];
    for text in dressed {
        let Heard { reply, .. } = hear([Step::says(text).in_chunks(2)], &question()).await;
        let calls: Vec<_> =
            reply.message.calls().map(|call| (call.name.as_str(), call.args.0.replace(' ', ""))).collect();
        assert_eq!(calls, [("read", r#"{"path":1}"#.to_owned())], "{text}");
        assert_eq!(blocks(&reply.message)[0], "thought look", "{text}");
    }
    check("**Final Answer:** **42** it is", &["text **42** it is"]).await;
    check("Final Answer: **42**", &["text **42**"]).await;
    check("Action: Final Answer\nAction Input: \"It is\\n42\"", &["text It is\n42"]).await;
}

/// S4-10: a value that is no object is the only field that a tool asks for.
#[tokio::test]
async fn s4_10_an_input_may_be_an_object_a_list_a_text_or_a_number() {
    let inputs = [
        ("read", r#"{"path": "a", "limit": "3"}"#, r#"{"path": "a", "limit": "3"}"#),
        ("read", r#""a.txt""#, r#"{"path":"a.txt"}"#),
        ("read", "a.txt", r#"{"path":"a.txt"}"#),
        ("read", "2024", r#"{"path":"2024"}"#),
        ("count", "[1, 2]", r#"{"numbers":[1,2]}"#),
        ("count", "7", r#"{"numbers":7}"#),
        ("edit", "[1, 2]", r#"{"input":[1,2]}"#),
        ("edit", "\"both\"", r#"{"input":"both"}"#),
        ("edit", "3.5", r#"{"input":3.5}"#),
        ("gong", "true", r#"{"input":true}"#),
        ("read", r#""{\"path\": \"a\"}""#, r#"{"path": "a"}"#),
        ("now", "None", "{}"),
        ("now", "", "{}"),
    ];
    for (tool, input, args) in inputs {
        check(&format!("Action: {tool}\nAction Input: {input}"), &[&format!("{tool} {args}")]).await;
    }
}

/// S4-11: what is broken goes to no field of a tool, so that nothing half is done.
#[tokio::test]
async fn s4_11_an_input_that_is_no_json_is_the_field_input() {
    let inputs = [
        ("edit", "the whole file", r#"{"input":"the whole file"}"#),
        ("read", r#"{"path": "a"#, r#"{"input":"{\"path\": \"a"}"#),
        ("read", "{'path': 'a'}", r#"{"input":"{'path': 'a'}"}"#),
        ("read", "[1, 2", r#"{"input":"[1, 2"}"#),
        ("edit", "{\"path\": \"a\", \"text\": \"one\n\ttwo\",}", "{\"path\": \"a\", \"text\": \"one\\n\\ttwo\"}"),
    ];
    for (tool, input, args) in inputs {
        check(&format!("Action: {tool}\nAction Input: {input}"), &[&format!("{tool} {args}")]).await;
    }
}

#[tokio::test]
async fn a_result_that_the_model_made_up_is_not_believed() {
    let two = "Action: now\nAction Input: {}\nAction: read\nAction Input: \"a\"";
    for made_up in
        ["Observation: It is noon.\nFinal Answer: noon", "**Observation 1:** x\nAction: edit", "Final Answer: ok"]
    {
        check(&format!("{two}\n{made_up}"), &["now {}", r#"read {"path":"a"}"#]).await;
    }
    check("Observation: it is quiet\nThought: so\nFinal Answer: yes", &["thought so", "text yes"]).await;
    check("Action: None\nAction Input: None\nFinal Answer: no tool needed", &["text no tool needed"]).await;
    check("Action: no tool is needed\nFinal Answer: fine", &["text fine"]).await;
}

#[tokio::test]
async fn calls_have_ids_of_their_own_and_there_are_not_too_many() {
    let many = "Action: now\n".repeat(5000);
    let Heard { reply, deltas, .. } = hear([Step::says(many)], &question()).await;
    let ids: std::collections::HashSet<_> = reply.message.calls().map(|call| call.id.clone()).collect();
    assert_eq!(ids.len(), 64);
    let opened =
        deltas.iter().filter_map(|d| if let Delta::CallOpened { id, .. } = d { Some(id.clone()) } else { None });
    assert_eq!(opened.collect::<std::collections::HashSet<_>>(), ids);
}

#[tokio::test]
async fn a_reply_that_is_cut_holds_no_half_call() {
    let cuts = [
        ("Thought: x\nAction: rea", vec!["thought x"]),
        ("Thought: x\nAction: read\nAction Input: {\"path\": \"a", vec!["thought x"]),
        ("Thought: x\nAction: read\nAction Input: a.t", vec!["thought x"]),
        ("Thought: x\nAction: read\nAct", vec!["thought x"]),
        ("Action: now\nAction Input: {}\nAction: read\nAction Input: {\"pa", vec!["now {}"]),
        ("Action: read\nAction Input: {\"path\": \"a\"}", vec![r#"read {"path": "a"}"#]),
    ];
    for (text, expected) in cuts {
        let Heard { reply, sent, .. } = hear([Step::says(text).and_stops(Stop::MaxTokens)], &question()).await;
        assert_eq!(
            (blocks(&reply.message), reply.stop, sent.len()),
            (expected.iter().map(|s| (*s).to_owned()).collect(), Stop::MaxTokens, 1),
            "{text}"
        );
    }
}

#[tokio::test]
async fn a_million_pieces_take_no_longer_than_they_must() {
    let input = format!(
        "Thought: {}\nAction: edit\nAction Input: {{\"path\": \"{}\"}}",
        "thi nk\n".repeat(60_000),
        "x ".repeat(250_000)
    );
    let long = format!("{}{}{input}", " ".repeat(50_000), "*".repeat(50_000));
    let before = worked();
    let Heard { reply, .. } = hear([Step::says(long).in_chunks(1)], &question()).await;
    assert_eq!(reply.message.calls().next().unwrap().args.0.len(), 500_012);
    let took = worked() - before;
    assert!(took < Duration::from_secs(20), "{took:?}");
}

/// Words like those of a model, in any order.
fn words() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "Thought:",
        "Action:",
        "Action Input:",
        "Observation:",
        "Final Answer:",
        "**Action:**",
        "Action Input: {",
        "\n",
        "\n",
        "\n",
        "\r\n",
        " ",
        "read",
        "now",
        "{\"path\": \"a\"}",
        "[1",
        "\"",
        "```json\n",
        "```",
        "}",
        "(",
        ")",
        "None",
        "*",
        "# ",
        "Action",
        "Final",
        "é",
        "：",
        "x=1",
        "'",
        "\\",
        ",",
    ]);
    prop::collection::vec(prop_oneof![9 => piece.prop_map(str::to_owned), 1 => any::<String>()], 0..40)
        .prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_words_cut_anywhere_are_read_the_same(text in words(), chunk in 1..9_usize, cut: bool) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let stop = if cut { Stop::MaxTokens } else { Stop::EndTurn };
        let say = |chunk| {
            let steps = [Step::says(&text), Step::says(&text)].map(|step| step.and_stops(stop).in_chunks(chunk));
            runtime.block_on(hear(steps, &question()))
        };
        let (whole, pieces) = (say(text.len().max(1)), say(chunk));
        prop_assert_eq!(&whole.reply, &pieces.reply);
        let texts: String = told(&pieces.deltas).iter().filter_map(|line| line.strip_prefix("text ")).collect();
        prop_assert_eq!(texts, pieces.reply.message.text());
        for call in pieces.reply.message.calls() {
            prop_assert!(serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(&call.args.0).is_ok());
        }
    }
}
