//! Text cut to what a trace keeps of one field.

/// Most bytes kept of one field.
pub(super) const FIELD: usize = 16 * 1024;

/// The text if it is short enough, else its head and a count of what is missing.
pub(super) fn excerpt(text: &str) -> String {
    if text.len() <= FIELD {
        return text.to_owned();
    }
    let mut end = FIELD;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}… [{} of {} bytes left out]", &text[..end], text.len() - end, text.len())
}
