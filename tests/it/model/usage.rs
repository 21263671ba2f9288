//! What providers report, in their own words, and what is made of it: input without what a cache served or stored,
//! output with reasoning.

use serde_json::{Value, json};
use tillerman::message::{Message, Usage};

use super::talk::{Ask, model};
use crate::server::{Response, Server};

/// The usage that is read from a reply of this body, which comes at once.
async fn read(id: &str, body: Value) -> Usage {
    let server = Server::list([Response::status(200, &body.to_string())]);
    let (reply, _) = Ask::new([Message::user("hi")]).send(&model(&server, id)).await;
    reply.unwrap_or_else(|error| panic!("{id}: {error}")).usage
}

fn usage(input: u64, cache_read: u64, cache_write: u64, output: u64, reasoning: u64) -> Usage {
    Usage { input, output, cache_read, cache_write, reasoning }
}

#[tokio::test]
async fn anthropic_tells_input_and_caches_apart() {
    let body = |usage: Value| {
        json!({"type": "message", "role": "assistant", "content": [{"type": "text", "text": "yes"}],
            "stop_reason": "end_turn", "usage": usage})
    };
    let full = json!({"input_tokens": 12, "cache_read_input_tokens": 9_000, "cache_creation_input_tokens": 400,
        "cache_creation": {"ephemeral_5m_input_tokens": 400, "ephemeral_1h_input_tokens": 0}, "output_tokens": 80,
        "output_tokens_details": {"thinking_tokens": 50}, "service_tier": "standard"});
    assert_eq!(read("anthropic/claude-sonnet-5-5", body(full)).await, usage(12, 9_000, 400, 80, 50));
    let bare = json!({"input_tokens": 12, "output_tokens": 80, "cache_read_input_tokens": null});
    assert_eq!(read("anthropic/claude-sonnet-5-5", body(bare)).await, usage(12, 0, 0, 80, 0));
}

#[tokio::test]
async fn responses_has_caches_in_its_input_and_reasoning_in_its_output() {
    let body = |usage: Value| {
        json!({"object": "response", "status": "completed", "error": null, "usage": usage, "output": [{"type": "message",
            "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": "yes", "annotations": []}]}]})
    };
    let full = json!({"input_tokens": 9_412, "input_tokens_details": {"cached_tokens": 9_000, "cache_write_tokens": 400},
        "output_tokens": 80, "output_tokens_details": {"reasoning_tokens": 50}, "total_tokens": 9_492});
    assert_eq!(read("openai/gpt-6.1-sol", body(full)).await, usage(12, 9_000, 400, 80, 50));
    let strange = json!({"input_tokens": 12, "input_tokens_details": null, "output_tokens": 80, "cost": {"total": 1}});
    assert_eq!(read("openai/gpt-6.1-sol", body(strange)).await, usage(12, 0, 0, 80, 0));
}

#[tokio::test]
async fn chat_completions_are_read_in_every_dialect() {
    let dialects = [
        (
            "openrouter/any",
            json!({"prompt_tokens": 9_412, "prompt_tokens_details": {"cached_tokens": 9_000, "cache_write_tokens": 400},
                "completion_tokens": 80, "completion_tokens_details": {"reasoning_tokens": 50}, "total_tokens": 9_492}),
            usage(12, 9_000, 400, 80, 50),
        ),
        (
            "deepseek/any",
            json!({"prompt_tokens": 9_012, "prompt_cache_hit_tokens": 9_000, "prompt_cache_miss_tokens": 12,
                "completion_tokens": 80, "completion_tokens_details": {"reasoning_tokens": 50}}),
            usage(12, 9_000, 0, 80, 50),
        ),
        (
            // Its reasoning is no part of the completion, but of the total.
            "xai/any",
            json!({"prompt_tokens": 12, "completion_tokens": 30, "total_tokens": 92,
                "completion_tokens_details": {"reasoning_tokens": 50}}),
            usage(12, 0, 0, 80, 50),
        ),
        ("groq/any", json!({"prompt_tokens": 12, "completion_tokens": 80, "queue_time": 0.1}), usage(12, 0, 0, 80, 0)),
        ("lmstudio/any", Value::Null, Usage::default()),
    ];
    for (id, told, expected) in dialects {
        let body = json!({"object": "chat.completion", "usage": told, "choices": [{"index": 0, "finish_reason": "stop",
            "message": {"role": "assistant", "content": "yes"}}]});
        assert_eq!(read(id, body).await, expected, "{id}");
    }
}

#[tokio::test]
async fn gemini_counts_thoughts_beside_its_candidates() {
    let told = json!({"promptTokenCount": 9_000, "cachedContentTokenCount": 8_988, "candidatesTokenCount": 30,
        "thoughtsTokenCount": 50, "totalTokenCount": 9_080});
    let body = json!({"usageMetadata": told, "candidates": [{"index": 0, "finishReason": "STOP",
        "content": {"role": "model", "parts": [{"text": "yes"}]}}]});
    assert_eq!(read("gemini/gemini-3.8-flash", body).await, usage(12, 8_988, 0, 80, 50));
}

#[tokio::test]
async fn ollama_counts_what_it_read_and_wrote() {
    let body = json!({"model": "any", "message": {"role": "assistant", "content": "yes"}, "done": true,
        "done_reason": "stop", "prompt_eval_count": 12, "eval_count": 80, "total_duration": 1});
    assert_eq!(read("ollama/any", body).await, usage(12, 0, 0, 80, 0));
}
