//! HTML as Markdown, whatever the HTML is: the converter recurses and aligns columns, so depth is counted before it, and
//! measured in the tree again, and tables are written here. Judges no text.

use std::rc::Rc;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use htmd::element_handler::{HandlerResult, Handlers};
use htmd::options::{BulletListMarker, Options};
use htmd::{Element, HtmlToMarkdown, Node};
use tokio::sync::{Semaphore, oneshot};
use tokio::time::timeout;

use super::flat;

/// Most bytes that are converted; a page of more is cut.
const MOST: usize = 2 << 20;
/// Deepest nesting that is kept, the figure that browsers use.
pub(super) const DEEPEST: usize = 512;
/// Stack of the thread that converts: many times what that nesting takes.
const STACK: usize = 16 << 20;
/// How long a page may take. The thread cannot be ended, so only a few may be at work.
const LONGEST: Duration = Duration::from_secs(10);
static THREADS: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(2)));

/// What is for machines, for looking at, or for finding one's way around a site.
const SKIPPED: [&str; 15] = [
    "script", "style", "noscript", "template", "svg", "math", "iframe", "object", "embed", "canvas", "audio", "video",
    "nav", "footer", "dialog",
];
/// What may be hidden by an attribute.
const BOXES: [&str; 14] =
    ["div", "span", "p", "section", "article", "aside", "a", "b", "i", "em", "strong", "font", "small", "label"];

/// The page as Markdown, and what should be said of it.
pub(super) async fn to_markdown(html: String) -> Result<(String, Option<String>), String> {
    let permit = Arc::clone(&THREADS).acquire_owned();
    let busy = || "too many pages are being converted; try again".to_owned();
    let permit = timeout(LONGEST, permit).await.map_err(|_| busy())?.map_err(|_| busy())?;
    let (done, converted) = oneshot::channel();
    let work = move || {
        // Nobody waits any more, or somebody gets it.
        let _ = done.send(convert(&html));
        drop(permit);
    };
    let thread = std::thread::Builder::new().name("page".to_owned()).stack_size(STACK).spawn(work);
    thread.map_err(|error| format!("it cannot be converted: {error}"))?;
    match timeout(LONGEST, converted).await {
        Ok(Ok(markdown)) => markdown,
        Ok(Err(_)) => Err("it cannot be converted".to_owned()),
        Err(_) => Err(format!("it cannot be converted within {} s", LONGEST.as_secs())),
    }
}

fn convert(html: &str) -> Result<(String, Option<String>), String> {
    let mut most = html.len().min(MOST);
    while !html.is_char_boundary(most) {
        most -= 1;
    }
    let note = (most < html.len()).then(|| format!("the page is longer than {} MB", MOST >> 20));
    let flat = flat::flattened(&html[..most]);
    let converter = converter();
    let tree = converter.html_to_tree(&flat).map_err(|error| format!("it cannot be read: {error}"))?;
    prune(&tree);
    Ok((converter.tree_to_markdown(&tree), note))
}

/// Puts what lies too deep directly below the deepest level that is kept. What the scan before counted is only text;
/// this is the tree that will be walked.
fn prune(tree: &Rc<Node>) {
    let mut open = vec![(Rc::clone(tree), 0)];
    while let Some((node, depth)) = open.pop() {
        if depth < 2 * DEEPEST {
            open.extend(node.children.borrow().iter().map(|child| (Rc::clone(child), depth + 1)));
            continue;
        }
        let mut leaves = Vec::new();
        let mut below: Vec<Rc<Node>> = node.children.borrow().iter().rev().cloned().collect();
        while let Some(child) = below.pop() {
            let children: Vec<Rc<Node>> = child.children.borrow().iter().rev().cloned().collect();
            if children.is_empty() {
                child.parent.set(Some(Rc::downgrade(&node)));
                leaves.push(child);
            }
            below.extend(children);
        }
        *node.children.borrow_mut() = leaves;
    }
}

fn converter() -> HtmlToMarkdown {
    let options = Options {
        bullet_list_marker: BulletListMarker::Dash,
        ul_bullet_spacing: 1,
        ol_number_spacing: 1,
        ..Options::default()
    };
    let visible = |handlers: &dyn Handlers, element: Element| {
        if is_hidden(&element) { None } else { handlers.fallback(element) }
    };
    // A picture that is its own address would be a page of letters.
    let picture = |handlers: &dyn Handlers, element: Element| {
        let is_inline = attribute(&element, "src").is_some_and(|src| src.trim_start().starts_with("data:"));
        if is_inline { None } else { handlers.fallback(element) }
    };
    HtmlToMarkdown::builder()
        .options(options)
        .skip_tags(SKIPPED.to_vec())
        .add_handler(BOXES.to_vec(), visible)
        .add_handler(vec!["img"], picture)
        .add_handler(vec!["table"], table)
        .add_handler(vec!["tr"], row)
        .add_handler(vec!["td", "th"], cell)
        .build()
}

fn attribute(element: &Element, name: &str) -> Option<String> {
    let found = element.attrs.iter().find(|attribute| &*attribute.name.local == name)?;
    Some(found.value.to_string())
}

/// A person would not see it.
fn is_hidden(element: &Element) -> bool {
    let style = attribute(element, "style").unwrap_or_default().to_ascii_lowercase();
    let style: String = style.chars().filter(|c| !c.is_whitespace()).collect();
    let by_style =
        ["display:none", "visibility:hidden", "font-size:0", "opacity:0;"].iter().any(|word| style.contains(word));
    by_style || style.ends_with("opacity:0") || attribute(element, "hidden").is_some()
}

fn table(handlers: &dyn Handlers, element: Element) -> Option<HandlerResult> {
    let rows = handlers.walk_children(element.node).content;
    let mut lines = rows.lines().map(str::trim).filter(|line| !line.is_empty());
    let Some(first) = lines.next() else { return Some(String::new().into()) };
    if !first.starts_with('|') {
        return Some(format!("\n\n{rows}\n\n").into());
    }
    let columns = first.matches(" |").count().max(1);
    let rest: String = lines.map(|line| format!("{line}\n")).collect();
    Some(format!("\n\n{first}\n|{}\n{rest}\n", " --- |".repeat(columns)).into())
}

/// Ends a cell until its row is written; no page can say it, for it is taken out of what is shown.
const CELL: char = '\u{1}';

fn row(handlers: &dyn Handlers, element: Element) -> Option<HandlerResult> {
    let cells = handlers.walk_children(element.node).content;
    let cells: Vec<&str> = cells.trim_end().trim_end_matches(CELL).split(CELL).map(str::trim).collect();
    let row = if cells == [""] { String::new() } else { format!("\n| {} |\n", cells.join(" | ")) };
    Some(row.into())
}

fn cell(handlers: &dyn Handlers, element: Element) -> Option<HandlerResult> {
    let words = handlers.walk_children(element.node).content;
    let words: Vec<&str> = words.split_whitespace().collect();
    Some(format!("{}{CELL}", words.join(" ").replace('|', "\\|")).into())
}
