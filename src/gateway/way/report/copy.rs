//! Rows of COPY FROM, in PostgreSQL's text and CSV formats (its `copyfromparse.c`), as they come in pieces; its binary format is in
//! `tuples`.

use super::tuples::{BAD_COPY, LONGEST, Row, Tuples};
use answer::{ClientError, Copy, SqlState};

/// 22021: bytes that are no text.
const NO_TEXT: SqlState = SqlState(*b"22021");
/// Takes bytes, and gives rows.
pub(super) enum Decoder {
    /// In text and CSV.
    Lines(Lines),
    /// In binary.
    Binary(Tuples),
}

impl Decoder {
    /// Of a format; `types` are those of the columns, by which binary values are read.
    pub(super) fn new(copy: Copy, types: Vec<u32>) -> Self {
        match &copy {
            Copy::Text { header, .. } | Copy::Csv { header, .. } => {
                let header = *header;
                Self::Lines(Lines {
                    copy,
                    bytes: Vec::new(),
                    at: 0,
                    header,
                    ended: false,
                    closed: false,
                    rows: 0,
                })
            }
            Copy::Binary => Self::Binary(Tuples::new(types)),
        }
    }

    /// More bytes.
    pub(super) fn push(&mut self, data: &[u8]) {
        match self {
            Self::Lines(lines) => lines.push(data),
            Self::Binary(tuples) => tuples.push(data),
        }
    }

    /// No more bytes come.
    pub(super) fn end(&mut self) {
        match self {
            Self::Lines(lines) => lines.ended = true,
            Self::Binary(tuples) => tuples.end(),
        }
    }

    /// The next whole row.
    pub(super) fn row(&mut self) -> Result<Option<Row>, ClientError> {
        match self {
            Self::Lines(lines) => lines.row(),
            Self::Binary(tuples) => tuples.row(),
        }
    }
}

/// Rows of text and CSV.
pub(super) struct Lines {
    copy: Copy,
    /// Bytes that have arrived and are in no row yet; read up to `at`.
    bytes: Vec<u8>,
    at: usize,
    /// The line with the names comes first.
    header: bool,
    /// All has come.
    ended: bool,
    /// The end was marked by `\.`.
    closed: bool,
    rows: usize,
}

impl Lines {
    fn push(&mut self, data: &[u8]) {
        self.bytes.drain(..self.at);
        self.at = 0;
        self.bytes.extend_from_slice(data);
    }

    fn row(&mut self) -> Result<Option<Row>, ClientError> {
        loop {
            if self.closed {
                self.at = self.bytes.len();
                return Ok(None);
            }
            let rest = self.bytes.get(self.at..).unwrap_or_default();
            let Some((length, next)) = self.line(rest) else {
                if rest.len() > LONGEST {
                    return Err(self.wrong("is too long"));
                }
                return Ok(None);
            };
            let line = rest.get(..length).unwrap_or_default();
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            let row = match line {
                b"\\." => None,
                line => Some(self.cells(line)),
            };
            self.at += next;
            match row {
                None => self.closed = true,
                Some(_) if std::mem::take(&mut self.header) => {}
                Some(row) => {
                    self.rows += 1;
                    return row.map(Some);
                }
            }
        }
    }

    /// The end of the first line, and the start of the next. In CSV a line goes on within quotes,
    /// in text after a backslash.
    fn line(&self, rest: &[u8]) -> Option<(usize, usize)> {
        let (mut quoted, mut skip) = (false, false);
        for (i, b) in rest.iter().enumerate() {
            match &self.copy {
                _ if skip => skip = false,
                Copy::Csv { quote, escape, .. } => {
                    if quoted && b == escape && escape != quote {
                        skip = rest.get(i + 1).is_some_and(|next| next == quote || next == escape);
                    } else if b == quote {
                        quoted = !quoted;
                    } else if *b == b'\n' && !quoted {
                        return Some((i, i + 1));
                    }
                }
                _ if *b == b'\n' => return Some((i, i + 1)),
                _ => {
                    // A backslash before the end of data is no escape of the newline behind it.
                    skip = *b == b'\\' && rest.get(i + 1).is_some_and(|next| *next != b'.');
                }
            }
        }
        (self.ended && !rest.is_empty()).then_some((rest.len(), rest.len()))
    }

    fn cells(&self, line: &[u8]) -> Result<Row, ClientError> {
        match &self.copy {
            Copy::Text { delimiter, null, .. } => self.text(line, *delimiter, null),
            Copy::Csv { delimiter, null, quote, escape, .. } => {
                self.csv(line, *delimiter, null, *quote, *escape)
            }
            Copy::Binary => Err(self.wrong("is binary")),
        }
    }

    fn text(&self, line: &[u8], delimiter: u8, null: &str) -> Result<Row, ClientError> {
        let mut row = Vec::new();
        let (mut cell, mut raw) = (Vec::new(), Vec::new());
        let mut bytes = line.iter().copied().peekable();
        loop {
            match bytes.next() {
                Some(b) if b != delimiter => {
                    raw.push(b);
                    if b != b'\\' {
                        cell.push(b);
                        continue;
                    }
                    let Some(next) = bytes.next() else { return Err(self.wrong("ends in a backslash")) };
                    raw.push(next);
                    let mut number = |radix: u32, first: Option<u32>, most: usize| {
                        let (mut n, mut digits) = (first.unwrap_or(0), 0);
                        while digits < most
                            && let Some(d) = bytes.peek().and_then(|b| char::from(*b).to_digit(radix))
                        {
                            raw.extend(bytes.next());
                            n = n * radix + d;
                            digits += 1;
                        }
                        (first.is_some() || digits > 0).then_some((n & 0xff) as u8)
                    };
                    cell.push(match next {
                        b'b' => 0x08,
                        b'f' => 0x0c,
                        b'n' => b'\n',
                        b'r' => b'\r',
                        b't' => b'\t',
                        b'v' => 0x0b,
                        b'0'..=b'7' => number(8, Some(u32::from(next - b'0')), 2).unwrap_or(next),
                        b'x' => number(16, None, 2).unwrap_or(b'x'),
                        other => other,
                    });
                }
                end => {
                    let value = std::mem::take(&mut cell);
                    let is_null = std::mem::take(&mut raw) == null.as_bytes();
                    row.push(if is_null { None } else { Some(self.string(value)?) });
                    if end.is_none() {
                        return Ok(row);
                    }
                }
            }
        }
    }

    fn csv(&self, line: &[u8], delimiter: u8, null: &str, quote: u8, escape: u8) -> Result<Row, ClientError> {
        let mut row = Vec::new();
        let (mut cell, mut inside, mut was_quoted) = (Vec::new(), false, false);
        let mut bytes = line.iter().copied().peekable();
        loop {
            match bytes.next() {
                Some(b) if inside => {
                    if b == escape && bytes.peek().is_some_and(|n| *n == quote || *n == escape) {
                        cell.extend(bytes.next());
                    } else if b == quote {
                        inside = false;
                    } else {
                        cell.push(b);
                    }
                }
                Some(b) if b == quote => (inside, was_quoted) = (true, true),
                Some(b) if b != delimiter => cell.push(b),
                None if inside => return Err(self.wrong("has a quote that does not end")),
                end => {
                    let value = std::mem::take(&mut cell);
                    let is_null = !std::mem::take(&mut was_quoted) && value == null.as_bytes();
                    row.push(if is_null { None } else { Some(self.string(value)?) });
                    if end.is_none() {
                        return Ok(row);
                    }
                }
            }
        }
    }

    fn string(&self, bytes: Vec<u8>) -> Result<String, ClientError> {
        // The bytes are not repeated.
        String::from_utf8(bytes).map_err(|_| {
            let message = format!("row {} holds bytes that are not UTF-8", self.rows + 1);
            ClientError::new(NO_TEXT, message)
        })
    }

    fn wrong(&self, what: &str) -> ClientError {
        ClientError::new(BAD_COPY, format!("row {} {what}", self.rows + 1))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use answer::ForceQuote;

    fn text() -> Copy {
        Copy::Text { delimiter: b'\t', null: "\\N".into(), header: false }
    }

    fn csv(header: bool) -> Copy {
        let force_quote = ForceQuote::Columns(Vec::new());
        Copy::Csv { delimiter: b',', null: String::new(), header, quote: b'"', escape: b'"', force_quote }
    }

    /// Whatever the pieces are that it comes in.
    fn rows(copy: &Copy, data: &[u8]) -> Result<Vec<Row>, ClientError> {
        let mut all = Vec::new();
        for size in [1, 2, 3, 7, data.len().max(1)] {
            let mut decoder = Decoder::new(copy.clone(), Vec::new());
            let mut found = Vec::new();
            for piece in data.chunks(size) {
                decoder.push(piece);
                while let Some(row) = decoder.row()? {
                    found.push(row);
                }
            }
            decoder.end();
            while let Some(row) = decoder.row()? {
                found.push(row);
            }
            all.push(found);
        }
        assert!(all.iter().all(|rows| Some(rows) == all.first()), "{all:?}");
        Ok(all.pop().unwrap())
    }

    fn row(cells: &[Option<&str>]) -> Row {
        cells.iter().map(|c| c.map(str::to_owned)).collect()
    }

    #[test]
    fn text_is_read_as_postgresql_writes_it() {
        let read = rows(&text(), b"a\\tb\\\\c\\nd\t\\N\t\\\\N\t\nx\t\t\\101\\x42\t1\r\n\\.\nmore\n").unwrap();
        let first = row(&[Some("a\tb\\c\nd"), None, Some("\\N"), Some("")]);
        assert_eq!(read, [first, row(&[Some("x"), Some(""), Some("AB"), Some("1")])]);
        assert_eq!(rows(&text(), b"last").unwrap(), [row(&[Some("last")])]);
        assert_eq!(rows(&text(), b"\xff\n").unwrap_err().code, NO_TEXT);
    }

    #[test]
    fn csv_is_read_as_postgresql_writes_it() {
        let read = rows(&csv(true), b"a,b\nplain,\"\",\n\"a,\"\"b\"\"\nc\",,x\n").unwrap();
        let first = row(&[Some("plain"), Some(""), None]);
        assert_eq!(read, [first, row(&[Some("a,\"b\"\nc"), None, Some("x")])]);
        assert_eq!(rows(&csv(false), b"\"open\n").unwrap_err().code, BAD_COPY);
    }
}
