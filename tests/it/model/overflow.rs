//! A conversation that is too long for its model (A42): said in the words of any provider, or only by the figures.

use std::time::Duration;

use serde_json::json;
use tillerman::message::Message;
use tillerman::model::http::Timeouts;
use tillerman::model::{Fault, ModelError};

use super::talk::{ALL, Ask, id_of, model, models};
use crate::server::{Response, Server, says};

/// Provider, status, code, and what it says when it is asked too much.
const SAID: [(&str, u16, &str, &str); 27] = [
    ("Anthropic", 400, "invalid_request_error", "prompt is too long: 213462 tokens > 200000 maximum"),
    ("Anthropic", 413, "request_too_large", "Request exceeds the maximum size"),
    (
        "Anthropic",
        400,
        "invalid_request_error",
        "input length and `max_tokens` exceed context limit: 199000 + 4096 > 200000",
    ),
    (
        "OpenAI Chat",
        400,
        "context_length_exceeded",
        "This model's maximum context length is 128000 tokens. However, your messages resulted in 130001 tokens",
    ),
    (
        "OpenAI Responses",
        400,
        "context_length_exceeded",
        "Your input exceeds the context window of this model. Please adjust your input and try again.",
    ),
    (
        "OpenAI",
        429,
        "tokens",
        "Request too large for gpt-6 on tokens per min (TPM): Limit 30000, Requested 45000. The input or output tokens must be reduced in order to run successfully.",
    ),
    (
        "Gemini",
        400,
        "INVALID_ARGUMENT",
        "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).",
    ),
    ("Groq", 400, "context_length_exceeded", "Please reduce the length of the messages or completion."),
    (
        "Groq",
        413,
        "rate_limit_exceeded",
        "Request too large for model on tokens per minute (TPM): Limit 6000, Requested 7000",
    ),
    (
        "xAI",
        400,
        "invalid_request",
        "This model's maximum prompt length is 131072 but the request contains 537812 tokens",
    ),
    (
        "DeepSeek",
        400,
        "invalid_request_error",
        "This model's maximum context length is 131072 tokens. However, you requested 170000 tokens",
    ),
    (
        "Mistral",
        400,
        "invalid_request_prompt",
        "Prompt contains 65673 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
    ),
    ("MiniMax", 400, "bad_request_error", "invalid params, context window exceeds limit (2013)"),
    ("Moonshot", 400, "invalid_request_error", "Invalid request: Your request exceeded model token limit: 262144"),
    ("z.ai", 400, "1261", "Prompt too long"),
    ("Qwen", 400, "invalid_parameter_error", "Range of input length should be [1, 129024]"),
    (
        "Together",
        422,
        "invalid_request_error",
        "The input (166007 tokens) is longer than the model's context length (131072 tokens).",
    ),
    (
        "OpenRouter",
        400,
        "400",
        "This endpoint's maximum context length is 131072 tokens. However, you requested about 140000 tokens",
    ),
    ("OpenRouter", 400, "400", "Input length 140000 exceeds the maximum allowed input length of 131072 tokens."),
    ("Copilot", 400, "model_max_prompt_tokens_exceeded", "prompt token count of 140000 exceeds the limit of 128000"),
    ("Bedrock", 400, "ValidationException", "Input is too long for requested model."),
    (
        "Cerebras",
        400,
        "context_length_exceeded",
        "Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192",
    ),
    (
        "llama.cpp",
        400,
        "exceed_context_size_error",
        "the request exceeds the available context size. try increasing the context size or enable context shift",
    ),
    ("llama.cpp", 500, "server_error", "Context size has been exceeded."),
    ("LM Studio", 400, "", "The number of tokens to keep from the initial prompt is greater than the context length"),
    ("Ollama", 400, "api_error", "prompt too long; exceeded max context length by 4242 tokens"),
    (
        "vLLM",
        400,
        "BadRequestError",
        "This model's maximum context length is 8192 tokens. However, you requested 512 output tokens and your prompt contains at least 9000 input tokens",
    ),
];

/// What sounds like it and is a limit in time, which passes.
const PASSING: [(&str, u16, &str, &str); 3] = [
    ("Bedrock", 429, "rate_limit_exceeded", "Too many tokens, please wait before trying again."),
    ("Bedrock", 400, "ThrottlingException", "Too many tokens per day"),
    ("OpenAI", 429, "tokens", "Rate limit reached for gpt-6 on tokens per min (TPM): Limit 30000, Used 29000"),
];

/// What sounds like it and is a mistake in the request.
const MISTAKES: [(&str, u16, &str, &str); 2] = [
    (
        "Anthropic",
        400,
        "invalid_request_error",
        "max_tokens: 200000 > 128000, which is the maximum allowed number of output tokens",
    ),
    ("Anthropic", 400, "invalid_request_error", "messages: at least one message is required"),
];

/// What sounds like it and is a server with too much to do.
const BUSY: [(&str, u16, &str, &str); 1] = [("any", 503, "overloaded", "Too many requests, too many tokens")];

/// The fault, in one format, and the number of requests. Nobody has the patience for a second attempt.
async fn fault(id: &str, response: Response) -> (ModelError, usize) {
    let server = Server::answer(move |_| response.clone());
    let model = models(&server, Timeouts::default()).with_patience(Duration::ZERO).get(&id_of(id)).unwrap();
    let error = Ask::new([Message::user("hi")]).send(&model).await.0.expect_err("a fault");
    (error, server.requests().len())
}

/// These words mean this fault, in whatever format the provider speaks.
async fn check(said: &[(&str, u16, &str, &str)], expected: Fault) {
    let plays = said.iter().flat_map(|said| ALL.map(|id| (id, said)));
    let plays = plays.map(|(id, (provider, status, code, text))| async move {
        let body = json!({"error": {"type": code, "code": code, "message": text}}).to_string();
        let (error, requests) = fault(id, Response::status(*status, &body)).await;
        assert_eq!((error.fault, requests), (expected, 1), "{provider} in {id}: {text}");
    });
    futures_util::future::join_all(plays).await;
}

/// A07, A42.
#[tokio::test]
async fn an_overflow_is_known_by_its_words() {
    check(&SAID, Fault::Overflow).await;
}

/// A42: waiting helps against a limit in time, and making room does not.
#[tokio::test]
async fn what_sounds_like_an_overflow_is_none() {
    check(&PASSING, Fault::RateLimited).await;
    check(&MISTAKES, Fault::BadRequest).await;
    check(&BUSY, Fault::Unavailable).await;
}

/// A42: z.ai answers what it has cut as if nothing were missing, others have no room left to say anything.
#[tokio::test]
async fn an_overflow_that_nobody_mentions_is_known_by_the_figures() {
    for id in ALL {
        let window = 2_000_000;
        let mute = says().stop("max_tokens").usage(window, 0, 0);
        assert_eq!(fault(id, mute.into()).await.0.fault, Fault::Overflow, "{id}");
        let cached = says().stop("max_tokens").usage(1, window, 0);
        let (error, _) = fault(id, cached.into()).await;
        assert!(error.message.contains("the conversation fills the window: 2000001 of "), "{id}: {error}");
        for fine in [says().text("so").usage(window, 0, 9), says().stop("max_tokens").usage(1000, 0, 0)] {
            let server = Server::list([fine]);
            let reply = Ask::new([Message::user("hi")]).send(&model(&server, id)).await.0;
            assert!(reply.is_ok(), "{id}: a window may be larger than the catalogue knows: {reply:?}");
        }
    }
    let (error, _) = fault("zai/glm-5.3", says().text("so").usage(2_000_000, 0, 9).into()).await;
    assert_eq!(error.fault, Fault::Overflow, "{error}");
}
