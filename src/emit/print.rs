//! The analyst's own statement, printed from our tree: over the real tables, to be typed and never run; and over
//! released relations, to be finished.

use super::{alias, ident, number, string, table};
use bigdecimal::BigDecimal;
use plan::Plan;
use plan::release::{Output, PartKind, Release};
use policy::Policy;
use schema::SqlType;
use sql::ast::*;

/// Values of the session that a statement may name, fixed before it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constants {
    /// `now()`, as text that casts to timestamptz.
    pub now: String,
    /// The analyst's login name.
    pub user: String,
    /// The database that the client asked for.
    pub database: String,
    /// `current_schema()`.
    pub schema: String,
    /// Rows of the relations of `noisegate.*` that the statement names; not needed to type it.
    pub own: Vec<(Own, Vec<OwnRow>)>,
}

/// A row of a relation of `noisegate.*`: text that casts to each column's type.
pub type OwnRow = Vec<Option<String>>;

/// A printed statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Printed {
    /// The text.
    pub sql: String,
    /// Where expressions start: byte offset here, character position in the analyst's text. Ascending.
    pub marks: Vec<(usize, usize)>,
}

impl Printed {
    /// The analyst's position that a backend's error position (characters, from 1) in this text belongs to.
    pub fn position(&self, at: usize) -> Option<usize> {
        let byte = self.sql.char_indices().nth(at.checked_sub(1)?).map(|(b, _)| b)?;
        self.marks.iter().rev().find(|(b, _)| *b <= byte).map(|(_, pos)| *pos)
    }
}

/// One parameter of the finish: a column of a released relation, as an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArrayParam {
    /// Group key number `key` of release number `release`.
    Key {
        /// Index in [`Plan::releases`].
        release: usize,
        /// Index of the key.
        key: usize,
        /// Its type.
        ty: SqlType,
    },
    /// A count, as int8.
    Count {
        /// Index in [`Plan::releases`].
        release: usize,
        /// Index of the part.
        part: usize,
    },
    /// A sum times its grid, as numeric.
    Sum {
        /// Index in [`Plan::releases`].
        release: usize,
        /// Index of the part.
        part: usize,
        /// The grid.
        grid: BigDecimal,
    },
}

/// The analyst's statement over the real tables. It is prepared, never executed.
pub fn typed(statement: &Statement, policy: &Policy, constants: &Constants) -> Printed {
    let mut p = Printer::new(statement, None, policy, constants);
    p.query(&statement.query);
    p.done()
}

/// A query for constants of the statement: one row, and for each of them whether it is an array's elements that are
/// wanted, and the text and type OID of its value (or of the elements, as JSON).
pub fn constants(
    statement: &Statement,
    wanted: &[(&Expr, bool)],
    policy: &Policy,
    constants: &Constants,
) -> Printed {
    let mut p = Printer::new(statement, None, policy, constants);
    p.put("SELECT ");
    p.list(wanted, |p, (e, array)| {
        if *array {
            // Elements as text, so that each becomes a constant of its own; NULL stays NULL.
            p.wrapped("(CASE WHEN ", e, " IS NOT NULL THEN pg_catalog.to_json(ARRAY(SELECT x.x::pg_catalog.text FROM pg_catalog.unnest(");
            p.expr(e);
            p.put(") AS x(x))) END)::pg_catalog.text, pg_catalog.pg_typeof((");
            p.expr(e);
            p.put(")[1])::pg_catalog.oid::pg_catalog.text");
        } else {
            p.wrapped("(", e, ")::pg_catalog.text, pg_catalog.pg_typeof(");
            p.expr(e);
            p.put(")::pg_catalog.oid::pg_catalog.text");
        }
    });
    p.done()
}

/// The analyst's statement over released relations, with the parameters that hold them.
pub fn finish(plan: &Plan, policy: &Policy, constants: &Constants) -> (Printed, Vec<ArrayParam>) {
    let mut p = Printer::new(&plan.statement, Some(plan), policy, constants);
    p.query(&plan.statement.query);
    let params = std::mem::take(&mut p.params);
    (p.done(), params)
}

struct Printer<'a> {
    statement: &'a Statement,
    /// The plan to finish; None while the statement is typed.
    plan: Option<&'a Plan>,
    policy: &'a Policy,
    constants: &'a Constants,
    out: String,
    marks: Vec<(usize, usize)>,
    params: Vec<ArrayParam>,
    /// The release that the SELECT being printed stands for, by its index.
    release: Option<usize>,
}

impl<'a> Printer<'a> {
    fn new(
        statement: &'a Statement,
        plan: Option<&'a Plan>,
        policy: &'a Policy,
        constants: &'a Constants,
    ) -> Self {
        Self {
            statement,
            plan,
            policy,
            constants,
            out: String::new(),
            marks: Vec::new(),
            params: Vec::new(),
            release: None,
        }
    }

    fn done(self) -> Printed {
        Printed { sql: self.out, marks: self.marks }
    }

    fn put(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn list<T>(&mut self, items: &[T], mut each: impl FnMut(&mut Self, &T)) {
        for (i, item) in items.iter().enumerate() {
            if i > 0 {
                self.put(", ");
            }
            each(self, item);
        }
    }

    fn query(&mut self, q: &Query) {
        let ctes: Vec<&Cte> =
            q.with.iter().filter(|c| !self.plan.is_some_and(|p| p.private_ctes.contains(&c.id))).collect();
        if !ctes.is_empty() {
            self.put("WITH ");
            self.list(&ctes, |p, c| {
                p.put(&format!("q{}", c.id));
                p.columns(c.query.body.names().len());
                p.put(" AS (");
                p.query(&c.query);
                p.put(")");
            });
            self.put(" ");
        }
        let outer = self.release;
        match &q.body {
            Body::Select(s) => {
                self.release = self.release_of(s);
                self.select(s);
            }
            body => self.body(body),
        }
        if !q.order_by.is_empty() {
            self.put(" ORDER BY ");
            self.list(&q.order_by, Self::order_item);
        }
        self.release = outer;
        for (word, e) in [(" LIMIT ", &q.limit), (" OFFSET ", &q.offset)] {
            if let Some(e) = e {
                self.put(word);
                self.expr(e);
            }
        }
    }

    /// `(c0, c1, …)`
    fn columns(&mut self, n: usize) {
        let names: Vec<String> = (0..n).map(|i| format!("c{i}")).collect();
        self.put(&format!("({})", names.join(", ")));
    }

    fn release_of(&self, s: &Select) -> Option<usize> {
        self.plan?.releases.iter().position(|r| r.select == s.id)
    }

    fn body(&mut self, body: &Body) {
        match body {
            Body::Select(s) => {
                let outer = self.release;
                self.release = self.release_of(s);
                self.select(s);
                self.release = outer;
            }
            Body::Query(q) => {
                self.put("(");
                self.query(q);
                self.put(")");
            }
            Body::SetOp { op, all, left, right } => {
                self.operand(left);
                self.put(match op {
                    SetOp::Union => " UNION ",
                    SetOp::Intersect => " INTERSECT ",
                    SetOp::Except => " EXCEPT ",
                });
                if *all {
                    self.put("ALL ");
                }
                self.operand(right);
            }
            Body::Values(rows) => {
                self.put("VALUES ");
                self.list(rows, |p, row| {
                    p.put("(");
                    p.list(row, Self::expr);
                    p.put(")");
                });
            }
        }
    }

    fn operand(&mut self, body: &Body) {
        let wrap = matches!(body, Body::SetOp { .. });
        if wrap {
            self.put("(");
        }
        self.body(body);
        if wrap {
            self.put(")");
        }
    }

    fn select(&mut self, s: &Select) {
        self.put("SELECT ");
        match &s.distinct {
            Distinct::No => {}
            Distinct::All => self.put("DISTINCT "),
            Distinct::On(list) => {
                self.put("DISTINCT ON (");
                self.list(list, Self::expr);
                self.put(") ");
            }
        }
        self.list(&s.items, |p, item| {
            p.expr(&item.expr);
            p.put(" AS ");
            p.put(&ident(&item.name));
        });
        if let Some(r) = self.release {
            self.released(r);
            // Aggregates are columns now: HAVING is a filter over rows.
            self.clause(" WHERE ", s.having.as_ref());
            return;
        }
        if !s.from.is_empty() {
            self.put(" FROM ");
            self.list(&s.from, Self::from);
        }
        self.clause(" WHERE ", s.filter.as_ref());
        if !s.group_by.is_empty() {
            self.put(" GROUP BY ");
            self.list(&s.group_by, |p, e| {
                // PostgreSQL takes a constant for a column's number, parentheses or not: give it the number.
                let item = matches!(e.kind, ExprKind::Literal(_))
                    .then(|| s.items.iter().position(|i| i.expr == *e))
                    .flatten();
                match item {
                    Some(i) => p.put(&(i + 1).to_string()),
                    None => p.expr(e),
                }
            });
        }
        self.clause(" HAVING ", s.having.as_ref());
    }

    fn clause(&mut self, word: &str, e: Option<&Expr>) {
        if let Some(e) = e {
            self.put(word);
            self.expr(e);
        }
    }

    /// FROM of a released relation: its arrays, side by side.
    fn released(&mut self, index: usize) {
        let Some(r) = self.plan.and_then(|p| p.releases.get(index)) else { return };
        if r.is_domain_only() {
            let rows = super::fetch::domain_rows(r, self.policy);
            self.put(&format!(" FROM ({rows}) AS r{index}"));
            return;
        }
        let mut arrays = Vec::new();
        let mut names = Vec::new();
        for (k, key) in r.keys.iter().enumerate() {
            let ty = key.scalar.ty().clone();
            arrays.push(ty.sql_name());
            names.push(format!("k{k}"));
            self.params.push(ArrayParam::Key { release: index, key: k, ty });
        }
        for (i, part) in r.parts.iter().enumerate() {
            names.push(format!("a{i}"));
            match &part.kind {
                PartKind::Sum(s) => {
                    arrays.push("pg_catalog.numeric".into());
                    self.params.push(ArrayParam::Sum { release: index, part: i, grid: s.grid().clone() });
                }
                _ => {
                    arrays.push("pg_catalog.int8".into());
                    self.params.push(ArrayParam::Count { release: index, part: i });
                }
            }
        }
        let first = self.params.len() - arrays.len() + 1;
        let unnest: Vec<String> = arrays
            .iter()
            .enumerate()
            .map(|(i, ty)| format!("pg_catalog.unnest(${}::{ty}[])", first + i))
            .collect();
        self.put(&format!(" FROM ROWS FROM ({}) AS r{index}({})", unnest.join(", "), names.join(", ")));
    }

    fn from(&mut self, f: &From) {
        match f {
            From::Relation { binding, query, .. } => {
                let Some(b) = self.statement.bindings.get(*binding) else { return };
                match (&b.source, query) {
                    (Source::Table(t), _) => {
                        let name = self.policy.tables.get(*t).map(table).unwrap_or_default();
                        self.put(&format!("{name} AS {}", alias(*binding)));
                    }
                    (Source::Cte(id), _) => {
                        self.put(&format!("q{id} AS {}", alias(*binding)));
                    }
                    (Source::Own(own), _) => {
                        let rows = self.own_rows(*own);
                        self.put(&format!("({rows}) AS {}", alias(*binding)));
                        self.columns(own.columns().len());
                    }
                    (Source::Derived, Some(q)) => {
                        self.put("(");
                        // A derived table is printed on its own terms.
                        let outer = self.release.take();
                        self.query(q);
                        self.release = outer;
                        self.put(&format!(") AS {}", alias(*binding)));
                        self.columns(q.body.names().len());
                    }
                    (Source::Derived, None) => {}
                }
            }
            From::Join { left, right, kind, on, .. } => {
                self.from(left);
                self.put(match (kind, on) {
                    (JoinKind::Inner, None) => " CROSS JOIN ",
                    (JoinKind::Inner, _) => " JOIN ",
                    (JoinKind::Left, _) => " LEFT JOIN ",
                    (JoinKind::Right, _) => " RIGHT JOIN ",
                    (JoinKind::Full, _) => " FULL JOIN ",
                });
                let nested = matches!(**right, From::Join { .. });
                if nested {
                    self.put("(");
                }
                self.from(right);
                if nested {
                    self.put(")");
                }
                match on {
                    Some(on) => self.clause(" ON ", Some(on)),
                    None if *kind != JoinKind::Inner => self.put(" ON true"),
                    None => {}
                }
            }
        }
    }

    /// The rows of a relation of ours; none while the statement is typed.
    fn own_rows(&self, own: Own) -> String {
        let cast = |value: &str, ty: &str| format!("{value}::pg_catalog.{ty}");
        let rows = self.constants.own.iter().find(|(o, _)| *o == own).map(|(_, rows)| rows.as_slice());
        let rows = rows.filter(|r| self.plan.is_some() && !r.is_empty()).unwrap_or_default();
        if rows.is_empty() {
            let nulls: Vec<String> = own.columns().iter().map(|(_, ty)| cast("NULL", ty)).collect();
            return format!("SELECT {} WHERE false", nulls.join(", "));
        }
        let row = |cells: &OwnRow| {
            let cells = cells.iter().zip(own.columns()).map(|(cell, (_, ty))| match cell {
                Some(text) => cast(&string(text), ty),
                None => cast("NULL", ty),
            });
            format!("({})", cells.collect::<Vec<_>>().join(", "))
        };
        format!("VALUES {}", rows.iter().map(row).collect::<Vec<_>>().join(", "))
    }

    fn order_item(&mut self, o: &OrderItem) {
        self.expr(&o.expr);
        if o.desc {
            self.put(" DESC");
        }
        match o.nulls_first {
            Some(true) => self.put(" NULLS FIRST"),
            Some(false) => self.put(" NULLS LAST"),
            None => {}
        }
    }

    fn expr(&mut self, e: &Expr) {
        if let Some(pos) = e.pos {
            self.marks.push((self.out.len(), pos));
        }
        if let Some(index) = self.release
            && let Some(r) = self.plan.and_then(|p| p.releases.get(index))
        {
            if let Some(k) = r.keys.iter().position(|k| k.expr == *e) {
                self.put(&format!("r{index}.k{k}"));
                return;
            }
            if let ExprKind::Aggregate(a) = &e.kind
                && let Some((_, output)) = r.outputs.iter().find(|(have, _)| *have == **a)
            {
                let text = output_text(index, r, output);
                self.put(&text);
                return;
            }
        }
        self.kind(&e.kind);
    }

    fn kind(&mut self, kind: &ExprKind) {
        match kind {
            ExprKind::Column { binding, column } => self.column(*binding, *column),
            ExprKind::Output(i) => self.put(&(i + 1).to_string()),
            ExprKind::Literal(l) => self.put(&match l {
                Literal::Number(n) if n.starts_with('-') => format!("({n})"),
                Literal::Number(n) => n.clone(),
                Literal::String(s) => string(s),
                Literal::Bool(b) => b.to_string(),
                Literal::Null => "NULL".into(),
            }),
            ExprKind::Param(n) => self.put(&format!("${n}")),
            ExprKind::Any { op, expr, array, all } => {
                self.wrapped("(", expr, " ");
                self.put(plan::expr::operator(*op));
                self.wrapped(if *all { " ALL (" } else { " ANY (" }, array, "))");
            }
            ExprKind::Negate(x) => self.wrapped("(- ", x, ")"),
            ExprKind::Not(x) => self.wrapped("(NOT ", x, ")"),
            ExprKind::Binary { op, left, right } => {
                self.put("(");
                self.expr(left);
                self.put(&format!(" {} ", plan::expr::operator(*op)));
                self.expr(right);
                self.put(")");
            }
            ExprKind::Is { expr, what, negated } => {
                self.wrapped("(", expr, if *negated { " IS NOT " } else { " IS " });
                self.put(match what {
                    Is::Null => "NULL)",
                    Is::True => "TRUE)",
                    Is::False => "FALSE)",
                    Is::Unknown => "UNKNOWN)",
                });
            }
            ExprKind::Like { expr, pattern, escape, insensitive, negated } => {
                self.wrapped("(", expr, if *negated { " NOT" } else { "" });
                self.wrapped(if *insensitive { " ILIKE " } else { " LIKE " }, pattern, "");
                if let Some(e) = escape {
                    self.put(&format!(" ESCAPE {}", string(e)));
                }
                self.put(")");
            }
            ExprKind::In { expr, list, negated } => {
                self.wrapped("(", expr, if *negated { " NOT IN (" } else { " IN (" });
                self.list(list, Self::expr);
                self.put("))");
            }
            ExprKind::Between { expr, low, high, negated } => {
                self.wrapped("(", expr, if *negated { " NOT BETWEEN " } else { " BETWEEN " });
                self.expr(low);
                self.wrapped(" AND ", high, ")");
            }
            ExprKind::Case { branches, otherwise } => {
                self.put("(CASE");
                for (when, then) in branches {
                    self.wrapped(" WHEN ", when, " THEN ");
                    self.expr(then);
                }
                if let Some(e) = otherwise {
                    self.wrapped(" ELSE ", e, "");
                }
                self.put(" END)");
            }
            ExprKind::Cast { expr, ty } => {
                self.wrapped("(", expr, ")::");
                self.put(&format!("{}{}", ty.ty.sql_name(), ty.modifier));
            }
            ExprKind::Extract { field, expr } => {
                // The field came from a parsed name; only letters and underscores are printed.
                let field: String = field.chars().filter(|c| c.is_ascii_alphabetic() || *c == '_').collect();
                self.wrapped(&format!("EXTRACT({} FROM ", ident(&field)), expr, ")");
            }
            ExprKind::AtTimeZone { expr, zone } => {
                self.wrapped("(", expr, " AT TIME ZONE ");
                self.wrapped("", zone, ")");
            }
            ExprKind::Interval(text) => self.put(&format!("{}::pg_catalog.interval", string(text))),
            ExprKind::Call { name, args } => {
                let name = match *name {
                    // Syntax, not functions of pg_catalog.
                    n @ ("coalesce" | "nullif" | "greatest" | "least") => n.to_uppercase(),
                    n => format!("pg_catalog.{}", ident(n)),
                };
                self.put(&format!("{name}("));
                self.list(args, Self::expr);
                self.put(")");
            }
            ExprKind::Session(v) => {
                let text = self.session(*v);
                self.put(&text);
            }
            ExprKind::Aggregate(a) => self.aggregate(a),
            ExprKind::Window { function, partition_by, order_by, frame } => {
                // The function itself is printed, even where an equal aggregate was released.
                match &function.kind {
                    ExprKind::Aggregate(a) => self.aggregate(a),
                    other => self.kind(other),
                }
                self.put(" OVER (");
                if !partition_by.is_empty() {
                    self.put("PARTITION BY ");
                    self.list(partition_by, Self::expr);
                }
                if !order_by.is_empty() {
                    self.put(" ORDER BY ");
                    self.list(order_by, Self::order_item);
                }
                if let Some(f) = frame {
                    self.put(&format!(" {f}"));
                }
                self.put(")");
            }
            ExprKind::Subquery(q) => self.nested("(", q),
            ExprKind::Exists { query, negated } => {
                self.nested(if *negated { "(NOT EXISTS (" } else { "(EXISTS (" }, query);
                self.put(")");
            }
            ExprKind::InQuery { expr, query, negated } => {
                self.wrapped("(", expr, if *negated { " NOT IN " } else { " IN " });
                self.nested("(", query);
                self.put(")");
            }
            ExprKind::Array(list) => {
                self.put("ARRAY[");
                self.list(list, Self::expr);
                self.put("]");
            }
        }
    }

    fn nested(&mut self, open: &str, q: &Query) {
        self.put(open);
        let outer = self.release.take();
        self.query(q);
        self.release = outer;
        self.put(")");
    }

    fn wrapped(&mut self, before: &str, e: &Expr, after: &str) {
        self.put(before);
        self.expr(e);
        self.put(after);
    }

    fn aggregate(&mut self, a: &Aggregate) {
        self.put(&format!("pg_catalog.{}(", ident(a.name)));
        if a.distinct {
            self.put("DISTINCT ");
        }
        if a.args.is_empty() && a.within_group.is_empty() {
            self.put("*");
        }
        self.list(&a.args, Self::expr);
        if !a.order_by.is_empty() {
            self.put(" ORDER BY ");
            self.list(&a.order_by, Self::order_item);
        }
        self.put(")");
        if !a.within_group.is_empty() {
            self.put(" WITHIN GROUP (ORDER BY ");
            self.list(&a.within_group, Self::order_item);
            self.put(")");
        }
        if let Some(f) = &a.filter {
            self.wrapped(" FILTER (WHERE ", f, ")");
        }
    }

    fn column(&mut self, binding: usize, column: usize) {
        let name = match self.statement.bindings.get(binding) {
            // A table's columns keep their names, whatever the alias calls them.
            Some(Binding { source: Source::Table(t), .. }) => self
                .policy
                .tables
                .get(*t)
                .and_then(|t| t.columns.get(column))
                .map(|c| ident(&c.name))
                .unwrap_or_default(),
            _ => format!("c{column}"),
        };
        self.put(&format!("{}.{name}", alias(binding)));
    }

    fn session(&self, v: SessionValue) -> String {
        let now = format!("{}::pg_catalog.timestamptz", string(&self.constants.now));
        match v {
            SessionValue::Now => now,
            SessionValue::Date => format!("({now})::pg_catalog.date"),
            SessionValue::LocalTimestamp => format!("({now})::pg_catalog.timestamp"),
            SessionValue::User => format!("{}::pg_catalog.name", string(&self.constants.user)),
            SessionValue::Database => format!("{}::pg_catalog.name", string(&self.constants.database)),
            SessionValue::Schema => format!("{}::pg_catalog.name", string(&self.constants.schema)),
        }
    }
}

/// One of the analyst's aggregates over the released columns, in the type that PostgreSQL gives it.
fn output_text(index: usize, r: &Release, output: &Output) -> String {
    match output {
        Output::Count(part) => format!("r{index}.a{part}"),
        Output::Sum(part, SqlType::Int8) => {
            format!(
                "LEAST(GREATEST(r{index}.a{part}, -9223372036854775808), 9223372036854775807)::pg_catalog.int8"
            )
        }
        Output::Sum(part, ty) => format!("(r{index}.a{part})::{}", ty.sql_name()),
        Output::Zero(ty) => format!("0::{}", ty.sql_name()),
        Output::Constant { count, ty, value } => {
            let value = number(value);
            format!("(CASE WHEN r{index}.a{count} >= 1 THEN {value} END)::{}", ty.sql_name())
        }
        Output::Avg { sum, count, ty, low, high } => {
            let Some(PartKind::Sum(s)) = r.parts.get(*sum).map(|p| &p.kind) else { return "NULL".into() };
            let center = number(&(BigDecimal::from(s.centre()) * s.grid()));
            let (low, high) = (number(low), number(high));
            format!(
                "(CASE WHEN r{index}.a{count} >= 1 THEN LEAST(GREATEST({center} + r{index}.a{sum} / r{index}.a{count}, {low}), {high}) END)::{}",
                ty.sql_name()
            )
        }
    }
}

/// PostgreSQL's words about a typed text, with `b0.c1` in them turned back into the analyst's names.
pub fn analysts_names(message: &str, bindings: &[Binding]) -> String {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    let mut out = String::with_capacity(message.len());
    let mut rest = message;
    while let Some(start) = rest.find(word) {
        let (before, from) = rest.split_at(start);
        let (token, after) = from.split_at(from.find(|c| !word(c)).unwrap_or(from.len()));
        out.push_str(before);
        out.push_str(&own_name(token, bindings).unwrap_or_else(|| token.to_owned()));
        rest = after;
    }
    out + rest
}

fn own_name(token: &str, bindings: &[Binding]) -> Option<String> {
    let (binding, column) = token.split_once('.')?;
    let binding = bindings.get(binding.strip_prefix('b')?.parse::<usize>().ok()?)?;
    // Columns of tables keep their names in the text; those of other relations are numbered.
    let own = match &binding.source {
        Source::Table(_) => None,
        _ => column.strip_prefix('c').and_then(|n| binding.columns.get(n.parse::<usize>().ok()?)),
    };
    Some(format!("{}.{}", binding.name, own.map_or(column, String::as_str)))
}

/// The query that counts the distinct values of a public column.
pub fn domain_size(policy: &Policy, t: usize, column: &str) -> String {
    let from = policy.tables.get(t).map(table).unwrap_or_default();
    format!("SELECT pg_catalog.count(DISTINCT t.{}) FROM {from} AS t", ident(column))
}
