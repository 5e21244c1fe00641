//! The policy as its text alone says it: all that can be checked without the database is checked here.

use super::access;
use super::budget;
use super::cache;
use super::error::{At, Findings, PolicyError, PolicyErrors, Span};
use super::keys::{Key, Keys, REQUIRED};
use super::model::{
    AccessRule, Backend, Budget, Cache, LedgerLocation, Limits, Log, Server, StatementDefaults, User,
};
use super::path::{self, RawPath};
use super::reader::{Section, decimal, shorten, text};
use super::server;
use super::stream::{self, Stream};
use super::users;
use super::{listen, log};
use bigdecimal::BigDecimal;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use toml::value::Datetime;

/// A policy that is TOML. Its mistakes, if any, are reported by [`RawPolicy::check`] together with those that
/// only the schema shows.
#[derive(Clone, Debug)]
pub struct RawPolicy {
    pub(super) findings: Findings,
    pub(super) server: Server,
    pub(super) access: Vec<AccessRule>,
    pub(super) log: Log,
    pub(super) backend: Option<Backend>,
    pub(super) ledger: Option<LedgerLocation>,
    pub(super) ledger_text: bool,
    pub(super) unit: Option<At<String>>,
    pub(super) statement: StatementDefaults,
    pub(super) budgets: Vec<Budget>,
    pub(super) streams: Vec<Stream>,
    pub(super) users: Vec<User>,
    pub(super) limits: Limits,
    pub(super) cache: Cache,
    pub(super) tables: Vec<RawTable>,
}

/// `[table.name]`
#[derive(Clone, Debug)]
pub(super) struct RawTable {
    pub name: At<String>,
    pub schema: At<String>,
    /// `public = true`.
    pub public: bool,
    pub unit_column: Option<At<String>>,
    pub unit_path: Option<At<RawPath>>,
    /// A key says whose rows it holds, right or wrong: wrong ones were reported already.
    pub says_whose: bool,
    pub max_rows: Option<u32>,
    pub columns: Vec<RawColumn>,
}

/// `columns.name = { … }`
#[derive(Clone, Debug)]
pub(super) struct RawColumn {
    pub name: At<String>,
    pub hidden: bool,
    pub range: Option<At<(Bound, Bound)>>,
    pub grid: Option<At<BigDecimal>>,
    pub values: Option<At<Vec<At<Literal>>>>,
    pub references: Option<At<String>>,
}

/// An end of a range.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Bound {
    Number(BigDecimal),
    Time(Datetime),
}

/// A listed value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Literal {
    Text(String),
    Integer(BigDecimal),
    Boolean(bool),
}

/// Sections of a policy.
pub(super) const ROOT: Keys = Keys {
    section: "policy",
    list: &[
        Key {
            name: "server",
            ty: "section",
            default: "listens on 127.0.0.1:6432",
            example: "",
            purpose: "Where clients arrive, and how they log in.",
        },
        Key {
            name: "access",
            ty: "list of sections",
            default: "everybody who can log in",
            example: "",
            purpose: "Who may connect from where.",
        },
        Key {
            name: "log",
            ty: "section",
            default: "all defaults",
            example: "",
            purpose: "What the operator hears.",
        },
        Key { name: "backend", ty: "section", default: REQUIRED, example: "", purpose: "The database." },
        Key {
            name: "ledger",
            ty: "section",
            default: REQUIRED,
            example: "",
            purpose: "Where the budgets are kept.",
        },
        Key { name: "privacy", ty: "section", default: REQUIRED, example: "", purpose: "Who is protected." },
        Key {
            name: "statement",
            ty: "section",
            default: "all defaults",
            example: "",
            purpose: "What one statement costs and may touch, unless the session says otherwise.",
        },
        Key {
            name: "budget",
            ty: "list of sections",
            default: REQUIRED,
            example: "",
            purpose: "What all statements together may cost.",
        },
        Key {
            name: "cache",
            ty: "section",
            default: "all defaults",
            example: "",
            purpose: "How answers are kept, to be given again.",
        },
        Key {
            name: "stream",
            ty: "list of sections",
            default: "none",
            example: "",
            purpose: "Streams of questions that are paid for once, by the sparse vector technique.",
        },
        Key {
            name: "user",
            ty: "list of sections",
            default: "nobody",
            example: "",
            purpose: "Who may log in.",
        },
        Key {
            name: "table",
            ty: "section for each table",
            default: REQUIRED,
            example: "",
            purpose: "The tables that exist for analysts.",
        },
        Key {
            name: "limits",
            ty: "section",
            default: "all defaults",
            example: "",
            purpose: "How large things may grow.",
        },
    ],
    later: &["answers", "console"],
};

/// Keys of `[privacy]`.
pub(super) const PRIVACY: Keys = Keys {
    section: "[privacy]",
    list: &[
        Key {
            name: "unit",
            ty: "table.column",
            default: REQUIRED,
            example: "\"riders.rider_id\"",
            purpose: "Who is protected: a column that is a key of a private table.",
        },
        Key {
            name: "allow_no_total",
            ty: "boolean",
            default: "false",
            example: "true",
            purpose: "Accept a policy without a budget over the whole data set, that is, without a guarantee.",
        },
    ],
    later: &[],
};

/// Keys of `[table.NAME]`.
pub(super) const TABLE: Keys = Keys {
    section: "[table.NAME]",
    list: &[
        Key {
            name: "schema",
            ty: "string",
            default: "\"public\"",
            example: "\"public\"",
            purpose: "The table's schema.",
        },
        Key {
            name: "public",
            ty: "boolean",
            default: "false",
            example: "true",
            purpose: "Anybody may read it: answers are exact and free, all columns are visible.",
        },
        Key {
            name: "unit_column",
            ty: "column",
            default: "required for private tables",
            example: "\"rider_id\"",
            purpose: "The column that says whose each row is, of the unit's type.",
        },
        Key {
            name: "unit_path",
            ty: "`columns -> table.columns`",
            default: "none",
            example: "\"trip_id -> trips.trip_id\"",
            purpose: "Instead of unit_column: the first step to the table that has it, by a key there; `(a, b) -> t.(x, y)` for a key of several columns.",
        },
        Key {
            name: "max_rows",
            ty: "whole number",
            default: "`statement.max_rows`",
            example: "20",
            purpose: "As there, for this table.",
        },
        Key {
            name: "columns",
            ty: "table",
            default: "none",
            example: "{ fare = { range = [0, 60] } }",
            purpose: "The columns that are visible, and what is known of them; mostly written `columns.NAME = { … }`.",
        },
    ],
    later: &[],
};

/// Keys of `[table.NAME] columns.NAME`.
pub(super) const COLUMN: Keys = Keys {
    section: "[table.NAME] columns.NAME",
    list: &[
        Key {
            name: "range",
            ty: "two numbers or dates",
            default: "what CHECK constraints prove",
            example: "[0, 60]",
            purpose: "Least and greatest value; what is outside counts as the nearest end. A date as the upper end of a timestamp is that whole day.",
        },
        Key {
            name: "grid",
            ty: "number",
            default: "1 for integers, the scale of `numeric(p, s)`",
            example: "0.01",
            purpose: "The step in which sums are counted; both ends of the range lie on it. Required beside the range of a float or a plain numeric.",
        },
        Key {
            name: "values",
            ty: "list",
            default: "labels of an enum, true and false, a CHECK's list",
            example: "[\"day\", \"month\", \"year\"]",
            purpose: "The public values, of text, varchar, integer, enum or boolean: groups over them all come back, and cost no δ.",
        },
        Key {
            name: "references",
            ty: "table.column",
            default: "none",
            example: "\"stations.station\"",
            purpose: "The public values are those of a column of a public table, of the same type.",
        },
        Key {
            name: "hidden",
            ty: "boolean",
            default: "false",
            example: "true",
            purpose: "The column does not exist for analysts.",
        },
    ],
    later: &["range_for_min_max"],
};

impl RawPolicy {
    /// Reads a policy's text; only what is not TOML is an error at once.
    pub(super) fn parse(
        mut findings: Findings,
        source: &str,
        file: &str,
        base: &Path,
    ) -> Result<Self, PolicyErrors> {
        let f = &mut findings;
        let document = match DeTable::parse(source) {
            Ok(document) => document,
            Err(e) => {
                let span = e.span().unwrap_or(0..0);
                f.error(&span, format!("not TOML: {}", e.message()), "");
                return Err(findings.errors().unwrap_or(PolicyErrors(Vec::new())));
            }
        };
        let root = Section::root(&document);
        root.keys(&ROOT, f);
        let server = listen::server(&root, base, f);
        let log = log::log(&root, f);
        let backend = server::backend(&root, file, base, f);
        let ledger = server::ledger(&root, base, f);
        let ledger_text = server::ledger_text(&root, f);
        let (unit, allow_no_total) = privacy(&root, f);
        let statement = budget::statement(&root, f);
        let budgets = budget::budgets(&root, &statement, f);
        let streams = stream::streams(&root, &budgets, f);
        let users = users::users(&root, base, f);
        let access = access::access(&root, &users, f);
        let limits = server::limits(&root, f);
        let cache = cache::cache(&root, base, f);
        let tables = tables(&root, f);
        budget::coverage(&root, allow_no_total, &tables, f);
        Ok(Self {
            findings,
            server,
            access,
            log,
            backend,
            ledger,
            ledger_text,
            unit,
            statement,
            budgets,
            streams,
            users,
            limits,
            cache,
            tables,
        })
    }

    /// Where the database is, if the policy says so: what is needed to read the schema that [`Self::check`]
    /// asks for.
    pub fn backend(&self) -> Option<&Backend> {
        self.backend.as_ref()
    }

    /// What the operator hears, mistakes or not.
    pub fn log(&self) -> Log {
        self.log
    }

    /// Schema and name of the tables that the policy names, in its order.
    pub fn table_names(&self) -> Vec<(&str, &str)> {
        self.tables.iter().map(|t| (t.schema.value.as_str(), t.name.value.as_str())).collect()
    }

    /// Where the books are and which budgets they hold, if the text says so without a mistake.
    pub fn books(&self) -> Option<(&LedgerLocation, &[Budget])> {
        let ledger = self.ledger.as_ref().filter(|_| self.findings.errors().is_none())?;
        Some((ledger, &self.budgets))
    }

    /// Table and column that `privacy.unit` names.
    pub fn unit_name(&self) -> Option<&str> {
        self.unit.as_ref().map(|unit| unit.value.as_str())
    }

    /// The mistakes that show without a schema. Empty does not mean that the policy is right: [`Self::check`]
    /// decides.
    pub fn mistakes(&self) -> Vec<PolicyError> {
        self.findings.errors().map_or_else(Vec::new, |e| e.0)
    }
}

/// `privacy.unit`, and whether a policy without a dataset-wide budget is meant.
fn privacy(root: &Section<'_, '_>, f: &mut Findings) -> (Option<At<String>>, bool) {
    let Some(section) = root.section("privacy", f) else {
        if root.get("privacy").is_none() {
            let hint =
                "write [privacy] with unit = \"riders.rider_id\": the column that names who is protected";
            f.error_in_file("the policy has no [privacy]", hint);
        }
        return (None, false);
    };
    section.keys(&PRIVACY, f);
    let unit = section.required_string("unit", "unit = \"riders.rider_id\"", f);
    (unit, section.boolean("allow_no_total", f).is_some_and(|b| b.value))
}

fn tables(root: &Section<'_, '_>, f: &mut Findings) -> Vec<RawTable> {
    let Some(all) = root.section("table", f) else {
        if root.get("table").is_none() {
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
        let columns = match section.get("columns") {
            Some(value) => columns(&section.name, value, f),
            None => Vec::new(),
        };
        let says_whose = ["unit_path", "unit_column"].iter().any(|k| section.get(k).is_some())
            || section.get("public").is_some_and(|p| !p.get_ref().is_bool());
        tables.push(RawTable { name, schema, public, unit_column, unit_path, says_whose, max_rows, columns });
    }
    tables
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
        if let (Some(v), Some(_)) = (&values, &references) {
            let hint = "keep one: both say which public values the column has";
            f.error(&v.span, format!("{} has both values and references", section.name), hint);
        }
        columns.push(RawColumn { name, hidden, range, grid, values, references });
    }
    columns
}

fn range(section: &Section<'_, '_>, f: &mut Findings) -> Option<At<(Bound, Bound)>> {
    let example = "range = [0, 60], or range = [2023-01-01, 2025-12-31]";
    let list = section.list("range", example, f)?;
    let [low, high] = list.value.as_slice() else {
        let what = format!("range must have two ends, this has {}", list.value.len());
        f.error(&list.span, what, format!("write for example: {example}"));
        return None;
    };
    let mut end = |value: &Spanned<DeValue<'_>>| match value.get_ref() {
        DeValue::Datetime(t) => Some(Bound::Time(*t)),
        DeValue::String(_) => {
            f.error(
                &value.span(),
                "an end of a range is a number or a date, this is a string",
                "leave out the quotes",
            );
            None
        }
        _ => decimal("an end of a range", value, f).map(Bound::Number),
    };
    let (low, high) = (end(low), end(high));
    Some(At { value: (low?, high?), span: list.span })
}

fn values(section: &Section<'_, '_>, f: &mut Findings) -> Option<At<Vec<At<Literal>>>> {
    let example = "values = [\"day\", \"month\"]";
    let list = section.list("values", example, f)?;
    if list.value.is_empty() {
        let hint = format!("write for example: {example}; without the key, the column's values are private");
        f.error(&list.span, "values is empty", hint);
        return None;
    }
    let (count, mut values) = (list.value.len(), Vec::new());
    let mut seen = std::collections::HashSet::new();
    for value in list.value {
        let span: Span = value.span();
        let literal = match value.get_ref() {
            DeValue::Integer(_) => decimal("a value", value, f).map(Literal::Integer),
            DeValue::Boolean(b) => Some(Literal::Boolean(*b)),
            DeValue::String(_) => text("a value", value, example, f).map(|s| Literal::Text(s.value)),
            other => {
                let what =
                    format!("a value must be a string or a whole number, this is a {}", other.type_str());
                f.error(&span, what, format!("write for example: {example}"));
                None
            }
        };
        let Some(literal) = literal else { continue };
        if !seen.insert(format!("{literal:?}")) {
            f.error(&span, format!("{} stands twice in values", literal.shown()), "remove one");
        }
        values.push(At { value: literal, span });
    }
    // With one value unread, what is left is not the domain.
    (values.len() == count).then_some(At { value: values, span: list.span })
}

impl Literal {
    /// As text that casts to the column's type.
    pub fn text(&self) -> String {
        match self {
            Self::Text(s) => s.clone(),
            Self::Integer(n) => n.to_plain_string(),
            Self::Boolean(b) => b.to_string(),
        }
    }

    /// For messages.
    pub fn shown(&self) -> String {
        match self {
            Self::Text(s) => format!("{:?}", shorten(s)),
            other => other.text(),
        }
    }
}
