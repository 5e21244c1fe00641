//! GROUP BY: its keys, and which sets of them GROUPING SETS, ROLLUP and CUBE ask for.

use super::{Resolver, Result};
use crate::ast::*;
use crate::names::fold;
use answer::{ClientError, SqlState};
use sqlparser::ast as sp;

/// Sets of one GROUP BY; each may be a release.
const MOST_SETS: usize = 32;
/// Keys where there are sets: GROUPING() of all of them is an integer.
const MOST_KEYS: usize = 31;

/// Sets of keys, as places among all keys.
type Sets = Vec<Vec<usize>>;

/// What keys are looked up in: the select list, and its names.
type Named<'a> = (&'a [Item], &'a [String]);

impl Resolver<'_> {
    /// All keys, each once, and their sets where GROUP BY asks for other sets than one of them all.
    ///
    /// Entries of GROUP BY are multiplied: a set of the first with a set of the second, and so on (PostgreSQL, 7.2.4).
    pub(super) fn group_by(
        &mut self,
        by: &sp::GroupByExpr,
        named: Named<'_>,
        pos: Pos,
    ) -> Result<(Vec<Expr>, Sets)> {
        let list = match by {
            sp::GroupByExpr::Expressions(list, modifiers) if modifiers.is_empty() => list,
            sp::GroupByExpr::Expressions(..) => {
                let hint = "Write GROUP BY ROLLUP (a, b), or GROUP BY a, GROUPING SETS ((b), ()).";
                return Err(self.unsupported("this form of GROUP BY", pos).hint(hint));
            }
            sp::GroupByExpr::All(_) => return Err(self.unsupported("GROUP BY ALL", pos)),
        };
        let mut keys = Vec::with_capacity(list.len());
        let mut sets: Sets = vec![Vec::new()];
        for entry in list {
            let each = self.sets_of(entry, named, &mut keys)?;
            if sets.len().saturating_mul(each.len()) > MOST_SETS {
                return Err(self.too_many_sets(pos));
            }
            let with = |set: &Vec<usize>| each.iter().map(|e| [set.as_slice(), e].concat()).collect::<Sets>();
            sets = sets.iter().flat_map(with).collect();
        }
        for set in &mut sets {
            set.sort_unstable();
            set.dedup();
        }
        let one = matches!(sets.as_slice(), [set] if set.len() == keys.len());
        if one && (list.is_empty() || !keys.is_empty()) {
            return Ok((keys, Vec::new()));
        }
        if keys.len() > MOST_KEYS {
            return Err(self.unsupported("GROUPING SETS of more than 31 keys", pos).hint("Group by fewer."));
        }
        Ok((keys, sets))
    }

    /// The sets of an entry of GROUP BY, or of GROUPING SETS.
    fn sets_of(&mut self, entry: &sp::Expr, named: Named<'_>, keys: &mut Vec<Expr>) -> Result<Sets> {
        let pos = self.lines.start(entry);
        match entry {
            sp::Expr::GroupingSets(sets) => {
                let mut all = Vec::new();
                for set in sets {
                    all.extend(match set.as_slice() {
                        [one] => self.sets_of(one, named, keys)?,
                        several => vec![self.places(several, named, keys)?],
                    });
                }
                Ok(all)
            }
            sp::Expr::Rollup(steps) => {
                let steps = self.each(steps, named, keys)?;
                Ok((0..=steps.len())
                    .rev()
                    .map(|n| steps.iter().take(n).flatten().copied().collect())
                    .collect())
            }
            sp::Expr::Cube(parts) => {
                let parts = self.each(parts, named, keys)?;
                if parts.len() > 5 {
                    return Err(self.too_many_sets(pos));
                }
                let kept = |mask: usize| move |(i, _): &(usize, &Vec<usize>)| mask >> i & 1 == 0;
                let set = |mask| parts.iter().enumerate().filter(kept(mask)).flat_map(|(_, p)| p).copied();
                Ok((0..1usize << parts.len()).map(|mask| set(mask).collect()).collect())
            }
            // Inside GROUPING SETS these are read as calls.
            sp::Expr::Function(f) => match (f.name.to_string().to_lowercase().as_str(), &f.args) {
                (name @ ("rollup" | "cube"), sp::FunctionArguments::List(list)) => {
                    let mut parts = Vec::with_capacity(list.args.len());
                    for a in &list.args {
                        let sp::FunctionArg::Unnamed(sp::FunctionArgExpr::Expr(e)) = a else {
                            return Err(self.unsupported("this form of GROUPING SETS", pos));
                        };
                        parts.push(match e {
                            sp::Expr::Tuple(list) => list.clone(),
                            e => vec![e.clone()],
                        });
                    }
                    let entry = if name == "cube" { sp::Expr::Cube(parts) } else { sp::Expr::Rollup(parts) };
                    self.sets_of(&entry, named, keys)
                }
                _ => Ok(vec![self.places(std::slice::from_ref(entry), named, keys)?]),
            },
            sp::Expr::Tuple(list) => Ok(vec![self.places(list, named, keys)?]),
            one => Ok(vec![self.places(std::slice::from_ref(one), named, keys)?]),
        }
    }

    fn each(&mut self, parts: &[Vec<sp::Expr>], named: Named<'_>, keys: &mut Vec<Expr>) -> Result<Sets> {
        parts.iter().map(|p| self.places(p, named, keys)).collect()
    }

    /// The places of keys, which are noted where they are new.
    fn places(&mut self, list: &[sp::Expr], named: Named<'_>, keys: &mut Vec<Expr>) -> Result<Vec<usize>> {
        let mut places = Vec::with_capacity(list.len());
        for e in list {
            let key = self.group_key(e, named)?;
            places.push(keys.iter().position(|k| *k == key).unwrap_or_else(|| {
                keys.push(key);
                keys.len() - 1
            }));
        }
        Ok(places)
    }

    fn too_many_sets(&self, pos: Pos) -> ClientError {
        self.unsupported(&format!("GROUP BY with more than {MOST_SETS} grouping sets"), pos)
            .hint("List those that you need: GROUP BY GROUPING SETS ((a, b), (a), ()).")
    }

    /// A key: an ordinal, else a column, else an output name.
    fn group_key(&mut self, e: &sp::Expr, (items, names): Named<'_>) -> Result<Expr> {
        let pos = self.lines.start(e);
        let inner = unnest(e);
        let output = match inner {
            sp::Expr::Value(_) => self.output(inner, names, pos)?,
            sp::Expr::Identifier(ident) => {
                let column = match self.scopes.last() {
                    Some(scope) => scope.column(&self.bindings, &fold(ident), pos)?,
                    None => None,
                };
                if column.is_some() { None } else { self.output(inner, names, pos)? }
            }
            _ => None,
        };
        match output.and_then(|i| items.get(i)) {
            Some(item) if item.expr.any(&mut |e| matches!(e.kind, ExprKind::Aggregate(_))) => {
                let m = "aggregate functions are not allowed in GROUP BY";
                Err(ClientError::new(SqlState::GROUPING_ERROR, m).at(pos))
            }
            Some(item) => Ok(item.expr.clone()),
            None => self.expr(inner),
        }
    }
}

fn unnest(e: &sp::Expr) -> &sp::Expr {
    match e {
        sp::Expr::Nested(inner) => unnest(inner),
        e => e,
    }
}
