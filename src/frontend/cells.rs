//! The cells of a row's body: an i16 count, then for each cell an i32 length (-1: NULL) and its bytes.

use answer::{ClientError, SqlState};
use bytes::{BufMut, Bytes, BytesMut};

/// The cells of a row; None for NULL.
pub(super) fn cells(row: &[u8]) -> Result<Vec<Option<&[u8]>>, ClientError> {
    split(row).ok_or_else(misshapen)
}

fn split(row: &[u8]) -> Option<Vec<Option<&[u8]>>> {
    let (count, mut rest) = row.split_first_chunk::<2>()?;
    let mut cells = Vec::new();
    for _ in 0..u16::from_be_bytes(*count) {
        let (length, after) = rest.split_first_chunk::<4>()?;
        rest = after;
        match usize::try_from(i32::from_be_bytes(*length)) {
            Err(_) => cells.push(None),
            Ok(length) => {
                let (cell, after) = rest.split_at_checked(length)?;
                rest = after;
                cells.push(Some(cell));
            }
        }
    }
    rest.is_empty().then_some(cells)
}

/// Of a row that has each column twice, as text and then as binary: the row in these formats.
pub(super) fn pick(row: &[u8], formats: &[i16]) -> Result<Bytes, ClientError> {
    let cells = cells(row)?;
    let mut picked = BytesMut::with_capacity(row.len());
    picked.put_u16(u16::try_from(formats.len()).map_err(|_| misshapen())?);
    for (column, format) in formats.iter().enumerate() {
        let place = if *format == 0 { column } else { column + formats.len() };
        match cells.get(place).ok_or_else(misshapen)? {
            None => picked.put_i32(-1),
            Some(cell) => {
                picked.put_i32(i32::try_from(cell.len()).map_err(|_| misshapen())?);
                picked.put_slice(cell);
            }
        }
    }
    Ok(picked.freeze())
}

fn misshapen() -> ClientError {
    ClientError::incident(SqlState::INTERNAL, "internal error", &"a row has another shape than was described")
}
