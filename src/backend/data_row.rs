//! Bodies of DataRow messages.

use super::error::RelayError;
use bytes::{Buf, Bytes};

/// The cells of a row in text format: of the body of a DataRow message.
///
/// # Errors
/// It is cut short.
pub fn texts(row: &Bytes) -> Result<Vec<Option<String>>, RelayError> {
    let text = |cell: Bytes| String::from_utf8_lossy(&cell).into_owned();
    Ok(cells(row)?.into_iter().map(|cell| cell.map(text)).collect())
}

/// The cells of a row, as they came.
pub(super) fn cells(row: &Bytes) -> Result<Vec<Option<Bytes>>, RelayError> {
    let mut rest = row.clone();
    let short = || RelayError::Protocol("the server sent a row that is cut short".into());
    let count = rest.try_get_u16().map_err(|_| short())?;
    let mut cells = Vec::with_capacity(usize::from(count));
    for _ in 0..count {
        let length = rest.try_get_i32().map_err(|_| short())?;
        let Ok(length) = usize::try_from(length) else {
            cells.push(None);
            continue;
        };
        if rest.len() < length {
            return Err(short());
        }
        cells.push(Some(rest.split_to(length)));
    }
    Ok(cells)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_row_is_cut_into_cells_and_a_short_one_is_refused() {
        let row = Bytes::from_static(b"\0\x03\0\0\0\x02hi\xff\xff\xff\xff\0\0\0\0");
        assert_eq!(texts(&row).unwrap(), [Some("hi".into()), None, Some(String::new())]);
        for end in 0..row.len() {
            assert!(texts(&row.slice(..end)).is_err(), "{end}");
        }
    }
}
