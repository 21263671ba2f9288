//! A session as one HTML file. Nothing in it runs, and nothing is loaded from elsewhere; the page forbids both itself.

use std::io::{self, Write};

use super::ExportError;
use super::part::{Part, Speaker, arguments, each, harmless, headline, second};
use crate::message::{Image, ToolCall, ToolResult};
use crate::session::Session;

const STYLE: &str = include_str!("html.css");

/// What may be shown as a picture.
const PICTURES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// Writes the page.
pub(super) fn write(session: &Session, out: &mut dyn Write) -> Result<(), ExportError> {
    let (created, updated) = session.begun_and_changed()?;
    let title = escaped(&session.headline()?);
    let total = session.bill().total();
    let policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";
    write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n\
         <style>\n{STYLE}</style>\n</head>\n<body>\n<header>\n<h1>{title}</h1>\n\
         <p>session {} · {} to {} UTC</p>\n<p>{} entries · {} model calls · {} tokens · {}</p>\n</header>\n",
        escaped(session.id().as_str()),
        escaped(&second(&created)),
        escaped(&second(&updated)),
        session.entries(),
        total.calls,
        total.usage.total_tokens(),
        escaped(&total.spent.to_string()),
    )?;
    let mut speaking = false;
    each(session, &mut |part| one(&part, &mut speaking, out))?;
    let end = if speaking { "</article>\n" } else { "" };
    Ok(write!(out, "{end}</body>\n</html>\n")?)
}

fn one(part: &Part<'_>, speaking: &mut bool, out: &mut dyn Write) -> io::Result<()> {
    if matches!(part, Part::Speaker(_) | Part::Mark(_)) && std::mem::take(speaking) {
        writeln!(out, "</article>")?;
    }
    match part {
        Part::Speaker(speaker) => {
            *speaking = true;
            heading(speaker, out)
        }
        Part::Text(text) => said(&harmless(text), out),
        Part::Thought(text) => {
            writeln!(out, "<details><summary>thought</summary><p class=\"text\">{}</p></details>", escaped(text))
        }
        Part::Picture(image) => picture(image, out),
        Part::Call { call, result } => called(call, *result, out),
        Part::Mark(text) => writeln!(out, "<p class=\"mark\">{}</p>", escaped(text)),
    }
}

fn heading(speaker: &Speaker<'_>, out: &mut dyn Write) -> io::Result<()> {
    let (side, seq) = (speaker.side, speaker.entry.seq);
    let (name, time) = (escaped(&speaker.name), escaped(&speaker.time()));
    writeln!(out, "<article class=\"{side}\" id=\"m{seq}\">")?;
    writeln!(out, "<h2><b>{name}</b> <time>{time}</time> <a href=\"#m{seq}\">m{seq}</a></h2>")
}

fn called(call: &ToolCall, result: Option<&ToolResult>, out: &mut dyn Write) -> io::Result<()> {
    let (class, mark) = match result {
        Some(result) if result.is_error => (" class=\"bad\"", "✗ "),
        Some(_) => ("", ""),
        None => ("", "… "),
    };
    writeln!(out, "<details{class}><summary>{mark}{}</summary>", escaped(&headline(call)))?;
    writeln!(out, "<pre>{}</pre>", escaped(&arguments(call)))?;
    if let Some(result) = result {
        writeln!(out, "<pre>{}</pre>", escaped(result.output.trim_end()))?;
    }
    writeln!(out, "</details>")
}

fn picture(image: &Image, out: &mut dyn Write) -> io::Result<()> {
    let base64 = |one: u8| one.is_ascii_alphanumeric() || matches!(one, b'+' | b'/' | b'=');
    if PICTURES.contains(&image.media_type.as_str()) && image.data.bytes().all(base64) {
        return writeln!(out, "<img alt=\"a picture\" src=\"data:{};base64,{}\">", image.media_type, image.data);
    }
    writeln!(out, "<p class=\"text\">a picture that cannot be shown, {}</p>", escaped(&image.media_type))
}

/// Words as they are; what stands between fences, or between backticks on one line, as code.
fn said(text: &str, out: &mut dyn Write) -> io::Result<()> {
    let mut words: Vec<&str> = Vec::new();
    let mut lines = text.trim().lines();
    while let Some(line) = lines.next() {
        let bare = line.trim_start();
        let long = bare.chars().take_while(|one| *one == '`').count();
        if long < 3 || bare[long..].contains('`') {
            words.push(line);
            continue;
        }
        paragraph(&std::mem::take(&mut words), out)?;
        let is_end = |line: &&str| line.trim().len() >= long && line.trim().bytes().all(|one| one == b'`');
        let code: Vec<&str> = lines.by_ref().take_while(|line| !is_end(line)).collect();
        writeln!(out, "<pre>{}</pre>", escaped(&code.join("\n")))?;
    }
    paragraph(&words, out)
}

fn paragraph(lines: &[&str], out: &mut dyn Write) -> io::Result<()> {
    let text = lines.join("\n");
    if text.trim().is_empty() {
        return Ok(());
    }
    let shown = text.trim_matches('\n').split('\n').map(|line| {
        let last = line.split('`').count() - 1;
        let parts = line.split('`').enumerate().map(|(at, part)| match at % 2 {
            1 if at < last => format!("<code>{}</code>", escaped(part)),
            1 => format!("`{}", escaped(part)),
            _ => escaped(part),
        });
        parts.collect::<String>()
    });
    writeln!(out, "<p class=\"text\">{}</p>", shown.collect::<Vec<_>>().join("\n"))
}

/// Text in which nothing means anything to a browser, or to a terminal that shows the file.
fn escaped(text: &str) -> String {
    let text = harmless(text);
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;").replace('\'', "&#39;")
}
