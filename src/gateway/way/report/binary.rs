//! Values in PostgreSQL's binary format, of parameters and of COPY, as the texts that they stand for: what becomes of a value is
//! decided once, from its text.

use bigdecimal::BigDecimal;
use bigdecimal::num_bigint::BigInt;

/// The text of a value of this type (its OID); None where it is not one of that type, or of a type that is not collected.
pub(super) fn text(ty: u32, bytes: &[u8]) -> Option<String> {
    match ty {
        16 => match bytes {
            [b] => Some((*b != 0).to_string()),
            _ => None,
        },
        21 => bytes.try_into().ok().map(|b| i16::from_be_bytes(b).to_string()),
        23 => bytes.try_into().ok().map(|b| i32::from_be_bytes(b).to_string()),
        20 => bytes.try_into().ok().map(|b| i64::from_be_bytes(b).to_string()),
        700 => bytes.try_into().ok().map(f32::from_be_bytes).filter(|x| x.is_finite()).map(|x| x.to_string()),
        701 => bytes.try_into().ok().map(f64::from_be_bytes).filter(|x| x.is_finite()).map(|x| x.to_string()),
        1700 => numeric(bytes),
        1009 | 1015 => array(bytes).map(|elements| literal(&elements)),
        // Texts look the same in both formats.
        25 | 1043 | 1042 | 19 => std::str::from_utf8(bytes).ok().map(str::to_owned),
        _ => None,
    }
}

/// Digits to the base of 10,000, and how far from the point they may reach: more than any range of a policy has.
const MOST_DIGITS: i16 = 64;

/// `numeric.c`: digits to the base of 10,000, the first of which counts 10,000^weight.
fn numeric(bytes: &[u8]) -> Option<String> {
    let words: Vec<i16> =
        bytes.chunks(2).map(|w| w.try_into().ok().map(i16::from_be_bytes)).collect::<Option<_>>()?;
    let [count, weight, sign, _scale, digits @ ..] = words.as_slice() else { return None };
    let sound = digits.len() == usize::try_from(*count).ok()?
        && *count <= MOST_DIGITS
        && (-MOST_DIGITS..=MOST_DIGITS).contains(weight)
        && digits.iter().all(|d| (0..10_000).contains(d));
    // NaN and infinities have signs of their own.
    let negative = match sign {
        0 => false,
        0x4000 => true,
        _ => return None,
    };
    if !sound {
        return None;
    }
    let whole = digits.iter().fold(BigInt::from(0), |n, d| n * 10_000 + d);
    let places = 4 * (i64::from(*count) - 1 - i64::from(*weight));
    let number = BigDecimal::new(if negative { -whole } else { whole }, places);
    Some(number.to_plain_string())
}

/// The text of an array of these elements.
pub(super) fn literal(elements: &[Option<String>]) -> String {
    let quoted = |e: &Option<String>| match e {
        None => "NULL".to_owned(),
        Some(text) => format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")),
    };
    format!("{{{}}}", elements.iter().map(quoted).collect::<Vec<_>>().join(","))
}

/// `arrayfuncs.c`: the elements of an array of texts of one dimension.
fn array(bytes: &[u8]) -> Option<Vec<Option<String>>> {
    let mut rest = bytes;
    let mut take = |n: usize| {
        let (head, tail) = rest.split_at_checked(n)?;
        rest = tail;
        Some(head)
    };
    let whole = |bytes: &[u8]| bytes.try_into().ok().map(i32::from_be_bytes);
    let (dimensions, _nulls, of) = (whole(take(4)?)?, take(4)?, whole(take(4)?)?);
    // text, varchar, bpchar, name, and what a driver does not know the type of.
    if ![25, 1043, 1042, 19, 705].contains(&of) {
        return None;
    }
    let length = match dimensions {
        0 => 0,
        1 => {
            let length = whole(take(4)?)?;
            take(4)?;
            length
        }
        _ => return None,
    };
    let mut elements = Vec::new();
    for _ in 0..length {
        elements.push(match whole(take(4)?)? {
            -1 => None,
            n => Some(String::from_utf8(take(usize::try_from(n).ok()?)?.to_vec()).ok()?),
        });
    }
    rest.is_empty().then_some(elements)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some(texts: &[Option<&str>]) -> Vec<Option<String>> {
        texts.iter().map(|t| t.map(str::to_owned)).collect()
    }

    #[test]
    fn what_is_written_is_read_again() {
        for texts in
            [&[][..], &[Some("a")], &[Some("a,b"), Some("{}"), Some("\"\\"), Some(""), None, Some("NULL")]]
        {
            assert_eq!(sql::resolve::elements(&literal(&some(texts))), Some(some(texts)), "{texts:?}");
        }
    }

    #[test]
    fn binary_arrays_are_read_as_postgresql_sends_them() {
        let word = |n: i32| n.to_be_bytes();
        let head = |dimensions: i32, of: i32| [word(dimensions), word(0), word(of)].concat();
        assert_eq!(array(&head(0, 25)), Some(Vec::new()));
        let two = [
            head(1, 25),
            word(2).to_vec(),
            word(1).to_vec(),
            word(3).to_vec(),
            b"cat".to_vec(),
            word(-1).to_vec(),
        ]
        .concat();
        assert_eq!(array(&two), Some(some(&[Some("cat"), None])));
        assert_eq!(array(two.get(..two.len() - 1).unwrap_or_default()), None, "cut short");
        assert_eq!(array(&[two.clone(), vec![0]].concat()), None, "too long");
        assert_eq!(array(&head(0, 23)), None, "of another type");
        assert_eq!(array(&[head(2, 25), vec![0; 16]].concat()), None, "of two dimensions");
        // A length that is not there takes no memory.
        assert_eq!(array(&[head(1, 25), word(i32::MAX).to_vec(), word(1).to_vec()].concat()), None);
    }
}
