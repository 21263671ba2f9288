//! Which names fit a few typed letters, and which fit best. Knows nothing of what is named.

/// Names and paths that are looked at letter by letter, of those that have all letters of a pattern. With the masks it
/// keeps a search among 50,000 paths below a millisecond; those that begin with the pattern are found beyond it.
const LOOKED: usize = 3_000;

/// Bytes of a pattern that count; nobody types more to find a name.
const PATTERN: usize = 64;

/// Names to search in, in the order in which equally good ones are shown. Matching takes no notice of capitals.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// All of them in small letters, one behind the other.
    small: Vec<u8>,
    places: Vec<Place>,
    /// The letters of each name.
    whole: Vec<u64>,
    /// The letters of each name's last part.
    own: Vec<u64>,
}

#[derive(Debug, Clone, Copy)]
struct Place {
    start: u32,
    /// Behind the last `/`.
    own: u32,
    end: u32,
}

impl Names {
    /// Names of at most 4 GB in all; what is over that is left out.
    pub(super) fn of<'a>(names: impl IntoIterator<Item = &'a str>) -> Names {
        let mut all = Names::default();
        for name in names {
            let name = name.as_bytes();
            let below = name.strip_suffix(b"/").unwrap_or(name);
            let own = below.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
            let start = all.small.len();
            let [Ok(first), Ok(last), Ok(end)] = [start, start + own, start + name.len()].map(u32::try_from) else {
                break;
            };
            all.small.extend(name.iter().map(u8::to_ascii_lowercase));
            all.places.push(Place { start: first, own: last, end });
            all.whole.push(letters(&all.small[start..]));
            all.own.push(letters(&all.small[start + own..]));
        }
        all
    }

    /// The places of at most `most` names that hold the letters of the pattern in their order, the best first: whose last
    /// part begins so, then whose last part holds them, then whose path does. A pattern with a `/` is one of whole paths;
    /// without a pattern it is the first ones.
    pub(super) fn best(&self, pattern: &str, most: usize) -> Vec<usize> {
        let pattern: Vec<u8> = pattern.bytes().take(PATTERN).map(|byte| byte.to_ascii_lowercase()).collect();
        let part = if pattern.contains(&b'/') { Names::path } else { Names::last };
        let begins = (0..self.places.len()).filter(|at| part(self, *at).starts_with(&pattern));
        let mut found: Vec<usize> = begins.take(most).collect();
        for (masks, part) in [(&self.own, Names::last as fn(&Names, usize) -> &[u8]), (&self.whole, Names::path)] {
            if found.len() == most {
                break;
            }
            let wanted = letters(&pattern);
            let has_all = masks.iter().enumerate().filter(|(_, mask)| *mask & wanted == wanted).map(|(at, _)| at);
            let scored = has_all.take(LOOKED).filter_map(|at| Some((score(&pattern, part(self, at))?, at)));
            let more = top(scored.filter(|(_, at)| !found.contains(at)), most - found.len());
            found.extend(more);
        }
        found
    }

    fn path(&self, at: usize) -> &[u8] {
        let place = self.places[at];
        &self.small[place.start as usize..place.end as usize]
    }

    fn last(&self, at: usize) -> &[u8] {
        let place = self.places[at];
        &self.small[place.own as usize..place.end as usize]
    }
}

/// The best, equally good ones in their order.
fn top(scored: impl Iterator<Item = (i32, usize)>, most: usize) -> Vec<usize> {
    let mut scored: Vec<(std::cmp::Reverse<i32>, usize)> =
        scored.map(|(score, at)| (std::cmp::Reverse(score), at)).collect();
    if scored.len() > most && most > 0 {
        scored.select_nth_unstable(most - 1);
    }
    scored.truncate(most);
    scored.sort_unstable();
    scored.into_iter().map(|(_, at)| at).collect()
}

/// A bit for each letter and digit that is in it, so that most names are passed over at a glance.
fn letters(text: &[u8]) -> u64 {
    text.iter().fold(0, |bits, byte| {
        bits | match byte {
            b'a'..=b'z' => 1 << (byte - b'a'),
            b'0'..=b'9' => 1 << (26 + byte - b'0'),
            b'/' => 1 << 36,
            b'.' => 1 << 37,
            b'_' => 1 << 38,
            b'-' => 1 << 39,
            _ => 0,
        }
    })
}

/// How well a pattern fits: in one piece before in many, at the start of a word before within it, short names before long
/// ones. `None` when a letter is missing.
fn score(pattern: &[u8], name: &[u8]) -> Option<i32> {
    let short = -i32::try_from(name.len().min(400)).unwrap_or(400) / 4;
    let first = *pattern.first()?;
    let mut at = name.iter().position(|byte| *byte == first)?;
    let begin = at;
    // In one piece: the first such place that begins a word, else the first at all.
    let mut piece = None;
    loop {
        if name[at..].starts_with(pattern) {
            let word = begins_word(name, at);
            piece = Some(piece.unwrap_or(0).max(if at == 0 { 300 } else { 200 + 50 * i32::from(word) }));
            if word {
                break;
            }
        }
        match name[at + 1..].iter().position(|byte| *byte == first) {
            Some(next) => at += 1 + next,
            None => break,
        }
    }
    if let Some(piece) = piece {
        return Some(piece + short);
    }
    let (mut at, mut sum) = (begin, 0);
    for (nth, byte) in pattern.iter().enumerate() {
        let found = at + name[at..].iter().position(|other| other == byte)?;
        sum += if begins_word(name, found) { 12 } else { 0 };
        sum += if nth > 0 && found == at { 6 } else { 0 };
        at = found + 1;
    }
    Some(sum.min(150) + short)
}

fn begins_word(name: &[u8], at: usize) -> bool {
    at == 0 || !name[at - 1].is_ascii_alphanumeric()
}
