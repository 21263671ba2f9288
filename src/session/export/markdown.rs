//! A session as Markdown. What people and models said stays Markdown, but cannot reach beyond its place: lines of people
//! are quoted, what a model left open is closed, and HTML in it is shown as text.

use std::io::{self, Write};

use super::ExportError;
use super::part::{Part, Speaker, arguments, each, harmless, headline, second};
use crate::session::Session;

/// Writes head and conversation.
pub(super) fn write(session: &Session, out: &mut dyn Write) -> Result<(), ExportError> {
    let (created, updated) = session.begun_and_changed()?;
    let title = one_line(&session.headline()?);
    let total = session.bill().total();
    writeln!(out, "# {}\n", plain(&title))?;
    writeln!(out, "- session `{}`", session.id())?;
    writeln!(out, "- {} to {} UTC, {} entries", second(&created), second(&updated), session.entries())?;
    let tokens = total.usage.total_tokens();
    writeln!(out, "- {} model calls, {tokens} tokens, {}", total.calls, total.spent)?;
    let mut quoted = false;
    each(session, &mut |part| {
        if let Part::Speaker(speaker) = &part {
            quoted = speaker.side == "you";
        }
        one(&part, quoted, out)
    })
}

fn one(part: &Part<'_>, quoted: bool, out: &mut dyn Write) -> io::Result<()> {
    match part {
        Part::Speaker(speaker) => heading(speaker, out),
        Part::Text(text) if quoted => writeln!(out, "\n{}", quote(&harmless(text))),
        Part::Text(text) => writeln!(out, "\n{}", closed(&harmless(text))),
        Part::Thought(text) => fold("thought", &[("", text)], out),
        Part::Picture(image) => writeln!(out, "\n*a picture, {}*", plain(&harmless(&image.media_type))),
        Part::Call { call, result } => {
            let mark = match result {
                Some(result) if result.is_error => "✗ ",
                Some(_) => "",
                None => "… ",
            };
            let output = result.map(|result| result.output.as_str());
            let args = arguments(call);
            let parts = [("json", args.as_str())].into_iter().chain(output.map(|output| ("", output)));
            fold(&format!("{mark}{}", headline(call)), &parts.collect::<Vec<_>>(), out)
        }
        Part::Mark(text) => writeln!(out, "\n---\n\n*{}*", plain(&one_line(text))),
    }
}

fn heading(speaker: &Speaker<'_>, out: &mut dyn Write) -> io::Result<()> {
    let name = plain(&one_line(&speaker.name));
    writeln!(out, "\n## {name} · {} · m{}", speaker.time(), speaker.entry.seq)
}

/// A line to unfold, and fenced texts below it.
fn fold(line: &str, texts: &[(&str, &str)], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\n<details><summary>{}</summary>", escaped(&one_line(line)))?;
    for (language, text) in texts {
        let text = harmless(text);
        let fence = fence(&text);
        writeln!(out, "\n{fence}{language}\n{}\n{fence}", text.trim_end_matches('\n'))?;
    }
    writeln!(out, "\n</details>")
}

/// More backticks than the text has anywhere in a row.
fn fence(text: &str) -> String {
    let longest = text.split(|one| one != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

fn one_line(text: &str) -> String {
    harmless(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Words that mean nothing in Markdown.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for one in text.chars() {
        if matches!(one, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '|' | '&') {
            plain.push('\\');
        }
        plain.push(one);
    }
    plain
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Quoted line by line: what is in a quotation ends with it.
fn quote(text: &str) -> String {
    let lines = text.trim_end().split('\n').map(|line| format!("> {line}").trim_end().to_owned());
    lines.collect::<Vec<_>>().join("\n")
}

/// Markdown whose fences are closed and whose HTML is text.
fn closed(text: &str) -> String {
    let mut lines = Vec::new();
    let mut open: Option<(char, usize)> = None;
    for line in text.trim_end().split('\n') {
        let bare = line.trim_start();
        let mark = bare.chars().next().filter(|one| matches!(one, '`' | '~'));
        let long = mark.map_or(0, |mark| bare.chars().take_while(|one| *one == mark).count());
        match (open, mark) {
            // Behind backticks that open a fence there are no others on the line.
            (None, Some(mark)) if long >= 3 && (mark == '~' || !bare[long..].contains('`')) => {
                open = Some((mark, long));
            }
            (Some((with, least)), Some(mark)) if mark == with && long >= least && bare[long..].trim().is_empty() => {
                open = None;
            }
            _ => {}
        }
        // Within a fence, and on the line that opens it, HTML is text already.
        lines.push(if open.is_some() { line.to_owned() } else { without_html(line) });
    }
    if let Some((mark, long)) = open {
        lines.push(mark.to_string().repeat(long));
    }
    lines.join("\n")
}

/// The line with `<` as text, except in code, where it is that anyway.
fn without_html(line: &str) -> String {
    let last = line.split('`').count() - 1;
    let parts = line.split('`').enumerate();
    let shown = parts.map(|(at, part)| match at % 2 {
        1 if at < last => part.to_owned(),
        _ => part.replace('<', "\\<"),
    });
    shown.collect::<Vec<_>>().join("`")
}
