//! `tillerman tasks watch`: one screen of all workers, drawn anew as they go on; without a terminal a line for each change.

use std::collections::HashMap;
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::json;
use super::orders::{NotOrdered, Setup, strange};
use crate::runtime::{Done, JobRow, Order, TaskRow};
use crate::server::control::{Client, Unanswered};
use crate::task::TaskId;
use crate::terminal::crew;
use crate::terminal::exit::{Exit, Signals};

/// Between two looks.
const LOOK: Duration = Duration::from_secs(1);
/// Columns where nobody says how many there are.
const WIDTH: usize = 120;

/// Shows all tasks until a signal comes or the program there ends; without a terminal also until nothing goes on.
///
/// # Errors
/// [`NotOrdered::Unanswered`] when nobody works there.
pub(super) async fn watch(setup: &Setup<'_>) -> Result<Exit, NotOrdered> {
    let client = Client::new(setup.workspace);
    let mut signals = Signals::catch()?;
    let mut rows = rows(&client).await?;
    let stdout = io::stdout();
    let mut drawn = (!setup.json && stdout.is_terminal() && setup.in_place).then(Canvas::open).transpose()?;
    let mut told = Told::default();
    let exit = loop {
        match &mut drawn {
            Some(canvas) => canvas.draw(&rows, setup)?,
            None => told.tell(&rows, setup)?,
        }
        if drawn.is_none() && rows.iter().all(|row| row.status.is_over()) {
            break Exit::Done;
        }
        tokio::select! {
            exit = signals.next() => break exit,
            () = sleep(LOOK) => {}
        }
        rows = match self::rows(&client).await {
            Ok(rows) => rows,
            Err(NotOrdered::Unanswered(Unanswered::Nobody { .. } | Unanswered::Broken(_))) => break Exit::Done,
            Err(error) => return Err(error),
        };
    };
    if drawn.take().is_some() {
        let mut out = io::stdout().lock();
        for line in crew::crew(&rows, Timestamp::now(), setup.look, size().0) {
            writeln!(out, "{line}")?;
        }
    }
    // At a terminal it is how one leaves.
    Ok(if exit == Exit::Interrupted && stdout.is_terminal() { Exit::Done } else { exit })
}

async fn rows(client: &Client) -> Result<Vec<TaskRow>, NotOrdered> {
    match client.order(&Order::Tasks).await? {
        Done::Tasks { rows } => Ok(rows),
        other => Err(strange(&other)),
    }
}

/// The whole terminal, given back when this is dropped.
struct Canvas;

impl Canvas {
    fn open() -> io::Result<Canvas> {
        let mut out = io::stdout().lock();
        out.write_all(b"\x1b[?1049h\x1b[?25l")?;
        out.flush()?;
        Ok(Canvas)
    }

    fn draw(&mut self, rows: &[TaskRow], setup: &Setup) -> io::Result<()> {
        let (width, height) = size();
        let lines = crew::crew(rows, Timestamp::now(), setup.look, width);
        let mut frame = String::from("\x1b[H");
        let room = height.saturating_sub(2);
        for line in lines.iter().take(room) {
            frame.push_str(&format!("{line}\x1b[K\r\n"));
        }
        if let Some(hidden) = lines.len().checked_sub(room + 1) {
            frame.push_str(&setup.look.dim(format!("… {} more lines", hidden + 1)));
        }
        frame.push_str(&format!("\x1b[J\x1b[{height};1H{}", setup.look.dim("Ctrl-C leaves")));
        let mut out = io::stdout().lock();
        out.write_all(frame.as_bytes())?;
        out.flush()
    }
}

impl Drop for Canvas {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing back.
        let mut out = io::stdout().lock();
        let _ = out.write_all(b"\x1b[?25h\x1b[?1049l").and_then(|()| out.flush());
    }
}

/// What was told of each task.
#[derive(Default)]
struct Told(HashMap<TaskId, Value>);

impl Told {
    /// A line for each task that is not as it was told last.
    fn tell(&mut self, rows: &[TaskRow], setup: &Setup) -> io::Result<()> {
        let mut out = io::stdout().lock();
        for row in rows {
            let facts = facts(row);
            if self.0.get(&row.id) == Some(&facts) {
                continue;
            }
            if setup.json {
                writeln!(out, "{}", line(row))?;
            } else {
                let lines = match row.status.is_over() {
                    true => vec![crew::ended(row, setup.look, WIDTH)],
                    false => crew::task(row, Timestamp::now(), setup.look, WIDTH),
                };
                lines.iter().try_for_each(|line| writeln!(out, "{line}"))?;
            }
            self.0.insert(row.id, facts);
        }
        out.flush()
    }
}

/// What makes a change of it: all but what time does.
fn facts(row: &TaskRow) -> Value {
    let asked: Vec<u32> = row.questions.iter().map(|question| question.number).collect();
    let jobs: Vec<_> = row.jobs.iter().map(|job| (job.id, &job.ended)).collect();
    json!([row.status, row.attempt, row.turn, row.doing, row.place_in_queue, row.flat, row.after, asked, jobs])
}

/// A task as a line of JSON: what it is at, and what it took so far.
pub(super) fn line(row: &TaskRow) -> Value {
    let mut line = json!({"v": json::VERSION, "type": "task", "agent": row.id});
    if let (Value::Object(line), Value::Object(facts)) = (&mut line, live(row)) {
        line.extend(facts);
    }
    line
}

/// A task as a part of an answer.
pub(super) fn task(row: &TaskRow) -> Value {
    let mut task = live(row);
    task["task"] = json!(row.id);
    task
}

/// The fields of a task that goes on.
pub(super) fn live(row: &TaskRow) -> Value {
    let millis = |span: Duration| u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
    let mut live = json!({
        "status": row.status, "title": row.title, "attempt": row.attempt, "turn": row.turn, "doing": row.doing,
        "place": row.place_in_queue, "role": row.agent, "started": row.started, "duration_ms": millis(row.took),
        "usage": json::usage(&row.usage), "context": row.context, "window": row.window, "budget": row.budget,
        "score": row.score, "flat": row.flat, "quiet_ms": row.quiet.map(millis), "questions": row.questions,
        "after": row.after, "priority": row.priority,
    });
    json::add_cost(&mut live, row.spent);
    if !row.jobs.is_empty() {
        let job = |job: &JobRow| json!({"id": job.id, "command": job.command, "ended": job.ended, "duration_ms": millis(job.took), "output": job.output});
        live["jobs"] = row.jobs.iter().map(job).collect();
    }
    live
}

/// Columns and rows of the terminal.
fn size() -> (usize, usize) {
    crossterm::terminal::size().map_or((80, 24), |(columns, rows)| (columns.into(), rows.into()))
}
