//! A Gemini reply while it is read: chunks in, a reply out. A signature is kept with the part that it came on, and such
//! a part is never joined with another.

use serde::Deserialize;
use serde_json::{Value, json};

use super::super::draft::Draft;
use super::super::fault::Refusal;
use super::super::http::Progress;
use super::super::line::{Line, Reading};
use super::super::sse::SseEvent;
use super::super::{Fault, ModelError, Reply, Stop};
use crate::message::Usage;

/// A reply that is being read.
pub(super) struct Chunks<'a> {
    line: &'a Line,
    draft: Draft<'a>,
    /// The part that the next piece of its kind goes to: whether it is reasoning, and its slot.
    open: Option<(bool, usize)>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Chunk {
    candidates: Option<Vec<Candidate>>,
    prompt_feedback: Option<Feedback>,
    usage_metadata: Option<Tokens>,
    error: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate {
    content: Option<Content>,
    finish_reason: Option<String>,
    finish_message: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Feedback {
    block_reason: Option<String>,
    block_reason_message: Option<String>,
}

#[derive(Deserialize)]
struct Content {
    parts: Option<Vec<Part>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part {
    text: Option<String>,
    thought: Option<bool>,
    thought_signature: Option<String>,
    function_call: Option<FunctionCall>,
}

#[derive(Deserialize)]
struct FunctionCall {
    id: Option<String>,
    name: Option<String>,
    args: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Tokens {
    prompt_token_count: Option<u64>,
    tool_use_prompt_token_count: Option<u64>,
    cached_content_token_count: Option<u64>,
    candidates_token_count: Option<u64>,
    thoughts_token_count: Option<u64>,
}

impl Reading for Chunks<'_> {
    fn event(&mut self, event: &SseEvent) -> Result<Progress, ModelError> {
        match event.data.trim() {
            "" => return Ok(Progress::More),
            "[DONE]" => return Ok(Progress::Done),
            _ => {}
        }
        let garbled = |e| self.line.endpoint.garbled(format!("an event that cannot be read: {e}"));
        self.chunk(serde_json::from_str(&event.data).map_err(garbled)?, &event.data)?;
        if self.draft.is_too_long() {
            return Err(self.line.endpoint.too_long());
        }
        Ok(if self.draft.stop.is_some() { Progress::Ending } else { Progress::More })
    }

    /// A reply that came at once, or a list of chunks from a server that does not heed `alt=sse`.
    fn whole(&mut self, body: &str) -> Result<(), ModelError> {
        let garbled = |e| self.line.endpoint.garbled(format!("a reply that cannot be read: {e}"));
        let value: Value = serde_json::from_str(body).map_err(garbled)?;
        let chunks = if let Value::Array(chunks) = value { chunks } else { vec![value] };
        if !chunks
            .iter()
            .any(|chunk| ["candidates", "promptFeedback", "error"].iter().any(|key| !chunk[*key].is_null()))
        {
            return Err(self.line.endpoint.garbled("no candidates and no reason for that"));
        }
        for chunk in chunks {
            self.chunk(serde_json::from_value(chunk).map_err(garbled)?, body)?;
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Reply, ModelError> {
        Ok(self.draft.finish(self.line))
    }
}

impl<'a> Chunks<'a> {
    pub(super) fn new(line: &'a Line, draft: Draft<'a>) -> Chunks<'a> {
        Chunks { line, draft, open: None }
    }

    fn chunk(&mut self, chunk: Chunk, data: &str) -> Result<(), ModelError> {
        if chunk.error.is_some() {
            return Err(self.line.endpoint.refusal(&Refusal::read(None, data)));
        }
        self.usage(chunk.usage_metadata);
        // We ask for one candidate; a server that sends more gets its first one read.
        if let Some(candidate) = chunk.candidates.into_iter().flatten().next() {
            for part in candidate.content.and_then(|content| content.parts).into_iter().flatten() {
                self.part(part)?;
            }
            self.stop(candidate.finish_reason.as_deref(), candidate.finish_message)?;
        }
        if let Some(Feedback { block_reason: Some(reason), block_reason_message }) = chunk.prompt_feedback {
            self.refuse(&reason, block_reason_message);
        }
        Ok(())
    }

    fn part(&mut self, part: Part) -> Result<(), ModelError> {
        let signature = part.thought_signature.filter(|signature| !signature.is_empty());
        if let Some(call) = part.function_call {
            let name = call.name.filter(|name| !name.is_empty());
            let Some(name) = name else { return Err(self.line.endpoint.garbled("a tool call without a name")) };
            self.open = None;
            if let Some(signature) = signature {
                let slot = self.draft.open_thinking();
                self.sign(slot, json!({"signature": signature}));
            }
            let slot = self.draft.open_call(&call.id.unwrap_or_default(), &name, 0);
            match call.args {
                None | Some(Value::Null) => {}
                Some(Value::String(text)) => self.draft.add(slot, &text),
                Some(args) => self.draft.add(slot, &args.to_string()),
            }
            return Ok(());
        }
        // Files and code that runs at the provider are not asked for.
        let Some(text) = part.text else { return Ok(()) };
        let thought = part.thought.unwrap_or(false);
        match signature {
            None if text.is_empty() => {}
            None => {
                let slot = match self.open {
                    Some((kind, slot)) if kind == thought => slot,
                    Some(_) | None if thought => self.draft.open_thinking(),
                    Some(_) | None => self.draft.open_text(),
                };
                self.open = Some((thought, slot));
                self.draft.add(slot, &text);
            }
            Some(signature) => self.signed(&text, thought, &signature),
        }
        Ok(())
    }

    /// A part with a proof stands for itself.
    fn signed(&mut self, text: &str, thought: bool, signature: &str) {
        self.open = None;
        let slot = self.draft.open_thinking();
        let proof = match (text.is_empty(), thought) {
            (true, true) => json!({"signature": signature, "alone": "thought"}),
            (true, false) => json!({"signature": signature, "alone": "text"}),
            (false, _) => json!({"signature": signature}),
        };
        self.sign(slot, proof);
        let slot = if thought { slot } else { self.draft.open_text() };
        self.draft.add(slot, text);
    }

    fn sign(&mut self, slot: usize, proof: Value) {
        let bytes = proof["signature"].as_str().map_or(0, str::len);
        self.draft.proof(slot, bytes, || self.line.opaque(proof));
    }

    /// Every report is of the whole reply so far.
    fn usage(&mut self, tokens: Option<Tokens>) {
        let Some(tokens) = tokens else { return };
        let told = |figure: Option<u64>| figure.unwrap_or(0);
        let cache_read = told(tokens.cached_content_token_count);
        let prompt = told(tokens.prompt_token_count).saturating_add(told(tokens.tool_use_prompt_token_count));
        let reasoning = told(tokens.thoughts_token_count);
        self.draft.usage = Usage {
            input: prompt.saturating_sub(cache_read),
            output: told(tokens.candidates_token_count).saturating_add(reasoning),
            cache_read,
            cache_write: 0,
            reasoning,
        };
    }

    /// There is no reason that tells calls from an end: the parts do.
    fn stop(&mut self, reason: Option<&str>, message: Option<String>) -> Result<(), ModelError> {
        let Some(reason) = reason.filter(|reason| !reason.is_empty()) else { return Ok(()) };
        let endpoint = &self.line.endpoint;
        let why = message.as_deref().map_or_else(String::new, |message| format!(": {message}"));
        match reason {
            "MAX_TOKENS" | "CONTINUATION" => self.draft.stop = Some(Stop::MaxTokens),
            "SAFETY"
            | "RECITATION"
            | "LANGUAGE"
            | "BLOCKLIST"
            | "PROHIBITED_CONTENT"
            | "SPII"
            | "MODEL_ARMOR"
            | "IMAGE_SAFETY"
            | "IMAGE_PROHIBITED_CONTENT"
            | "IMAGE_RECITATION"
            | "ESCALATION"
            | "PUP_LIMITED_DISABLED" => self.refuse(reason, message),
            "MALFORMED_FUNCTION_CALL" | "MALFORMED_RESPONSE" | "UNEXPECTED_TOOL_CALL" | "TOO_MANY_TOOL_CALLS" => {
                return Err(endpoint.garbled(format!("a reply that it gave up with {reason}{why}")));
            }
            "MISSING_THOUGHT_SIGNATURE" => {
                let text = format!("the reply was given up: a call is missing its thought signature{why}");
                return Err(endpoint.error(Fault::BadRequest, text));
            }
            "OTHER" if self.draft.is_empty() => {
                return Err(endpoint.garbled(format!("nothing and gave no reason for it{why}")));
            }
            _ => {
                self.draft.stop.get_or_insert(Stop::EndTurn);
            }
        }
        Ok(())
    }

    /// A filter's reason is all that a person gets to know when nothing else was said.
    fn refuse(&mut self, reason: &str, message: Option<String>) {
        if self.draft.is_empty() {
            let slot = self.draft.open_text();
            self.draft.add(slot, &message.unwrap_or_else(|| format!("blocked: {reason}")));
        }
        self.draft.stop = Some(Stop::Refusal);
    }
}
