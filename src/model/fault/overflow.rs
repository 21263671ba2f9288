//! How providers say that a conversation is too long for their model. A provider that says nothing is known by its
//! figures; that is for `line`.

/// Who says so, and by which words, in lower case.
///
/// Sources: the providers' documentation and SDKs, issues of their users; collected in November 2026.
const WORDS: &[(&str, &str)] = &[
    ("Anthropic", "prompt is too long"),
    ("Anthropic, bytes", "request_too_large"),
    ("Anthropic, with what may be written", "exceed context limit"),
    ("Anthropic and z.ai, as a reason to stop", "model_context_window_exceeded"),
    ("OpenAI, code", "context_length_exceeded"),
    ("OpenAI Responses", "exceeds the context window"),
    ("OpenAI Chat, OpenRouter, vLLM, DeepSeek, Together", "maximum context length"),
    ("OpenAI, a request above the tokens of a minute", "tokens must be reduced"),
    ("Gemini", "exceeds the maximum number of tokens"),
    ("Groq", "reduce the length of the messages"),
    ("Groq, vLLM", "reduce the length of the input"),
    ("xAI", "maximum prompt length is"),
    ("Mistral", "too large for model with"),
    ("MiniMax", "context window exceeds limit"),
    ("Moonshot", "exceeded model token limit"),
    ("Together", "longer than the model's context length"),
    ("OpenRouter", "exceeds the maximum allowed input length"),
    ("Qwen", "range of input length should be"),
    ("GitHub Copilot", "prompt token count of"),
    ("Bedrock", "input is too long"),
    ("Cohere", "total number of tokens in the prompt cannot exceed"),
    ("Fireworks", "the prompt is longer than"),
    ("Cerebras", "please reduce the length"),
    ("llama.cpp", "exceeds the available context size"),
    ("llama.cpp, while it writes", "context size has been exceeded"),
    ("LM Studio", "greater than the context length"),
    ("Ollama", "prompt too long"),
    ("Ollama, embedded runner", "exceeds the context length"),
    ("gateways", "token limit exceeded"),
    ("gateways", "too many tokens"),
    ("gateways", "context length exceeded"),
];

/// Words of a limit in time. Some of them come with words of the table, and waiting helps against them.
const RATE: &[&str] =
    &["rate limit", "rate_limit", "too many requests", "throttl", "please wait", "per minute", "per day"];

/// The code or the text, both in lower case, say that the conversation is too long.
pub(super) fn is_told(code: &str, text: &str) -> bool {
    let says = |words: &str| code.contains(words) || text.contains(words);
    never_fits(text) || (WORDS.iter().any(|(_, words)| says(words)) && !is_rate(code, text))
}

/// The text says that this request would pass the limit at any time, so that waiting does not help.
pub(super) fn never_fits(text: &str) -> bool {
    text.contains("tokens must be reduced")
}

/// The code or the text, both in lower case, speak of a limit in time.
pub(super) fn is_rate(code: &str, text: &str) -> bool {
    RATE.iter().any(|words| code.contains(words) || text.contains(words))
}
