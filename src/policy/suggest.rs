//! "Did you mean": the nearest of some names.

/// Edits (insert, delete, replace, swap neighbours) from one name to another.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let at = |v: &[usize], k: usize| v.get(k).copied().unwrap_or(usize::MAX / 2);
            let mut best =
                (at(&last, j) + usize::from(x != y)).min(at(&last, j + 1) + 1).min(at(&row, j) + 1);
            let swapped = i > 0 && j > 0 && a.get(i - 1) == Some(y) && b.get(j - 1) == Some(x);
            if swapped {
                best = best.min(at(&before, j - 1) + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or(0)
}

/// `did you mean "x"?` for the nearest of `known`, or the list of them where none is near.
pub(super) fn suggest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    // A name of kilobytes is nobody's typing mistake.
    let near = known.iter().filter(|_| name.len() <= 100).map(|k| (distance(name, k), *k)).min();
    match near {
        Some((edits, k)) if edits <= 2.max(name.chars().count() / 3) => format!("did you mean {k:?}?"),
        _ if known.is_empty() => "there is none".to_owned(),
        _ if known.len() <= 30 => format!("known are: {}", known.join(", ")),
        _ => format!("there are {} to choose from", known.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_name() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("unti", "unit"), 1);
        assert_eq!(suggest("epsilom", ["epsilon", "delta"]), "did you mean \"epsilon\"?");
        assert_eq!(suggest("colour", ["epsilon", "delta"]), "known are: epsilon, delta");
        assert_eq!(suggest("x", []), "there is none");
        assert!(suggest("", ["a"]).contains('a'));
    }
}
