//! `[[budget]] mechanisms`: what an envelope declares.

use super::error::Findings;
use super::keys::{Key, Keys, REQUIRED};
use super::model::{Accounting, Declared};
use super::reader::{Section, shorten};
use super::suggest::suggest;
use dp::{self, Mechanism, Sensitivity};
use num_traits::Signed;

/// An envelope composes its classes one by one; a policy needs a handful.
const MOST: usize = 64;

/// Keys of `[[budget]] mechanisms`.
pub(super) const MECHANISM: Keys = Keys {
    section: "[[budget]] mechanisms",
    list: &[
        Key::of("noise", "`laplace` or `gaussian`", REQUIRED, "\"laplace\"")
            .says("Discrete Laplace or discrete Gaussian noise."),
        Key::of("sensitivity", "whole number", REQUIRED, "1")
            .says("What one unit can change in one group, in steps of the grid: 1 for a count of units, or `max_rows` for one of rows."),
        Key::of("scale", "number above 0", "required for `laplace`", "40")
            .says("The scale of Laplace noise, in steps of the grid. `noisegate explain` shows that of a statement; only exactly this one is paid for."),
        Key::of("variance", "number above 0", "required for `gaussian`", "1600")
            .says("The variance σ² of Gaussian noise, in squares of steps of the grid."),
        Key::of("uses", "whole number", REQUIRED, "4000")
            .says("How often. A statement uses each noise once for each group that a unit may touch (`max_groups`)."),
    ],
    later: &[],
};

/// Mechanisms that the budget declares: some for an envelope, none for another notion. None: a
/// mistake.
pub(super) fn mechanisms(
    section: &Section<'_, '_>,
    accounting: Option<Accounting>,
    f: &mut Findings,
) -> Option<Vec<Declared>> {
    let example = "mechanisms = [{ noise = \"laplace\", sensitivity = 1, scale = 40, uses = 4000 }]";
    let envelope = accounting == Some(Accounting::Envelope);
    let Some(value) = section.get("mechanisms") else {
        if envelope {
            section.missing("mechanisms", example, f);
            return None;
        }
        return Some(Vec::new());
    };
    if !envelope && accounting.is_some() {
        let what = "mechanisms are declared for accounting = \"envelope\" only";
        f.error(&value.span(), what, "remove them, or use accounting = \"envelope\"");
        return None;
    }
    let list = section.list("mechanisms", example, f)?;
    if !(1..=MOST).contains(&list.value.len()) {
        let what = format!("mechanisms has {} items, from 1 to {MOST} are possible", list.value.len());
        f.error(&list.span, what, format!("write for example: {example}"));
        return None;
    }
    let mut declared: Vec<Declared> = Vec::new();
    let mut right = true;
    for value in list.value {
        let one = Section::of("mechanisms of a [[budget]]".into(), value, f).and_then(|s| mechanism(&s, f));
        match one {
            Some(d) if declared.iter().any(|other| other.mechanism == d.mechanism) => {
                right = false;
                f.error(
                    &value.span(),
                    "this mechanism is declared twice",
                    "write it once, with the sum of its uses",
                );
            }
            Some(d) => declared.push(d),
            None => right = false,
        }
    }
    right.then_some(declared)
}

fn mechanism(section: &Section<'_, '_>, f: &mut Findings) -> Option<Declared> {
    section.keys(&MECHANISM, f);
    let noise = section.required_string("noise", "noise = \"laplace\"", f);
    for (key, example) in [("sensitivity", "sensitivity = 1"), ("uses", "uses = 4000")] {
        if section.get(key).is_none() {
            section.missing(key, example, f);
        }
    }
    let sensitivity = section.count("sensitivity", 1 << 53, f).map(u128::from);
    let uses = section.count("uses", 1_000_000_000, f).and_then(|n| u32::try_from(n).ok());
    let noise = noise?;
    let (parameter, other) = match noise.value.as_str() {
        "laplace" => ("scale", "variance"),
        "gaussian" => ("variance", "scale"),
        word => {
            let what = format!("noise = {:?} is neither \"laplace\" nor \"gaussian\"", shorten(word));
            f.error(&noise.span, what, suggest(word, ["laplace", "gaussian"]));
            return None;
        }
    };
    if let Some(value) = section.get(other) {
        let what = format!("{} noise has a {parameter}, no {other}", noise.value);
        f.error(&value.span(), what, format!("write for example: {parameter} = 1600"));
        return None;
    }
    if section.get(parameter).is_none() {
        section.missing(parameter, &format!("{parameter} = 1600"), f);
    }
    let number = section.number(parameter, f)?;
    let Some(value) = dp::ratio(&number.value).filter(|_| number.value.is_positive()) else {
        let hint = format!("write for example: {parameter} = 1600");
        f.error(&number.span, format!("{parameter} must be a number above 0, of at most 30 digits"), hint);
        return None;
    };
    let sensitivity = sensitivity?;
    let mechanism = match parameter {
        "scale" => Mechanism::DiscreteLaplace { sensitivity: Sensitivity::of_one(sensitivity), scale: value },
        _ => Mechanism::DiscreteGaussian { sensitivity: Sensitivity::of_one(sensitivity), variance: value },
    };
    Some(Declared { mechanism, uses: uses? })
}
