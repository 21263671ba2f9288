//! Outputs without what differs from one call to the next by itself: times, durations, numbers of processes and
//! threads, addresses, ports. What is left is compared; nothing here is shown.

/// Stands for what was taken out.
const HOLE: char = '◦';

/// Units of a duration, as programs write them.
#[rustfmt::skip]
const UNITS: &[&str] = &[
    "ns", "us", "µs", "μs", "ms", "msec", "s", "sec", "secs", "second", "seconds", "m", "min", "mins", "minute",
    "minutes", "h", "hr", "hrs", "hour", "hours",
];

/// Words that are followed by the number of a process or a thread.
const NUMBERED: &[&str] = &["pid", "pids", "ppid", "tid", "process", "thread"];

/// Words that are followed by a moment, as a number of seconds or less.
const STAMPED: &[&str] = &["ts", "time", "timestamp", "epoch", "date"];

/// Hosts whose ports are given out by the system.
const LOCAL: &[&str] = &["127.0.0.1:", "localhost:", "0.0.0.0:"];

/// The text, line by line, without what differs by itself.
pub(super) fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for line in text.lines() {
        if line.bytes().any(|byte| byte.is_ascii_digit()) {
            steady(line, &mut plain);
        } else {
            plain.push_str(line.trim_end());
        }
        plain.push('\n');
    }
    plain
}

/// Words and what stands between them, one after the other.
fn steady(line: &str, plain: &mut String) {
    let mut rest = line.trim_end();
    let mut before = String::new();
    // Rust names a thread that panics and, in parentheses, its number.
    let panics = line.starts_with("thread '");
    while let Some(first) = rest.chars().next() {
        let of_word = |c: char| c.is_alphanumeric() || "_.:+-/".contains(c);
        if !of_word(first) {
            plain.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        }
        let end = rest.find(|c: char| !of_word(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        rest = after;
        if panics && plain.ends_with('(') && is_number(word) {
            plain.push(HOLE);
        } else if let Some(kept) = number_of(word, &before) {
            plain.push_str(kept);
            plain.push(HOLE);
        } else if let Some(left) = word.chars().all(is_decimal).then(|| unit(after)).flatten() {
            plain.push(HOLE);
            rest = left;
        } else if changed(word, plain) {
            rest = fraction(rest);
        }
        if word != ":" {
            before = word.trim_end_matches(':').to_lowercase();
        }
    }
}

/// What a word keeps that is or ends in the number of a process, a thread, a port or a moment.
fn number_of<'a>(word: &'a str, before: &str) -> Option<&'a str> {
    let (name, number) = word.rsplit_once(':').unwrap_or(("", word));
    let name = if name.is_empty() { before.to_owned() } else { name.to_lowercase() };
    let kept = &word[..word.len() - number.len()];
    if is_number(number) && NUMBERED.contains(&name.as_str()) {
        return Some(kept);
    }
    // Seconds since 1970 with a fraction, or any finer count under a name that says what it is.
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let is_moment = is_number(whole) && whole.len() >= 10 && whole.starts_with(['1', '2']);
    let is_it = is_moment && (STAMPED.contains(&name.as_str()) || (whole.len() == 10 && is_number(fraction)));
    is_it.then_some(kept)
}

/// What stands before and after the port of an address of this machine that was given out by the system.
fn port(word: &str) -> Option<(&str, &str)> {
    let from = LOCAL.iter().find_map(|host| Some(word.find(host)? + host.len()))?;
    let digits = word[from..].find(|c: char| !c.is_ascii_digit()).unwrap_or(word.len() - from);
    (digits == 5).then(|| (&word[..from], &word[from + digits..]))
}

/// The rest of a line after a time of the day, without a fraction that follows a comma.
fn fraction(rest: &str) -> &str {
    let digits = rest.strip_prefix(',').unwrap_or_default();
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    if end == 3 { &digits[end..] } else { rest }
}

/// Writes a word, or what is left of it when its own form says that it differs by itself; answers whether it was a time
/// of the day.
fn changed(word: &str, plain: &mut String) -> bool {
    let sentence = word.trim_end_matches(['.', ':', '-']);
    let clock = is_clock(sentence);
    if clock || is_duration(sentence) || is_address(sentence) {
        plain.push(HOLE);
        plain.push_str(&word[sentence.len()..]);
    } else if let Some((before, after)) = port(word) {
        plain.push_str(before);
        plain.push(HOLE);
        plain.push_str(after);
    } else {
        plain.push_str(word);
    }
    clock
}

/// What follows a unit of time that a number is followed by.
fn unit(after: &str) -> Option<&str> {
    let words = after.strip_prefix(' ')?;
    let end = words.find(|c: char| !c.is_alphabetic()).unwrap_or(words.len());
    // Single letters after a space are too often something else.
    let is_unit = UNITS.contains(&&words[..end]) && (words[..end].len() > 1 || words.starts_with('s'));
    is_unit.then_some(&words[end..])
}

/// `3.21s`, `450ms`, `1m30s`, `2h3m`.
fn is_duration(word: &str) -> bool {
    let mut rest = word;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !is_decimal(c)).unwrap_or(rest.len());
        let letters = rest[digits..].find(|c: char| !c.is_alphabetic()).map_or(rest.len(), |at| digits + at);
        if digits == 0 || !UNITS.contains(&&rest[digits..letters]) {
            return false;
        }
        rest = &rest[letters..];
    }
    !word.is_empty()
}

/// `12:30:59`, `12:30:59.123Z`, `2026-11-21T12:30:59+01:00`; also `12:30`, but not a line and column of three digits.
fn is_clock(word: &str) -> bool {
    let time = match word.split_once('T') {
        Some((date, time)) if date.len() == 10 && date.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') => {
            time
        }
        Some(_) => return false,
        None => word,
    };
    let time = time.trim_end_matches('Z');
    let time = time.find(['+', '-']).map_or(time, |zone| &time[..zone]);
    let parts: Vec<&str> = time.split(':').collect();
    let two = |part: &&str| part.len() == 2 && is_number(part);
    match parts.as_slice() {
        [hours, minutes] => two(hours) && two(minutes),
        [hours, minutes, seconds] => {
            let seconds = seconds.split('.').next().unwrap_or_default();
            two(hours) && two(minutes) && two(&seconds)
        }
        _ => false,
    }
}

/// `0x7f3a12345678`.
fn is_address(word: &str) -> bool {
    let digits = word.strip_prefix("0x").unwrap_or_default();
    digits.len() >= 6 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_decimal(c: char) -> bool {
    c.is_ascii_digit() || c == '.'
}
