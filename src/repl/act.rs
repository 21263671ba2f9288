//! What each act of a person at the prompt does: a line sent, a run stopped, the way out. What a line means is told in
//! `talk`.

use std::time::{Duration, Instant};

use super::out::{Out, width};
use super::roam::Roam;
use super::talk::{Next, Talk};
use super::typed::Typed;
use crate::event::AgentEvent;
use crate::runtime::News;
use crate::terminal::wrap::wrapped;

/// A second Ctrl-C within this time leaves.
const TWICE: Duration = Duration::from_secs(1);
/// Rows of a line that was said and is shown above the prompt.
const SAID: usize = 10;

impl Talk<'_> {
    pub(super) async fn act(&mut self, typed: Typed) -> Next {
        // What a key on the board does to others, its deed tells.
        self.sight.stale |= !matches!(typed, Typed::Key(_) | Typed::Pasted(_));
        match typed {
            Typed::Line(line) => {
                let next = self.line(&line).await;
                self.learn().await;
                return next;
            }
            Typed::FollowUp(line) if line.trim().is_empty() => {}
            Typed::FollowUp(line) => {
                self.say_again(&line).await;
                self.follow_up(line).await;
            }
            Typed::Stop => self.stop(true).await,
            Typed::Rewind => self.roam(Roam::Branch(None)).await,
            Typed::Interrupt { empty: false } => self.interrupted = None,
            Typed::Interrupt { empty: true } => return self.interrupt().await,
            Typed::Thoughts => {
                self.thoughts = !self.thoughts;
                let lines = self.screen.set_thoughts(self.thoughts);
                self.out.news(lines).await;
            }
            Typed::Expand => self.out.answer(self.screen.expand()).await,
            Typed::Refused(why) => self.complain(why).await,
            Typed::TakeBack => self.take_back().await,
            Typed::Focus(focus) => self.sight.away = !focus,
            Typed::Board => self.open_board().await,
            Typed::Key(key) => self.board_key(key).await,
            Typed::Pasted(text) => self.board_paste(&text),
            Typed::Redraw => {}
            Typed::End => return Next::Leave,
        }
        Next::GoOn
    }

    /// The first stops the run, the second leaves; where workers would be interrupted, the third.
    async fn interrupt(&mut self) -> Next {
        let workers = self.sight.running();
        let again = self.interrupted.filter(|(before, _)| before.elapsed() < TWICE).map_or(0, |(_, times)| times);
        if again > usize::from(workers > 0) {
            return Next::Leave;
        }
        self.interrupted = Some((Instant::now(), again + 1));
        if again == 0 {
            self.stop(false).await;
        }
        let told = match workers {
            0 => "Ctrl-C again leaves".to_owned(),
            1 if again > 0 => "1 worker would be interrupted; Ctrl-C again leaves".to_owned(),
            _ if again > 0 => format!("{workers} workers would be interrupted; Ctrl-C again leaves"),
            _ => "Ctrl-C twice again leaves; workers go on until then".to_owned(),
        };
        self.out.news([self.look.dim(told)]).await;
        Next::GoOn
    }

    /// What was typed, as it stays above the prompt.
    pub(super) async fn say_again(&self, line: &str) {
        if let Out::Above(_) = self.out {
            let room = width().saturating_sub(4);
            let lines = wrapped(line.trim_end(), room);
            let sign = if self.busy { " ↳ " } else { " > " };
            let many = lines.len();
            let mut shown: Vec<String> = lines
                .into_iter()
                .take(SAID)
                .enumerate()
                .map(|(at, line)| format!("{}{line}", if at == 0 { self.look.name(sign) } else { "   ".to_owned() }))
                .collect();
            if many > SAID {
                shown.push(self.look.dim(format!("   … {} more lines", many - SAID)));
            }
            shown.insert(0, String::new());
            self.out.news(shown).await;
        }
    }

    /// What the panel has to know of it.
    pub(super) fn note(&mut self, news: &News) {
        self.call_back(news);
        match news {
            News::Permission(permission) => self.sight.hear(permission),
            News::Agent(AgentEvent::Text { .. } | AgentEvent::Thinking { .. } | AgentEvent::ToolProgress { .. }) => {}
            _ => self.sight.stale = true,
        }
    }

    /// Ends the person's own command, else the current run; `told` also says so when there is neither.
    pub(super) async fn stop(&mut self, told: bool) {
        if let Some(shell) = self.shell.take_if(|shell| !shell.is_over()) {
            return shell.end().await;
        }
        match self.runtime.abort_main(&self.session).await {
            Ok(true) => {}
            Ok(false) if told => self.out.news([self.look.dim("nothing to stop; /abort t_001 stops a worker")]).await,
            Ok(false) => {}
            Err(error) => self.complain(error).await,
        }
    }
}
