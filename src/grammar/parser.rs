//! The grammar of a fetch. AND and OR never stand beside each other without brackets; of other operators without brackets
//! it is not known which binds first, so that nothing but their operands is.

use super::names::{KEYWORDS, is_listed, takes, type_of};
use super::tokens::{Token, read};
use super::tree::*;
use super::{Result, TOO_DEEP, refuse};
use policy::Policy;

/// How deep a tree may be: it is walked and dropped by recursion, and chains of operators are as deep as they are long.
const DEPTH: usize = 2_500;
/// What an expression in another, a join or a set operation counts as.
const BRACKET: usize = 5;

const SETS: &[&str] = &["UNION ALL", "UNION", "INTERSECT ALL", "INTERSECT", "EXCEPT ALL", "EXCEPT"];
const JOINS: &[(&str, Kind)] = &[("JOIN", Kind::Inner), ("LEFT JOIN", Kind::Left), ("FULL JOIN", Kind::Full)];
/// What stands between two operands, or behind one.
const OPERATORS: &str = "IS NOT NULL,IS NULL,IS NOT TRUE,IS TRUE,IS NOT FALSE,IS FALSE,IS NOT UNKNOWN,IS UNKNOWN,\
    IS NOT DISTINCT FROM,IS DISTINCT FROM,NOT BETWEEN,BETWEEN,NOT IN,IN,NOT LIKE,LIKE,NOT ILIKE,ILIKE,ESCAPE,\
    =,<>,<,<=,>,>=,||,+,-,*,/,%";

const FRAMES: &[&str] = &["BETWEEN", "AND", "UNBOUNDED", "PRECEDING", "FOLLOWING", "CURRENT", "ROW"];

/// A parser: parts that are free in a fetch are parsed; others are compared ([`Parser::exactly`]).
pub struct Parser<'p> {
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
    policy: &'p Policy,
    tables: Vec<Relation>,
}

fn call(name: &str, args: Vec<Expr>) -> Expr {
    Expr::Call(name.to_owned(), args)
}

impl<'p> Parser<'p> {
    /// The policy knows the types that casts may name.
    pub fn new(sql: &str, policy: &'p Policy) -> Result<Self> {
        Ok(Self { tokens: read(sql)?, at: 0, depth: 0, policy, tables: Vec::new() })
    }

    /// The stage by this name, if it is next.
    pub fn stage(&mut self, name: &str) -> Result<Option<Select>> {
        if self.tokens.get(self.at) != Some(&Token::Name(name.to_owned())) {
            return Ok(None);
        }
        self.at += 1;
        self.need("AS")?;
        self.eat("MATERIALIZED");
        let select = self.bracketed(Self::select)?;
        self.eat(",");
        Ok(Some(select))
    }

    /// All tables that were read, wherever they stand.
    pub fn tables(&self) -> &[Relation] {
        &self.tables
    }

    /// Whether this text is next, which is then behind.
    pub fn exactly(&mut self, text: &str) -> Result<bool> {
        let expected = read(text)?;
        let found = self.tokens.get(self.at..).is_some_and(|rest| rest.starts_with(&expected));
        self.at += if found { expected.len() } else { 0 };
        Ok(found)
    }

    /// The number behind the next such marks, if it is one.
    pub fn number_behind(&self, what: &str) -> Option<u64> {
        let all = |at: usize| what.split(' ').enumerate().all(|(i, mark)| self.is(at + i, mark));
        let mark = (self.at..self.tokens.len()).find(|at| all(*at))?;
        match self.tokens.get(mark + what.split(' ').count())? {
            Token::Number(n) => n.parse().ok(),
            _ => None,
        }
    }

    /// The number of the next value that was released before.
    pub fn given_ahead(&self) -> Option<u64> {
        let given = |t: &Token| if let Token::Given(n) = t { n.parse().ok() } else { None };
        self.tokens.get(self.at..)?.iter().find_map(given)
    }

    /// Nothing is left.
    pub fn end(&self) -> Result<()> {
        match self.at == self.tokens.len() {
            true => Ok(()),
            false => self.stop("something behind the end"),
        }
    }

    fn stop<T>(&self, reason: &'static str) -> Result<T> {
        refuse(reason, self.tokens.get(self.at..).unwrap_or_default())
    }

    fn is(&self, at: usize, what: &str) -> bool {
        matches!(self.tokens.get(at), Some(Token::Mark(m)) if m == what)
    }

    /// Takes these marks, if all of them are next.
    fn eat(&mut self, marks: &str) -> bool {
        let all = marks.split(' ').enumerate().all(|(i, m)| self.is(self.at + i, m));
        self.at += if all { marks.split(' ').count() } else { 0 };
        all
    }

    /// Takes these marks, which are next.
    pub fn need(&mut self, marks: &str) -> Result<()> {
        if self.eat(marks) { Ok(()) } else { self.stop("something else than what is printed") }
    }

    fn one_of(&mut self, all: &[&'static str]) -> Option<&'static str> {
        all.iter().copied().find(|m| self.eat(m))
    }

    fn next(&mut self) -> Option<Token> {
        self.at += 1;
        self.tokens.get(self.at - 1).cloned()
    }

    fn name(&mut self) -> Result<String> {
        match self.next() {
            Some(Token::Name(name)) => Ok(name),
            _ => self.stop("something else than a name"),
        }
    }

    fn deeper(&mut self, by: usize) -> Result<()> {
        self.depth += by;
        if self.depth > DEPTH { refuse(TOO_DEEP, "") } else { Ok(()) }
    }

    fn bracketed<T>(&mut self, inner: impl Fn(&mut Self) -> Result<T>) -> Result<T> {
        self.need("(")?;
        let out = inner(self)?;
        self.need(")")?;
        Ok(out)
    }

    fn list<T>(&mut self, one: impl Fn(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut out = vec![one(self)?];
        while self.eat(",") {
            out.push(one(self)?);
        }
        Ok(out)
    }

    /// `1, 2, …`: how many.
    fn places(&mut self) -> Result<usize> {
        let places = self.list(|p| Ok(p.next()))?;
        let nth = |(i, t): (usize, &Option<Token>)| *t == Some(Token::Number((i + 1).to_string()));
        match places.iter().enumerate().all(nth) {
            true => Ok(places.len()),
            false => self.stop("something else than the first items, in order"),
        }
    }

    fn select(&mut self) -> Result<Select> {
        self.need("SELECT")?;
        let distinct = self.eat("DISTINCT");
        let items = self.list(|p| {
            let item = p.expression()?;
            let own = item.column().map(|c| c.1.clone()).unwrap_or_default();
            let name = if p.eat("AS") { p.name()? } else { own };
            Ok((item, name))
        })?;
        let from = if self.eat("FROM") { Some(self.tree()?) } else { None };
        let filter = if self.eat("WHERE") { self.expression()?.conjuncts() } else { Vec::new() };
        let groups = if self.eat("GROUP BY") { self.places()? } else { 0 };
        // No row is left out; the planner keeps the rest as it is written.
        if self.eat("OFFSET") && self.next() != Some(Token::Number("0".into())) {
            return self.stop("an OFFSET that leaves rows out");
        }
        match groups <= items.len() {
            true => Ok(Select { distinct, items, from, filter, groups }),
            false => self.stop("GROUP BY more than there is"),
        }
    }

    fn tree(&mut self) -> Result<Tree> {
        let depth = self.depth;
        let mut left = self.factor()?;
        loop {
            self.deeper(BRACKET)?;
            let join = JOINS.iter().find(|(word, _)| self.eat(word));
            let crossed = join.is_none() && self.eat("CROSS JOIN");
            let Some((_, kind)) = join.or(JOINS.first().filter(|_| crossed)) else { break };
            let right = self.factor()?;
            let on = if crossed {
                Vec::new()
            } else {
                self.need("ON").and_then(|()| self.expression())?.conjuncts()
            };
            left = Tree::Join(*kind, Box::new(left), Box::new(right), on);
        }
        self.depth = depth;
        Ok(left)
    }

    fn factor(&mut self) -> Result<Tree> {
        let (mut name, mut columns) = (String::new(), Vec::new());
        let of = if self.is(self.at, "(") {
            if !self.is_set() {
                return self.bracketed(Self::tree);
            }
            Relation::Set(self.bracketed(Self::set)?)
        } else {
            let only = self.eat("ONLY");
            let first = self.name()?;
            if !self.eat(".") {
                name = first;
                Relation::Stage
            } else if self.is(self.at + 1, "(") {
                if (first, self.name()?) != ("pg_catalog".into(), "generate_series".into()) {
                    return self.stop("a function in FROM that is no series");
                }
                Relation::Series(self.bracketed(|p| p.list(Self::expression))?)
            } else {
                let table = Relation::Table(first, self.name()?, only);
                self.tables.push(table.clone());
                table
            }
        };
        if of != Relation::Stage {
            self.need("AS")?;
            name = self.name()?;
            if self.is(self.at, "(") {
                columns = self.bracketed(|p| p.list(Self::name))?;
            }
        }
        Ok(Tree::Scan(Scan { name, columns, of }))
    }

    /// Whether a bracket holds rows: it begins with them, or with another that an operator or the end follows.
    fn is_set(&self) -> bool {
        let mut open = 0usize;
        for at in self.at + 1..self.tokens.len() {
            match open {
                0 if !self.is(at, "(") => return self.is(at, "SELECT") || self.is(at, "VALUES"),
                1 if self.is(at, ")") => {
                    return ["UNION", "INTERSECT", "EXCEPT", ")"].iter().any(|m| self.is(at + 1, m));
                }
                _ => open = open + usize::from(self.is(at, "(")) - usize::from(self.is(at, ")")),
            }
        }
        false
    }

    fn set(&mut self) -> Result<Set> {
        self.deeper(BRACKET)?;
        let first = self.branch()?;
        let Some(op) = self.one_of(SETS) else { return Ok(first) };
        let mut all = vec![first, self.branch()?];
        while self.eat(op) {
            all.push(self.branch()?);
        }
        Ok(Set::Op(op, all))
    }

    fn branch(&mut self) -> Result<Set> {
        if self.eat("VALUES") {
            return self.list(|p| p.bracketed(Self::expression)).map(Set::Values);
        }
        if self.is(self.at, "(") {
            return self.bracketed(Self::set);
        }
        self.select().map(|s| Set::Select(Box::new(s)))
    }

    fn rows(&mut self) -> Result<Expr> {
        self.select().map(|s| Expr::Rows(Box::new(s)))
    }

    fn expression(&mut self) -> Result<Expr> {
        let depth = self.depth;
        self.deeper(BRACKET)?;
        let mut e = self.operation()?;
        if let Some(op) = self.one_of(&["AND", "OR"]) {
            let mut all = vec![e, self.operation()?];
            while self.eat(op) {
                all.push(self.operation()?);
            }
            e = call(op, all);
        }
        self.depth = depth;
        Ok(e)
    }

    /// One operand, or several under the names of all their operators. All of these bind before NOT, AND and OR.
    fn operation(&mut self) -> Result<Expr> {
        if self.eat("NOT") {
            self.deeper(BRACKET)?;
            return Ok(call("NOT", vec![self.operation()?]));
        }
        let (mut names, mut args) = (Vec::new(), vec![self.signed()?]);
        while let Some(op) = OPERATORS.split(',').find(|op| self.eat(op)) {
            names.push(op);
            match op.trim_start_matches("NOT ") {
                "IN" if self.is(self.at + 1, "SELECT") => args.push(self.bracketed(Self::rows)?),
                "IN" => args.extend(self.bracketed(|p| p.list(Self::expression))?),
                "BETWEEN" => {
                    args.push(self.signed()?);
                    self.need("AND")?;
                    args.push(self.signed()?);
                }
                op if op.starts_with("IS") && !op.ends_with("FROM") => {}
                _ => args.push(self.signed()?),
            }
        }
        match args.as_mut_slice() {
            [alone] if names.is_empty() => Ok(std::mem::replace(alone, Expr::Null)),
            _ => Ok(call(&names.join(" "), args)),
        }
    }

    /// A value with its casts, and a minus, which binds less than they.
    fn signed(&mut self) -> Result<Expr> {
        let minus = self.eat("-");
        let mut e = self.value()?;
        loop {
            self.deeper(1)?;
            if self.eat("::") {
                let schema = self.name()?;
                self.need(".")?;
                let name = self.name()?;
                let Some(ty) = type_of(&schema, &name, self.policy) else {
                    return refuse("a type that is not listed", name);
                };
                e = Expr::Cast(Box::new(e), ty);
            } else if self.eat("COLLATE") {
                let named = self.name()? == "pg_catalog" && self.eat(".") && self.name()? == "default";
                if !named {
                    return self.stop("a collation that is not the default");
                }
                e = call("COLLATE", vec![e]);
            } else {
                break;
            }
        }
        Ok(match e {
            Expr::Number(n) if minus => Expr::Number(format!("-{n}")),
            e if minus => call("-", vec![e]),
            e => e,
        })
    }

    fn value(&mut self) -> Result<Expr> {
        let word = match self.next() {
            Some(Token::Number(n)) => return Ok(Expr::Number(n)),
            Some(Token::Text(t)) => return Ok(Expr::Text(t)),
            Some(Token::Given(n)) if self.is(self.at, "::") => return Ok(call(&format!("${n}"), Vec::new())),
            Some(Token::Name(first)) => return self.named(first),
            Some(Token::Mark(word)) => word,
            _ => return self.stop("a parameter that has no place here, or the end"),
        };
        Ok(match word.as_str() {
            "(" => {
                self.at -= 1;
                self.bracketed(Self::expression)?
            }
            "true" | "false" => Expr::Bool(word == "true"),
            "NULL" => Expr::Null,
            "CASE" => self.case()?,
            "EXISTS" => call("EXISTS", vec![self.bracketed(Self::rows)?]),
            "EXTRACT" => self.bracketed(|p| {
                let field = Expr::Text(p.name()?);
                p.need("FROM")?;
                Ok(call("EXTRACT", vec![field, p.expression()?]))
            })?,
            keyword if KEYWORDS.contains(&keyword) => {
                call(keyword, self.bracketed(|p| p.list(Self::expression))?)
            }
            _ => return self.stop("an expression of an unknown kind"),
        })
    }

    fn case(&mut self) -> Result<Expr> {
        let mut args = Vec::new();
        while self.eat("WHEN") {
            args.push(self.expression()?);
            self.need("THEN")?;
            args.push(self.expression()?);
        }
        args.push(if self.eat("ELSE") { self.expression()? } else { Expr::Null });
        self.need("END")?;
        Ok(call("CASE", args))
    }

    /// A column, or a function of pg_catalog.
    fn named(&mut self, scan: String) -> Result<Expr> {
        self.need(".")?;
        let name = self.name()?;
        if !self.is(self.at, "(") {
            return Ok(Expr::Column((scan, name)));
        }
        if scan != "pg_catalog" {
            return self.stop("a function that is not one of pg_catalog");
        }
        let several = AGGREGATES.contains(&name.as_str()) || WINDOWS.contains(&name.as_str());
        if !several && !is_listed(&name) {
            return refuse("a function that is not listed", name);
        }
        let args = match several && (self.eat("( )") || name == "count" && self.eat("( * )")) {
            true => Vec::new(),
            false => self.bracketed(|p| {
                let distinct = several && p.eat("DISTINCT");
                let args = p.list(Self::expression)?;
                Ok(if distinct { vec![call("DISTINCT", args)] } else { args })
            })?,
        };
        if !takes(&name, &args) {
            return refuse("a function whose arguments rows choose", name);
        }
        let called = call(&name, args);
        if several && self.eat("OVER") { self.bracketed(|p| p.window(called.clone())) } else { Ok(called) }
    }

    /// `PARTITION BY … ORDER BY …`, and a frame of constants.
    fn window(&mut self, called: Expr) -> Result<Expr> {
        self.need("PARTITION BY")?;
        let mut all = vec![called];
        all.extend(self.list(Self::expression)?);
        if self.eat("ORDER BY") {
            all.extend(self.list(|p| {
                let e = p.expression()?;
                p.eat("DESC");
                p.one_of(&["NULLS FIRST", "NULLS LAST"]);
                Ok(e)
            })?);
        }
        if let Some(unit) = self.one_of(&["ROWS", "RANGE", "GROUPS"]) {
            if let (true, Some(first)) = (unit == "ROWS", all.first_mut()) {
                *first = call("ROWS", vec![first.clone()]);
            }
            while !self.is(self.at, ")") {
                match self.next() {
                    Some(Token::Number(_)) => {}
                    Some(Token::Mark(m)) if FRAMES.contains(&m.as_str()) => {}
                    _ => return self.stop("a frame that is not of constants"),
                }
            }
        }
        Ok(call("OVER", all))
    }
}
