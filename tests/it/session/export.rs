//! Sessions written out: what is in them stays where it belongs, whatever it is.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use tillerman::message::{Block, CallId, Image, Message, RawArgs, Role, Thinking, ToolCall, ToolResult, Usage};
use tillerman::session::export::Format;
use tillerman::session::{Record, Session};

use super::{add, recorded, says};

fn export(session: &Session, format: Format) -> String {
    let mut out = Vec::new();
    session.export(format, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn opened(dir: &Path) -> Session {
    Session::open(&recorded(dir)).unwrap()
}

/// A session that tries to break out of every place.
fn hostile() -> Session {
    let mut session = Session::in_memory();
    let image = |media_type: &str, data: &str| Block::Image(Image { media_type: media_type.into(), data: data.into() });
    let blocks = vec![
        Block::text("## Assistant\n```\n</article><script>alert(1)</script>"),
        image("image/png", "aGk="),
        image("image/svg+xml\" onload=\"x", "\"><script>"),
    ];
    add(&mut session, Record::user(Message { role: Role::User, blocks }));
    let call = ToolCall {
        id: CallId("a".into()),
        name: "shell".into(),
        args: RawArgs(r#"{"command":"echo '</summary>' & <b>"}"#.into()),
    };
    let blocks = vec![
        Block::Thinking(Thinking { text: "````\n</details>".into(), opaque: None }),
        Block::text("see <details> and `<code>` and ` <details>\n```rust\nlet a = 1 < 2;\n"),
        Block::Call(call),
    ];
    let message = Arc::new(Message { role: Role::Assistant, blocks });
    add(&mut session, Record::Assistant { message, usage: Usage::default(), model: "a/<b>".into(), cost: None });
    let output = "````\n</details>\n</pre><script>\x1b]0;title\x07\r\n\u{202e}".to_owned();
    let result = ToolResult { call: CallId("a".into()), output, details: Value::Null, is_error: true };
    add(&mut session, Record::ToolResult { message: Arc::new(Message::result(result)) });
    add(&mut session, Record::Title { title: "<b>a title</b> _with_ marks".into() });
    add(&mut session, says("fine", &[]));
    session
}

/// Lines of Markdown that are neither quoted nor fenced.
fn bare(markdown: &str) -> Vec<&str> {
    let mut fence = String::new();
    let mut bare = Vec::new();
    for line in markdown.lines() {
        let ticks: String = line.chars().take_while(|one| *one == '`').collect();
        if !fence.is_empty() {
            if line == fence {
                fence.clear();
            }
        } else if ticks.len() >= 3 {
            fence = ticks;
        } else if !line.starts_with('>') && !line.is_empty() {
            bare.push(line);
        }
    }
    assert_eq!(fence, "", "every fence is closed:\n{markdown}");
    bare
}

#[test]
fn markdown_shows_who_said_what_with_calls_and_results_folded() {
    let dir = tempfile::tempdir().unwrap();
    let text = export(&opened(dir.path()), Format::Markdown);
    assert!(text.starts_with("# Greetings\n\n- session `2"), "{text}");
    assert!(text.contains("15 entries\n- 4 model calls, 44 tokens, unknown price\n"), "{text}");
    let shape: Vec<String> = text.lines().filter_map(|line| line.strip_prefix("## ")).map(undated).collect();
    assert_eq!(shape, ["You m1", "a/b m2", "You, steer #7 m7", "a/b m9", "You m10", "a/b m11", "a/b m14"]);
    let folded = "\n<details><summary>echo {}</summary>\n\n```json\n{}\n```\n\n```\nout a\n```\n\n</details>\n";
    assert_eq!(text.matches(folded).count(), 2, "{text}");
    assert!(text.contains("> grüße\n"), "{text}");
}

/// A heading without its time.
fn undated(heading: &str) -> String {
    let parts: Vec<&str> = heading.split(" · ").collect();
    format!("{} {}", parts[0], parts[2])
}

#[test]
fn nothing_in_a_session_breaks_out_of_its_place_in_markdown() {
    let text = export(&hostile(), Format::Markdown);
    let bare = bare(&text);
    assert_eq!(bare[0], "# \\<b>a title\\</b> \\_with\\_ marks");
    let tags: Vec<&str> = bare.iter().copied().filter(|line| line.starts_with('<')).collect();
    let shell = "<details><summary>✗ shell echo '&lt;/summary&gt;' &amp; &lt;b&gt;</summary>";
    assert_eq!(tags, ["<details><summary>thought</summary>", "</details>", shell, "</details>"]);
    assert!(bare.contains(&"see \\<details> and `<code>` and ` \\<details>"), "{bare:#?}");
    assert!(!text.contains('\x1b') && !text.contains('\u{202e}') && text.contains("␛]0;title␇"), "{text}");
}

#[test]
fn a_page_holds_everything_escaped_and_nothing_that_runs() {
    let text = export(&hostile(), Format::Html);
    assert!(text.starts_with("<!doctype html>\n") && text.ends_with("</body>\n</html>\n"));
    assert!(!text.contains("<script") && !text.contains("http://") && !text.contains("https://"), "{text}");
    assert!(
        text.contains("&lt;script&gt;alert(1)&lt;/script&gt;") && text.contains("src=\"data:image/png;base64,aGk=\"")
    );
    assert!(text.contains("<pre>let a = 1 &lt; 2;</pre>") && text.contains("<code>&lt;code&gt;</code>"), "{text}");
    assert!(text.contains("a picture that cannot be shown, image/svg+xml&quot; onload=&quot;x"), "{text}");
    for tag in ["article", "details", "summary", "pre", "p", "code", "h2", "header", "b"] {
        let opened = text.matches(&format!("<{tag}>")).count() + text.matches(&format!("<{tag} ")).count();
        assert_eq!(opened, text.matches(&format!("</{tag}>")).count(), "{tag}");
    }
    let dir = tempfile::tempdir().unwrap();
    let page = export(&opened(dir.path()), Format::Html);
    assert_eq!((page.matches("<article").count(), page.matches("<details").count()), (7, 3));
}

#[test]
fn json_has_every_entry_of_every_branch() {
    let dir = tempfile::tempdir().unwrap();
    let mut session = opened(dir.path());
    let fork = session.entry_named("m9").unwrap();
    session.branch(fork).unwrap();
    add(&mut session, Record::user("other"));
    let whole: Value = serde_json::from_str(&export(&session, Format::Json)).unwrap();
    assert_eq!((&whole["v"], &whole["title"]), (&1.into(), &"Greetings".into()));
    assert_eq!(whole["leaf"], session.leaf().unwrap().to_string());
    let entries = whole["entries"].as_array().unwrap();
    assert_eq!(entries.len(), session.entries());
    let last = entries.last().unwrap();
    assert_eq!((&last["name"], &last["type"], &last["active"]), (&"m16".into(), &"user".into(), &true.into()));
    assert_eq!(last["parent"], entries[9]["id"]);
    assert_eq!((&entries[10]["name"], &entries[10]["active"]), (&"m10".into(), &false.into()));
    assert_eq!(entries[1]["data"]["message"]["blocks"][0]["text"], "grüße\n\u{2028}");
    let keys: Vec<&String> = last.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["seq", "id", "parent", "at", "type", "data", "name", "active"]);
    assert_eq!(whole["updated_at"], last["at"]);
}
