//! Gemini's own format, streamed: how a conversation is written in it. How a reply is read is in `gemini/reading`.
//! Proofs of reasoning go back on the very part that they came on; a conversation whose proofs are refused is written
//! again without them.

mod reading;

use serde_json::{Map, Value, json};
use url::Url;

use super::draft::{Draft, sendable};
use super::encoded::{Transcript, field, json};
use super::eyes::beside_results;
use super::line::{Format, Line, Reading};
use super::{Fault, ModelError, Request};
use crate::message::{Block, Message, Role, Thinking, ToolCall, ToolResult, ToolSpec};
use reading::Chunks;

/// Stands for the proof of a call that another model made; Google documents it for that purpose.
const NO_PROOF: &str = "skip_thought_signature_validator";

/// The variable that chooses the version of the door, as Google's own libraries read it.
pub(super) const VERSION: &str = "GOOGLE_GENAI_API_VERSION";

/// A model behind Gemini's own door.
pub(super) struct Gemini {
    pub(super) line: Line,
}

impl Format for Gemini {
    fn line(&self) -> &Line {
        &self.line
    }

    fn encode(&self, request: &Request<'_>, _: bool) -> Vec<u8> {
        let line = &self.line;
        let append = |out: &mut Transcript, message: &Message| self.append(out, message);
        line.encoded.build(request, append, |transcript| {
            let mut out = transcript.begin(request, tools);
            out.extend_from_slice(b"{\"generationConfig\":");
            let limit = Map::from_iter([("maxOutputTokens".to_owned(), line.max_tokens(request).into())]);
            json(&mut out, &line.options("generationConfig", limit));
            line.add_body_without(&mut out, &["generationConfig"]);
            if !request.system.is_empty() {
                field(&mut out, "systemInstruction", &json!({"parts": [{"text": request.system}]}));
            }
            if !transcript.tools.is_empty() {
                out.extend_from_slice(b",\"tools\":");
                out.extend_from_slice(&transcript.tools);
                if request.tools.is_empty() {
                    field(&mut out, "toolConfig", &json!({"functionCallingConfig": {"mode": "NONE"}}));
                }
            }
            out.extend_from_slice(b",\"contents\":[");
            out.extend_from_slice(&transcript.bytes);
            out.extend_from_slice(if transcript.role.is_some() { b"]}]}" } else { b"]}" });
            out
        })
    }

    fn reading<'a>(&'a self, draft: Draft<'a>) -> Box<dyn Reading + Send + 'a> {
        Box::new(Chunks::new(&self.line, draft))
    }

    /// Proofs are refused when the model behind a name changes, or another route or key leads to it.
    fn reword(&self, request: &Request<'_>, error: &ModelError) -> bool {
        let said = error.message.to_lowercase().replace('_', " ");
        let of_proofs = said.contains("thought signature") || said.contains("thoughtsignature");
        let blocks = || request.messages.iter().flat_map(|message| &message.blocks);
        if error.fault != Fault::BadRequest || !of_proofs || !blocks().any(|block| self.is_proof_or_call(block)) {
            return false;
        }
        self.line.encoded.without_proofs(request, |out, message| self.append(out, message));
        true
    }
}

impl Gemini {
    /// Adjacent messages of one role become one.
    fn append(&self, out: &mut Transcript, message: &Message) {
        let begins: &[u8] = br#"{"role":"user","parts":["#;
        out.person_first(message.role, begins, br#"{"text":"(The beginning is summed up.)"}"#);
        let opening: &[u8] = match message.role {
            Role::User => begins,
            Role::Assistant => br#"{"role":"model","parts":["#,
        };
        let proven = out.unproven == 0;
        out.unproven = out.unproven.saturating_sub(1);
        if message.calls().next().is_some() {
            out.names = message.calls().map(|call| (call.id.clone(), call.name.clone())).collect();
        }
        let mut stand_in = (!proven || self.wants_proofs()).then_some(NO_PROOF);
        let mut proof = None;
        for block in &beside_results(message).blocks {
            let part = match block {
                Block::Thinking(thinking) => match self.thinking(thinking).filter(|_| proven) {
                    Some(Proof::Own(part)) => Some(part),
                    Some(Proof::Next(signature)) => {
                        proof = Some(signature);
                        continue;
                    }
                    None => None,
                },
                Block::Text { text } => text_part(text, proof),
                Block::Call(call) => Some(call_part(call, proof.or(stand_in.take()))),
                Block::Image(image) => {
                    let data = json!({"mimeType": image.media_type, "data": image.data});
                    Some(json!({"inlineData": data}).to_string().into_bytes())
                }
                Block::Result(result) => Some(result_part(result, out.names.get(&result.call))),
            };
            if matches!(block, Block::Call(_)) {
                // Of calls in one reply only the first one needs a proof.
                stand_in = None;
            }
            proof = None;
            if let Some(part) = part {
                out.push_part(message.role, opening, &part, matches!(block, Block::Result(_)));
            }
        }
    }

    fn thinking<'m>(&self, thinking: &'m Thinking) -> Option<Proof<'m>> {
        let opaque = thinking.opaque.as_ref().filter(|opaque| self.line.wrote(opaque))?;
        let signature = opaque.data["signature"].as_str().filter(|signature| !signature.is_empty())?;
        let part = match opaque.data["alone"].as_str() {
            Some("text") => json!({"text": "", "thoughtSignature": signature}),
            None if thinking.text.is_empty() => return Some(Proof::Next(signature)),
            Some(_) | None => json!({"text": thinking.text, "thought": true, "thoughtSignature": signature}),
        };
        Some(Proof::Own(part.to_string().into_bytes()))
    }

    fn is_proof_or_call(&self, block: &Block) -> bool {
        match block {
            Block::Thinking(thinking) => self.thinking(thinking).is_some(),
            Block::Call(_) => !self.wants_proofs(),
            Block::Text { .. } | Block::Image(_) | Block::Result(_) => false,
        }
    }

    /// The model refuses calls without a proof.
    fn wants_proofs(&self) -> bool {
        !self.line.quirks.unsigned.iter().any(|beginning| self.line.id.model.starts_with(beginning))
    }
}

/// What a block of reasoning has to say.
enum Proof<'m> {
    /// A part of its own.
    Own(Vec<u8>),
    /// The signature of the part behind it.
    Next(&'m str),
}

/// Puts another version at the end of a base URL.
pub(super) fn set_version(base_url: &mut String, version: &str) {
    if let Some((front, _)) = base_url.rsplit_once('/') {
        *base_url = format!("{front}/{version}");
    }
}

/// Where replies of a model are asked for. The base may be that of the OpenAI-compatible door.
pub(super) fn url(mut base: Url, model: &str, streamed: bool) -> Url {
    let path = base.path().trim_end_matches('/');
    let path = path.strip_suffix("/openai").unwrap_or(path).to_owned();
    base.set_path(&path);
    let model = model.strip_prefix("models/").unwrap_or(model);
    if let Ok(mut segments) = base.path_segments_mut() {
        segments.pop_if_empty();
        if !model.contains('/') {
            segments.push("models");
        }
        let ask = if streamed { "streamGenerateContent" } else { "generateContent" };
        segments.extend(format!("{model}:{ask}").split('/'));
    }
    base.set_query(streamed.then_some("alt=sse"));
    base
}

fn text_part(text: &str, proof: Option<&str>) -> Option<Vec<u8>> {
    let part = match proof {
        Some(signature) => json!({"text": text, "thoughtSignature": signature}),
        None if text.trim().is_empty() => return None,
        None => json!({"text": text}),
    };
    Some(part.to_string().into_bytes())
}

fn call_part(call: &ToolCall, proof: Option<&str>) -> Vec<u8> {
    let mut out = b"{\"functionCall\":{\"id\":".to_vec();
    json(&mut out, &call.id.0);
    field(&mut out, "name", &call.name);
    // Not as a value: what the model wrote comes back to it letter by letter.
    out.extend_from_slice(b",\"args\":");
    out.extend_from_slice(sendable(&call.args).as_bytes());
    out.push(b'}');
    if let Some(signature) = proof {
        field(&mut out, "thoughtSignature", signature);
    }
    out.push(b'}');
    out
}

fn result_part(result: &ToolResult, name: Option<&String>) -> Vec<u8> {
    let text = if result.output.trim().is_empty() { "(no output)" } else { &result.output };
    let response = if result.is_error { json!({"error": text}) } else { json!({"output": text}) };
    let name = name.map_or("tool", String::as_str);
    json!({"functionResponse": {"id": result.call.0, "name": name, "response": response}}).to_string().into_bytes()
}

fn tools(specs: &[ToolSpec]) -> Vec<u8> {
    let tool = |spec: &ToolSpec| json!({"name": spec.name, "description": spec.description, "parametersJsonSchema": spec.schema});
    let declarations: Vec<Value> = specs.iter().map(tool).collect();
    let mut out = Vec::new();
    json(&mut out, &json!([{"functionDeclarations": declarations}]));
    out
}
