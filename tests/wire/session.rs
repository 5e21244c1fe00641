//! A session that answers a handful of made-up statements.
//!
//! `select 'x'`, `select $1::int4, $2::text`, `values ('a'),('b')`, `select (1/0)::text` and the control statements mean what
//! they mean to PostgreSQL, so that both can be compared; the other verbs are there to provoke something.

use crate::fake::Seen;
use bytes::{BufMut, Bytes, BytesMut};
use futures::{StreamExt, stream};
use noisegate::answer::{Description, Field, Modes, Notice, Outcome, Values};
use noisegate::error::{ClientError, SqlState};
use noisegate::frontend::{Control, Session};
use noisegate::sql::Syntax;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

pub const INT4: u32 = 23;
pub const TEXT: u32 = 25;

/// A cell: its bytes, or NULL.
type Cell = Option<Bytes>;

pub struct FakeSession {
    seen: Arc<Seen>,
    startup: BTreeMap<String, String>,
    changed: Vec<(String, String)>,
    steps: Vec<Control>,
}

pub struct FakePortal {
    statement: String,
    cells: Vec<Cell>,
    fields: Vec<Field>,
}

impl FakeSession {
    pub fn new(seen: Arc<Seen>, startup: BTreeMap<String, String>) -> Self {
        Self { seen, startup, changed: Vec::new(), steps: Vec::new() }
    }
}

impl Session for FakeSession {
    type Statement = String;
    type Portal = FakePortal;

    fn parse(&mut self, sql: &str) -> Result<Vec<String>, ClientError> {
        if sql.contains("panic in parse") {
            panic!("a defect in the parser");
        }
        if sql.contains("syntax error") {
            return Err(ClientError::new(SqlState::SYNTAX_ERROR, "syntax error").at(Some(3)));
        }
        Ok(sql.split(';').map(|s| s.trim().to_lowercase()).filter(|s| !s.is_empty()).collect())
    }

    fn control(&self, statement: &String) -> Option<Control> {
        let words: Vec<&str> = statement.split_whitespace().collect();
        if matches!(words.first(), Some(&("declare" | "fetch" | "move" | "copy" | "prepare" | "execute"))) {
            return control_of_rows(statement);
        }
        Some(match words.as_slice() {
            ["begin", ..] => Control::Begin(Modes::default()),
            ["start", "transaction"] => Control::Start(Modes::default()),
            ["commit" | "end"] => Control::Commit { chain: false },
            ["commit", "and", "chain"] => Control::Commit { chain: true },
            ["rollback" | "abort"] => Control::Rollback { chain: false },
            ["savepoint", name] => Control::Savepoint((*name).to_owned()),
            ["release", name] => Control::Release((*name).to_owned()),
            ["rollback", "to", name] => Control::RollbackTo((*name).to_owned()),
            ["deallocate", "all"] => Control::Deallocate(None),
            ["deallocate", name] => Control::Deallocate(Some((*name).to_owned())),
            ["close", "all"] => Control::CloseCursors(None),
            ["close", name] => Control::CloseCursors(Some((*name).to_owned())),
            ["discard", "all"] => Control::DiscardAll,
            _ => return None,
        })
    }

    async fn run(&mut self, statement: String, notices: &mut Vec<Notice>) -> Result<Outcome, ClientError> {
        let statement = inner(&statement);
        if statement == "select (1/0)::text" {
            return Err(division_by_zero());
        }
        if statement.contains('$') {
            return Err(ClientError::new(SqlState(*b"42P02"), "there is no parameter $1"));
        }
        self.seen.ran.lock().unwrap().push(statement.clone());
        let (verb, argument) = statement.split_once(' ').unwrap_or((&statement, ""));
        match verb {
            "select" if argument.starts_with("(1/(random()") => Ok(rows(vec![Err(division_by_zero())])),
            "select" => Ok(rows(vec![Ok(row(&[argument.trim_matches('\'')]))])),
            "values" => {
                let values = argument.split(',').map(|v| Ok(row(&[v.trim_matches(['(', ')', '\''])])));
                Ok(rows(values.collect()))
            }
            "startup" => {
                let value = self.startup.get(argument).map_or("", String::as_str);
                Ok(rows(vec![Ok(row(&[value]))]))
            }
            "steps" => Ok(rows(vec![Ok(row(&[&format!("{:?}", self.steps)]))])),
            "explain" => Ok(Outcome::Rows {
                fields: vec![text("QUERY PLAN")],
                rows: stream::iter([Ok(row(&["Noise"]))]).boxed(),
                verb: "EXPLAIN",
                count: false,
            }),
            "rows" => {
                let n: usize = argument.parse().unwrap();
                let seen = Arc::clone(&self.seen);
                let rows = stream::iter(0..n).map(move |i| {
                    seen.rows.fetch_add(1, Ordering::SeqCst);
                    Ok(row(&[&format!("{i:01000}")]))
                });
                Ok(Outcome::Rows { fields: vec![text("n")], rows: rows.boxed(), verb: "SELECT", count: true })
            }
            "endless" => {
                let guard = Dropped(Arc::clone(&self.seen));
                let rows = stream::repeat_with(move || {
                    guard.0.rows.fetch_add(1, Ordering::SeqCst);
                    Ok(row(&["again"]))
                });
                Ok(Outcome::Rows { fields: vec![text("n")], rows: rows.boxed(), verb: "SELECT", count: true })
            }
            "half" => {
                let e = ClientError::incident(SqlState::INTERNAL, "the rows ended early", &"a test");
                Ok(rows(vec![Ok(row(&["1"])), Err(e)]))
            }
            "misshapen" => Ok(rows(vec![Ok(row(&["1", "2"]))])),
            "lie" => match argument {
                "number" => Ok(Outcome::Rows {
                    fields: vec![text("one"), text("two")],
                    rows: stream::iter([Ok(row(&["1", "2"]))]).boxed(),
                    verb: "SELECT",
                    count: true,
                }),
                "type" => Ok(Outcome::Rows {
                    fields: vec![Field { type_oid: INT4, ..text("one") }],
                    rows: stream::iter([Ok(row(&["1"]))]).boxed(),
                    verb: "SELECT",
                    count: true,
                }),
                "none" => Ok(Outcome::Complete("LIE".into())),
                _ => Ok(rows(vec![Ok(row(&["1"]))])),
            },
            "notice" => {
                notices.push(Notice {
                    message: "spent".into(),
                    code: "00000",
                    hint: Some("ask again".into()),
                });
                notices.push(Notice { message: "nearly spent".into(), code: "01000", hint: None });
                match argument {
                    "" => Ok(rows(vec![Ok(row(&["1"]))])),
                    _ => Err(ClientError::new(SqlState::BUDGET_EXCEEDED, "spent indeed")),
                }
            }
            "set" => {
                self.changed.push(("application_name".into(), argument.to_owned()));
                Ok(Outcome::Complete("SET".into()))
            }
            "sleep" => {
                let _guard = Dropped(Arc::clone(&self.seen));
                match argument.parse() {
                    Ok(ms) => tokio::time::sleep(Duration::from_millis(ms)).await,
                    Err(_) => std::future::pending().await,
                }
                Ok(Outcome::Complete("SLEEP".into()))
            }
            "panic" => panic!("a defect in a statement: {argument}"),
            "forge" => Err(ClientError::new(SqlState::UNDEFINED_COLUMN, "no column \0Hforged")),
            _ => {
                Err(ClientError::new(SqlState::UNDEFINED_COLUMN, format!("column \"{verb}\" does not exist"))
                    .detail("It was never there.")
                    .hint("Ask for another.")
                    .at(Some(8)))
            }
        }
    }

    async fn describe(&mut self, statement: &String, types: &[u32]) -> Result<Description, ClientError> {
        let statement = &inner(statement);
        self.seen.prepared.lock().unwrap().push(format!("describe {statement}"));
        self.stall(statement, "stall describe").await;
        let fields = columns(statement);
        let used: Vec<u32> = match statement.strip_prefix("parameters ") {
            Some(n) => vec![TEXT; n.parse().unwrap()],
            None if statement.contains('$') => fields.iter().flatten().map(|f| f.type_oid).collect(),
            None => Vec::new(),
        };
        let mut parameters = types.to_vec();
        parameters.resize(types.len().max(used.len()), 0);
        for (parameter, used) in parameters.iter_mut().zip(used) {
            *parameter = used;
        }
        if let Some(open) = parameters.iter().position(|oid| *oid == 0) {
            let message = format!("could not determine data type of parameter ${}", open + 1);
            return Err(ClientError::new(SqlState(*b"42P18"), message));
        }
        Ok(Description { parameters, fields })
    }

    async fn bind(
        &mut self,
        statement: &String,
        description: &Description,
        values: Values,
    ) -> Result<FakePortal, ClientError> {
        let statement = &inner(statement);
        self.seen.prepared.lock().unwrap().push(format!("bind {statement}"));
        self.stall(statement, "stall bind").await;
        if statement == "select (1/0)::text" {
            return Err(division_by_zero());
        }
        let wanted = description.parameters.len();
        assert_eq!((values.parameters.len(), values.formats.len()), (wanted, wanted));
        let columns = description.fields.as_ref().map_or(0, Vec::len);
        assert!(values.results.len() == columns || values.results.len() == 2 * columns);
        let given = values.parameters.iter().zip(&values.formats).zip(&description.parameters);
        let decoded: Vec<_> = given.map(|((v, f), oid)| decode(v, *f, *oid)).collect::<Result<_, _>>()?;
        let formats = values.results.iter().chain(std::iter::repeat(&0));
        let times = values.results.len().checked_div(columns).unwrap_or(1);
        let decoded: Vec<_> = decoded.iter().zip(&description.parameters).collect();
        let decoded = decoded.iter().cycle().take(decoded.len() * times).zip(formats);
        let cells = decoded.map(|((v, oid), format)| encode(v, **oid, *format)).collect();
        let fields = description.fields.iter().flatten().cycle().zip(&values.results);
        let fields = fields.map(|(field, format)| Field { format: *format, ..field.clone() }).collect();
        Ok(FakePortal { statement: statement.clone(), cells, fields })
    }

    async fn execute(
        &mut self,
        portal: FakePortal,
        notices: &mut Vec<Notice>,
    ) -> Result<Outcome, ClientError> {
        let FakePortal { statement, mut cells, fields } = portal;
        self.stall(&statement, "stall execute").await;
        let made_of_values = statement.contains('$') || statement.starts_with("parameters ");
        if fields.is_empty() || !made_of_values {
            let outcome = self.run(statement.clone(), notices).await?;
            return Ok(match outcome {
                Outcome::Rows { rows, fields: once, verb, count } if !statement.starts_with("lie") => {
                    let twice = fields.len() == 2 * once.len();
                    let rows = rows.map(move |row| if twice { row.map(doubled) } else { row }).boxed();
                    Outcome::Rows { fields, rows, verb, count }
                }
                other => other,
            });
        }
        self.seen.ran.lock().unwrap().push(statement.clone());
        if statement.starts_with("parameters ") {
            let nulls = cells.iter().filter(|c| c.is_none()).count();
            let last = cells.last().cloned().flatten().unwrap_or_default();
            let last = String::from_utf8(last.to_vec()).unwrap();
            cells = vec![Some(Bytes::from(format!("{} values, {nulls} null, last {last}", cells.len())))];
        }
        cells.truncate(fields.len());
        let rows = stream::iter([Ok(row_of(&cells))]).boxed();
        Ok(Outcome::Rows { fields, rows, verb: "SELECT", count: true })
    }

    fn transaction(&mut self, step: &Control) {
        self.steps.push(step.clone());
    }

    fn changed_parameters(&mut self) -> Vec<(String, String)> {
        std::mem::take(&mut self.changed)
    }
}

impl FakeSession {
    /// Never returns, if this is what the statement is about.
    async fn stall(&self, statement: &str, here: &str) {
        if statement == here {
            let _guard = Dropped(Arc::clone(&self.seen));
            std::future::pending().await
        }
    }
}

/// A row whose cells come twice.
fn doubled(row: Bytes) -> Bytes {
    let count = u16::from_be_bytes([row[0], row[1]]);
    [&(2 * count).to_be_bytes()[..], &row[2..], &row[2..]].concat().into()
}

/// The query of DECLARE, PREPARE and COPY.
fn inner(statement: &str) -> String {
    let query = match statement.split_whitespace().next() {
        Some("declare") => statement.split_once(" for ").map(|(_, query)| query),
        Some("prepare") => statement.split_once(" as ").map(|(_, query)| query),
        Some("copy") => {
            statement.split_once('(').and_then(|(_, rest)| rest.split_once(") to stdout")).map(|(q, _)| q)
        }
        _ => None,
    };
    query.unwrap_or(statement).to_owned()
}

/// Statements about the rows of others, as noisegate's own parser reads them. What was damaged on its way is none.
fn control_of_rows(statement: &str) -> Option<Control> {
    let query = inner(statement);
    // Its query is none of PostgreSQL's.
    let at = statement.rfind(&query).filter(|at| *at > 0);
    let text = at.map_or(statement.to_owned(), |at| {
        format!("{}select 1{}", &statement[..at], &statement[at + query.len()..])
    });
    let Ok(mut parsed) = noisegate::sql::parse::parse(&text, &noisegate::policy::Limits::default()) else {
        return None;
    };
    Some(match parsed.remove(0).ast {
        Syntax::Declare(cursor, _) => Control::Declare(cursor),
        Syntax::Fetch(fetch) => Control::Fetch(fetch),
        Syntax::Copy(copy, _) => Control::Copy(copy),
        Syntax::Prepare(name, _, _) => Control::Prepare { name, types: Vec::new() },
        Syntax::Execute(name, _) => Control::Execute(name),
        _ => return None,
    })
}

/// The columns that a statement promises.
fn columns(statement: &str) -> Option<Vec<Field>> {
    let (verb, argument) = statement.split_once(' ').unwrap_or((statement, ""));
    match verb {
        "select" if argument.contains('$') => Some(
            argument
                .split(',')
                .map(|item| match item.split_once("::") {
                    Some((_, "int4")) => Field { type_oid: INT4, type_size: 4, ..text("int4") },
                    _ => text("text"),
                })
                .collect(),
        ),
        "explain" => Some(vec![text("QUERY PLAN")]),
        "lie" if argument == "rows" => None,
        "select" | "values" | "startup" | "steps" | "rows" | "endless" | "half" | "misshapen" | "notice"
        | "lie" | "parameters" => Some(vec![text("answer")]),
        _ => None,
    }
}

fn decode(value: &Cell, format: i16, oid: u32) -> Result<Cell, ClientError> {
    let Some(bytes) = value else { return Ok(None) };
    let code = |code: &[u8; 5], message: &str| ClientError::new(SqlState(*code), message);
    if (oid != INT4 || format == 0) && bytes.contains(&0) {
        return Err(code(b"22021", "invalid byte sequence for encoding \"UTF8\": 0x00"));
    }
    if oid != INT4 {
        return Ok(Some(bytes.clone()));
    }
    let number = if format == 0 {
        let digits = std::str::from_utf8(bytes).ok().and_then(|s| s.parse().ok());
        digits.ok_or_else(|| code(b"22P02", "invalid input syntax for type integer"))?
    } else if bytes.len() > 4 {
        return Err(code(b"22P03", "incorrect binary data format in bind parameter"));
    } else {
        let bytes = bytes[..].try_into().map_err(|_| code(b"08P01", "insufficient data left in message"))?;
        i32::from_be_bytes(bytes)
    };
    Ok(Some(Bytes::copy_from_slice(number.to_string().as_bytes())))
}

fn encode(value: &Cell, oid: u32, format: i16) -> Cell {
    let text = value.clone()?;
    if oid != INT4 || format == 0 {
        return Some(text);
    }
    let number: i32 = std::str::from_utf8(&text).unwrap().parse().unwrap();
    Some(Bytes::copy_from_slice(&number.to_be_bytes()))
}

fn division_by_zero() -> ClientError {
    ClientError::new(SqlState(*b"22012"), "division by zero")
}

struct Dropped(Arc<Seen>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.dropped.fetch_add(1, Ordering::SeqCst);
    }
}

fn text(name: &str) -> Field {
    Field { name: name.into(), type_oid: TEXT, type_size: -1, type_modifier: -1, format: 0 }
}

fn rows(rows: Vec<Result<Bytes, ClientError>>) -> Outcome {
    Outcome::Rows {
        fields: vec![text("answer")],
        rows: stream::iter(rows).boxed(),
        verb: "SELECT",
        count: true,
    }
}

fn row(cells: &[&str]) -> Bytes {
    row_of(&cells.iter().map(|c| Some(Bytes::copy_from_slice(c.as_bytes()))).collect::<Vec<_>>())
}

fn row_of(cells: &[Cell]) -> Bytes {
    let mut body = BytesMut::new();
    body.put_u16(u16::try_from(cells.len()).unwrap());
    for cell in cells {
        body.put_i32(cell.as_ref().map_or(-1, |c| i32::try_from(c.len()).unwrap()));
        body.put_slice(cell.as_deref().unwrap_or_default());
    }
    body.freeze()
}
