//! Arguments of a call: one schema that the model is told and that is enforced, repairs of what models get wrong, and
//! all faults at once in a sentence that the model can act on. What a tool does with them is not known here.

use std::fmt::Write as _;
use std::sync::{Arc, OnceLock};

use jsonschema::error::ValidationErrorKind;
use jsonschema::{ValidationError, Validator};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::repair::{self, Synonyms};
use super::{ToolError, ToolSpec, schema};
use crate::message::RawArgs;

/// Most faults named in one sentence.
const MOST_FAULTS: usize = 8;
/// Longest quotation of what the model wrote, in characters.
const QUOTED: usize = 60;

/// What a tool is called with: its [`ToolSpec`] and the check of it.
pub struct Signature {
    spec: ToolSpec,
    /// What arguments are held to; the spec's says the same with fewer words.
    schema: Arc<Value>,
    /// Compiled by the first call: for most agents most tools are only advertised, and that must cost nothing.
    check: OnceLock<Option<Validator>>,
    synonyms: Synonyms,
}

/// Arguments that passed the check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Read<A> {
    /// The arguments.
    pub args: A,
    /// What had to be mended first, one line each; for the details of the result.
    pub repairs: Vec<String>,
}

impl Signature {
    /// The signature of a tool whose arguments are an `A`.
    ///
    /// Doc comments on the fields of `A` are what the model reads about them.
    pub fn of<A: JsonSchema>(name: &str, description: &str, read_only: bool) -> Signature {
        let schema = schema::of::<A>();
        let told = schema::in_short(&schema);
        Signature { schema: schema.into(), ..Signature::with_schema(name, description, read_only, told) }
    }

    /// The signature of a tool whose schema comes from elsewhere.
    ///
    /// A schema that cannot be compiled is advertised as it is; then only the typed reading checks the arguments.
    pub fn with_schema(name: &str, description: &str, read_only: bool, schema: Value) -> Signature {
        let schema = Arc::new(schema);
        let spec = ToolSpec {
            name: name.to_owned(),
            description: description.trim().into(),
            schema: schema.clone(),
            read_only,
        };
        Signature { spec, schema, check: OnceLock::new(), synonyms: &[] }
    }

    /// Further names of fields, written `(other, field)`: understood, never advertised.
    pub fn understanding(mut self, synonyms: Synonyms) -> Signature {
        self.synonyms = synonyms;
        self
    }

    /// What the model is told.
    pub fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    /// Reads the arguments of a call.
    ///
    /// # Errors
    /// A sentence with every fault: where, what is wrong, and what the schema says about each failing field. Arguments
    /// that are not JSON are refused whole, with the place; nothing is made of the part before it.
    pub fn read<A: DeserializeOwned>(&self, raw: &RawArgs) -> Result<Read<A>, ToolError> {
        let (mut value, mut repairs) = self.parse(&raw.0)?;
        repairs.extend(repair::repair(&mut value, &self.schema, self.synonyms));
        self.validate(&value)?;
        match serde_path_to_error::deserialize(value) {
            Ok(args) => Ok(Read { args, repairs }),
            Err(error) => {
                let path: Vec<String> = error.path().iter().map(|segment| segment.to_string()).collect();
                let fault = Fault { what: format!("{}: {}", dotted(&path), error.inner()), field: path };
                Err(self.sentence(&[fault]))
            }
        }
    }

    fn parse(&self, text: &str) -> Result<(Value, Vec<String>), ToolError> {
        let bare = unfenced(text);
        if bare.is_empty() || bare == "null" {
            let repairs = vec!["empty arguments were read as {}".to_owned()];
            return Ok((Value::Object(serde_json::Map::new()), repairs));
        }
        let fenced = bare.len() != text.trim().len();
        let repairs = fenced.then(|| "a code fence around the arguments was dropped".to_owned());
        match serde_json::from_str(bare) {
            Ok(value) => Ok((value, repairs.into_iter().collect())),
            Err(error) => Err(self.not_json(bare, &error)),
        }
    }

    fn not_json(&self, text: &str, error: &serde_json::Error) -> ToolError {
        let name = &self.spec.name;
        let cut = if error.is_eof() { "; they seem to be cut off" } else { "" };
        let near = near(text, error.line(), error.column());
        let mut sentence =
            format!("the arguments of {name} are not JSON: {error}{cut}, near `{near}`; nothing was done. ");
        let _ = write!(sentence, "Send one JSON object, as in {}", example(&self.schema));
        ToolError::new(sentence)
    }

    fn validate(&self, value: &Value) -> Result<(), ToolError> {
        let check = self.check.get_or_init(|| jsonschema::validator_for(&self.schema).ok());
        let Some(check) = check else { return Ok(()) };
        if check.is_valid(value) {
            return Ok(());
        }
        let mut faults: Vec<Fault> = check.iter_errors(value).flat_map(|error| self.faults(&error)).collect();
        // From the outside in, as one would mend them.
        faults.sort_by_key(|fault| fault.field.len());
        Err(self.sentence(&faults))
    }

    /// What one error of the validator means; an unknown field each is a fault of its own.
    fn faults(&self, error: &ValidationError<'_>) -> Vec<Fault> {
        let path: Vec<String> = error.instance_path().into_iter().map(|segment| segment.to_string()).collect();
        let below = |name: &str| path.iter().cloned().chain([name.to_owned()]).collect::<Vec<String>>();
        match error.kind() {
            ValidationErrorKind::Required { property } => {
                let field = below(property.as_str().unwrap_or_default());
                vec![Fault { what: format!("{} is missing", dotted(&field)), field }]
            }
            ValidationErrorKind::AdditionalProperties { unexpected } => {
                let known = schema::at(&self.schema, &path).map(names).unwrap_or_default();
                let strange = |name: &String| Fault {
                    what: format!("{} is not a field, there are only {known}", dotted(&below(name))),
                    field: below(name),
                };
                unexpected.iter().map(strange).collect()
            }
            _ => {
                let got = quoted(&error.instance().to_string());
                let what = error.masked_with(got).to_string();
                vec![Fault { what: format!("{}: {what}", dotted(&path)), field: path }]
            }
        }
    }

    fn sentence(&self, faults: &[Fault]) -> ToolError {
        let mut shown: Vec<&str> = faults.iter().take(MOST_FAULTS).map(|fault| fault.what.as_str()).collect();
        let more = format!("and {} more faults", faults.len().saturating_sub(MOST_FAULTS));
        if faults.len() > MOST_FAULTS {
            shown.push(&more);
        }
        let mut sentence = format!("wrong arguments for {}: {}", self.spec.name, shown.join("; "));
        let mut told: Vec<&[String]> = Vec::new();
        for fault in faults.iter().take(MOST_FAULTS) {
            let Some(schema) = schema::at(&self.schema, &fault.field) else { continue };
            if fault.field.is_empty() || told.contains(&fault.field.as_slice()) {
                continue;
            }
            let before = if told.is_empty() { ". The schema says " } else { ", " };
            let _ = write!(sentence, "{before}\"{}\": {schema}", dotted(&fault.field));
            told.push(&fault.field);
        }
        ToolError::new(sentence)
    }
}

/// One thing that is wrong, and the field whose schema line helps.
struct Fault {
    what: String,
    field: Vec<String>,
}

/// `edits[0].new_text`, as a person writes it.
fn dotted(path: &[String]) -> String {
    let mut text = String::new();
    for step in path {
        if step.bytes().all(|byte| byte.is_ascii_digit()) && !step.is_empty() {
            let _ = write!(text, "[{step}]");
        } else {
            let dot = if text.is_empty() || step.starts_with('[') { "" } else { "." };
            let _ = write!(text, "{dot}{step}");
        }
    }
    if text.is_empty() { "the arguments".to_owned() } else { text }
}

fn names(schema: &Value) -> String {
    let names: Vec<&str> = schema::fields(schema).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// The required fields with a placeholder of their type: `{"path": "…"}`.
fn example(schema: &Value) -> String {
    let placeholder = |name: &&str| {
        let inner = schema::property(schema, name);
        let allows = |kind| inner.is_some_and(|inner| schema::allows(inner, kind));
        let sample = if allows("string") {
            "\"…\""
        } else if allows("array") {
            "[…]"
        } else if allows("object") {
            "{…}"
        } else {
            "1"
        };
        format!("\"{name}\": {sample}")
    };
    let required = schema::fields(schema).filter(|name| schema::requires(schema, name));
    let fields: Vec<String> = required.map(|name| placeholder(&name)).collect();
    format!("{{{}}}", fields.join(", "))
}

/// The text without a Markdown fence around it.
fn unfenced(text: &str) -> &str {
    let text = text.trim();
    let inside = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    inside.map_or(text, |inside| inside.strip_prefix("json").unwrap_or(inside).trim())
}

/// A few characters before and after the place of an error.
fn near(text: &str, line: usize, column: usize) -> String {
    let line = text.lines().nth(line.saturating_sub(1)).unwrap_or_default();
    let mut at = column.min(line.len());
    while !line.is_char_boundary(at) {
        at -= 1;
    }
    let from = line[..at].char_indices().rev().nth(QUOTED / 2).map_or(0, |(index, _)| index);
    let to = line[at..].char_indices().nth(10).map_or(line.len(), |(index, _)| at + index);
    line[from..to].to_owned()
}

fn quoted(text: &str) -> String {
    match text.char_indices().nth(QUOTED) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text.to_owned(),
    }
}
