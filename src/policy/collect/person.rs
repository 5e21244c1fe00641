//! `person` of `[collect.NAME]` and what belongs to it: limits, and answers that stay the same.

use crate::budget;
use crate::environment::expand;
use crate::error::Findings;
use crate::given::GivenFile;
use crate::model::{Collect, Collected, Limit, Person};
use crate::reader::{Section, shorten};
use bigdecimal::{BigDecimal, RoundingMode, ToPrimitive};
use std::path::{Path, PathBuf};

/// Keys that mean nothing without a person.
const OF_PERSONS: [&str; 5] = ["person_key_file", "epsilon", "window", "persons", "permanent"];

/// The column that identifies a person; None where nobody is told apart, or where there are
/// mistakes. `row` is the ε of a row.
pub(super) fn person(
    section: &Section<'_, '_>,
    name: &str,
    row: &BigDecimal,
    columns: &[Collected],
    base: &Path,
    f: &mut Findings,
) -> Option<Person> {
    if section.get("person").is_none() {
        for key in OF_PERSONS {
            if let Some(value) = section.get(key) {
                let hint = "name the column of rows that says who gives them: person = \"device\"";
                f.error(&value.span(), format!("{key} needs person"), hint);
            }
        }
        return None;
    }
    let column = section.required_string("person", "person = \"device\"", f)?;
    if columns.iter().any(|c| c.name == column.value) || column.value.len() > 63 {
        let what = format!("person = {:?} cannot be a column beside the others", shorten(&column.value));
        f.error(
            &column.span,
            what,
            "give it a name of its own: it says who gives a row, and is not collected",
        );
    }
    let file = section.required_string("person_key_file", "person_key_file = \"person.key\"", f);
    let key_file = file.and_then(|file| expand("person_key_file", file, f));
    let permanent = section.boolean("permanent", f).is_some_and(|b| b.value);
    let limit = limit(section, name, row, base, f);
    let idle = ["epsilon", "window"].iter().all(|key| section.get(key).is_none()) && !permanent;
    if idle {
        let hint = "write for example: epsilon = 3.0 and window = \"30d\"; or permanent = true";
        f.error(&column.span, "person has nothing to be for", hint);
    }
    Some(Person {
        column: column.value,
        key_file: key_file?.value.map(PathBuf::from).within(base),
        permanent,
        limit,
    })
}

/// The file of what persons have said, and the key that it is under.
pub(super) fn kept(collect: &Collect) -> Option<(&GivenFile, &GivenFile)> {
    let person = collect.person.as_ref()?;
    Some((&person.limit.as_ref()?.file, &person.key_file))
}

fn limit(
    section: &Section<'_, '_>,
    name: &str,
    row: &BigDecimal,
    base: &Path,
    f: &mut Findings,
) -> Option<Limit> {
    match (section.get("epsilon"), section.get("window")) {
        (None, None) => {
            if let Some(value) = section.get("persons") {
                f.error(&value.span(), "persons keeps what a limit needs, and there is none", "remove it");
            }
            return None;
        }
        (Some(value), None) => {
            f.error(&value.span(), "epsilon needs window", "write for example: window = \"30d\"");
            return None;
        }
        (None, Some(value)) => {
            f.error(&value.span(), "window needs epsilon", "write for example: epsilon = 3.0");
            return None;
        }
        (Some(_), Some(_)) => {}
    }
    let epsilon = budget::price(section, "epsilon", f)?;
    let window = section.duration("window", f)?;
    if window.subsec_millis() != 0 || window.as_secs() == 0 {
        f.error(
            &section.get("window")?.span(),
            "window is in whole seconds",
            "write for example: window = \"30d\"",
        );
        return None;
    }
    let file = match section.get("persons") {
        Some(_) => {
            let written = section.required_string("persons", "persons = \"survey.persons.db\"", f)?;
            expand("persons", written, f)?.value.map(PathBuf::from)
        }
        None => PathBuf::from(format!("{name}.persons.db")).into(),
    };
    // Rounded down: the rows of a window never exceed its ε.
    let rows = (&epsilon.value / row).with_scale_round(0, RoundingMode::Floor).to_u64().unwrap_or(u64::MAX);
    if rows == 0 {
        let what = format!("epsilon = {} is less than one row costs, {}", epsilon.value, row.normalized());
        f.error(&epsilon.span, what, "write at least what a row costs, or lower the epsilon of its columns");
        return None;
    }
    Some(Limit { epsilon: epsilon.value, window: window.as_secs(), rows, file: file.within(base) })
}
