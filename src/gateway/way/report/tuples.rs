//! Rows of COPY FROM in PostgreSQL's binary format (its documentation of COPY, "Binary Format"), as they come in pieces.

use super::binary;
use answer::{ClientError, SqlState};

/// The first bytes of a file.
const SIGNATURE: &[u8; 11] = b"PGCOPY\n\xff\r\n\0";
/// 22P04: a row that is not of the format.
pub(super) const BAD_COPY: SqlState = SqlState(*b"22P04");
/// 22P03: a value that is not of its type.
const BAD_VALUE: SqlState = SqlState(*b"22P03");

/// Bytes of one row.
pub(super) const LONGEST: usize = 1 << 20;

/// A row: None for NULL.
pub(super) type Row = Vec<Option<String>>;

/// Takes bytes, and gives rows.
pub(super) struct Tuples {
    /// Types of the columns.
    types: Vec<u32>,
    bytes: Vec<u8>,
    at: usize,
    /// The header has been read.
    begun: bool,
    /// The trailer has.
    closed: bool,
    ended: bool,
    rows: usize,
}

impl Tuples {
    pub(super) fn new(types: Vec<u32>) -> Self {
        Self { types, bytes: Vec::new(), at: 0, begun: false, closed: false, ended: false, rows: 0 }
    }

    pub(super) fn push(&mut self, data: &[u8]) {
        self.bytes.drain(..self.at);
        self.at = 0;
        self.bytes.extend_from_slice(data);
    }

    pub(super) fn end(&mut self) {
        self.ended = true;
    }

    /// The next whole row.
    pub(super) fn row(&mut self) -> Result<Option<Row>, ClientError> {
        if !self.begun && !self.header()? {
            return self.more();
        }
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        if self.closed {
            return match rest {
                [] => Ok(None),
                _ => Err(wrong("data come after its end")),
            };
        }
        let mut piece = Piece(rest);
        let Some(count) = piece.take().map(i16::from_be_bytes) else { return self.more() };
        if count == -1 {
            self.at += 2;
            self.closed = true;
            return self.row();
        }
        if usize::try_from(count) != Ok(self.types.len()) {
            return Err(self.of_row(BAD_COPY, format!("has {count} values for {} columns", self.types.len())));
        }
        let mut row = Vec::with_capacity(self.types.len());
        for (n, ty) in self.types.iter().enumerate() {
            let Some(length) = piece.take().map(i32::from_be_bytes) else { return self.more() };
            if length == -1 {
                row.push(None);
                continue;
            }
            let Some(length) = usize::try_from(length).ok().filter(|n| *n <= LONGEST) else {
                return Err(self.of_row(BAD_COPY, "has a value of no sensible length".to_owned()));
            };
            let Some(value) = piece.some(length) else { return self.more() };
            // The value is not repeated.
            let text = binary::text(*ty, value);
            let bad =
                || self.of_row(BAD_VALUE, format!("has a value in column {} that is not of its type", n + 1));
            row.push(Some(text.ok_or_else(bad)?));
        }
        self.at = self.bytes.len() - piece.0.len();
        self.rows += 1;
        Ok(Some(row))
    }

    /// Reads the header, if it is there whole.
    fn header(&mut self) -> Result<bool, ClientError> {
        let mut piece = Piece(&self.bytes);
        let seen = self.bytes.len().min(SIGNATURE.len());
        if self.bytes.get(..seen) != SIGNATURE.get(..seen) {
            return Err(wrong("it does not begin as PostgreSQL's binary format does"));
        }
        let (Some(_), Some(flags), Some(length)) = (
            piece.some(SIGNATURE.len()),
            piece.take().map(u32::from_be_bytes),
            piece.take().map(u32::from_be_bytes),
        ) else {
            return Ok(false);
        };
        // The upper half is of what must be known to read on: OIDs, which no version of today has.
        if flags >> 16 != 0 {
            return Err(wrong("it has flags of an old version"));
        }
        let Some(length) = usize::try_from(length).ok().filter(|n| *n <= LONGEST) else {
            return Err(wrong("its header has no sensible length"));
        };
        if piece.some(length).is_none() {
            return Ok(false);
        }
        self.at = self.bytes.len() - piece.0.len();
        self.begun = true;
        Ok(true)
    }

    /// There is no whole row: more comes, or should have come.
    fn more(&self) -> Result<Option<Row>, ClientError> {
        match self.ended {
            true => Err(wrong("it is cut short")),
            false if self.bytes.len() - self.at > 2 * LONGEST => {
                Err(self.of_row(BAD_COPY, "is too long".to_owned()))
            }
            false => Ok(None),
        }
    }

    fn of_row(&self, code: SqlState, what: String) -> ClientError {
        ClientError::new(code, format!("row {} {what}", self.rows + 1))
    }
}

fn wrong(what: &str) -> ClientError {
    ClientError::new(BAD_COPY, format!("this is no COPY in binary format: {what}")).hint(
        "Send what COPY … TO STDOUT (FORMAT binary) writes, with the types of the columns; or text, or CSV.",
    )
}

/// The rest of the bytes.
struct Piece<'b>(&'b [u8]);

impl<'b> Piece<'b> {
    fn some(&mut self, n: usize) -> Option<&'b [u8]> {
        let (head, tail) = self.0.split_at_checked(n)?;
        self.0 = tail;
        Some(head)
    }

    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.some(N)?.try_into().ok()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use super::*;

    fn head() -> Vec<u8> {
        [&SIGNATURE[..], &[0; 8]].concat()
    }

    fn row(cells: &[Option<&[u8]>]) -> Vec<u8> {
        let mut out = (cells.len() as i16).to_be_bytes().to_vec();
        for cell in cells {
            out.extend(cell.map_or(-1, |c| c.len() as i32).to_be_bytes());
            out.extend_from_slice(cell.unwrap_or_default());
        }
        out
    }

    /// Whatever the pieces are that it comes in.
    fn rows(types: &[u32], data: &[u8]) -> Result<Vec<Row>, ClientError> {
        let mut all = Vec::new();
        for size in [1, 2, 3, 7, 19, data.len().max(1)] {
            let mut tuples = Tuples::new(types.to_vec());
            let mut found = Vec::new();
            for piece in data.chunks(size) {
                tuples.push(piece);
                while let Some(row) = tuples.row()? {
                    found.push(row);
                }
            }
            tuples.end();
            assert_eq!(tuples.row()?, None);
            all.push(found);
        }
        assert!(all.iter().all(|rows| Some(rows) == all.first()), "{all:?}");
        Ok(all.pop().unwrap())
    }

    #[test]
    fn tuples_are_read_as_postgresql_writes_them() {
        let types = [25, 23, 16, 1700];
        // 12.5, as numeric.c sends it: the digits 12 and 5000, the first of weight 0.
        let numeric = [0, 2, 0, 0, 0, 0, 0, 1, 0, 12, 0x13, 0x88];
        let data = [
            head(),
            row(&[Some("ä\t\\".as_bytes()), Some(&7i32.to_be_bytes()), Some(&[1]), Some(&numeric)]),
            row(&[None, Some(&(-1i32).to_be_bytes()), Some(&[0]), None]),
            vec![0xff, 0xff],
        ]
        .concat();
        let text = |t: &str| Some(t.to_owned());
        assert_eq!(
            rows(&types, &data).unwrap(),
            [
                vec![text("ä\t\\"), text("7"), text("true"), text("12.5000")],
                vec![None, text("-1"), text("false"), None]
            ]
        );
        assert_eq!(rows(&types, &[head(), vec![0xff, 0xff]].concat()).unwrap(), Vec::<Row>::new());
        for (what, data) in [
            ("of lines", b"yes\t1\n".to_vec()),
            ("without an end", head()),
            ("cut short", data[..data.len() - 9].to_vec()),
            ("longer than it says", [data.clone(), vec![1]].concat()),
            ("of other columns", [head(), row(&[Some(b"a")]), vec![0xff, 0xff]].concat()),
            ("with OIDs", [&SIGNATURE[..], &[0, 1, 0, 0, 0, 0, 0, 0, 0xff, 0xff]].concat()),
        ] {
            assert_eq!(rows(&types, &data).unwrap_err().code, BAD_COPY, "{what}");
        }
        let short = [head(), row(&[None, Some(b"7"), None, None]), vec![0xff, 0xff]].concat();
        let error = rows(&types, &short).unwrap_err();
        assert!(
            error.code == BAD_VALUE && error.message.contains("row 1") && error.message.contains("column 2")
        );
    }
}
