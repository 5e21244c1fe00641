//! `columns.NAME.paths`: the members of a jsonb column that analysts may read, each like a column.

use super::declared::{Bound, Literal, alike, one_value, range, values};
use super::error::{At, Findings, Span};
use super::keys::{Key, Keys};
use super::model::JsonPath;
use super::raw_table::{RawColumn, RawJsonPath};
use super::reader::{Section, shorten};
use super::type_name::type_name;
use schema::SqlType;
use toml::Spanned;
use toml::de::DeValue;

/// Whether columns of a type may have paths.
pub fn is_jsonb(ty: &SqlType) -> bool {
    matches!(ty, SqlType::Other { name, .. } if name == "pg_catalog.jsonb")
}

/// Keys of a path.
pub(super) const PATH: Keys = Keys {
    section: "[table.NAME] columns.NAME.paths.\"PATH\"",
    list: &[
        Key::of("values", "list of strings", "none", "[\"ios\", \"android\"]").says(
            "The public values of the member, as texts: groups over them all come back, and cost no δ.",
        ),
        Key::of("range", "two numbers", "none", "[0, 600]")
            .says("Least and greatest value of the member where it is cast to a number."),
    ],
    later: &[],
};

/// Reads `paths = { "device.os" = { values = […] } }`.
pub(super) fn read(shown: &str, value: &Spanned<DeValue<'_>>, f: &mut Findings) -> Vec<RawJsonPath> {
    let Some(all) = Section::of(format!("paths of {shown}"), value, f) else { return Vec::new() };
    let mut paths = Vec::new();
    for (path, value) in all.entries() {
        let name = format!("path {:?} of {shown}", shorten(&path.value));
        let Some(section) = Section::of(name, value, f) else { continue };
        section.keys(&PATH, f);
        let (range, values) = (range(&section, f), values(&section, f));
        paths.push(RawJsonPath { path, values, range });
    }
    paths
}

/// The paths of a column.
pub(super) fn check(raw: Option<&RawColumn>, c: &schema::Column, f: &mut Findings) -> Vec<JsonPath> {
    let Some(list) = raw.map(|r| r.paths.as_slice()).filter(|l| !l.is_empty()) else { return Vec::new() };
    if !is_jsonb(&c.ty) {
        if let Some(first) = list.first() {
            let what = format!("paths are for jsonb columns; {:?} is {}", c.name, type_name(&c.ty));
            let hint =
                "remove them; of a json column make a jsonb one, whose members can be read without failing";
            f.error(&first.path.span, what, hint);
        }
        return Vec::new();
    }
    list.iter().filter_map(|p| one(p, f)).collect()
}

fn one(p: &RawJsonPath, f: &mut Findings) -> Option<JsonPath> {
    let keys: Vec<String> = p.path.value.split('.').map(str::to_owned).collect();
    // An array's element has a number for a key, which -> and #>> read differently.
    let odd = |k: &String| k.is_empty() || k.trim() != k || k.contains('\0') || k.parse::<i64>().is_ok();
    if keys.iter().any(odd) {
        let what = format!("{:?} is not a path of members", shorten(&p.path.value));
        f.error(&p.path.span, what, "write names with points between them, for example \"device.os\"");
        return None;
    }
    let mut texts = None;
    if let Some(list) = &p.values {
        if let Some(odd) = list.value.iter().find(|v| !matches!(v.value, Literal::Text(_))) {
            let what = format!("{} is no text, which members are read as", odd.value.shown());
            f.error(&odd.span, what, "write strings: \"1\", \"true\"");
            return None;
        }
        alike(&list.value, f);
        texts = Some(list.value.iter().map(|v| v.value.text()).collect());
    }
    let range = match &p.range {
        None => None,
        Some(At { value: (Bound::Number(low), Bound::Number(high)), span }) => {
            ordered(low <= high, span, f)?;
            if low == high {
                one_value(&format!("of {:?}", shorten(&p.path.value)), span, f);
            }
            Some((low.clone(), high.clone()))
        }
        Some(At { span, .. }) => {
            f.error(span, "the range of a path has numbers for ends", "write for example: range = [0, 600]");
            return None;
        }
    };
    Some(JsonPath { keys, values: texts, range })
}

fn ordered(is: bool, span: &Span, f: &mut Findings) -> Option<()> {
    if !is {
        f.error(span, "the range has its low end above its high end", "the lower end comes first");
    }
    is.then_some(())
}
