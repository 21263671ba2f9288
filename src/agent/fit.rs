//! Texts that must not be longer than so many bytes: the middle goes, with a count of what is missing.

/// The text, or its beginning and its end with a count of the bytes left out between them.
pub(super) fn cut_middle(text: String, most: usize) -> String {
    if text.len() <= most {
        return text;
    }
    let half = most / 2;
    let head = text.floor_char_boundary(half);
    let tail = text.ceil_char_boundary(text.len() - half);
    let (first, last) = (&text[..head], &text[tail..]);
    format!("{first}\n[… {} of {} bytes left out …]\n{last}", tail - head, text.len())
}
