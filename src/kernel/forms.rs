//! Whether a value follows from the rows of its unit, as bytes.
//!
//! Where equal values become one (GROUP BY, DISTINCT, set operations, `min`, `max`), that is one of them, and which hangs on how
//! rows lie on disk, with other units' between them; so it is with rows that tie in the order of a window. What is equal may
//! have several forms (`1.0` and `1.00`, `0` and `-0`, a day and 24 hours, `a` and `a` with a blank behind). A value in one of several may be compared and computed with
//! where nothing but what it equals decides, and not be cast to a text, hashed or divided; of types that are not known, or
//! under a collation that takes different texts for equal, nothing is done with it at all. `trim_scale` and their like bring
//! it to one form. A sum of floats hangs on the order of its rows.

use super::facts::{Column, Form, Part, Scans, is_exact, uncast};
use super::types::{CHOICES, NUMERIC, is_comparison, is_in};
use grammar::tree::*;
use grammar::{Result, ensure, refuse};
use schema::SqlType;

/// What gives equal numbers for equal numbers, in forms that follow from theirs.
const PASS: &str = "+ - * % abs float8larger float8smaller numeric_larger numeric_smaller";
/// What gives one of equal values for equal values, beside [`CHOICES`].
const CHOOSE: &str = "CASE COLLATE DISTINCT";
/// What gives numerics in a form that equal numbers share; floats stay 0 or -0.
const ROUND: &str = "ceil div floor round sign trim_scale trunc";
/// Calls over a window that give rows the same that tie in its order.
const ALIKE: &str = "rank dense_rank percent_rank cume_dist";
/// Exact over integers and numerics alone.
const ADDS: &str = "sum avg variance var_samp var_pop stddev stddev_samp stddev_pop";
/// Of values that equal each other, these are as many, and as true.
const TELLS: &str = "count bool_and bool_or every";

const SHOWN: &str = "a value whose equals may look different, where its form shows";
const TIES: &str = "an order that leaves rows of a unit open";

impl Scans<'_> {
    /// The form that an expression has in a row.
    pub fn form(&self, e: &Expr) -> Result<Form> {
        self.form_by(e, None)
    }

    /// The same where all that is known of the row is by what it was ordered, if that is given.
    fn form_by(&self, e: &Expr, by: Option<&[Expr]>) -> Result<Form> {
        // What is computed may follow from what it is computed of, where the order does not tell it by itself.
        if let Some(by) = by
            && let Some(told) = self.told(e, by).filter(|told| *told != Form::Open)
        {
            return Ok(told);
        }
        match e {
            Expr::Column(_) if by.is_some() => refuse(TIES, e),
            Expr::Column(c) => match self.column(c).map(|c| c.form) {
                Some(Form::Open) | None => refuse(SHOWN, e),
                Some(form) => Ok(form),
            },
            Expr::Cast(x, ty) => self.cast(e, self.form_by(x, by)?, x, ty),
            Expr::Call(name, args) => {
                // What is computed is stored otherwise in a sort than beside it.
                let stored = name != "pg_column_size" || args.iter().all(|a| self.is_stored(a));
                ensure(stored, SHOWN, e)?;
                ensure(by.is_none() || !args.iter().any(|a| matches!(a, Expr::Rows(_))), TIES, e)?;
                let form = self.of_all(args, by)?;
                if form == Form::One { Ok(form) } else { self.form_of(e, name, args) }
            }
            _ => Ok(Form::One),
        }
    }

    /// Of a call of which an argument has several forms.
    fn form_of(&self, e: &Expr, name: &str, args: &[Expr]) -> Result<Form> {
        let ty = self.type_of(e);
        let numbers = || self.types(args.iter()).is_some_and(|all| all.iter().all(SqlType::is_number));
        let divides = |o: &str| o == "/" && ty.as_ref().is_some_and(SqlType::is_float);
        let arithmetic = |o: &str| is_in(PASS, o) || divides(o);
        match name {
            _ if is_comparison(name) => Ok(Form::One),
            _ if is_in(ROUND, name) && ty.as_ref().is_some_and(is_exact) => Ok(Form::One),
            _ if is_in(CHOOSE, name) || is_in(CHOICES, name) => Ok(Form::Several),
            _ if numbers() && (name.split(' ').all(arithmetic) || is_in(ROUND, name)) => Ok(Form::Several),
            _ => refuse(SHOWN, e),
        }
    }

    /// Of a cast of `x`, which has this form. A float has no -0 as a numeric.
    fn cast(&self, e: &Expr, form: Form, x: &Expr, ty: &SqlType) -> Result<Form> {
        match self.type_of(x) {
            _ if form == Form::One || is_canonical_float(e, ty) => Ok(Form::One),
            Some(of) if of.is_number() && (ty.is_integer() || of.is_float() && *ty == NUMERIC) => {
                Ok(Form::One)
            }
            Some(of) if of == *ty || of.is_number() && ty.is_number() => Ok(form),
            _ => refuse(SHOWN, e),
        }
    }

    /// That of one of several values that are equal to this one.
    fn one_of(&self, e: &Expr, form: Form) -> Form {
        self.merged(&Column { form, ..self.known(e) })
    }

    /// What an order says of an expression; None where that is not among its own.
    fn told(&self, e: &Expr, by: &[Expr]) -> Option<Form> {
        let text =
            |b: &Expr| matches!(b, Expr::Cast(x, SqlType::Text) if **x == *e) && self.is_told_by_text(e);
        let is_text = || self.type_of(e).is_some_and(|t| t.is_text());
        let bytes = |b: &Expr| b.call("COLLATE").is_some_and(|x| x.first() == Some(e)) && is_text();
        let null = |x: &Expr| by.iter().any(|b| b.call("IS NULL").is_some_and(|b| b.first() == Some(x)));
        let presence = e.call("IS NULL").or(e.call("IS NOT NULL")).or(e.call("count"));
        if by.iter().any(|b| text(b) || bytes(b)) || matches!(presence, Some([x]) if null(x)) {
            return Some(Form::One);
        }
        by.contains(e).then(|| self.one_of(e, Form::One))
    }

    /// Form of an item over several rows of a unit; `ties`: the order that tells ties apart.
    pub fn over(&self, e: &Expr, ties: Option<&[Expr]>) -> Result<Form> {
        let bare = uncast(e);
        let Expr::Call(name, all) = called(bare) else { return self.form(e) };
        let distinct = all.first().and_then(|x| x.call("DISTINCT"));
        let args = distinct.unwrap_or(all);
        let exact = |a: &Expr| self.type_of(a).is_some_and(|t| is_exact(&t));
        let adds = is_in(ADDS, name);
        let in_order = adds && !args.iter().all(exact);
        ensure(!in_order, "something that comes out otherwise in another order of rows", e)?;
        let mut form = match ties.and_then(|by| self.told(called(bare), by)) {
            Some(told) => told,
            None => self.of_all(args, None)?.max(self.of_all(args, ties)?),
        };
        if distinct.is_some() || name == "min" || name == "max" {
            form = args.iter().fold(form, |form, x| self.one_of(x, form));
        }
        if is_in(TELLS, name) {
            form = Form::One;
        }
        match e {
            // What is divided has as many digits as its form.
            _ if adds && name != "sum" && form != Form::One => refuse(SHOWN, e),
            Expr::Cast(_, ty) => self.cast(e, form, bare, ty),
            _ => Ok(form),
        }
    }

    /// The least sure form of a list.
    pub fn of_all(&self, list: &[Expr], by: Option<&[Expr]>) -> Result<Form> {
        list.iter().try_fold(Form::One, |form, a| Ok(form.max(self.form_by(a, by)?)))
    }

    /// The forms of a SELECT's items. Which of several rows comes first that tie in an order is left to how they lie on disk,
    /// with rows of other units between them: where that is asked, what is looked at in any of them is told apart by the
    /// order, or comes out as one of several forms.
    pub fn forms(&self, select: &Select, part: &Part) -> Result<Vec<Form>> {
        let windows: Vec<&[Expr]> = select.items.iter().filter_map(|(e, _)| uncast(e).call("OVER")).collect();
        let orders = || windows.iter().filter_map(|all| tells_ties(all).then(|| all.get(1..)).flatten());
        let looked_at = |all: &&[Expr]| all.iter().skip(1).cloned().collect::<Vec<_>>();
        for by in orders() {
            self.of_all(&windows.iter().flat_map(looked_at).collect::<Vec<_>>(), Some(by))?;
        }
        let item = |(i, (e, _)): (usize, &Item)| {
            let several = i >= select.groups && select.groups > 0 || uncast(e).call("OVER").is_some();
            let one = |by: Option<&[Expr]>| if several { self.over(e, by) } else { self.form_by(e, by) };
            let unit = !several && self.is_unit(e, part);
            let told = orders().filter(|_| !unit).map(|by| one(Some(by)));
            let form = told.chain([one(None)]).try_fold(Form::One, |most, form| Ok(most.max(form?)))?;
            let merged = !several && (select.groups > 0 || select.distinct);
            Ok(if merged { self.one_of(e, form) } else { form })
        };
        select.items.iter().enumerate().map(item).collect()
    }
}

/// What is called, over a window or not.
fn called(e: &Expr) -> &Expr {
    match e {
        Expr::Call(name, all) if name == "OVER" || name == "ROWS" => all.first().map_or(e, called),
        e => e,
    }
}

/// Whether a window tells rows apart that tie in its order: by its frame, or by what is called.
fn tells_ties(all: &[Expr]) -> bool {
    let alike = |name: &str| is_in(ALIKE, name) || AGGREGATES.contains(&name);
    !matches!(all.first(), Some(Expr::Call(name, _)) if alike(name))
}

/// A numeric as a float, which has no -0, or `CASE WHEN x = 0 THEN 0 WHEN x = 'NaN' THEN 'NaN' ELSE x END`.
pub(crate) fn is_canonical_float(e: &Expr, ty: &SqlType) -> bool {
    let Expr::Cast(inner, _) = e else { return false };
    // Of two arguments there is one for numerics alone.
    if inner.call("round").is_some_and(|args| args.len() == 2) {
        return true;
    }
    let Some((x, cases)) = inner.call("CASE").and_then(<[Expr]>::split_last) else { return false };
    let same =
        |c: Expr| [Expr::Call("=".into(), vec![x.clone(), c.clone()]), Expr::Cast(Box::new(c), ty.clone())];
    let each = [same(Expr::Number("0".into())), same(Expr::Text("NaN".into()))];
    x.column().is_some() && *cases == each.concat()
}
