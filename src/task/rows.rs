//! Rows of a table and the template that becomes a task with each of them. Reads text; which file it is from, and what
//! is done with the tasks, is decided elsewhere.

use super::Brief;

/// Most tasks made from one table.
pub const MAX_ROWS: usize = 1_000;

/// Most bytes of a table.
pub const MAX_TABLE: usize = 4 * 1024 * 1024;

const AN_ARRAY: &str = "this looks like a JSON array; write one object on each line instead";

/// A table: named columns, at least one row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rows {
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// Why a table or a template is of no use; each names the line or the column.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RowsError {
    /// There is nothing below the header, or nothing at all.
    #[error("the table has no rows; write a header and a line for each task, or a JSON object on each line")]
    Empty,
    /// Too many.
    #[error("the table has over {MAX_ROWS} rows; cut it into several")]
    TooMany,
    /// Too long.
    #[error("the table has over {MAX_TABLE} bytes; cut it into several")]
    TooLong,
    /// A line is no row.
    #[error("line {line} of the table: {why}")]
    Line {
        /// From 1.
        line: u64,
        /// What is wrong there.
        why: String,
    },
    /// Two columns are called the same, or one has no name.
    #[error("the table needs one name for each column; `{0}` is there twice or empty")]
    Header(String),
    /// The template asks for what the table does not have.
    #[error("the template asks for {{{{{name}}}}}, and the columns are {}", columns.join(", "))]
    NoColumn {
        /// As in the template.
        name: String,
        /// Those that there are.
        columns: Vec<String>,
    },
    /// A row leaves nothing to do.
    #[error("row {0} leaves the task empty; say what is to be done")]
    EmptyTask(usize),
    /// Every task would be the same.
    #[error("the template names no column, so that all tasks would be the same; write for example {{{{{0}}}}} into it")]
    NothingToFill(String),
}

impl Rows {
    /// Reads CSV with a header (white space around cells is no part of them), or JSON objects one per line; which of the
    /// two is told by the first character.
    ///
    /// A JSON value that is no text is filled in as JSON; keys that a line lacks are empty, as is a null.
    ///
    /// # Errors
    /// [`RowsError`] names the line.
    pub fn read(text: &str) -> Result<Rows, RowsError> {
        if text.len() > MAX_TABLE {
            return Err(RowsError::TooLong);
        }
        let text = text.trim_start_matches('\u{feff}');
        let rows = match text.trim_start().chars().next() {
            Some('{') => json_lines(text)?,
            Some('[') => return Err(RowsError::Line { line: 1, why: AN_ARRAY.to_owned() }),
            Some(_) | None => csv(text)?,
        };
        match rows.columns.iter().enumerate().find(|(at, name)| name.is_empty() || rows.columns[..*at].contains(name)) {
            Some((_, name)) => Err(RowsError::Header(name.clone())),
            None if rows.rows.is_empty() => Err(RowsError::Empty),
            None => Ok(rows),
        }
    }

    /// One brief for each row, in their order: `{{column}}` in title and body gives way to what the row says there.
    /// What is filled in is not looked at again, so a cell with braces stays as it is.
    ///
    /// # Errors
    /// [`RowsError::NoColumn`], [`RowsError::NothingToFill`], [`RowsError::EmptyTask`].
    pub fn fill(&self, template: &Brief) -> Result<Vec<Brief>, RowsError> {
        let (title, body) = (self.pieces(&template.title)?, self.pieces(&template.body)?);
        if !title.iter().chain(&body).any(|piece| matches!(piece, Piece::Column(_))) {
            return Err(RowsError::NothingToFill(self.columns.first().cloned().unwrap_or_default()));
        }
        let brief = |(at, row): (usize, &Vec<String>)| {
            let brief = Brief { title: put(&title, row), body: put(&body, row), ..template.clone() };
            if brief.body.trim().is_empty() { Err(RowsError::EmptyTask(at + 1)) } else { Ok(brief) }
        };
        self.rows.iter().enumerate().map(brief).collect()
    }

    fn pieces<'a>(&self, template: &'a str) -> Result<Vec<Piece<'a>>, RowsError> {
        let (mut pieces, mut rest) = (Vec::new(), template);
        while let Some((before, name, after)) = placeholder(rest) {
            let column = self
                .columns
                .iter()
                .position(|column| column == name)
                .ok_or_else(|| RowsError::NoColumn { name: name.to_owned(), columns: self.columns.clone() })?;
            pieces.extend([Piece::Text(before), Piece::Column(column)]);
            rest = after;
        }
        pieces.push(Piece::Text(rest));
        Ok(pieces)
    }
}

/// A part of a template.
enum Piece<'a> {
    Text(&'a str),
    Column(usize),
}

/// What stands before the next `{{name}}`, the name, and what stands after it. Braces around anything but a name on one
/// line are text.
fn placeholder(text: &str) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    loop {
        let open = from + text[from..].find("{{")?;
        let inside = &text[open + 2..];
        let close = inside.find("}}")?;
        let name = inside[..close].trim();
        if !name.is_empty() && !name.contains(['{', '\n']) {
            return Some((&text[..open], name, &inside[close + 2..]));
        }
        from = open + 1;
    }
}

fn put(pieces: &[Piece<'_>], row: &[String]) -> String {
    let text = |piece: &Piece<'_>| match piece {
        Piece::Text(text) => (*text).to_owned(),
        Piece::Column(at) => row.get(*at).cloned().unwrap_or_default(),
    };
    pieces.iter().map(text).collect()
}

fn csv(text: &str) -> Result<Rows, RowsError> {
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text.as_bytes());
    let columns: Vec<String> = reader.headers().map_err(|error| line(&error))?.iter().map(str::to_owned).collect();
    let mut rows = Vec::new();
    for record in reader.records() {
        if rows.len() == MAX_ROWS {
            return Err(RowsError::TooMany);
        }
        rows.push(record.map_err(|error| line(&error))?.iter().map(str::to_owned).collect());
    }
    // An empty text has one column without a name.
    if rows.is_empty() { Err(RowsError::Empty) } else { Ok(Rows { columns, rows }) }
}

fn line(error: &csv::Error) -> RowsError {
    let line = error.position().map_or(1, csv::Position::line);
    let why = match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("it has {len} cells, and the header has {expected_len}")
        }
        _ => error.to_string(),
    };
    RowsError::Line { line, why }
}

fn json_lines(text: &str) -> Result<Rows, RowsError> {
    let mut objects = Vec::new();
    let mut columns: Vec<String> = Vec::new();
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        if objects.len() == MAX_ROWS {
            return Err(RowsError::TooMany);
        }
        let read = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(line);
        let object = read.map_err(|error| RowsError::Line { line: at as u64 + 1, why: error.to_string() })?;
        for name in object.keys().filter(|name| !columns.contains(name)).cloned().collect::<Vec<_>>() {
            columns.push(name);
        }
        objects.push(object);
    }
    let cell = |value: Option<&serde_json::Value>| match value {
        None | Some(serde_json::Value::Null) => String::new(),
        Some(serde_json::Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    let row = |object: &serde_json::Map<_, _>| columns.iter().map(|name| cell(object.get(name))).collect();
    Ok(Rows { rows: objects.iter().map(row).collect(), columns })
}
