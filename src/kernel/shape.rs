//! What may stand in a query or a SELECT at all. All of their parts are named here, so that a new one of the parser's
//! does not go unseen.

use super::names::ident;
use super::{Result, refuse};
use sqlparser::ast::*;

/// The body of a query that has nothing else.
pub(crate) fn plain_query(query: &Query) -> Result<&SetExpr> {
    let (body, order) = ordered_query(query)?;
    if query.with.is_some() || order.is_some() {
        return refuse("WITH or ORDER BY where none may be", query);
    }
    Ok(body)
}

/// The body of a query, and its order.
pub(crate) fn ordered_query(query: &Query) -> Result<(&SetExpr, Option<&OrderBy>)> {
    let Query {
        with: _,
        body,
        order_by,
        limit_clause: None,
        fetch: None,
        locks,
        for_clause: None,
        settings: None,
        format_clause: None,
        pipe_operators,
    } = query
    else {
        return refuse("LIMIT, OFFSET, FETCH or a clause of another dialect", query);
    };
    if !(locks.is_empty() && pipe_operators.is_empty()) {
        return refuse("a lock", query);
    }
    Ok((body, order_by.as_ref()))
}

/// Refuses a SELECT with DISTINCT, or with more than items, FROM, WHERE and GROUP BY.
pub(crate) fn plain_select(select: &Select) -> Result<()> {
    match distinct_select(select)? {
        false => Ok(()),
        true => refuse("DISTINCT", select),
    }
}

/// Whether it has DISTINCT; anything more is refused.
pub(crate) fn distinct_select(select: &Select) -> Result<bool> {
    let Select {
        select_token: _,
        optimizer_hints,
        distinct,
        select_modifiers: None,
        top: None,
        top_before_distinct: false,
        projection: _,
        exclude: None,
        into: None,
        from: _,
        lateral_views,
        prewhere: None,
        selection: _,
        connect_by,
        group_by: _,
        cluster_by,
        distribute_by,
        sort_by,
        having: None,
        named_window,
        qualify: None,
        window_before_qualify: false,
        value_table_mode: None,
        flavor: SelectFlavor::Standard,
    } = select
    else {
        return refuse("a SELECT with more than items, FROM, WHERE and GROUP BY", select);
    };
    let empty = optimizer_hints.is_empty()
        && lateral_views.is_empty()
        && connect_by.is_empty()
        && cluster_by.is_empty()
        && distribute_by.is_empty()
        && sort_by.is_empty()
        && named_window.is_empty();
    match distinct {
        _ if !empty => refuse("a SELECT with more than items, FROM, WHERE and GROUP BY", select),
        None => Ok(false),
        Some(Distinct::Distinct) => Ok(true),
        Some(_) => refuse("DISTINCT ON", select),
    }
}

/// The SELECT of a query without set operations.
pub(crate) fn select_of(body: &SetExpr) -> Result<&Select> {
    match body {
        SetExpr::Select(select) => Ok(select),
        _ => refuse("a set operation", body),
    }
}

/// The items, with the names they come out under.
pub(crate) fn items(select: &Select) -> Result<Vec<(&Expr, String)>> {
    fn named(item: &SelectItem) -> Result<(&Expr, String)> {
        match item {
            SelectItem::ExprWithAlias { expr, alias } => Ok((expr, ident(alias)?)),
            SelectItem::UnnamedExpr(expr) => match expr {
                Expr::CompoundIdentifier(names) => match names.last() {
                    Some(last) => Ok((expr, ident(last)?)),
                    None => refuse("an item without a name", expr),
                },
                _ => Ok((expr, String::new())),
            },
            item => refuse("an item of an unknown kind", item),
        }
    }
    select.projection.iter().map(named).collect()
}

/// How many items GROUP BY names, when those are the first, each once: by their places, or as they are written.
pub(crate) fn grouped(select: &Select, items: &[(&Expr, String)]) -> Result<usize> {
    let GroupByExpr::Expressions(list, modifiers) = &select.group_by else {
        return refuse("GROUP BY ALL", select);
    };
    if !modifiers.is_empty() {
        return refuse("GROUP BY with more than expressions", select);
    }
    let mut seen = vec![false; list.len()];
    for e in list {
        let place = match e {
            Expr::Value(v) => match &v.value {
                Value::Number(n, false) => n.parse::<usize>().ok().and_then(|n| n.checked_sub(1)),
                _ => None,
            },
            e => items.iter().position(|(item, _)| *item == e),
        };
        match place.and_then(|p| seen.get_mut(p)) {
            Some(seen) => *seen = true,
            None => return refuse("GROUP BY something else than the first items", e),
        }
    }
    match seen.iter().all(|s| *s) && seen.len() <= items.len() {
        true => Ok(seen.len()),
        false => refuse("GROUP BY something else than the first items", select),
    }
}
