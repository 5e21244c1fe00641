//! `[table.NAME]` and its columns, read from the text.

use super::budget;
use super::declared::{range, values};
use super::error::{At, Findings, Span};
use super::json_path;
use super::keys::{Key, Keys};
use super::path;
use super::raw_table::{RawColumn, RawTable};
use super::reader::{Section, shorten};
use toml::Spanned;
use toml::de::DeValue;

/// Line that publishes a view over private tables.
pub const PUBLIC_VIEW: &str = "public_view = \"I know that everybody gets its rows exactly\"";

/// The one value of `bounds`.
const UNMEASURED: &str = "bounds = \"unmeasured\"";

/// Keys of `[table.NAME]`.
pub(super) const TABLE: Keys = Keys {
    section: "[table.NAME]",
    list: &[
        Key::of("schema", "string", "\"public\"", "\"public\"")
            .says("The table's schema."),
        Key::of("public", "boolean", "false", "true")
            .says("Anybody may read it: answers are exact and free, all columns are visible."),
        Key::of("public_view", "the sentence of the example", "none: such a view is refused", "\"I know that everybody gets its rows exactly\"")
            .says("Beside `public = true`: this view reads private tables, and its rows are published all the same. No budget bounds what they tell."),
        Key::of("unit_column", "column", "required for private tables", "\"rider_id\"")
            .says("The column that says whose each row is, of the unit's type."),
        Key::of("unit_path", "`columns -> table.columns`", "none", "\"trip_id -> trips.trip_id\"")
            .says("Instead of unit_column: the first step to the table that has it, by a key there; `(a, b) -> t.(x, y)` for a key of several columns."),
        Key::of("max_rows", "whole number", "`statement.max_rows`", "20")
            .says("As there, for this table."),
        Key::of("max_total_rows", "whole number", "`max_rows` times `statement.max_groups`", "40")
            .says("Rows of one unit that count in any statement, in all public groups together; those of a unit with more are scaled down. A profile of the table comes before it."),
        Key::of("cut_rows", "number", "none: not known", "0.02")
            .says("The share of the table's rows that `max_total_rows` cuts, where the owner knows it. `noisegate profile` measures it, and comes before it. EXPLAIN, a NOTICE and `noisegate.columns` say it."),
        Key::of("most_rows", "whole number", "none: not known", "24")
            .says("The most rows that one unit can have in this table, where that is public knowledge. What `noisegate profile` finds out about bounds is then said of all rows, and not of those of each unit up to a number."),
        Key::of("profile_valid", "time span", "\"90d\"", "\"365d\"")
            .says("How long what `noisegate profile` measures is taken for true: about the time in which the table grows by a quarter. After that intervals lose the end that cut rows can move."),
        Key::of("bounds", "`\"unmeasured\"`", "\"unmeasured\"", "\"unmeasured\"")
            .says("Says what holds until `noisegate profile` has measured the table: how much bounds cut is not known."),
        Key::of("columns", "table", "none", "{ fare = { range = [0, 60] } }")
            .says("The columns that are visible, and what is known of them; mostly written `columns.NAME = { … }`."),
    ],
    later: &[],
};

/// Keys of `[table.NAME] columns.NAME`.
pub(super) const COLUMN: Keys = Keys {
    section: "[table.NAME] columns.NAME",
    list: &[
        Key::of("range", "two numbers or dates", "what CHECK constraints prove", "[0, 60]")
            .says("Least and greatest value; what is outside counts as the nearest end. A date as the upper end of a timestamp is that whole day."),
        Key::of("grid", "number", "1 for integers, the scale of `numeric(p, s)`", "0.01")
            .says("The step in which sums are counted; both ends of the range lie on it. Required beside the range of a float or a plain numeric."),
        Key::of("values", "list", "labels of an enum, true and false, a CHECK's list", "[\"day\", \"month\", \"year\"]")
            .says("The public values, of text, varchar, integer, enum or boolean: groups over them all come back, and cost no δ."),
        Key::of("references", "table.column", "none", "\"stations.station\"")
            .says("The public values are those of a column of a public table, of the same type."),
        Key::of("nan", "boolean", "true", "false")
            .says("false: of a float with a range, no value is NaN. One that is counts as the upper end, as it does of a numeric, and not as NULL: the count of a NOT NULL column is the number of rows then, and has no share of a statement's price."),
        Key::of("paths", "table", "none", "{ \"device.os\" = { values = [\"ios\", \"android\"] } }")
            .says("The members of a jsonb column that may be read, by their names with points between them: `payload->'device'->>'os'`."),
        Key::of("hidden", "boolean", "false", "true")
            .says("The column does not exist for analysts."),
    ],
    later: &["range_for_min_max"],
};

pub(super) fn tables(root: &Section<'_, '_>, f: &mut Findings) -> Vec<RawTable> {
    let Some(all) = root.section("table", f) else {
        if root.get("table").is_none() && root.get("collect").is_none() {
            f.error_in_file("the policy names no table", "write for example: [table.riders]");
        }
        return Vec::new();
    };
    let mut tables = Vec::new();
    for (name, value) in all.entries() {
        let Some(section) = Section::of(format!("[table.{}]", shorten(&name.value)), value, f) else {
            continue;
        };
        section.keys(&TABLE, f);
        let schema = section
            .string("schema", "schema = \"public\"", f)
            .unwrap_or(At { value: "public".into(), span: name.span.clone() });
        let public = section.boolean("public", f).is_some_and(|b| b.value);
        let public_view = public_view(&section, public, f);
        let unit_column = section.string("unit_column", "unit_column = \"rider_id\"", f);
        if let (true, Some(unit)) = (public, &unit_column) {
            f.error(
                &unit.span,
                format!("{} is public and has a unit_column", section.name),
                "remove one: a table is public, or each of its rows belongs to a unit",
            );
        }
        let written = section.string("unit_path", path::EXAMPLE, f);
        if let Some(path) = written.as_ref().filter(|_| public || unit_column.is_some()) {
            let (what, hint) = if public {
                (
                    "is public and has a unit_path",
                    "remove one: a table is public, or each of its rows belongs to a unit",
                )
            } else {
                (
                    "has both unit_column and unit_path",
                    "remove one: each row belongs to one unit, found in one way",
                )
            };
            f.error(&path.span, format!("{} {what}", section.name), hint);
        }
        let unit_path = written.and_then(|text| path::parse(&text, f)).filter(|_| !public);
        let max_rows = budget::bound(&section, "max_rows", f);
        let max_total_rows = budget::bound(&section, "max_total_rows", f);
        let cut_rows = section.number("cut_rows", f);
        let most_rows = budget::bound(&section, "most_rows", f);
        let profile_valid = section.duration("profile_valid", f);
        let unmeasured = unmeasured(&section, f);
        let columns = match section.get("columns") {
            Some(value) => columns(&section.name, value, f),
            None => Vec::new(),
        };
        let says_whose = ["unit_path", "unit_column"].iter().any(|k| section.get(k).is_some())
            || section.get("public").is_some_and(|p| !p.get_ref().is_bool());
        tables.push(RawTable {
            name,
            schema,
            public,
            public_view,
            unit_column,
            unit_path,
            says_whose,
            max_rows,
            max_total_rows,
            cut_rows,
            most_rows,
            profile_valid,
            unmeasured,
            columns,
        });
    }
    tables
}

/// The sentence by which an owner publishes a view over private tables.
fn public_view(section: &Section<'_, '_>, public: bool, f: &mut Findings) -> Option<Span> {
    let said = section.string("public_view", PUBLIC_VIEW, f)?;
    if !PUBLIC_VIEW.ends_with(&format!("= \"{}\"", said.value)) {
        f.error(
            &said.span,
            "public_view takes one sentence, which says what it does",
            format!("write: {PUBLIC_VIEW}"),
        );
        return None;
    }
    if !public {
        let what = format!("{} has public_view and is not public", section.name);
        f.error(&said.span, what, "remove it: it is for views with public = true that read private tables");
        return None;
    }
    Some(said.span)
}

/// `bounds`, which says in the policy what is so anyway.
fn unmeasured(section: &Section<'_, '_>, f: &mut Findings) -> Option<Span> {
    let said = section.string("bounds", UNMEASURED, f)?;
    if said.value != "unmeasured" {
        f.error(
            &said.span,
            format!("bounds = {:?} is not known", shorten(&said.value)),
            format!(
                "write {UNMEASURED}, or remove it: what noisegate profile measures is kept in the ledger"
            ),
        );
        return None;
    }
    Some(said.span)
}

fn columns(table: &str, value: &Spanned<DeValue<'_>>, f: &mut Findings) -> Vec<RawColumn> {
    let Some(all) = Section::of(format!("columns of {table}"), value, f) else { return Vec::new() };
    let mut columns = Vec::new();
    for (name, value) in all.entries() {
        let shown = format!("column {:?} of {table}", shorten(&name.value));
        let Some(section) = Section::of(shown, value, f) else { continue };
        section.keys(&COLUMN, f);
        let hidden = section.boolean("hidden", f).is_some_and(|b| b.value);
        let grid = section.number("grid", f);
        let example = "references = \"stations.station\"";
        let references = section.string("references", example, f);
        let (range, values) = (range(&section, f), values(&section, f));
        let paths =
            section.get("paths").map(|value| json_path::read(&section.name, value, f)).unwrap_or_default();
        if let (Some(v), Some(_)) = (&values, &references) {
            let hint = "keep one: both say which public values the column has";
            f.error(&v.span, format!("{} has both values and references", section.name), hint);
        }
        let nan = section.boolean("nan", f);
        columns.push(RawColumn { name, hidden, range, grid, values, references, nan, paths });
    }
    columns
}
