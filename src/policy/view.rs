//! `[[view]]`: queries that analysts find as tables.

use super::error::{At, Findings};
use super::keys::{Key, Keys, REQUIRED};
use super::model::View;
use super::raw_table::RawTable;
use super::reader::{Section, shorten};

/// Keys of `[[view]]`.
pub(super) const VIEW: Keys = Keys {
    section: "[[view]]",
    list: &[
        Key::of("name", "string", REQUIRED, "\"long_trips\"")
            .says("Unique, in small letters; analysts find it as a table of the schema `public`."),
        Key::of("sql", "string", REQUIRED, "\"SELECT * FROM trips WHERE minutes > 60\"")
            .says("The query that stands for it wherever it is named: over tables of this policy and other views, under the \
                      rules for what analysts write."),
    ],
    later: &[],
};

/// `tables`: whose names are taken.
pub(super) fn views(root: &Section<'_, '_>, tables: &[RawTable], f: &mut Findings) -> Vec<View> {
    let mut views: Vec<View> = Vec::new();
    for section in root.sections("view", f) {
        section.keys(&VIEW, f);
        let name = section.required_string("name", "name = \"long_trips\"", f);
        let sql = section.required_string("sql", "sql = \"SELECT * FROM trips WHERE minutes > 60\"", f);
        let (Some(name), Some(sql)) = (name, sql) else { continue };
        judge(&name, &views, tables, f);
        views.push(View { name: name.value, sql: sql.value, columns: Vec::new() });
    }
    views
}

fn judge(name: &At<String>, before: &[View], tables: &[RawTable], f: &mut Findings) {
    let shown = shorten(&name.value);
    if before.iter().any(|v| v.name == name.value) {
        f.error(&name.span, format!("two views are called {shown:?}"), "names are unique");
    }
    if tables.iter().any(|t| t.name.value == name.value) {
        f.error(&name.span, format!("a table is called {shown:?}, too"), "give the view another name");
    }
    let first = |c: char| c.is_ascii_lowercase() || c == '_';
    let plain = name.value.starts_with(first)
        && name.value.chars().all(|c| first(c) || c.is_ascii_digit())
        && name.value.len() <= 63;
    if !plain {
        let hint = "small letters, digits and _, at most 63 of them: it is written without quotes";
        f.error(&name.span, format!("{shown:?} cannot be a view's name"), hint);
    }
}
