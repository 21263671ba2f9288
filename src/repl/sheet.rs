//! What the prompt shows when asked: tasks, one task, the state of things, help, the earlier conversation. Pure text.

use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;

use crate::message::{Bill, Block, Message, Role, Tally};
use crate::runtime::{Found, JobRow, Status, Summary, TaskDetail, TaskRow};
use crate::session::SessionId;
use crate::task::TaskStatus;
use crate::terminal::clean::one_line;
use crate::terminal::markdown::rendered;
use crate::terminal::wrap::{columns, cut, wrapped};
use crate::terminal::{Look, crew, story, tree};

/// Messages of an earlier conversation that are shown.
pub(super) const EARLIER: usize = 12;
/// Lines of each of them.
const EACH: usize = 12;
/// Conversations that are listed.
const SESSIONS: usize = 20;
/// Lines of progress.md that one task shows.
const PROGRESS: usize = 10;

/// All tasks on one screen.
pub(super) fn tasks(rows: &[TaskRow], look: Look, width: usize) -> Vec<String> {
    if rows.is_empty() {
        return vec!["no tasks yet; ask for one, or say `dispatch TITLE: STEPS`".to_owned()];
    }
    crew::crew(rows, Timestamp::now(), look, width)
}

/// The commands in the background.
pub(super) fn jobs(rows: &[JobRow]) -> Vec<String> {
    if rows.is_empty() {
        return vec!["no jobs; an agent has some where `tools` switches on the group jobs".to_owned()];
    }
    rows.iter().map(|row| one_line(&row.to_string())).collect()
}

/// One task: what was asked, how far it is, what came out.
pub(super) fn task(detail: &TaskDetail, root: &Path, look: Look, width: usize) -> Vec<String> {
    let dir = detail.dir.strip_prefix(root).unwrap_or(&detail.dir).display();
    let mut lines = match detail.row.status.is_over() {
        true => vec![crew::ended(&detail.row, look, width)],
        false => crew::task(&detail.row, Timestamp::now(), look, width),
    };
    let tokens = story::count(detail.row.usage.total_tokens());
    lines.push(look.dim(format!("  {dir}/ · {tokens} tokens · {}", detail.row.spent)));
    let asked = wrapped(detail.brief.body.trim(), width.saturating_sub(4));
    lines.extend(some(&asked, EACH).into_iter().map(|line| format!("  {line}")));
    let progress: Vec<&str> = detail.progress.lines().collect();
    let last = &progress[progress.len().saturating_sub(PROGRESS)..];
    if !last.is_empty() {
        lines.push(look.dim("  progress"));
        lines.extend(last.iter().map(|line| format!("  {}", cut(&one_line(line), width.saturating_sub(4)))));
    }
    if let Some(report) = &detail.result {
        lines.push(look.dim("  result"));
        let answer = wrapped(report.answer.trim(), width.saturating_sub(4));
        lines.extend(some(&answer, 2 * EACH).into_iter().map(|line| format!("  {line}")));
    }
    lines
}

/// Where everything stands.
pub(super) fn status(status: &Status, session: &SessionId, rows: &[TaskRow], look: Look) -> Vec<String> {
    let count = |wanted: TaskStatus| rows.iter().filter(|row| row.status == wanted).count();
    let doing = match (status.busy, status.queued) {
        (false, _) => "idle".to_owned(),
        (true, 0) => "working".to_owned(),
        (true, queued) => format!("working, {queued} queued"),
    };
    let (running, waiting) = (count(TaskStatus::Running), count(TaskStatus::Queued));
    let over = rows.len() - running - waiting;
    let total = status.bill.total();
    vec![
        format!("model    {}", look.name(&status.model)),
        format!(
            "session  {session}{}",
            status.name.as_ref().map(|name| format!(" · {}", one_line(name))).unwrap_or_default()
        ),
        format!("agent    {doing}"),
        format!(
            "tokens   {} in, {} out, {} in the window",
            story::count(total.usage.prompt()),
            story::count(total.usage.output),
            story::count(status.context)
        ),
        format!("cost     {}; /cost says more", total.spent),
        format!("workers  {running} running, {waiting} queued, {over} ended"),
    ]
}

/// Model calls, tokens and money: of the session by model and in all, and of the tasks.
pub(super) fn cost(bill: &Bill, rows: &[TaskRow], look: Look) -> Vec<String> {
    const HEADS: [&str; 8] = ["", "calls", "in", "cached", "written", "out", "reasoning", "cost"];
    let mut table = vec![HEADS.map(str::to_owned)];
    table.extend(bill.models().map(|(model, tally)| cells(&one_line(model), tally)));
    table.push(cells("session", &bill.total()));
    let mut tasks = Tally::default();
    rows.iter().for_each(|row| tasks.add(Tally { calls: row.turn, usage: row.usage, spent: row.spent }));
    match rows.len() {
        0 => {}
        1 => table.push(cells("1 task", &tasks)),
        tasks_of_all => table.push(cells(&format!("{tasks_of_all} tasks"), &tasks)),
    }
    let widths: Vec<usize> =
        (0..HEADS.len()).map(|at| table.iter().map(|row| columns(&row[at])).max().unwrap_or(0)).collect();
    let line = |row: &[String; 8]| {
        let first = format!("{:<1$}", row[0], widths[0]);
        // The last is a sum of money and perhaps some words: it begins at the same place.
        let middle = (1..7).map(|at| format!("  {:>1$}", row[at], widths[at])).collect::<String>();
        format!("{first}{middle}  {}", row[7])
    };
    let head = look.dim(line(&table[0]));
    std::iter::once(head).chain(table.iter().skip(1).map(line)).collect()
}

fn cells(name: &str, tally: &Tally) -> [String; 8] {
    let usage = &tally.usage;
    [
        name.to_owned(),
        tally.calls.to_string(),
        story::count(usage.prompt()),
        story::share(usage.cache_read, usage.prompt()),
        story::count(usage.cache_write),
        story::count(usage.output),
        story::count(usage.reasoning),
        tally.spent.to_string(),
    ]
}

/// A template or a skill.
pub(super) fn named(name: &str, help: &str, look: Look) -> Vec<String> {
    let more = "what you type behind it goes with it; /skills says where it comes from";
    vec![look.name(format!("{name} TEXT")), format!("  {}", one_line(help)), format!("  {}", look.dim(more))]
}

/// The end of an earlier conversation.
pub(super) fn earlier(said: &[Arc<Message>], most: usize, look: Look, width: usize) -> Vec<String> {
    let skipped = said.len().saturating_sub(most);
    let mut lines = Vec::new();
    if skipped > 0 {
        lines.push(look.dim(format!("… {skipped} earlier messages")));
    }
    for message in &said[skipped..] {
        lines.extend(spoken(message, look, width.saturating_sub(4)));
    }
    lines
}

fn spoken(message: &Message, look: Look, room: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for block in &message.blocks {
        match block {
            Block::Text { text } => {
                let (mark, text) = match message.role {
                    Role::User => (look.bold(" >"), wrapped(text.trim(), room)),
                    Role::Assistant => (look.name("●"), rendered(text.trim(), look, room)),
                };
                let begin = some(&text, EACH).into_iter().enumerate();
                lines.extend(
                    begin.map(|(at, line)| if at == 0 { format!("{mark} {line}") } else { format!("  {line}") }),
                );
            }
            Block::Call(call) => lines.push(format!("{} {}", look.dim("├"), look.dim(story::call(call, room)))),
            Block::Image(_) => lines.push(look.dim("  (a picture)")),
            Block::Thinking(_) | Block::Result(_) => {}
        }
    }
    lines
}

/// At most so many lines, and how many are missing.
fn some(lines: &[String], most: usize) -> Vec<String> {
    let mut shown: Vec<String> = lines.iter().take(most).cloned().collect();
    if lines.len() > most {
        shown.push(format!("… {} more lines", lines.len() - most));
    }
    shown
}

/// The conversations written last, this one with a mark.
pub(super) fn sessions(all: &[Summary], here: &SessionId, now: Timestamp, look: Look, width: usize) -> Vec<String> {
    let shown = all.iter().take(SESSIONS);
    let ids = shown.clone().map(|session| columns(session.id.as_str())).max().unwrap_or(0);
    let line = |session: &Summary| {
        let mark = if session.id == *here { look.good("●") } else { " ".to_owned() };
        let age = tree::age(Some(session.updated), now);
        let room = width.saturating_sub(ids + columns(&age) + 7);
        let title = cut(&one_line(&session.title), room);
        format!("{mark} {}  {title}  {}", look.name(format!("{:<ids$}", session.id.as_str())), look.dim(age))
    };
    let mut lines: Vec<String> = shown.map(line).collect();
    match all.len() {
        0 => lines.push("no conversations yet".to_owned()),
        1..=SESSIONS => {}
        more => lines.push(look.dim(format!("… {} more; `tillerman sessions list` shows all", more - SESSIONS))),
    }
    lines
}

/// What was found in conversations.
pub(super) fn found(found: &[Found], look: Look, width: usize) -> Vec<String> {
    if found.is_empty() {
        return vec!["nobody said that in a conversation of this workspace".to_owned()];
    }
    let mut lines = Vec::new();
    for Found { session, hits, more, .. } in found {
        let room = width.saturating_sub(columns(session.id.as_str()) + 3);
        lines.push(format!("{}  {}", look.name(session.id.as_str()), cut(&one_line(&session.title), room)));
        lines.extend(hits.iter().map(|hit| {
            let name = format!("m{}", hit.seq);
            let room = width.saturating_sub(columns(&name) + 5);
            format!("  {}  {}", look.dim(name), cut(&one_line(&hit.excerpt), room))
        }));
        if *more > 0 {
            lines.push(look.dim(format!("  … {more} more before")));
        }
    }
    lines
}
