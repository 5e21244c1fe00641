//! Rows and arrays of constants, as the comparisons that they stand for.

use super::resolver::{Resolver, Result};
use crate::ast::*;
use crate::types::{cast_type, element_type};
use answer::{ClientError, SqlState};
use sqlparser::ast as sp;
use std::borrow::Cow;

/// Comparisons that `x < ANY ('{…}')` may become, each of them a level of the tree.
const CHAIN: usize = 100;

/// An array that was written as a string: its elements, and the type that it was cast to.
pub(super) struct Elements<'e> {
    text: &'e str,
    ty: Option<&'e sp::DataType>,
}

/// `(a, b)` or `ROW(a, b)` of at least two values.
pub(super) fn row(e: &sp::Expr) -> Option<Cow<'_, [sp::Expr]>> {
    match e {
        sp::Expr::Tuple(list) if list.len() > 1 => Some(Cow::Borrowed(list)),
        sp::Expr::Nested(inner) => row(inner),
        sp::Expr::Function(sp::Function { name, args: sp::FunctionArguments::List(list), .. })
            if name.to_string().eq_ignore_ascii_case("row") && list.args.len() > 1 =>
        {
            let value = |a: &sp::FunctionArg| match a {
                sp::FunctionArg::Unnamed(sp::FunctionArgExpr::Expr(e)) => Some(e.clone()),
                _ => None,
            };
            list.args.iter().map(value).collect::<Option<_>>().map(Cow::Owned)
        }
        _ => None,
    }
}

/// `ARRAY[a, b]::int[]`: its elements, and the type that each is cast to.
pub(super) fn cast_array(e: &sp::Expr) -> Option<(&[sp::Expr], &sp::DataType)> {
    match e {
        sp::Expr::Nested(inner) => cast_array(inner),
        sp::Expr::Cast { expr, data_type, format: None, .. } => {
            let mut inner = &**expr;
            while let sp::Expr::Nested(within) = inner {
                inner = within;
            }
            match inner {
                sp::Expr::Array(array) => Some((&array.elem, element_type(data_type)?)),
                _ => None,
            }
        }
        _ => None,
    }
}

pub(super) fn is_placeholder(e: &sp::Expr) -> bool {
    matches!(e, sp::Expr::Value(v) if matches!(v.value, sp::Value::Placeholder(_)))
}

/// `'{1,2}'`, `'{1,2}'::int[]`
pub(super) fn array_literal(e: &sp::Expr) -> Option<Elements<'_>> {
    match e {
        sp::Expr::Value(v) => match &v.value {
            sp::Value::SingleQuotedString(text) => Some(Elements { text, ty: None }),
            _ => None,
        },
        sp::Expr::Cast { expr, data_type, format: None, .. } => {
            let of = element_type(data_type)?;
            array_literal(expr).map(|elements| Elements { ty: Some(of), ..elements })
        }
        _ => None,
    }
}

fn joined(op: BinaryOp, all: Vec<Expr>, pos: Pos) -> Option<Expr> {
    all.into_iter()
        .reduce(|a, b| Expr::new(ExprKind::Binary { op, left: Box::new(a), right: Box::new(b) }, pos))
}

impl Resolver<'_> {
    fn pairs(&mut self, op: BinaryOp, a: &[sp::Expr], b: &[sp::Expr], pos: Pos) -> Result<Vec<Expr>> {
        if a.len() != b.len() {
            let m = "unequal number of entries in row expressions";
            return Err(ClientError::new(SqlState::SYNTAX_ERROR, m).at(pos));
        }
        let each = a.iter().zip(b);
        each.map(|(x, y)| Ok(Expr::new(self.binary(op, x, y)?, pos))).collect()
    }

    /// A comparison of rows: equal where all are, less where the first that differs is.
    pub(super) fn rows(
        &mut self,
        op: BinaryOp,
        a: &[sp::Expr],
        b: &[sp::Expr],
        pos: Pos,
    ) -> Result<ExprKind> {
        let out = match op {
            BinaryOp::Eq | BinaryOp::NotDistinct => {
                let all = self.pairs(op, a, b, pos)?;
                joined(BinaryOp::And, all, pos)
            }
            BinaryOp::Ne | BinaryOp::Distinct => {
                let all = self.pairs(op, a, b, pos)?;
                joined(BinaryOp::Or, all, pos)
            }
            _ => {
                let strict = match op {
                    BinaryOp::Le => BinaryOp::Lt,
                    BinaryOp::Ge => BinaryOp::Gt,
                    op => op,
                };
                let mut places = self.pairs(op, a, b, pos)?.into_iter().rev();
                let before = self.pairs(strict, a, b, pos)?.into_iter().rev().skip(1);
                let equal = self.pairs(BinaryOp::Eq, a, b, pos)?.into_iter().rev().skip(1);
                places.next().map(|last| {
                    before.zip(equal).fold(last, |rest, (less, same)| {
                        let and = ExprKind::Binary {
                            op: BinaryOp::And,
                            left: Box::new(same),
                            right: Box::new(rest),
                        };
                        let right = Box::new(Expr::new(and, pos));
                        Expr::new(ExprKind::Binary { op: BinaryOp::Or, left: Box::new(less), right }, pos)
                    })
                })
            }
        };
        match out {
            Some(e) => Ok(e.kind),
            None => Err(self.unsupported("a comparison of empty rows", pos)),
        }
    }

    /// `(a, b) [NOT] IN ((1, 2), …)`
    pub(super) fn row_in_list(
        &mut self,
        expr: &sp::Expr,
        list: &[sp::Expr],
        negated: bool,
        pos: Pos,
    ) -> Result<Expr> {
        if list.len() > CHAIN {
            return Err(crate::spend::too_large("an IN list of rows", "max_in_list", CHAIN).at(pos));
        }
        let mut all = Vec::with_capacity(list.len());
        for item in list {
            let (Some(a), Some(b)) = (row(expr), row(item)) else {
                let m = "a row is compared with something that is no row";
                return Err(ClientError::new(SqlState::DATATYPE_MISMATCH, m).at(pos));
            };
            all.push(Expr::new(self.rows(BinaryOp::Eq, &a, &b, pos)?, pos));
        }
        let any = joined(BinaryOp::Or, all, pos).ok_or_else(|| self.unsupported("an empty IN list", pos))?;
        Ok(if negated { Expr::new(ExprKind::Not(Box::new(any)), pos) } else { any })
    }

    /// `set @> ARRAY['a']`, `set && '{a}'` of a collected set, and `<@` the other way round: of one element these ask whether it is in it.
    pub(super) fn contains(
        &mut self,
        set: &sp::Expr,
        op: &sp::BinaryOperator,
        list: &sp::Expr,
        pos: Pos,
    ) -> Result<ExprKind> {
        let whole = match set {
            sp::Expr::Identifier(_) | sp::Expr::CompoundIdentifier(_) => Some(self.expr(set)?),
            _ => None,
        };
        let Some(whole) = whole.filter(|e| self.set_column(e).is_some()) else {
            return Err(self.no_operator(op, pos));
        };
        let literal = |text: &str| {
            elements(text).map(|all| all.into_iter().map(|e| e.map_or(Literal::Null, Literal::String)))
        };
        let mut inner = list;
        while let sp::Expr::Nested(within) = inner {
            inner = within;
        }
        let elements: Option<Vec<Expr>> = match (inner, cast_array(inner), array_literal(inner)) {
            (sp::Expr::Array(array), ..) => Some(self.exprs(&array.elem)?),
            (_, Some((list, _)), _) => Some(self.exprs(list)?),
            (.., Some(array)) => {
                literal(array.text).map(|all| all.map(|l| Expr::new(ExprKind::Literal(l), pos)).collect())
            }
            _ => None,
        };
        match elements.as_deref() {
            Some([one]) => {
                let (expr, array) = (Box::new(one.clone()), Box::new(whole));
                Ok(ExprKind::Any { op: BinaryOp::Eq, expr, array, all: false })
            }
            Some(_) => Err(self
                .unsupported("a comparison of a collected set with several values at once", pos)
                .hint("Each report is of one value: ask for each by itself, as 'a' = ANY (column).")),
            None => Err(self
                .unsupported("a comparison of a collected set with what is no constant array", pos)
                .hint("Write 'a' = ANY (column), or column @> ARRAY['a'].")),
        }
    }

    /// `x [NOT] LIKE ANY (ARRAY['a%', 'b%'])`: each pattern by itself.
    pub(super) fn like_any(
        &mut self,
        pattern: &sp::Expr,
        pos: Pos,
        mut like: impl FnMut(&mut Self, &sp::Expr) -> Result<ExprKind>,
    ) -> Result<ExprKind> {
        let mut pattern = pattern;
        while let sp::Expr::Nested(inner) = pattern {
            pattern = inner;
        }
        let list = match (pattern, cast_array(pattern)) {
            (sp::Expr::Array(array), _) => Some(array.elem.as_slice()),
            (_, cast) => cast.filter(|(_, ty)| is_text(ty)).map(|(list, _)| list),
        };
        let Some(list) = list.filter(|list| !list.is_empty()) else {
            return Err(self
                .unsupported("LIKE ANY of anything but a constant list", pos)
                .hint("Write x LIKE ANY (ARRAY['a%', 'b%'])."));
        };
        if list.len() > CHAIN {
            return Err(crate::spend::too_large("an array", "max_in_list", CHAIN).at(pos));
        }
        let each = list.iter().map(|p| Ok(Expr::new(like(self, p)?, pos))).collect::<Result<_>>()?;
        let any = joined(BinaryOp::Or, each, pos);
        any.map(|e| e.kind).ok_or_else(|| self.unsupported("an empty array", pos))
    }

    /// `x op ANY ('{…}')`, `x op ALL ('{…}')`: the elements take the type of x, as PostgreSQL reads them.
    pub(super) fn any_of_texts(
        &mut self,
        op: BinaryOp,
        (expr, size): (Box<Expr>, usize),
        array: Elements<'_>,
        all: bool,
        pos: Pos,
    ) -> Result<ExprKind> {
        let malformed = || {
            let shown: String = array.text.chars().take(60).collect();
            ClientError::new(SqlState(*b"22P02"), format!("malformed array literal: \"{shown}\""))
                .hint("Write one level of elements: '{1,2,3}', or ARRAY[1, 2, 3].")
                .at(pos)
        };
        let elements = elements(array.text).ok_or_else(malformed)?;
        let member = matches!((op, all), (BinaryOp::Eq, false) | (BinaryOp::Ne, true));
        let limit = if member { self.limits.max_in_list } else { CHAIN.min(self.limits.max_in_list) };
        if elements.len() > limit {
            return Err(crate::spend::too_large("an array", "max_in_list", limit).at(pos));
        }
        let ty = array.ty.map(|ty| cast_type(ty, pos)).transpose()?;
        let constant = |text: Option<String>| {
            let literal = Expr::new(ExprKind::Literal(text.map_or(Literal::Null, Literal::String)), pos);
            match &ty {
                Some(ty) => Expr::new(ExprKind::Cast { expr: Box::new(literal), ty: ty.clone() }, pos),
                None => literal,
            }
        };
        let list: Vec<Expr> = elements.into_iter().map(constant).collect();
        if list.is_empty() {
            return Ok(ExprKind::Literal(Literal::Bool(all)));
        }
        if member {
            return Ok(ExprKind::In { expr, list, negated: all });
        }
        self.compared_with_each(op, (expr, size), list, all, pos)
    }

    /// `x op ANY (ARRAY[a, b])` is `x op a OR x op b`, and of ALL it is AND. `size`: how many nodes x has, of which each
    /// comparison has its own copy.
    pub(super) fn compared_with_each(
        &mut self,
        op: BinaryOp,
        (expr, size): (Box<Expr>, usize),
        list: Vec<Expr>,
        all: bool,
        pos: Pos,
    ) -> Result<ExprKind> {
        let limit = CHAIN.min(self.limits.max_in_list);
        if list.len() > limit {
            return Err(crate::spend::too_large("an array", "max_in_list", limit).at(pos));
        }
        self.count_nodes(size.saturating_mul(list.len()).saturating_add(1))?;
        let each = list
            .into_iter()
            .map(|x| Expr::new(ExprKind::Binary { op, left: expr.clone(), right: Box::new(x) }, pos));
        let joiner = if all { BinaryOp::And } else { BinaryOp::Or };
        let chain = joined(joiner, each.collect(), pos);
        chain.map(|e| e.kind).ok_or_else(|| self.unsupported("an empty array", pos))
    }
}

fn is_text(ty: &sp::DataType) -> bool {
    cast_type(ty, None).is_ok_and(|ty| ty.ty.is_text() && ty.modifier.is_empty())
}

/// The elements of an array of one dimension, as PostgreSQL's input of arrays reads them; None where it is not surely one.
pub fn elements(text: &str) -> Option<Vec<Option<String>>> {
    let inner = text.trim().strip_prefix('{')?.strip_suffix('}')?;
    let mut all = Vec::new();
    if inner.trim().is_empty() {
        return Some(all);
    }
    let mut chars = inner.chars().peekable();
    loop {
        while chars.next_if(|c| c.is_whitespace()).is_some() {}
        let (mut element, mut quoted) = (String::new(), false);
        if chars.next_if_eq(&'"').is_some() {
            quoted = true;
            loop {
                match chars.next()? {
                    '"' => break,
                    '\\' => element.push(chars.next()?),
                    c => element.push(c),
                }
            }
            while chars.next_if(|c| c.is_whitespace()).is_some() {}
        } else {
            while let Some(c) = chars.next_if(|c| *c != ',') {
                if matches!(c, '{' | '}' | '"' | '\\') {
                    return None;
                }
                element.push(c);
            }
            element.truncate(element.trim_end().len());
            if element.is_empty() {
                return None;
            }
        }
        let null = !quoted && element.eq_ignore_ascii_case("null");
        all.push((!null).then_some(element));
        match chars.next() {
            None => return Some(all),
            Some(',') => {}
            Some(_) => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::elements;

    #[test]
    fn arrays_are_read_as_postgresql_does() {
        let of = |list: &[Option<&str>]| Some(list.iter().map(|x| x.map(str::to_owned)).collect::<Vec<_>>());
        assert_eq!(elements("{1, 2 ,NULL}"), of(&[Some("1"), Some("2"), None]));
        assert_eq!(elements(r#"{"a,b","null", "x\"y" }"#), of(&[Some("a,b"), Some("null"), Some("x\"y")]));
        assert_eq!(elements("{}"), of(&[]));
        for wrong in ["1,2", "{1,}", "{{1},{2}}", "{\"a}", "{a\"b}", "{,}"] {
            assert_eq!(elements(wrong), None, "{wrong}");
        }
    }
}
