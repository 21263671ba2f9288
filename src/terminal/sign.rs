//! The signs that stand before lines, and the words for them.

/// What a sign means; `None` for a text that is none.
pub(super) fn word(sign: &str) -> Option<&'static str> {
    Some(match sign {
        "✓" => "done",
        "✗" => "failed",
        "⚠" => "warning",
        "■" => "stopped",
        "▶" => "running",
        "◌" => "waiting",
        "?" => "asks",
        "⟳" => "again",
        "●" => "*",
        "├" | "└" | "·" => "-",
        "↳" => ">",
        _ => return None,
    })
}
