//! Arrays of texts, in PostgreSQL's two formats (its `arrayfuncs.c`): sets are written as such.

/// The text of an array of these elements.
pub(super) fn literal(elements: &[Option<String>]) -> String {
    let quoted = |e: &Option<String>| match e {
        None => "NULL".to_owned(),
        Some(text) => format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")),
    };
    format!("{{{}}}", elements.iter().map(quoted).collect::<Vec<_>>().join(","))
}

/// The elements of an array of texts in binary format; None where it is none of one dimension.
pub(super) fn binary(bytes: &[u8]) -> Option<Vec<Option<String>>> {
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
        assert_eq!(binary(&head(0, 25)), Some(Vec::new()));
        let two = [
            head(1, 25),
            word(2).to_vec(),
            word(1).to_vec(),
            word(3).to_vec(),
            b"cat".to_vec(),
            word(-1).to_vec(),
        ]
        .concat();
        assert_eq!(binary(&two), Some(some(&[Some("cat"), None])));
        assert_eq!(binary(two.get(..two.len() - 1).unwrap_or_default()), None, "cut short");
        assert_eq!(binary(&[two.clone(), vec![0]].concat()), None, "too long");
        assert_eq!(binary(&head(0, 23)), None, "of another type");
        assert_eq!(binary(&[head(2, 25), vec![0; 16]].concat()), None, "of two dimensions");
        // A length that is not there takes no memory.
        assert_eq!(binary(&[head(1, 25), word(i32::MAX).to_vec(), word(1).to_vec()].concat()), None);
    }
}
