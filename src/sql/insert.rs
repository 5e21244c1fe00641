//! INSERT and COPY FROM as far as what is collected can take them: rows of constants and parameters for a relation.

use crate::lines::Lines;
use crate::names::parts;
use crate::read_only::read_only;
use answer::{ClientError, SqlState};
use sqlparser::ast::{self, Expr};

/// A statement that writes rows. Whether there is anything to write to, the policy says.
#[derive(Clone)]
pub struct Insert {
    /// INSERT or COPY FROM.
    pub verb: &'static str,
    /// Schema of the relation's name.
    pub schema: Option<String>,
    /// The relation.
    pub relation: String,
    /// The columns, in the order of the cells; None for all.
    pub columns: Option<Vec<String>>,
    /// The rows of an INSERT, or what is wrong with it. None for COPY, whose rows come later.
    pub rows: Result<Vec<Vec<Cell>>, ClientError>,
    /// Position in the text.
    pub at: Option<usize>,
}

/// A value of a row. It is a person's: nothing prints it.
#[derive(Clone)]
pub enum Cell {
    /// NULL.
    Null,
    /// A constant, as text.
    Text(String),
    /// `$n`, from 1.
    Param(usize),
    /// `ARRAY[…]`, of constants and parameters.
    List(Vec<Cell>),
}

impl Cell {
    /// The numbers of its parameters.
    pub fn parameters(&self) -> Vec<usize> {
        match self {
            Cell::Param(n) => vec![*n],
            Cell::List(cells) => cells.iter().flat_map(Cell::parameters).collect(),
            Cell::Null | Cell::Text(_) => Vec::new(),
        }
    }
}

impl Insert {
    const COPY: &str = "COPY FROM";

    /// Number of parameters.
    pub fn parameters(&self) -> usize {
        let cells = self.rows.iter().flatten().flatten();
        cells.flat_map(Cell::parameters).max().unwrap_or(0)
    }

    /// Rows arrive later.
    pub fn is_copy(&self) -> bool {
        self.verb == Self::COPY
    }

    /// The refusal for everybody who may not write.
    pub fn read_only(&self) -> ClientError {
        read_only(self.verb, self.at)
    }

    /// COPY … FROM STDIN.
    pub fn copy(schema: Option<String>, relation: String, columns: Option<Vec<String>>) -> Self {
        Self { verb: Self::COPY, schema, relation, columns, rows: Ok(Vec::new()), at: None }
    }

    /// From the parser's tree.
    pub fn of(insert: &ast::Insert, lines: &Lines, at: Option<usize>) -> Self {
        let names = match &insert.table {
            ast::TableObject::TableName(name) => parts(name),
            _ => Vec::new(),
        };
        let (schema, relation) = match names.as_slice() {
            [relation] => (None, relation.clone()),
            [schema, relation] => (Some(schema.clone()), relation.clone()),
            _ => (None, String::new()),
        };
        let columns: Vec<String> =
            insert.columns.iter().map(|c| parts(c).pop().unwrap_or_default()).collect();
        let columns = (!columns.is_empty()).then_some(columns);
        let rows = rows(insert, lines).map_err(|e| if e.position.is_some() { e } else { e.at(at) });
        Self { verb: "INSERT", schema, relation, columns, rows, at }
    }
}

fn refused(what: &str, hint: &str) -> ClientError {
    ClientError::unsupported(format!("{what} is not supported for what is collected")).hint(hint)
}

const PLAIN: &str = "Write INSERT INTO relation (column, …) VALUES ($1, …), …";

fn rows(insert: &ast::Insert, lines: &Lines) -> Result<Vec<Vec<Cell>>, ClientError> {
    if insert.returning.is_some() {
        return Err(refused(
            "RETURNING",
            "What was stored is not what was said, and nobody reads it back: leave it out.",
        ));
    }
    if insert.on.is_some() {
        return Err(refused("ON CONFLICT", "Reports have no key that could conflict: leave it out."));
    }
    let odd = insert.or.is_some()
        || insert.ignore
        || insert.overwrite
        || insert.replace_into
        || !insert.assignments.is_empty()
        || insert.partitioned.is_some()
        || !insert.after_columns.is_empty()
        || insert.table_alias.is_some()
        || insert.output.is_some()
        || insert.settings.is_some()
        || insert.format_clause.is_some();
    if odd {
        return Err(refused("this form of INSERT", PLAIN));
    }
    let Some(query) = &insert.source else { return Err(refused("INSERT … DEFAULT VALUES", PLAIN)) };
    let plain = query.with.is_none()
        && query.order_by.is_none()
        && query.limit_clause.is_none()
        && query.fetch.is_none();
    match &*query.body {
        ast::SetExpr::Values(values) if plain => {
            let row = |r: &ast::Parens<Vec<Expr>>| r.content.iter().map(|e| cell(e, lines)).collect();
            values.rows.iter().map(row).collect()
        }
        _ => Err(refused(
            "INSERT … SELECT",
            "It would read what it writes: send the rows themselves, by VALUES or COPY … FROM STDIN.",
        )),
    }
}

/// A constant or a parameter. A cast is taken as what it says of the type, which the column knows.
fn cell(e: &Expr, lines: &Lines) -> Result<Cell, ClientError> {
    let other = || {
        refused("an expression in VALUES", "Compute it on your side: values are constants or parameters.")
            .at(lines.start(e))
    };
    match e {
        Expr::Nested(inner) => cell(inner, lines),
        Expr::Cast { expr, kind: ast::CastKind::Cast | ast::CastKind::DoubleColon, format: None, .. } => {
            cell(expr, lines)
        }
        Expr::UnaryOp { op: ast::UnaryOperator::Minus, expr } => match cell(expr, lines)? {
            Cell::Text(n) if n.starts_with(|c: char| c.is_ascii_digit()) => Ok(Cell::Text(format!("-{n}"))),
            _ => Err(other()),
        },
        // Of one dimension: what stands in it are values.
        Expr::Array(array) => {
            let within = |e: &Expr| match cell(e, lines)? {
                Cell::List(_) => Err(other()),
                one => Ok(one),
            };
            array.elem.iter().map(within).collect::<Result<_, _>>().map(Cell::List)
        }
        Expr::Value(v) => Ok(match &v.value {
            ast::Value::Null => Cell::Null,
            ast::Value::Boolean(b) => Cell::Text(b.to_string()),
            ast::Value::Number(n, _) => Cell::Text(n.clone()),
            ast::Value::SingleQuotedString(s) | ast::Value::EscapedStringLiteral(s) => Cell::Text(s.clone()),
            ast::Value::DollarQuotedString(s) => Cell::Text(s.value.clone()),
            ast::Value::Placeholder(p) => {
                let n = p.strip_prefix('$').and_then(|n| n.parse().ok()).filter(|n| (1..=65_535).contains(n));
                let none =
                    || ClientError::new(SqlState::SYNTAX_ERROR, "this is no parameter").at(lines.start(e));
                Cell::Param(n.ok_or_else(none)?)
            }
            _ => return Err(other()),
        }),
        _ => Err(other()),
    }
}
