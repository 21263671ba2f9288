//! The forms in which a known value may turn up: as it is, and as programs usually encode it.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};

/// Characters that an encoded form has at least: fewer would be found in texts that have nothing to do with it.
const LEAST: usize = 10;

/// The value, and it percent-encoded, as a JSON text, in hexadecimal and in base64 wherever it may begin in it.
pub(super) fn of(value: &str) -> Vec<Vec<u8>> {
    let encoded = [percent(value), json(value), hex(value), hex(value).to_ascii_uppercase()];
    let in_base64 = (0..3).flat_map(|before| base64(value, before));
    let encoded = encoded.into_iter().chain(in_base64).filter(|form| form.len() >= LEAST);
    let mut forms: Vec<Vec<u8>> = std::iter::once(value.to_owned()).chain(encoded).map(String::into_bytes).collect();
    forms.sort_unstable();
    forms.dedup();
    forms
}

fn percent(value: &str) -> String {
    let each = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    };
    value.bytes().map(each).collect()
}

fn json(value: &str) -> String {
    serde_json::Value::from(value).to_string().trim_matches('"').to_owned()
}

fn hex(value: &str) -> String {
    value.bytes().map(|byte| format!("{byte:02x}")).collect()
}

/// What of its base64 does not depend on what stands around it, when so many bytes of a group of three are before it.
fn base64(value: &str, before: usize) -> [String; 2] {
    let mut bytes = vec![0; before];
    bytes.extend_from_slice(value.as_bytes());
    let whole = bytes.len() * 8 / 6;
    let first = (before * 8).div_ceil(6);
    let part = |text: String| text.get(first..whole).unwrap_or_default().to_owned();
    [part(STANDARD.encode(&bytes)), part(URL_SAFE.encode(&bytes))]
}
