//! Parts of a statement that do not vary with rows: found, so that PostgreSQL can be asked for their values once,
//! and replaced by these values. Parameters, `now()` and `date '1998-12-01' - interval '90 days'` become plain
//! constants this way, before the statement is planned.

use super::ast::*;

/// Constants that are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Constants that hold a parameter.
    Parameters,
    /// Constants, too, whose value the planner has to know and cannot compute.
    Values,
}

/// A part that does not vary.
#[derive(Clone, Debug, PartialEq)]
pub struct Constant {
    /// The expression.
    pub expr: Expr,
    /// The constant is the array of an ANY or ALL: its elements are wanted, one by one.
    pub array: bool,
}

/// What is known of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    /// It varies with rows, or holds something that does.
    Varies,
    /// A constant that is as good as its value.
    Plain,
    /// An interval, or a constant with a type: by itself as good as its value, but not in arithmetic.
    Typed,
    /// A constant to ask for.
    Wanted,
}

/// The largest constant parts of a statement that are wanted, each once.
pub fn constants(statement: &mut Statement, wanted: Wanted) -> Vec<Constant> {
    let mut found: Vec<Constant> = Vec::new();
    visit(statement, wanted, &mut |expr, array| {
        let constant = Constant { expr: expr.clone(), array };
        if !found.contains(&constant) {
            found.push(constant);
        }
    });
    found
}

/// Calls `f` for each of the largest constant parts that are wanted; the second argument says whether it is the array
/// of an ANY or ALL.
pub fn visit(statement: &mut Statement, wanted: Wanted, f: &mut dyn FnMut(&mut Expr, bool)) {
    Visitor { wanted, f }.query(&mut statement.query);
}

/// The highest number of a parameter in the statement; 0 without any.
pub fn parameters(statement: &mut Statement) -> (usize, Pos) {
    let mut highest = (0, None);
    visit(statement, Wanted::Parameters, &mut |e, _| {
        for e in e.parts() {
            if let ExprKind::Param(n) = e.kind
                && n > highest.0
            {
                highest = (n, e.pos);
            }
        }
    });
    highest
}

struct Visitor<'f> {
    wanted: Wanted,
    f: &'f mut dyn FnMut(&mut Expr, bool),
}

impl Visitor<'_> {
    fn query(&mut self, q: &mut Query) {
        q.exprs_mut().into_iter().for_each(|e| self.root(e));
    }

    fn root(&mut self, e: &mut Expr) {
        if self.expr(e) == Class::Wanted {
            (self.f)(e, false);
        }
    }

    fn expr(&mut self, e: &mut Expr) -> Class {
        if let Some(q) = e.query_mut() {
            self.query(q);
        }
        // A window function means nothing without its window: only its arguments can be constants.
        if let ExprKind::Window { function, partition_by, order_by, .. } = &mut e.kind {
            let around = partition_by.iter_mut().chain(order_by.iter_mut().map(|o| &mut o.expr));
            function.children_mut().into_iter().chain(around).for_each(|e| self.root(e));
            return Class::Varies;
        }
        let own = self.own(&e.kind);
        let array = matches!(e.kind, ExprKind::Any { .. });
        let mut children = e.children_mut();
        let classes: Vec<Class> = children.iter_mut().map(|c| self.expr(c)).collect();
        if own == Class::Varies || classes.contains(&Class::Varies) {
            for (i, (child, class)) in children.into_iter().zip(classes).enumerate() {
                // An array is asked for whatever is in it: only its elements can be planned with.
                let elements = array && i == 1 && class != Class::Varies;
                if class == Class::Wanted || elements {
                    (self.f)(child, elements);
                }
            }
            return Class::Varies;
        }
        let typed = self.wanted == Wanted::Values && arithmetic(&e.kind) && classes.contains(&Class::Typed);
        if own == Class::Wanted || typed || classes.contains(&Class::Wanted) {
            return Class::Wanted;
        }
        own
    }

    /// The class of an expression whose parts are all plain constants.
    fn own(&self, kind: &ExprKind) -> Class {
        let value = if self.wanted == Wanted::Values { Class::Wanted } else { Class::Plain };
        match kind {
            kind if kind.varies() => Class::Varies,
            ExprKind::Param(_) => Class::Wanted,
            ExprKind::Session(_)
            | ExprKind::AtTimeZone { .. }
            | ExprKind::Extract { .. }
            | ExprKind::Call { .. }
            | ExprKind::Any { .. } => value,
            // As the session is set, which PostgreSQL knows.
            ExprKind::Cast { expr, ty } if ty.ty.is_datetime() && is_read_by_settings(expr) => value,
            ExprKind::Interval(_) | ExprKind::Cast { .. } => Class::Typed,
            _ => Class::Plain,
        }
    }
}

/// Whether it is the text of a moment that styles or names of zones decide about. All read alike what begins with a year of
/// four digits, its month and day, and goes on with nothing but a time of day and an offset.
pub fn is_read_by_settings(e: &Expr) -> bool {
    let ExprKind::Literal(Literal::String(text)) = &e.kind else { return false };
    let shape: String = text.trim().chars().map(|c| if c.is_ascii_digit() { '9' } else { c }).collect();
    let (day, clock) = shape.split_once([' ', 'T']).map_or((shape.as_str(), None), |(d, c)| (d, Some(c)));
    let day = matches!(day, "9999-99-99" | "9999-9-99" | "9999-99-9" | "9999-9-9");
    let clock = clock.is_none_or(|clock| {
        let offset = clock.strip_prefix("99:99").map(|r| r.strip_prefix(":99").unwrap_or(r));
        let offset = offset.map(|r| r.strip_prefix('.').map_or(r, |r| r.trim_start_matches('9')));
        let signed = |o: &str| o.strip_prefix(['+', '-']).is_some_and(|o| matches!(o, "99" | "99:99"));
        offset.is_some_and(|o| matches!(o, "" | "Z" | "z") || signed(o))
    });
    !(matches!(text.trim(), "infinity" | "-infinity") || day && clock)
}

/// Operators whose meaning depends on the types of their operands.
fn arithmetic(kind: &ExprKind) -> bool {
    use BinaryOp::{Add, Concat, Div, Mod, Mul, Sub};
    match kind {
        ExprKind::Binary { op, .. } => matches!(op, Add | Sub | Mul | Div | Mod | Concat),
        ExprKind::Negate(_) => true,
        // A cast of arithmetic is asked for with it, a cast of a cast by itself.
        ExprKind::Cast { .. } => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;
    use crate::catalog::{Catalog, Relation};
    use crate::{Kind, classify, parse, resolve};
    use policy::Limits;

    struct One;

    impl Catalog for One {
        fn relation(&self, _: Option<&str>, _: &str) -> Option<Relation> {
            Some(Relation { source: Source::Table(0), columns: vec!["x".into(), "t".into()] })
        }

        fn names(&self) -> Vec<String> {
            vec!["r".into()]
        }
    }

    fn statement(sql: &str) -> Statement {
        let limits = Limits::default();
        let parsed = parse::parse(sql, &limits).unwrap().remove(0);
        let Kind::Query(q, lines) = classify(parsed).unwrap().kind else { panic!("no query: {sql}") };
        resolve::resolve(&q, &lines, &One, &limits).unwrap()
    }

    /// How many constants are wanted, and how many of them are arrays.
    fn wanted(sql: &str, wanted: Wanted) -> (usize, usize) {
        let found = constants(&mut statement(sql), wanted);
        (found.len(), found.iter().filter(|c| c.array).count())
    }

    #[test]
    fn the_largest_constants_are_found_once() {
        use Wanted::{Parameters, Values};
        for (sql, params, values) in [
            ("SELECT count(*) FROM r WHERE t > date '1998-12-01' - interval '90 days'", (0, 0), (1, 0)),
            ("SELECT count(*) FROM r WHERE t > now() - interval '6 hours' AND t <= now()", (0, 0), (2, 0)),
            ("SELECT count(*) FROM r WHERE x > $1 + 5 AND x < $2 OR x = $2", (2, 0), (2, 0)),
            ("SELECT count(*) FROM r WHERE x = 5 + 1 AND t > '2024-01-01'::date", (0, 0), (0, 0)),
            ("SELECT count(*) FROM r WHERE x = ANY ($1) AND x <> ALL ($2)", (2, 2), (2, 2)),
            ("SELECT x, lag(x, $1) OVER (ORDER BY t) FROM r", (1, 0), (1, 0)),
            ("SELECT (SELECT count(*) FROM r WHERE x = $1) LIMIT $2", (2, 0), (2, 0)),
            ("WITH q AS (SELECT $3::int AS a) SELECT a FROM q ORDER BY $1::int", (2, 0), (2, 0)),
            ("SELECT count(*) FROM r WHERE t >= to_timestamp('2021', 'YYYY')", (0, 0), (1, 0)),
            ("SELECT version()", (0, 0), (1, 0)),
        ] {
            assert_eq!((wanted(sql, Parameters), wanted(sql, Values)), (params, values), "{sql}");
        }
    }

    #[test]
    fn the_highest_parameter() {
        assert_eq!(parameters(&mut statement("SELECT $1::int + $7::int, $2::int")).0, 7);
        assert_eq!(parameters(&mut statement("SELECT 1")).0, 0);
    }
}
