//! What a page says, as text: by its type, in its encoding, HTML as Markdown, without characters that hide something.

use std::borrow::Cow;

use encoding_rs::Encoding;

use super::html;

/// Bytes in which a page may say its encoding.
const HEAD: usize = 1024;

/// The text of a body, and what should be said of it.
///
/// # Errors
/// A sentence that names the type when it is none of text.
pub(super) async fn read(kind: &str, body: &[u8]) -> Result<(String, Option<String>), String> {
    let essence = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_html = match essence.as_str() {
        "text/html" | "application/xhtml+xml" => true,
        "" | "application/octet-stream" | "unknown/unknown" => {
            if looks_binary(body) {
                return Err("it is no text, and its server does not say what it is".to_owned());
            }
            looks_like_html(body)
        }
        essence if is_text(essence) => false,
        essence => {
            let essence: String = essence.chars().take(100).collect();
            return Err(format!("it is {essence}, not a page or text"));
        }
    };
    if looks_binary(body) {
        return Err(format!("it is called {essence}, but holds bytes that are no text"));
    }
    let text = decoded(kind, body);
    if !is_html {
        return Ok((clean(&text), None));
    }
    let (markdown, note) = html::to_markdown(text.into_owned()).await?;
    Ok((clean(&markdown), note))
}

fn is_text(essence: &str) -> bool {
    const KNOWN: [&str; 10] = [
        "application/json",
        "application/xml",
        "application/javascript",
        "application/x-javascript",
        "application/yaml",
        "application/x-yaml",
        "application/toml",
        "application/x-ndjson",
        "application/graphql",
        "application/x-sh",
    ];
    essence.starts_with("text/") || essence.ends_with("+json") || essence.ends_with("+xml") || KNOWN.contains(&essence)
}

/// A zero byte, except in the encodings that are made of them.
fn looks_binary(body: &[u8]) -> bool {
    Encoding::for_bom(body).is_none() && body.iter().take(8 * HEAD).any(|byte| *byte == 0)
}

fn looks_like_html(body: &[u8]) -> bool {
    let head = String::from_utf8_lossy(&body[..body.len().min(HEAD)]).trim_start().to_ascii_lowercase();
    head.starts_with("<!doctype html") || head.starts_with("<html") || head.contains("<body")
}

/// By its first bytes, else by what the server says, else by what the page says, else as UTF-8 if it is.
fn decoded<'a>(kind: &str, body: &'a [u8]) -> Cow<'a, str> {
    let named = |text: &str| {
        let at = text.to_ascii_lowercase().find("charset=")?;
        let name = text.get(at + "charset=".len()..)?.trim_start_matches(['"', '\'', ' ']);
        let end = name.find(|c: char| !c.is_ascii_alphanumeric() && !"-_:.".contains(c)).unwrap_or(name.len());
        Encoding::for_label(&name.as_bytes()[..end])
    };
    let head = String::from_utf8_lossy(&body[..body.len().min(HEAD)]);
    let said = named(kind).or_else(|| named(&head));
    let usual =
        || if std::str::from_utf8(cut_whole(body)).is_ok() { encoding_rs::UTF_8 } else { encoding_rs::WINDOWS_1252 };
    said.unwrap_or_else(usual).decode(body).0
}

/// Without the part of a character that a cap may have left at the end.
fn cut_whole(body: &[u8]) -> &[u8] {
    match std::str::from_utf8(body) {
        Err(error) if error.error_len().is_none() => &body[..error.valid_up_to()],
        _ => body,
    }
}

/// Without control characters, marks of direction, and letters that nobody sees: words for a machine alone hide in them.
fn clean(text: &str) -> String {
    let is_hidden = |c: char| {
        let control = c.is_control() && c != '\n' && c != '\t';
        control
            || matches!(c, '\u{200b}' | '\u{2060}' | '\u{feff}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e007f}')
    };
    text.chars().filter(|c| !is_hidden(*c)).collect()
}
