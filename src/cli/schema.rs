//! An answer that is to be JSON under a schema of the person's: how it is asked for, read, and sent back.

use std::fs;
use std::path::Path;

use jsonschema::Validator;
use serde_json::Value;

/// Most faults that are named at once.
const FAULTS: usize = 8;

/// What an answer is held to.
pub struct Schema {
    schema: Value,
    validator: Validator,
}

impl Schema {
    /// Reads the file.
    ///
    /// # Errors
    /// A sentence with the file and the line, or the keyword that makes no sense. Schemas elsewhere are not fetched.
    pub fn open(path: &Path) -> Result<Schema, String> {
        let shown = path.display();
        let text = fs::read_to_string(path).map_err(|error| format!("cannot read the schema {shown}: {error}"))?;
        let schema: Value =
            serde_json::from_str(&text).map_err(|error| format!("the schema {shown} is not JSON: {error}"))?;
        let validator = jsonschema::validator_for(&schema).map_err(|error| {
            let at = error.instance_path().to_string();
            let at = if at.is_empty() { error.schema_path().to_string() } else { at };
            format!("the schema {shown} makes no sense at {}: {error}", if at.is_empty() { "/" } else { &at })
        })?;
        Ok(Schema { schema, validator })
    }

    /// The prompt, with what the answer is to be.
    pub fn asked(&self, prompt: &str) -> String {
        let schema = &self.schema;
        format!(
            "{prompt}\n\nYour final answer must be JSON alone, without other words, valid under this JSON Schema:\n{schema}"
        )
    }

    /// What the model is told of an answer that is not.
    pub fn sent_back(&self, why: &str) -> String {
        format!("Your answer is not valid under the JSON Schema: {why}. Answer again, with the JSON alone.")
    }

    /// The JSON in an answer, as it is written there and as a value. A code fence around it is no fault.
    ///
    /// # Errors
    /// What is wrong, for the model and for people.
    pub fn read(&self, answer: &str) -> Result<(String, Value), String> {
        let text = unfenced(answer.trim());
        let value: Value = serde_json::from_str(text).map_err(|error| match text {
            "" => "it is empty".to_owned(),
            _ => format!("it is not JSON: {error}"),
        })?;
        let faults: Vec<String> = self
            .validator
            .iter_errors(&value)
            .take(FAULTS)
            .map(|error| match error.instance_path().to_string() {
                at if at.is_empty() => error.to_string(),
                at => format!("{at}: {error}"),
            })
            .collect();
        if faults.is_empty() { Ok((text.to_owned(), value)) } else { Err(faults.join("; ")) }
    }
}

/// What stands in the only code fence of a text, else the text.
fn unfenced(text: &str) -> &str {
    let mut parts = text.split("```");
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(_), Some(inside), Some(_), None) if !text.starts_with(['{', '[', '"']) => {
            inside.split_once('\n').map_or(inside, |(_, below)| below).trim()
        }
        _ => text,
    }
}
