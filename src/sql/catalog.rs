//! Names, and the relations that they stand for: the tables of the policy, and `noisegate.*`.

use super::ast::{Own, Source};
use super::estimates::Estimates;

/// A relation that a name in FROM may stand for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relation {
    /// Source of the rows.
    pub source: Source,
    /// Visible columns, in order.
    pub columns: Vec<String>,
}

/// Resolves relation names.
pub trait Catalog {
    /// The relation of this name; `schema` is what the name was qualified with.
    fn relation(&self, schema: Option<&str>, name: &str) -> Option<Relation>;

    /// The text of the view of this name.
    fn view(&self, _schema: Option<&str>, _name: &str) -> Option<&str> {
        None
    }

    /// What is collected.
    fn collects(&self) -> &[policy::Collect] {
        &[]
    }

    /// The collected relation of this name, by its place in [`Self::collects`].
    fn collect(&self, _schema: Option<&str>, _name: &str) -> Option<usize> {
        None
    }

    /// How estimates over it are asked for.
    fn estimates(&self) -> Estimates {
        Estimates::default()
    }

    /// Names to suggest where one was not found.
    fn names(&self) -> Vec<String>;

    /// Whole names of relations that this name would stand for in another schema.
    fn elsewhere(&self, _name: &str) -> Vec<String> {
        Vec::new()
    }

    /// The database, as it is called by whoever names a table with it.
    fn database(&self) -> Option<&str> {
        None
    }

    /// What names within views stand for, where that is something else: a view means the same to everybody.
    fn of_views(&self) -> Option<&dyn Catalog> {
        None
    }
}

/// A policy's relations as a session sees them: names without a schema are those of the first schema in its path that has them.
pub struct InPath<'p> {
    /// The policy.
    pub policy: &'p policy::Policy,
    /// Schemas, in order.
    pub path: Vec<String>,
    /// The database that the session is connected to.
    pub database: &'p str,
    /// Form in which estimates are asked for.
    pub estimates: Estimates,
}

impl Catalog for InPath<'_> {
    fn relation(&self, schema: Option<&str>, name: &str) -> Option<Relation> {
        match schema {
            Some(_) => self.policy.relation(schema, name),
            None => self.path.iter().find_map(|schema| self.policy.relation(Some(schema), name)),
        }
    }

    fn view(&self, schema: Option<&str>, name: &str) -> Option<&str> {
        let reached = schema.is_some() || self.path.iter().any(|s| s == policy::View::SCHEMA);
        self.policy.view(schema, name).filter(|_| reached)
    }

    fn collects(&self) -> &[policy::Collect] {
        &self.policy.collects
    }

    fn collect(&self, schema: Option<&str>, name: &str) -> Option<usize> {
        let reached = schema.is_some() || self.path.iter().any(|s| s == policy::View::SCHEMA);
        Catalog::collect(self.policy, schema, name).filter(|_| reached)
    }

    fn estimates(&self) -> Estimates {
        self.estimates
    }

    fn names(&self) -> Vec<String> {
        let reached = |schema: &String| self.path.contains(schema);
        let tables =
            self.policy.tables.iter().filter(|t| !t.collected && reached(&t.schema)).map(|t| t.name.clone());
        let views = self.policy.views.iter().filter(|_| reached(&policy::View::SCHEMA.to_owned()));
        let collects = self.policy.collects.iter().filter(|_| reached(&policy::View::SCHEMA.to_owned()));
        tables.chain(views.map(|v| v.name.clone())).chain(collects.map(|c| c.name.clone())).collect()
    }

    fn elsewhere(&self, name: &str) -> Vec<String> {
        let tables = self.policy.tables.iter().filter(|t| !t.collected && t.name == name);
        let views = self.policy.views.iter().filter(|v| v.name == name).map(|_| policy::View::SCHEMA);
        let schemas = tables.map(|t| t.schema.as_str()).chain(views);
        schemas.map(|s| format!("{}.{}", written(s), written(name))).collect()
    }

    fn database(&self) -> Option<&str> {
        Some(self.database)
    }

    fn of_views(&self) -> Option<&dyn Catalog> {
        Some(self.policy)
    }
}

/// A name as it is written in a statement.
pub fn written(name: &str) -> String {
    let plain = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if plain { name.to_owned() } else { schema::quoted::ident(name) }
}

impl Catalog for policy::Policy {
    fn relation(&self, schema: Option<&str>, name: &str) -> Option<Relation> {
        if schema == Some(Own::SCHEMA) {
            let own = Own::ALL.into_iter().find(|o| o.name() == name)?;
            let columns = own.columns().iter().map(|(n, _)| (*n).to_owned()).collect();
            return Some(Relation { source: Source::Own(own), columns });
        }
        // Reports are nobody's to name: what stands for them is the collected relation.
        let named =
            |t: &policy::Table| !t.collected && t.name == name && schema.is_none_or(|s| s == t.schema);
        let id = self.tables.iter().position(named)?;
        let table = self.tables.get(id)?;
        let columns = table.columns.iter().map(|c| c.name.clone()).collect();
        Some(Relation { source: Source::Table(id), columns })
    }

    fn view(&self, schema: Option<&str>, name: &str) -> Option<&str> {
        let view = self.views.iter().find(|v| v.name == name)?;
        schema.is_none_or(|s| s == policy::View::SCHEMA).then_some(view.sql.as_str())
    }

    fn collects(&self) -> &[policy::Collect] {
        &self.collects
    }

    fn collect(&self, schema: Option<&str>, name: &str) -> Option<usize> {
        let index = self.collects.iter().position(|c| c.name == name)?;
        schema.is_none_or(|s| s == policy::View::SCHEMA).then_some(index)
    }

    fn names(&self) -> Vec<String> {
        let views = self.views.iter().map(|v| &v.name).chain(self.collects.iter().map(|c| &c.name));
        self.tables.iter().filter(|t| !t.collected).map(|t| &t.name).chain(views).cloned().collect()
    }
}

impl Own {
    /// The schema of these relations.
    pub const SCHEMA: &'static str = "noisegate";

    /// All of them.
    pub const ALL: [Own; 7] =
        [Self::Budget, Self::Columns, Self::Settings, Self::History, Self::Streams, Self::Help, Self::Bounds];

    /// The relation's name in its schema.
    pub fn name(self) -> &'static str {
        match self {
            Self::Budget => "budget",
            Self::Columns => "columns",
            Self::Settings => "settings",
            Self::History => "history",
            Self::Streams => "streams",
            Self::Help => "help",
            Self::Bounds => "bounds",
        }
    }

    /// Columns, with their types in `pg_catalog`.
    pub fn columns(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Budget => &[
                ("name", "text"),
                ("scope", "text"),
                ("accounting", "text"),
                ("epsilon", "numeric"),
                ("delta", "numeric"),
                ("selection_delta", "numeric"),
                ("fraction_left", "numeric"),
                ("answers_left", "int8"),
                ("tables", "text"),
                ("window", "text"),
                ("next_window", "timestamptz"),
                ("lifetime", "text"),
                ("closed", "bool"),
            ],
            Self::History => &[
                ("entry", "int8"),
                ("at", "timestamptz"),
                ("statement", "text"),
                ("epsilon", "numeric"),
                ("delta", "numeric"),
                ("price", "text"),
                ("cached", "bool"),
                ("query", "text"),
            ],
            Self::Columns => &[
                ("table_schema", "text"),
                ("table_name", "text"),
                ("column_name", "text"),
                ("ordinal_position", "int4"),
                ("data_type", "text"),
                ("is_nullable", "bool"),
                ("privacy", "text"),
                ("is_unit", "bool"),
                ("groups", "text"),
                ("low", "text"),
                ("high", "text"),
                ("grid", "numeric"),
                ("domain", "text"),
                ("cut_rows", "numeric"),
                ("cut_high", "int8"),
                ("measured", "timestamptz"),
            ],
            Self::Settings => {
                &[("name", "text"), ("setting", "text"), ("default_setting", "text"), ("description", "text")]
            }
            Self::Help => &[("topic", "text"), ("text", "text")],
            Self::Bounds => &[
                ("table_schema", "text"),
                ("table_name", "text"),
                ("item", "text"),
                ("measured", "timestamptz"),
                ("valid_until", "timestamptz"),
                ("price", "numeric"),
                ("h", "numeric"),
                ("kappa", "int8"),
            ],
            Self::Streams => &[
                ("name", "text"),
                ("variant", "text"),
                ("tells_numbers", "bool"),
                ("state", "text"),
                ("positives", "int4"),
                ("positives_left", "int4"),
                ("asked", "int8"),
                ("epsilon", "numeric"),
                ("delta", "numeric"),
                ("price", "text"),
                ("openings_left", "int8"),
                ("questions", "int8"),
                ("beta", "float8"),
                ("alpha", "float8"),
                ("alpha_100", "float8"),
                ("alpha_10000", "float8"),
            ],
        }
    }
}
