//! Answers that are nothing but released columns: they go out as they are, without a trip to the database.

use super::columns::{cells, defect, element, int8, values};
use answer::{ClientError, Field};
use bytes::{BufMut, Bytes, BytesMut};
use emit::print::{Column, Sorted, Straight, Whole};
use plan::Plan;
use release::Noisy;
use schema::SqlType;
use std::cmp::Ordering;

/// The rows of an answer as they go over the wire; None where a value's text is PostgreSQL's to write, or a column would have
/// another type than was promised.
pub fn rows(
    plan: &Plan,
    noisy: &[Noisy],
    straight: &Straight,
    fields: &[Field],
) -> Result<Option<Vec<Bytes>>, ClientError> {
    let types: Vec<SqlType> = straight.arrays.iter().map(element).collect();
    let given = |column: &Column| match column {
        Column::Same(array) => types.get(*array),
        Column::Whole(_) => Some(&SqlType::Int8),
    };
    let as_promised = fields.len() == straight.columns.len()
        && straight.columns.iter().zip(fields).all(|(column, field)| {
            given(column)
                .is_some_and(|ty| ty.oid() == field.type_oid && (field.format == 1 || is_written(ty)))
        });
    if !as_promised {
        return Ok(None);
    }
    let column = |column: &Column| match column {
        Column::Same(array) => cells(plan, noisy, straight.arrays.get(*array).ok_or_else(defect)?),
        Column::Whole(sum) => whole(plan, noisy, straight, sum),
    };
    let columns: Vec<(Vec<Option<Bytes>>, &SqlType, i16)> = straight
        .columns
        .iter()
        .zip(fields)
        .map(|(c, field)| Ok((column(c)?, given(c).ok_or_else(defect)?, field.format)))
        .collect::<Result<_, ClientError>>()?;
    // Of no column the number of rows is PostgreSQL's to tell.
    let Some(count) = columns.first().map(|(cells, ..)| cells.len()) else { return Ok(None) };
    let places = sorted(&straight.order, count, column)?;
    let row = |place: usize| {
        let mut row = BytesMut::new();
        row.put_i16(i16::try_from(columns.len()).ok()?);
        for (cells, ty, format) in &columns {
            match cells.get(place)? {
                None => row.put_i32(-1),
                Some(cell) => {
                    let cell = if *format == 1 { cell.clone() } else { text(cell, ty)? };
                    row.put_i32(i32::try_from(cell.len()).ok()?);
                    row.put_slice(&cell);
                }
            }
        }
        Some(row.freeze())
    };
    let wanted = places.into_iter().skip(straight.offset).take(straight.limit.unwrap_or(usize::MAX));
    wanted.map(row).collect::<Option<Vec<Bytes>>>().map(Some).ok_or_else(defect)
}

/// A sum's whole numbers, as int8.
fn whole(
    plan: &Plan,
    noisy: &[Noisy],
    straight: &Straight,
    of: &Whole,
) -> Result<Vec<Option<Bytes>>, ClientError> {
    let values =
        |array: usize| straight.arrays.get(array).map(|a| values(plan, noisy, a)).ok_or_else(defect)?;
    let sums = values(of.sum)?;
    let Some((centre, count)) = of.centre else {
        return Ok(sums.into_iter().map(|sum| sum.map(int8)).collect());
    };
    let moved = |(sum, count): (Option<i128>, Option<i128>)| {
        Some(int8(sum?.saturating_add(i128::from(centre).saturating_mul(count?))))
    };
    Ok(sums.into_iter().zip(values(count)?).map(moved).collect())
}

/// The places of rows, in the order that was asked for.
fn sorted(
    order: &[Sorted],
    count: usize,
    column: impl Fn(&Column) -> Result<Vec<Option<Bytes>>, ClientError>,
) -> Result<Vec<usize>, ClientError> {
    let by: Vec<(Vec<Option<i64>>, &Sorted)> = order
        .iter()
        .map(|item| {
            let numbers = column(&item.by)?.into_iter().map(|cell| match cell {
                None => Some(None),
                Some(cell) => number(&cell).map(Some),
            });
            Ok((numbers.collect::<Option<_>>().ok_or_else(defect)?, item))
        })
        .collect::<Result<_, ClientError>>()?;
    let mut places: Vec<usize> = (0..count).collect();
    places.sort_by(|a, b| {
        let each = by.iter().map(|(numbers, item)| compared(numbers, item, *a, *b));
        each.fold(Ordering::Equal, Ordering::then)
    });
    Ok(places)
}

fn compared(numbers: &[Option<i64>], item: &Sorted, a: usize, b: usize) -> Ordering {
    let value = |place: usize| numbers.get(place).copied().flatten();
    match (value(a), value(b)) {
        (Some(a), Some(b)) if item.desc => b.cmp(&a),
        (Some(a), Some(b)) => a.cmp(&b),
        (None, None) => Ordering::Equal,
        (None, Some(_)) if item.nulls_first => Ordering::Less,
        (Some(_), None) if !item.nulls_first => Ordering::Less,
        _ => Ordering::Greater,
    }
}

/// Whether [`text`] writes values of a type.
fn is_written(ty: &SqlType) -> bool {
    use SqlType::{Bool, Enum, Int2, Int4, Int8, Text, Varchar};
    matches!(ty, Bool | Int2 | Int4 | Int8 | Text | Varchar | Enum { .. })
}

/// A value in PostgreSQL's binary form as text.
fn text(cell: &Bytes, ty: &SqlType) -> Option<Bytes> {
    match ty {
        // The text itself, and an enum's label.
        SqlType::Text | SqlType::Varchar | SqlType::Enum { .. } => Some(cell.clone()),
        SqlType::Bool => Some(Bytes::from_static(if number(cell)? == 0 { b"f" } else { b"t" })),
        SqlType::Int2 | SqlType::Int4 | SqlType::Int8 => Some(number(cell)?.to_string().into()),
        _ => None,
    }
}

/// A truth value or a whole number in PostgreSQL's binary form.
fn number(cell: &[u8]) -> Option<i64> {
    match cell {
        [truth] => Some(i64::from(*truth)),
        [a, b] => Some(i64::from(i16::from_be_bytes([*a, *b]))),
        [a, b, c, d] => Some(i64::from(i32::from_be_bytes([*a, *b, *c, *d]))),
        _ => cell.try_into().ok().map(i64::from_be_bytes),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn values_are_written_as_postgresql_writes_them() {
        let written = |bytes: &'static [u8], ty| text(&Bytes::from_static(bytes), &ty).unwrap();
        assert_eq!(written(&[1], SqlType::Bool), "t");
        assert_eq!(written(&[0], SqlType::Bool), "f");
        assert_eq!(written(&[255, 254], SqlType::Int2), "-2");
        assert_eq!(written(&[128, 0, 0, 0], SqlType::Int4), "-2147483648");
        assert_eq!(written(&[127, 255, 255, 255, 255, 255, 255, 255], SqlType::Int8), "9223372036854775807");
        assert_eq!(written("Zürich".as_bytes(), SqlType::Text), "Zürich");
        assert_eq!(
            text(&Bytes::from_static(&[1, 2, 3]), &SqlType::Int4),
            None,
            "no whole number has three bytes"
        );
    }

    #[test]
    fn rows_without_a_value_go_where_the_order_says() {
        let cells = [Some(2), None, Some(-1)].map(|n: Option<i64>| n.map(int8_of));
        let places = |desc, nulls_first| {
            let order = [Sorted { by: Column::Same(0), desc, nulls_first }];
            sorted(&order, 3, |_| Ok(cells.to_vec())).unwrap()
        };
        assert_eq!(places(false, false), [2, 0, 1]);
        assert_eq!(places(false, true), [1, 2, 0]);
        assert_eq!(places(true, true), [1, 0, 2]);
        assert_eq!(places(true, false), [0, 2, 1]);
    }

    fn int8_of(n: i64) -> Bytes {
        super::super::columns::int8(i128::from(n))
    }
}
