//! `person` of `[collect.NAME]` and what belongs to it: limits, and answers that stay the same.

use crate::budget;
use crate::environment::expand;
use crate::error::{At, Findings};
use crate::given::GivenFile;
use crate::model::{Collect, Collected, Limit, Permanent, Person};
use crate::reader::{Section, shorten};
use bigdecimal::{BigDecimal, RoundingMode, ToPrimitive};
use dp::Ratio;
use dp::randomised::Layer;
use std::path::{Path, PathBuf};

/// Keys that mean nothing without a person.
const OF_PERSONS: [&str; 7] =
    ["person_key_file", "epsilon", "window", "persons", "permanent", "instant_epsilon", "rows_per_person"];
/// The most rows of one person that intervals can be about.
const MOST_ROWS: u64 = 1_000_000;

/// The column that identifies a person; None where nobody is told apart, or where there are
/// mistakes. `row` is the ε of a row.
pub(super) fn person(
    section: &Section<'_, '_>,
    name: &str,
    row: &BigDecimal,
    columns: &mut [Collected],
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
    let wants = is_permanent(section, f);
    let permanent = permanent(section, wants, columns, &column, f);
    let limit = limit(section, name, row, base, f);
    let idle = ["epsilon", "window"].iter().all(|key| section.get(key).is_none()) && !wants;
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

/// Whether a person's values are randomised in the same way each time.
pub(super) fn is_permanent(section: &Section<'_, '_>, f: &mut Findings) -> bool {
    section.get("permanent").is_some() && section.boolean("permanent", f).is_some_and(|b| b.value)
}

/// Terms of permanent responses, and the second layer of each column.
fn permanent(
    section: &Section<'_, '_>,
    wants: bool,
    columns: &mut [Collected],
    at: &At<String>,
    f: &mut Findings,
) -> Option<Permanent> {
    if !wants {
        for key in ["instant_epsilon", "rows_per_person"] {
            if let Some(value) = section.get(key) {
                f.error(
                    &value.span(),
                    format!("{key} is of permanent responses"),
                    "write permanent = true, or remove it",
                );
            }
        }
        return None;
    }
    if section.get("instant_epsilon").is_none() {
        let what = "permanent needs instant_epsilon: reports that are the same each time link the rows of a person, and a \
            second layer, drawn for each row, hides which are whose by this much";
        f.error(&at.span, what, "write for example: instant_epsilon = 2.0, which the columns of a row share");
        return None;
    }
    let epsilon = budget::price(section, "instant_epsilon", f)?;
    let rows = match section.get("rows_per_person") {
        Some(_) => u32::try_from(section.count("rows_per_person", MOST_ROWS, f)?).ok(),
        None => None,
    };
    let parts = u128::try_from(columns.len()).unwrap_or(1).max(1);
    let each = dp::ratio(&epsilon.value).map(|e| Ratio::new(*e.numer(), e.denom().saturating_mul(parts)));
    for column in columns.iter_mut() {
        let symbols = column.randomiser.symbols();
        let layer = each.as_ref().zip(symbols).and_then(|(each, symbols)| Layer::new(symbols, each).ok());
        column.instant = layer;
        let says_nothing = |(p, q): (f64, f64)| p - q < 1e-7;
        if column.instant.is_none() || column.probabilities().is_some_and(says_nothing) {
            let what = format!(
                "instant_epsilon = {} leaves nothing to estimate column {:?} from",
                epsilon.value,
                shorten(&column.name)
            );
            f.error(&epsilon.span, what, "write a larger one, with fewer digits, or collect fewer values");
            return None;
        }
    }
    Some(Permanent { instant_epsilon: epsilon.value, rows })
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
