//! Has the database count, in one snapshot of it.

use super::args::{Args, Named};
use super::found::Risk;
use super::policy::Protection;
use crate::cli::database::{self, Connected};
use ::policy::RawPolicy;
use ::risk::{
    self as measures, Asked, Classes, Column, Diversity, Found, Match, Population, Set, Size, Values,
};
use plan::expr::print::ident;
use tokio_postgres::types::Oid;
use tokio_postgres::{Client, Row, SimpleQueryMessage};

/// Where row security would show the login a part of the rows only, an error; and no function or operator but the system's own.
const SESSION: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL row_security = off; SET LOCAL search_path = ''";

/// All figures.
pub(super) async fn risk(args: &Args, named: &Named, most: usize) -> Result<Risk, String> {
    let raw = match &args.policy {
        Some(file) => Some(policy::load_elsewhere(file).map_err(|e| e.to_string())?),
        None => None,
    };
    let connected = database::backend(&args.backend).await?;
    let client = &connected.client;
    no_proxy(client).await?;
    let table = Relation::find(client, &args.table, "--table").await?;
    let population = match &args.population {
        Some(name) => Some(Relation::find(client, name, "--population").await?),
        None => None,
    };
    let checked = match raw {
        Some(raw) => Some(checked(&raw, &connected).await?),
        None => None,
    };
    let unit = match (&args.unit, &checked) {
        (Some(unit), _) => Some(unit.clone()),
        (None, Some(policy)) => table.unit(policy),
        (None, None) => None,
    };
    let asked = asked(&table, population.as_ref(), named, unit)?;
    client.batch_execute(SESSION).await.map_err(|e| database::reason(&e))?;
    let classes = rows(client, &measures::classes(&asked)).await?;
    let classes = Classes { sizes: classes.iter().map(size).collect::<Result<_, _>>()? };
    let sets = measures::sets(asked.quasi.len(), most);
    let sets = rows(client, &measures::sets_text(&asked, &sets)).await?;
    let sets = sets.iter().map(|r| set(r, &asked, classes.people())).collect::<Result<Vec<_>, _>>()?;
    let mut diversity = Vec::with_capacity(asked.sensitive.len());
    for column in &asked.sensitive {
        diversity.push(learned(column, &rows(client, &measures::diversity(&asked, column)).await?)?);
    }
    let population = match measures::population(&asked) {
        Some(text) => {
            let sizes = rows(client, &text).await?.iter().map(matched).collect::<Result<_, _>>()?;
            Some(Population { sizes })
        }
        None => None,
    };
    let protection = checked.map(|policy| Protection::of(&policy, &table.schema, &table.name, &asked));
    let (about, beside) = (args.table.clone(), args.population.clone());
    Ok(Risk { about, beside, asked, classes, sets: in_order(sets), diversity, population, protection })
}

/// Through the proxy there are no exact figures, but for who is answered without any protection, and nobody would be told.
async fn no_proxy(client: &Client) -> Result<(), String> {
    match client.simple_query("SHOW noisegate.epsilon").await {
        Ok(answer) if answer.iter().any(|m| matches!(m, SimpleQueryMessage::Row(_))) => Err(
            "--backend leads to noisegate itself: this report is exact, and is read from the database behind it, by its owner".into(),
        ),
        _ => Ok(()),
    }
}

/// The policy, held against this very database.
async fn checked(raw: &RawPolicy, connected: &Connected) -> Result<policy::Policy, String> {
    let schema = database::schema(connected).await.map_err(|e| e.to_string())?;
    raw.check(&schema).map_err(|e| format!("--policy does not fit this database:\n{e}"))
}

/// A table of the database.
struct Relation {
    schema: String,
    name: String,
    /// Names, and whether their values lie on a line.
    columns: Vec<Column>,
}

impl Relation {
    /// By its name as SQL writes it.
    async fn find(client: &Client, name: &str, option: &str) -> Result<Self, String> {
        let sql = "SELECT c.oid, n.nspname::text, c.relname::text FROM pg_catalog.pg_class AS c \
                   JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace \
                   WHERE c.oid = pg_catalog.to_regclass($1) AND c.relkind IN ('r', 'p', 'v', 'm', 'f')";
        let found = client
            .query_opt(sql, &[&name])
            .await
            .map_err(|e| format!("{option}: {}", database::reason(&e)))?;
        let found = found.ok_or_else(|| format!("{option}: the database has no table or view {name:?}"))?;
        let oid: Oid = cell(&found, 0)?;
        let sql = "SELECT a.attname::text, t.typcategory IN ('N', 'D', 'T') FROM pg_catalog.pg_attribute AS a \
                   JOIN pg_catalog.pg_type AS t ON t.oid = a.atttypid \
                   WHERE a.attrelid = $1 AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum";
        let columns = client.query(sql, &[&oid]).await.map_err(|e| database::reason(&e))?;
        let column = |r: &Row| Ok::<_, String>(Column { name: cell(r, 0)?, ordered: cell(r, 1)? });
        let columns = columns.iter().map(column).collect::<Result<_, _>>()?;
        Ok(Self { schema: cell(&found, 1)?, name: cell(&found, 2)?, columns })
    }

    fn text(&self) -> String {
        format!("{}.{}", ident(&self.schema), ident(&self.name))
    }

    fn column(&self, name: &str) -> Result<&Column, String> {
        self.columns.iter().find(|c| c.name == name).ok_or_else(|| {
            let known: Vec<&str> = self.columns.iter().map(|c| c.name.as_str()).collect();
            format!("{} has no column {name:?}: it has {}", self.text(), known.join(", "))
        })
    }

    /// Whose its rows are by a policy, where that says so by a column of its own, and somebody may have several.
    fn unit(&self, policy: &policy::Policy) -> Option<String> {
        let table = policy.tables.iter().find(|t| t.schema == self.schema && t.name == self.name)?;
        let unit = table.unit_column().filter(|_| table.proven_rows != Some(1))?;
        Some(unit.to_owned())
    }
}

fn asked(
    table: &Relation,
    population: Option<&Relation>,
    named: &Named,
    unit: Option<String>,
) -> Result<Asked, String> {
    for name in named.quasi.iter().chain(&unit) {
        table.column(name)?;
    }
    if let Some(unit) = unit.as_ref().filter(|u| named.quasi.contains(u) || named.sensitive.contains(u)) {
        return Err(format!(
            "{unit} says whose a row is: it is neither known of somebody by others nor learned of them"
        ));
    }
    for name in population.map(|_| &named.quasi).into_iter().flatten() {
        population.map(|p| p.column(name)).transpose()?;
    }
    let sensitive =
        named.sensitive.iter().map(|name| table.column(name).cloned()).collect::<Result<_, _>>()?;
    let quasi = named.quasi.clone();
    Ok(Asked { table: table.text(), unit, quasi, sensitive, population: population.map(Relation::text) })
}

async fn rows(client: &Client, sql: &str) -> Result<Vec<Row>, String> {
    client.query(sql, &[]).await.map_err(|e| database::reason(&e))
}

fn cell<'a, T: tokio_postgres::types::FromSql<'a>>(row: &'a Row, at: usize) -> Result<T, String> {
    row.try_get(at).map_err(|e| format!("the database answered something else than was asked: {e}"))
}

fn number(row: &Row, at: usize) -> Result<u64, String> {
    cell::<i64>(row, at).map(|n| u64::try_from(n).unwrap_or(0))
}

fn size(row: &Row) -> Result<Size, String> {
    Ok(Size { size: number(row, 0)?, people: number(row, 1)?, classes: number(row, 2)? })
}

fn set(row: &Row, asked: &Asked, people: u64) -> Result<Found, String> {
    let set = Set::from_grouping(cell(row, 0)?, asked.quasi.len());
    let columns = set.columns().filter_map(|i| asked.quasi.get(i).cloned()).collect();
    let unique = number(row, 3)?;
    let share = unique as f64 / (people as f64).max(1.0);
    Ok(Found { columns, classes: number(row, 1)?, k: number(row, 2)?, unique, share })
}

fn in_order(mut sets: Vec<Found>) -> Vec<Found> {
    sets.sort_by(|a, b| a.columns.len().cmp(&b.columns.len()).then_with(|| a.columns.cmp(&b.columns)));
    sets
}

fn learned(column: &Column, rows: &[Row]) -> Result<Diversity, String> {
    let values = match rows.first() {
        Some(row) => number(row, 5)?,
        None => 0,
    };
    let by = |r: &Row| {
        let (values, classes, entries) = (number(r, 0)?, number(r, 1)?, number(r, 2)?);
        Ok::<_, String>(Values { values, classes, entries, entropy: cell(r, 3)?, distance: cell(r, 4)? })
    };
    let by_values = rows.iter().map(by).collect::<Result<_, _>>()?;
    Ok(Diversity { column: column.name.clone(), ordered: column.ordered, values, by_values })
}

fn matched(row: &Row) -> Result<Match, String> {
    let (least, most): (Option<f64>, Option<f64>) = (cell(row, 5)?, cell(row, 6)?);
    let [size, people, classes, exceeding, there] =
        [number(row, 0)?, number(row, 1)?, number(row, 2)?, number(row, 3)?, number(row, 4)?];
    Ok(Match { size, people, classes, exceeding, there, shares: least.zip(most) })
}
