//! Long pastes, folded into one word of the line and unfolded when it is sent.

use crate::terminal::clean::clean;

/// Lines of a paste that are still shown as they are.
const LINES: usize = 8;
/// Signs of such a paste.
const SIGNS: usize = 1_000;
/// Most bytes that stand folded in one line.
pub(super) const MOST: usize = 10 * 1024 * 1024;

/// What was pasted into the line that is being typed.
#[derive(Default)]
pub(super) struct Pasted {
    pieces: Vec<Piece>,
    count: usize,
}

struct Piece {
    word: String,
    text: String,
}

impl Pasted {
    /// What to insert for a paste: itself, harmless, or the word that stands for it. `None` when it is too long.
    pub(super) fn take(&mut self, text: &str) -> Option<String> {
        let held: usize = self.pieces.iter().map(|piece| piece.text.len()).sum();
        if held + text.len() > MOST {
            return None;
        }
        let text = harmless(text);
        let lines = text.lines().count();
        if lines <= LINES && text.chars().count() <= SIGNS {
            return Some(text);
        }
        self.count += 1;
        let size = if lines > 1 { format!("{lines} lines") } else { format!("{} bytes", text.len()) };
        let word = format!("[pasted #{}: {size}]", self.count);
        self.pieces.push(Piece { word: word.clone(), text });
        Some(word)
    }

    /// The line with everything that was folded in it.
    pub(super) fn unfold(&self, line: &str) -> String {
        let mut whole = line.to_owned();
        // The last first: what was pasted may hold the word of an earlier one.
        for piece in self.pieces.iter().rev() {
            if let Some(at) = whole.find(&piece.word) {
                whole.replace_range(at..at + piece.word.len(), &piece.text);
            }
        }
        whole
    }

    /// Where the folded piece begins that ends right before the cursor.
    pub(super) fn before(&self, line: &str, cursor: usize) -> Option<usize> {
        let words = self.pieces.iter().map(|piece| &piece.word);
        words.filter(|word| line[..cursor].ends_with(word.as_str())).map(|word| cursor - word.len()).next()
    }

    /// Forgets all; the line they stood in is gone.
    pub(super) fn clear(&mut self) {
        self.pieces.clear();
        self.count = 0;
    }
}

/// Lines as they are written here, without control sequences; tabs stay.
fn harmless(text: &str) -> String {
    let parts: Vec<String> = text.split('\t').map(clean).collect();
    parts.join("\t")
}
