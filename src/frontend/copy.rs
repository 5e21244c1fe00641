//! Rows in the formats of COPY, byte for byte as PostgreSQL writes them (its `copyto.c`).

use super::cells::cells;
use answer::{ClientError, Copy, Field, ForceQuote, SqlState};

/// What a binary copy begins with: the signature, no flags, no extension.
const SIGNATURE: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
/// What it ends with.
const TRAILER: i16 = -1;

/// Writes rows of text cells, or for the binary format of binary cells.
pub(super) struct Encoder {
    copy: Copy,
    /// Of each column, whether it is always quoted.
    quoted: Vec<bool>,
    /// What goes before the first row.
    head: Vec<u8>,
}

impl Encoder {
    /// For these columns; refused where an option names another.
    pub fn new(copy: Copy, fields: &[Field]) -> Result<Self, ClientError> {
        let mut quoted = vec![false; fields.len()];
        if let Copy::Csv { force_quote, .. } = &copy {
            match force_quote {
                ForceQuote::All => quoted.fill(true),
                ForceQuote::Columns(names) => {
                    for name in names {
                        let place = fields.iter().position(|f| f.name == *name).ok_or_else(|| {
                            let message = format!("column \"{name}\" does not exist");
                            ClientError::new(SqlState::UNDEFINED_COLUMN, message)
                        })?;
                        if let Some(quoted) = quoted.get_mut(place) {
                            *quoted = true;
                        }
                    }
                }
            }
        }
        let mut encoder = Self { copy, quoted, head: Vec::new() };
        let header = match encoder.copy {
            Copy::Text { header, .. } | Copy::Csv { header, .. } => header,
            Copy::Binary => {
                encoder.head = SIGNATURE.to_vec();
                false
            }
        };
        if header {
            // Names are quoted where they have to be only.
            let quoted = std::mem::replace(&mut encoder.quoted, vec![false; fields.len()]);
            let names: Vec<Option<&[u8]>> = fields.iter().map(|f| Some(f.name.as_bytes())).collect();
            encoder.head = encoder.line(&names);
            encoder.quoted = quoted;
        }
        Ok(encoder)
    }

    /// The format code of each column, and of all: 0 text, 1 binary.
    pub fn format(&self) -> i16 {
        i16::from(matches!(self.copy, Copy::Binary))
    }

    /// The message before the first row: the line with the names.
    pub fn head(&mut self) -> Option<Vec<u8>> {
        let head = std::mem::take(&mut self.head);
        match self.copy {
            // As PostgreSQL: in one message with what follows.
            Copy::Binary => {
                self.head = head;
                None
            }
            _ => (!head.is_empty()).then_some(head),
        }
    }

    /// A row.
    pub fn row(&mut self, row: &[u8]) -> Result<Vec<u8>, ClientError> {
        let mut out = std::mem::take(&mut self.head);
        match self.copy {
            // A row of the binary format is the body of a DataRow.
            Copy::Binary => out.extend_from_slice(row),
            _ => out = self.line(&cells(row)?),
        }
        Ok(out)
    }

    /// The message behind the last row.
    pub fn tail(&mut self) -> Option<Vec<u8>> {
        let mut out = std::mem::take(&mut self.head);
        matches!(self.copy, Copy::Binary).then(|| {
            out.extend_from_slice(&TRAILER.to_be_bytes());
            out
        })
    }

    fn line(&self, cells: &[Option<&[u8]>]) -> Vec<u8> {
        let mut out = Vec::new();
        let (delimiter, null) = match &self.copy {
            Copy::Text { delimiter, null, .. } | Copy::Csv { delimiter, null, .. } => (*delimiter, null),
            Copy::Binary => return out,
        };
        for (i, cell) in cells.iter().enumerate() {
            if i > 0 {
                out.push(delimiter);
            }
            match (cell, &self.copy) {
                (None, _) => out.extend_from_slice(null.as_bytes()),
                (Some(cell), Copy::Csv { quote, escape, .. }) => {
                    let forced = self.quoted.get(i).copied().unwrap_or_default();
                    // The end of the data, for PostgreSQL's own reader.
                    let end = cells.len() == 1 && *cell == b"\\.";
                    let special = |b: &u8| [delimiter, *quote, b'\n', b'\r'].contains(b);
                    if forced || end || *cell == null.as_bytes() || cell.iter().any(special) {
                        quoted_cell(&mut out, cell, *quote, *escape);
                    } else {
                        out.extend_from_slice(cell);
                    }
                }
                (Some(cell), _) => text_cell(&mut out, cell, delimiter),
            }
        }
        out.push(b'\n');
        out
    }
}

fn quoted_cell(out: &mut Vec<u8>, cell: &[u8], quote: u8, escape: u8) {
    out.push(quote);
    for b in cell {
        if *b == quote || *b == escape {
            out.push(escape);
        }
        out.push(*b);
    }
    out.push(quote);
}

fn text_cell(out: &mut Vec<u8>, cell: &[u8], delimiter: u8) {
    for b in cell {
        let letter = match b {
            0x08 => b'b',
            0x0c => b'f',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            0x0b => b'v',
            other => {
                if *other == b'\\' || *other == delimiter {
                    out.push(b'\\');
                }
                out.push(*other);
                continue;
            }
        };
        out.extend_from_slice(&[b'\\', letter]);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use answer::text_cells;

    fn fields(names: &[&str]) -> Vec<Field> {
        let field = |name: &&str| Field {
            name: (*name).to_owned(),
            type_oid: 25,
            type_size: -1,
            type_modifier: -1,
            format: 0,
        };
        names.iter().map(field).collect()
    }

    fn written(copy: Copy, names: &[&str], rows: &[&[Option<&str>]]) -> String {
        let mut encoder = Encoder::new(copy, &fields(names)).unwrap();
        let mut out = encoder.head().unwrap_or_default();
        for row in rows {
            out.extend(encoder.row(&text_cells(row)).unwrap());
        }
        out.extend(encoder.tail().unwrap_or_default());
        out.iter().map(|b| char::from(*b)).collect()
    }

    #[test]
    fn text() {
        let copy = |delimiter, header| Copy::Text { delimiter, null: "\\N".into(), header };
        let row: &[Option<&str>] = &[Some("a\tb\\c\nd\u{1}"), None, Some("\\N"), Some("")];
        assert_eq!(
            written(copy(b'\t', false), &["a", "b", "c", "d"], &[row]),
            "a\\tb\\\\c\\nd\u{1}\t\\N\t\\\\N\t\n"
        );
        assert_eq!(written(copy(b'|', true), &["x|y"], &[&[Some("a|\tb")]]), "x\\|y\na\\|\\tb\n");
        assert_eq!(written(copy(b'\x01', false), &["a"], &[&[Some("\u{1}")]]), "\\\u{1}\n");
    }

    #[test]
    fn csv() {
        let copy = |null: &str, header, quote, escape, force_quote| Copy::Csv {
            delimiter: b',',
            null: null.into(),
            header,
            quote,
            escape,
            force_quote,
        };
        let none = || ForceQuote::Columns(Vec::new());
        let row: &[Option<&str>] = &[Some("plain"), Some(""), None, Some("a,b"), Some("say \"x\"\r")];
        let names = &["a", "b,", "c", "d", "e"];
        assert_eq!(
            written(copy("", true, b'"', b'"', none()), names, &[row]),
            "a,\"b,\",c,d,e\nplain,\"\",,\"a,b\",\"say \"\"x\"\"\r\"\n"
        );
        assert_eq!(
            written(copy("", false, b'\'', b'\\', ForceQuote::All), &["a"], &[&[Some("it's \\")]]),
            "'it\\'s \\\\'\n"
        );
        let one = copy("x", false, b'"', b'"', ForceQuote::Columns(vec!["b".into()]));
        assert_eq!(
            written(one, &["a", "b"], &[&[Some("x"), Some("y")], &[None, None]]),
            "\"x\",\"y\"\nx,x\n"
        );
        assert_eq!(written(copy("", false, b'"', b'"', none()), &["a"], &[&[Some("\\.")]]), "\"\\.\"\n");
        let unknown = copy("", false, b'"', b'"', ForceQuote::Columns(vec!["z".into()]));
        assert_eq!(Encoder::new(unknown, &fields(&["a"])).err().unwrap().code.as_str(), "42703");
    }

    #[test]
    fn binary() {
        let empty = written(Copy::Binary, &["a"], &[]);
        assert_eq!(empty, "PGCOPY\nÿ\r\n\0\0\0\0\0\0\0\0\0ÿÿ");
        let one = written(Copy::Binary, &["a"], &[&[Some("x")]]);
        assert_eq!(one, "PGCOPY\nÿ\r\n\0\0\0\0\0\0\0\0\0\0\u{1}\0\0\0\u{1}xÿÿ");
    }
}
