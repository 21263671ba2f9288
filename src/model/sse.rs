//! Server-sent events, and JSON lines as the same events: bytes in, events out. Knows nothing of HTTP or of any provider.

use std::time::Duration;

/// Most bytes of one event, its unfinished line included.
pub const MAX_EVENT: usize = 16 << 20;

/// One event of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SseEvent {
    /// The `event` field; `message` when there was none.
    pub event: String,
    /// The `data` lines, joined by line feeds.
    pub data: String,
    /// The last `id` of the stream so far; empty when there was none.
    pub id: String,
}

/// A stream that cannot be read on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    /// An event passes [`MAX_EVENT`].
    #[error("an event of over {} MiB", MAX_EVENT >> 20)]
    TooLong,
}

/// Splits a byte stream into events.
///
/// Accepts chunks cut anywhere, also inside a UTF-8 character; invalid UTF-8 becomes U+FFFD. Lines end in LF, CRLF or
/// CR; a byte order mark at the start is skipped. An event is complete at its blank line; a stream that stops before
/// it yields nothing more. Memory: at most one event. Source of the format: WHATWG HTML, section 9.2.
#[derive(Debug, Default)]
pub struct SseDecoder {
    line: Vec<u8>,
    event: String,
    data: String,
    id: String,
    retry: Option<Duration>,
    begun: bool,
    after_cr: bool,
}

impl SseDecoder {
    /// Takes the next bytes and answers the events that they complete, in order.
    ///
    /// # Errors
    /// [`SseError::TooLong`] when an event passes [`MAX_EVENT`]; the decoder is of no use afterwards.
    pub fn push(&mut self, mut chunk: &[u8]) -> Result<Vec<SseEvent>, SseError> {
        let mut events = Vec::new();
        if self.after_cr && !chunk.is_empty() {
            self.after_cr = false;
            chunk = chunk.strip_prefix(b"\n").unwrap_or(chunk);
        }
        while let Some(end) = chunk.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            let (head, rest) = chunk.split_at(end);
            if self.line.is_empty() {
                events.extend(self.take_line(head)?);
            } else {
                self.line.extend_from_slice(head);
                let line = std::mem::take(&mut self.line);
                events.extend(self.take_line(&line)?);
            }
            chunk = match rest {
                [b'\r', b'\n', rest @ ..] | [b'\n', rest @ ..] => rest,
                [b'\r'] => {
                    self.after_cr = true;
                    &[]
                }
                rest => &rest[1..],
            };
        }
        self.line.extend_from_slice(chunk);
        self.check(0)?;
        Ok(events)
    }

    /// How long a client should wait before it connects again, if the stream said so.
    pub fn retry(&self) -> Option<Duration> {
        self.retry
    }

    fn take_line(&mut self, line: &[u8]) -> Result<Option<SseEvent>, SseError> {
        self.check(line.len())?;
        let line = if self.begun { line } else { line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line) };
        self.begun = true;
        if line.is_empty() {
            return Ok(self.dispatch());
        }
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let value = line.get(colon + 1..).unwrap_or_default();
        let value = String::from_utf8_lossy(value.strip_prefix(b" ").unwrap_or(value));
        match &line[..colon] {
            b"data" => {
                self.data.push_str(&value);
                self.data.push('\n');
            }
            b"event" => self.event = value.into_owned(),
            b"id" if !value.contains('\0') => self.id = value.into_owned(),
            b"retry" if !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit()) => {
                self.retry = value.parse().ok().map(Duration::from_millis);
            }
            // Comments have an empty field name; unknown fields are ignored, as the format demands.
            _ => {}
        }
        Ok(None)
    }

    fn dispatch(&mut self) -> Option<SseEvent> {
        let event = std::mem::take(&mut self.event);
        let mut data = std::mem::take(&mut self.data);
        data.pop()?;
        let event = if event.is_empty() { "message".to_owned() } else { event };
        Some(SseEvent { event, data, id: self.id.clone() })
    }

    fn check(&self, more: usize) -> Result<(), SseError> {
        let size = self.line.len() + self.data.len() + self.event.len() + more;
        if size > MAX_EVENT { Err(SseError::TooLong) } else { Ok(()) }
    }
}

/// Splits a byte stream into lines, each told as one event; empty lines are none.
///
/// Accepts chunks cut anywhere. Invalid UTF-8 becomes U+FFFD. A last line without its end yields nothing, for nobody
/// knows whether it is whole. Memory: at most one line, capped at [`MAX_EVENT`].
#[derive(Debug, Default)]
pub struct LineDecoder {
    line: Vec<u8>,
}

impl LineDecoder {
    /// Takes the next bytes and answers the lines that they complete, in order.
    ///
    /// # Errors
    /// [`SseError::TooLong`] when a line passes [`MAX_EVENT`]; the decoder is of no use afterwards.
    pub fn push(&mut self, mut chunk: &[u8]) -> Result<Vec<SseEvent>, SseError> {
        let mut events = Vec::new();
        while let Some(end) = chunk.iter().position(|byte| *byte == b'\n') {
            let (head, rest) = chunk.split_at(end);
            self.line.extend_from_slice(head);
            self.check()?;
            let line = std::mem::take(&mut self.line);
            let data = String::from_utf8_lossy(&line).trim().to_owned();
            if !data.is_empty() {
                events.push(SseEvent { event: "message".to_owned(), data, id: String::new() });
            }
            chunk = &rest[1..];
        }
        self.line.extend_from_slice(chunk);
        self.check()?;
        Ok(events)
    }

    fn check(&self) -> Result<(), SseError> {
        if self.line.len() > MAX_EVENT { Err(SseError::TooLong) } else { Ok(()) }
    }
}
