//! What is around the line being typed, as the conversation knows it: asked for when something has changed, and once a
//! second. Where it stands on the screen is told in `panel`.

use std::time::{Duration, Instant};

use super::out::Out;
use super::panel::Scene;
use super::seat::size;
use super::strip::{heading, strip};
use super::talk::Talk;
use crate::event::{AgentEvent, Ending};
use crate::message::Spent;
use crate::runtime::{News, Pending, Permission, Status, TaskRow};
use crate::task::TaskStatus;
use crate::terminal::clean::{clean, one_line};
use crate::terminal::notify::{self, Notifier};
use crate::terminal::wrap::{columns, cut, wrapped};
use crate::terminal::{Look, story};
use crate::workspace::git;

/// Rows of a call that are shown of it.
const CALL: usize = 6;
/// Notes that wait and are shown; the last ones.
const PENDING: usize = 3;
/// Who typed here, as a note says it.
const PERSON: &str = "person";
/// A card must have been on the screen so long before a bare word answers it.
const SEEN: Duration = Duration::from_millis(400);

/// What the panel is made of.
#[derive(Default)]
pub(super) struct Sight {
    rows: Vec<TaskRow>,
    status: Option<Status>,
    /// What was said and nobody has heard yet.
    pending: Vec<Pending>,
    /// Calls that wait for a word, the oldest first.
    cards: Vec<Permission>,
    /// Since when the first of them is shown.
    shown: Option<Instant>,
    /// The branch of the workspace, or none.
    branch: Option<String>,
    /// Something has changed of what is asked for.
    pub(super) stale: bool,
    /// The person looks elsewhere, as the terminal says.
    pub(super) away: bool,
    /// The terminal's title as it was written last.
    title: String,
}

impl Sight {
    /// Nothing is known yet.
    pub(super) fn new() -> Sight {
        Sight { stale: true, ..Sight::default() }
    }

    /// A call waits for a word, or has it.
    pub(super) fn hear(&mut self, permission: &Permission) {
        let first = self.cards.first().map(|card| card.id);
        self.cards.retain(|card| card.id != permission.id);
        if permission.settled.is_none() {
            self.cards.push(permission.clone());
        }
        if self.cards.first().map(|card| card.id) != first {
            self.shown = Some(Instant::now());
        }
    }

    /// The call that a bare word is about; `Err` says why none is.
    pub(super) fn card(&self) -> Option<Result<u64, &'static str>> {
        let card = self.cards.first()?;
        let is_seen = self.shown.is_none_or(|since| since.elapsed() >= SEEN);
        Some(if is_seen { Ok(card.id) } else { Err("another call has just come up: look at it and answer again") })
    }

    /// What a word would mean for the call that is shown.
    pub(super) fn explain(&self, look: Look, width: usize) -> Vec<String> {
        let Some(card) = self.cards.first() else { return Vec::new() };
        let asked = if card.escalated {
            "The model wants this one call to run outside the walls; without your yes it runs within them or not at all."
        } else {
            "A rule says that such a call is asked about; without an answer the run waits."
        };
        let lines = [
            format!("{asked} {}", one_line(&card.why)),
            format!("y         this call runs, once (/approve {})", card.id),
            format!("a         this very call, with these arguments, runs until you leave (/approve always {})", card.id),
            format!("n WHY     it does not run; the model is told why (/deny {} WHY)", card.id),
            "for good  a rule in config.md: permissions: {allow: ['Bash(git push)']}; `tillerman permissions` lists all".to_owned(),
        ];
        lines
            .iter()
            .flat_map(|line| wrapped(line, width.saturating_sub(2)))
            .map(|line| look.dim(format!("  {line}")))
            .collect()
    }

    /// Something waits for the person.
    fn is_asking(&self) -> bool {
        !self.cards.is_empty() || self.rows.iter().any(|row| !row.questions.is_empty())
    }

    /// Workers that would be interrupted by leaving.
    pub(super) fn running(&self) -> usize {
        self.rows.iter().filter(|row| row.status == TaskStatus::Running || row.status == TaskStatus::Queued).count()
    }

    fn cards(&self, look: Look, width: usize) -> Vec<String> {
        let Some(card) = self.cards.first() else { return Vec::new() };
        let more = match self.cards.len() - 1 {
            0 => String::new(),
            more => format!(" · {more} more wait"),
        };
        let title = if card.escalated { "may it, outside the walls?" } else { "may it?" };
        let mut lines = vec![look.warn(cut(&heading(&format!("{title}{more}"), Look::default(), width), width))];
        let call = wrapped(&format!("{} {}", card.tool, card.shown), width.saturating_sub(2));
        lines.extend(call.iter().take(CALL).map(|line| format!(" {}", look.bold(line))));
        if call.len() > CALL {
            lines.push(look.dim(format!(" … {} more rows", call.len() - CALL)));
        }
        let why = if card.escalated { format!("it says: {}", card.why) } else { card.why.clone() };
        lines.extend(
            wrapped(&clean(&why), width.saturating_sub(2)).iter().take(2).map(|line| look.dim(format!(" {line}"))),
        );
        let how = " y once · a always, until you leave · n WHY · ? explain (then enter)";
        lines.push(look.warn(cut(how, width)));
        lines
    }

    /// `─ pending ─────  alt+↑ takes the last back`, and a row for each of the last.
    fn pending(&self, look: Look, width: usize) -> Vec<String> {
        let own: Vec<&Pending> = self.pending.iter().filter(|note| note.from == PERSON).collect();
        if own.is_empty() {
            return Vec::new();
        }
        let mut lines = vec![heading("not read yet · alt+↑ takes the last one back", look, width)];
        let skipped = own.len().saturating_sub(PENDING);
        lines.extend(own.iter().skip(skipped).map(|note| {
            let whom = note.to.map_or_else(|| "main".to_owned(), |task| task.to_string());
            let head = format!(" {} {} → {whom}: ", note.kind, note.note);
            let text = cut(&one_line(&note.text), width.saturating_sub(columns(&head)));
            format!("{}{text}", look.dim(head))
        }));
        lines
    }

    /// The youngest note of the person that nobody has heard yet.
    fn youngest(&self) -> Option<&Pending> {
        self.pending.iter().rfind(|note| note.from == PERSON)
    }

    /// `sonnet · 12.3k tokens · $0.13 · main · 1▶ 1✓ · …`, as much of it as fits; the first counts most.
    fn status_line(&self, busy: bool, countdown: Option<String>, look: Look, width: usize) -> String {
        let mut parts: Vec<String> = Vec::new();
        parts.extend(countdown);
        if let Some(status) = &self.status {
            let model = one_line(&status.model.to_string());
            parts.push(status.effort.map_or_else(|| model.clone(), |effort| format!("{model} {}", effort.word())));
            if status.context > 0 && status.window > 0 {
                let share = story::share(status.context, status.window);
                parts.push(format!("ctx {share} of {}", story::count(status.window)));
            }
            let total = status.bill.total();
            if total.spent != Spent::default() {
                parts.push(total.spent.to_string());
            }
            parts.extend(self.branch.clone());
            parts.extend(self.crew());
            if status.queued > 0 {
                parts.push(format!("queue {}", status.queued));
            }
        }
        let hints = if busy { "⏎ steer  tab queue  esc stop" } else { "/help" };
        parts.push(if self.rows.iter().any(|row| !row.status.is_over()) {
            format!("{hints}  ← board")
        } else {
            hints.to_owned()
        });
        let mut line = String::new();
        for part in parts {
            let gap = if line.is_empty() { " " } else { " · " };
            if columns(&line) + columns(gap) + columns(&part) > width {
                continue;
            }
            line.push_str(gap);
            line.push_str(&part);
        }
        look.dim(line)
    }

    /// `2▶ 1? 3✓`.
    fn crew(&self) -> Option<String> {
        let count = |wanted: TaskStatus| self.rows.iter().filter(|row| row.status == wanted).count();
        let signs =
            [(TaskStatus::Running, '▶'), (TaskStatus::Queued, '◌'), (TaskStatus::Parked, '?'), (TaskStatus::Done, '✓')];
        let counts = signs.iter().map(|(status, sign)| (count(*status), sign)).filter(|(count, _)| *count > 0);
        let text: Vec<String> = counts.map(|(count, sign)| format!("{count}{sign}")).collect();
        (!text.is_empty()).then(|| text.join(" "))
    }
}

impl Talk<'_> {
    /// Draws what is around the line; asks for what has changed.
    pub(super) async fn redraw(&mut self) {
        let Out::Above(desk) = self.out.clone() else { return };
        let fresh = std::mem::take(&mut self.sight.stale);
        if fresh {
            self.sight.rows = self.runtime.tasks().await;
            self.sight.status = self.runtime.status(&self.session).await.ok();
            self.sight.pending = self.runtime.pending(&self.session).await;
            self.sight.branch = git::branch(&self.root);
            self.completer.set_tasks(&self.sight.rows);
        }
        let title = notify::title(self.sight.is_asking(), self.sight.running());
        if title != self.sight.title {
            desk.signal(title.clone());
            self.sight.title = title;
        }
        let rows = (fresh && self.board.is_some()).then(|| self.sight.rows.clone());
        if self.draw_board(&desk, rows).await {
            return;
        }
        let size = size();
        let (look, width) = (self.look, size.width.saturating_sub(1));
        let scene = Scene {
            live: self.live(size.height / 2),
            card: self.sight.cards(look, width),
            crew: strip(&self.sight.rows, look, size.width),
            pending: self.sight.pending(look, width),
            status: self.sight.status_line(self.busy, self.countdown(), look, width),
            busy: self.busy,
            stops: self.busy || self.is_in_shell(),
            look,
        };
        desk.show(scene);
    }

    /// Calls the person back who looks elsewhere, when something needs them or a worker is done.
    pub(super) fn call_back(&self, news: &News) {
        let Out::Above(desk) = &self.out else { return };
        let words = match news {
            _ if !self.sight.away => return,
            News::Permission(permission) if permission.settled.is_none() => format!("may it? {}", permission.tool),
            News::Asked(question) => format!("{} asks: {}", question.task, question.text),
            News::TaskEnded(report) => format!("{} {}: {}", report.id, report.status, report.title),
            News::Agent(AgentEvent::RunEnded { ending: Ending::Failed { why } }) => why.clone(),
            _ => return,
        };
        let env = |name: &str| std::env::var(name).ok();
        desk.signal(Notifier::of(&env).notify(&words, env("TMUX").is_some_and(|tmux| !tmux.is_empty())));
    }

    /// Takes the youngest note back into the line.
    pub(super) async fn take_back(&mut self) {
        let Out::Above(desk) = self.out.clone() else { return };
        self.sight.pending = self.runtime.pending(&self.session).await;
        let Some(note) = self.sight.youngest().cloned() else {
            let line = self.look.dim("nothing waits to be read: there is nothing to take back");
            return self.out.news([line]).await;
        };
        match self.runtime.withdraw(&self.session, note.to, note.note).await {
            Ok(text) => {
                let whom = note.to.map(|task| format!("@{task} ")).unwrap_or_default();
                desk.give(format!("{whom}{text}"));
                self.acknowledge(&format!("{} {} is taken back", note.kind, note.note)).await;
            }
            Err(error) => self.complain(error).await,
        }
    }
}
