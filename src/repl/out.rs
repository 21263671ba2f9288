//! Where the prompt's lines go: above the line being typed, or plainly to stdout and stderr when there is no prompt.

use std::io::{self, Write};

use super::desk::Desk;
use super::seat::size;

/// Where lines go. Clones share the way.
#[derive(Clone)]
pub(super) enum Out {
    /// Above the prompt.
    Above(Desk),
    /// To stdout what was asked for, to stderr all else.
    Plain,
}

impl Out {
    /// What happens meanwhile.
    pub(super) async fn news(&self, lines: impl IntoIterator<Item = String>) {
        match self {
            Out::Above(desk) => desk.print(lines).await,
            Out::Plain => lines.into_iter().for_each(|line| write(&mut io::stderr().lock(), &line)),
        }
    }

    /// What was asked for.
    pub(super) async fn answer(&self, lines: impl IntoIterator<Item = String>) {
        match self {
            Out::Above(desk) => desk.print(lines).await,
            Out::Plain => lines.into_iter().for_each(|line| write(&mut io::stdout().lock(), &line)),
        }
    }

    /// The same, from where nobody may wait; answers whether it was taken.
    pub(super) fn answer_now(&self, line: String) -> bool {
        match self {
            Out::Above(desk) => desk.print_now(line),
            Out::Plain => {
                write(&mut io::stdout().lock(), &line);
                true
            }
        }
    }
}

/// A terminal that is gone is noticed where it is read.
fn write(to: &mut impl Write, line: &str) {
    let _ = writeln!(to, "{line}");
    let _ = to.flush();
}

/// Columns of the terminal.
pub(super) fn width() -> usize {
    size().width.max(20)
}
