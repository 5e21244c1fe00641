//! Bounds of a column: range, grid and public values, from the policy, its CHECKs and its type.

use super::declared::{Bound, Literal, alike, one_value};
use super::error::{At, Findings, Span};
use super::json_path;
use super::model::{Column, Domain, Range};
use super::raw_table::RawColumn;
use super::reader::{decimal_text, shorten};
use super::suggest::suggest;
use super::time;
use super::type_name::type_name;
use bigdecimal::BigDecimal;
use num_traits::{Signed, Zero};
use schema::{self, Relation, SqlType};
use std::fmt::Display;

/// What the schema alone proves of a column's non-null values.
#[derive(Default)]
struct Proven {
    low: Option<End>,
    high: Option<End>,
    values: Option<Vec<String>>,
}

/// A bound while kinds are mixed: decimal, or microseconds.
#[derive(Clone, PartialEq, PartialOrd)]
enum End {
    Number(BigDecimal),
    Time(i64),
}

impl Display for End {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(n) => write!(f, "{}", n.to_plain_string()),
            Self::Time(t) => write!(f, "{t} microseconds since 2000-01-01"),
        }
    }
}

/// The column for the model. `references` domains are set by the caller, who knows the other tables.
pub(super) fn column(
    raw: Option<&RawColumn>,
    relation: &Relation,
    c: &schema::Column,
    is_unit: bool,
    f: &mut Findings,
) -> Column {
    let mut proven = proven(relation, c);
    let declared_values = raw.and_then(|r| r.values.as_ref());
    let references = raw.and_then(|r| r.references.as_ref());
    if let (true, Some(span)) = (is_unit, declared_values.map(|v| &v.span).or(references.map(|r| &r.span))) {
        let hint = "remove it: who takes part is what is protected";
        f.error(span, format!("{:?} is the unit column and cannot have public values", c.name), hint);
    }
    let domain = match declared_values {
        Some(v) => values(v, c, &proven, f),
        // A unit's list of names must not become a public domain, not even by way of a CHECK.
        None if is_unit || references.is_some() => None,
        None => proven.values.take().or_else(|| natural_values(c)),
    };
    let grid = grid(raw, c, f);
    let range = range(raw, c, &proven, domain.as_deref(), grid.as_ref(), f);
    let nan = nan(raw, c, range.is_some(), f);
    Column {
        name: c.name.clone(),
        ty: c.ty.clone(),
        not_null: c.not_null,
        deterministic: c.deterministic_collation,
        range,
        domain: domain.map(Domain::Values),
        grid,
        nan,
        paths: json_path::check(raw, c, f),
    }
}

fn proven(relation: &Relation, c: &schema::Column) -> Proven {
    let end = |text: &String| match () {
        () if c.ty.is_number() => decimal_text(text, 10).map(End::Number),
        () if c.ty.is_datetime() => time::from_iso(text).map(End::Time),
        () => None,
    };
    let mut proven = Proven::default();
    for check in relation.checks.iter().filter(|k| k.column == c.name) {
        let listed = |pick: fn(&End, &End) -> bool| {
            let ends = check.values.as_ref()?.iter().map(end).collect::<Option<Vec<_>>>()?;
            ends.into_iter().reduce(|a, b| if pick(&a, &b) { a } else { b })
        };
        let low = check.low.as_ref().and_then(end).or_else(|| listed(|a, b| a <= b));
        let high = check.high.as_ref().and_then(end).or_else(|| listed(|a, b| a >= b));
        proven.low = tighter(proven.low.take(), low, |a, b| a >= b);
        proven.high = tighter(proven.high.take(), high, |a, b| a <= b);
        let usable = is_listed_as_text(&c.ty) || c.ty.is_integer();
        if let (true, true, Some(values)) = (usable, c.deterministic_collation, &check.values) {
            let shorter = proven.values.as_ref().is_none_or(|v| values.len() < v.len());
            if shorter {
                proven.values = Some(values.clone());
            }
        }
    }
    // A CHECK that nothing satisfies: the table is empty, or NULL throughout.
    if let (Some(low), Some(high)) = (&proven.low, &proven.high)
        && low > high
    {
        (proven.low, proven.high) = (None, None);
    }
    proven
}

fn tighter(a: Option<End>, b: Option<End>, first: fn(&End, &End) -> bool) -> Option<End> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if first(&a, &b) { a } else { b }),
        (a, b) => a.or(b),
    }
}

/// Number of values that the schema lets a column have (NULL apart), when it bounds them: by a
/// list, by both ends of an integer, by its type.
pub(super) fn proven_count(relation: &Relation, c: &schema::Column) -> Option<u64> {
    let proven = proven(relation, c);
    let listed = proven.values.as_ref().map(|v| v.len() as u64);
    let labels = c.enum_labels.as_ref().map(|l| l.len() as u64);
    let boolean = (c.ty == SqlType::Bool).then_some(2);
    let between = match (&proven.low, &proven.high) {
        (Some(End::Number(low)), Some(End::Number(high))) if c.ty.is_integer() => {
            // Ends may be fractions in a CHECK; rounding outward counts too many, never too few.
            let count = high.with_scale_round(0, bigdecimal::RoundingMode::Ceiling)
                - low.with_scale_round(0, bigdecimal::RoundingMode::Floor)
                + BigDecimal::from(1);
            count.to_plain_string().parse().ok()
        }
        _ => None,
    };
    [listed, labels, boolean, between].into_iter().flatten().min()
}

/// Types whose values are listed as strings.
fn is_listed_as_text(ty: &SqlType) -> bool {
    ty.is_text() || matches!(ty, SqlType::Bpchar | SqlType::Enum { .. })
}

/// Values that a type has without anybody listing them.
fn natural_values(c: &schema::Column) -> Option<Vec<String>> {
    if c.ty == SqlType::Bool { Some(vec!["false".into(), "true".into()]) } else { c.enum_labels.clone() }
}

fn values(
    list: &At<Vec<At<Literal>>>,
    c: &schema::Column,
    proven: &Proven,
    f: &mut Findings,
) -> Option<Vec<String>> {
    let ty = &c.ty;
    let fits = |v: &Literal| match v {
        Literal::Text(_) => is_listed_as_text(ty),
        Literal::Integer(n) => integer_limits(ty).is_some_and(|(low, high)| low <= *n && *n <= high),
        Literal::Boolean(_) => *ty == SqlType::Bool,
    };
    let supported = is_listed_as_text(ty) || ty.is_integer() || *ty == SqlType::Bool;
    if !supported {
        f.error(
            &list.span,
            format!(
                "values are for text, varchar, char, enum, integer and boolean columns; {:?} is {}",
                c.name,
                type_name(ty)
            ),
            "remove values; a range makes binned or truncated values public groups",
        );
        return None;
    }
    if !c.deterministic_collation {
        let hint = "remove values: two of them may be equal to the database";
        f.error(&list.span, format!("{:?} has a nondeterministic collation", c.name), hint);
        return None;
    }
    // What the schema lists was written there, and is judged below.
    if c.enum_labels.is_none() && proven.values.is_none() {
        alike(&list.value, f);
    }
    for v in &list.value {
        let text = v.value.text();
        if !fits(&v.value) {
            let what =
                format!("{} is not a value of {:?}, which is {}", v.value.shown(), c.name, type_name(ty));
            let hint = match ty {
                SqlType::Bool => "write true and false, without quotes",
                ty if ty.is_integer() => "write whole numbers that the type holds",
                _ => "write strings",
            };
            f.error(&v.span, what, hint);
        } else if let Some(labels) = &c.enum_labels
            && !labels.contains(&text)
        {
            let what = format!("{} is not a label of {}", v.value.shown(), type_name(ty));
            f.error(&v.span, what, suggest(&text, labels.iter().map(String::as_str)));
        } else if let Some(known) = &proven.values
            && !known.contains(&text)
        {
            let what = format!("a CHECK constraint keeps {} out of {:?}", v.value.shown(), c.name);
            f.warn(&v.span, what, suggest(&text, known.iter().map(String::as_str)));
        }
    }
    Some(list.value.iter().map(|v| v.value.text()).collect())
}

/// Least and greatest value of an integer type.
fn integer_limits(ty: &SqlType) -> Option<(BigDecimal, BigDecimal)> {
    let of = |low: i64, high: i64| Some((BigDecimal::from(low), BigDecimal::from(high)));
    match ty {
        SqlType::Int2 => of(i16::MIN.into(), i16::MAX.into()),
        SqlType::Int4 => of(i32::MIN.into(), i32::MAX.into()),
        SqlType::Int8 => of(i64::MIN, i64::MAX),
        _ => None,
    }
}

/// Least and greatest value of a number type, where it has such.
fn limits(c: &schema::Column) -> Option<(BigDecimal, BigDecimal)> {
    let symmetric = |high: BigDecimal| Some((-high.clone(), high));
    match (&c.ty, c.numeric_precision) {
        (SqlType::Numeric { scale: Some(scale) }, Some(precision)) => {
            let (scale, precision) = (i64::from(*scale), i64::from(precision));
            symmetric(BigDecimal::new(1.into(), scale - precision) - BigDecimal::new(1.into(), scale))
        }
        // Somewhat below the greatest finite value.
        (SqlType::Float4, _) => symmetric(BigDecimal::new(1.into(), -38)),
        (SqlType::Float8, _) => symmetric(BigDecimal::new(1.into(), -308)),
        _ => integer_limits(&c.ty),
    }
}

fn grid(raw: Option<&RawColumn>, c: &schema::Column, f: &mut Findings) -> Option<BigDecimal> {
    let Some(declared) = raw.and_then(|r| r.grid.as_ref()) else {
        return match &c.ty {
            SqlType::Numeric { scale } => scale.map(|s| BigDecimal::new(1.into(), s.into()).normalized()),
            ty if ty.is_integer() => Some(BigDecimal::from(1)),
            _ => None,
        };
    };
    let (what, hint) = if !c.ty.is_number() {
        (format!("grid is for numbers; {:?} is {}", c.name, type_name(&c.ty)), "remove it")
    } else if !declared.value.is_positive() {
        (
            "grid must be greater than 0".to_owned(),
            "write the step that sums are counted in, for example 0.01",
        )
    } else if c.ty.is_integer() && !declared.value.is_integer() {
        (format!("{:?} holds whole numbers, and so must its grid", c.name), "remove it: the default is 1")
    } else {
        return Some(declared.value.clone());
    };
    f.error(&declared.span, what, hint);
    None
}

/// Whether NaN may be among a column's values, where that would be NULL.
fn nan(raw: Option<&RawColumn>, c: &schema::Column, ranged: bool, f: &mut Findings) -> bool {
    let Some((raw, declared)) = raw.and_then(|r| Some((r, r.nan.as_ref()?))) else { return true };
    if !c.ty.is_float() {
        let what = format!("nan is for floats; {:?} is {}", c.name, type_name(&c.ty));
        f.error(&declared.span, what, "remove it: NaN of a numeric counts as the upper end of its range");
    } else if raw.range.is_none() && !ranged {
        let what = format!("{:?} has nan and no range", c.name);
        f.error(&declared.span, what, "add the range, to whose upper end NaN would be moved, or remove nan");
    }
    declared.value
}

fn range(
    raw: Option<&RawColumn>,
    c: &schema::Column,
    proven: &Proven,
    domain: Option<&[String]>,
    grid: Option<&BigDecimal>,
    f: &mut Findings,
) -> Option<Range> {
    let both = proven.low.clone().zip(proven.high.clone());
    let Some(declared) = raw.and_then(|r| r.range.as_ref()) else {
        let listed = domain.filter(|_| c.ty.is_integer()).and_then(span_of);
        return both.or(listed).and_then(|(low, high)| model(low, high, grid));
    };
    let (low, high) = ends(declared, c, f)?;
    if low > high {
        let hint = "the lower end comes first, and both belong to the range";
        f.error(
            &declared.span,
            format!("the range of {:?} has its low end above its high end", c.name),
            hint,
        );
        return None;
    }
    held(c, &low, &high, &declared.span, f)?;
    if let (End::Number(low), End::Number(high)) = (&low, &high) {
        numbers(c, low, high, raw.is_some_and(|r| r.grid.is_some()), grid, &declared.span, f)?;
    }
    if let (Some(domain), End::Number(low), End::Number(high), true) =
        (domain, &low, &high, c.ty.is_integer())
    {
        let outside = |v: &&String| decimal_text(v, 10).is_some_and(|n| n < *low || n > *high);
        if let Some(v) = domain.iter().find(outside)
            && raw.is_some_and(|r| r.values.is_some())
        {
            let what = format!("the value {v} of {:?} is outside its range", c.name);
            f.error(&declared.span, what, "widen the range, or remove the value");
        }
    }
    intersect(c, (low, high), proven, grid, &declared.span, f)
}

/// A declared range holds several values of its type: none is a mistake, and one makes all values the same.
fn held(c: &schema::Column, low: &End, high: &End, span: &Span, f: &mut Findings) -> Option<()> {
    let scale = match &c.ty {
        SqlType::Numeric { scale } => *scale,
        ty if ty.is_integer() => Some(0),
        _ => None,
    };
    let (first, last) = match (low, high, scale) {
        (End::Number(low), End::Number(high), Some(scale)) => {
            let to = |n: &BigDecimal, mode| End::Number(n.with_scale_round(scale.into(), mode));
            (to(low, bigdecimal::RoundingMode::Ceiling), to(high, bigdecimal::RoundingMode::Floor))
        }
        _ => (low.clone(), high.clone()),
    };
    if first > last {
        let what = format!("no value of {:?}, which is {}, lies in this range", c.name, type_name(&c.ty));
        f.error(span, what, "write ends that the column can hold");
        return None;
    }
    if first == last {
        one_value(&format!("of {:?}", c.name), span, f);
    }
    Some(())
}

/// The range that the policy declares, within what CHECKs prove.
fn intersect(
    c: &schema::Column,
    (low, high): (End, End),
    proven: &Proven,
    grid: Option<&BigDecimal>,
    span: &Span,
    f: &mut Findings,
) -> Option<Range> {
    let tight_low = tighter(Some(low.clone()), proven.low.clone(), |a, b| a >= b).unwrap_or(low.clone());
    let tight_high = tighter(Some(high.clone()), proven.high.clone(), |a, b| a <= b).unwrap_or(high.clone());
    if tight_low > tight_high {
        let what = format!("a CHECK constraint keeps all values of {:?} out of this range", c.name);
        f.error(
            span,
            what,
            "write a range inside the constraint's, or remove it to use the constraint's own",
        );
        return None;
    }
    for (declared, tight, side) in [(&low, &tight_low, "low"), (&high, &tight_high, "high")] {
        if declared != tight {
            let what = format!("a CHECK constraint bounds {:?} closer than this range", c.name);
            f.warn(span, what, format!("its {side} end, {tight}, is used"));
        }
    }
    model(tight_low, tight_high, grid)
}

/// Both ends in the column's kind.
fn ends(declared: &At<(Bound, Bound)>, c: &schema::Column, f: &mut Findings) -> Option<(End, End)> {
    let span = &declared.span;
    let wrong = |f: &mut Findings, hint: &str| {
        f.error(span, format!("this range does not fit {:?}, which is {}", c.name, type_name(&c.ty)), hint);
        None
    };
    match &declared.value {
        (Bound::Number(low), Bound::Number(high)) if c.ty.is_number() => {
            Some((End::Number(low.clone()), End::Number(high.clone())))
        }
        (Bound::Time(low), Bound::Time(high)) if c.ty.is_datetime() => {
            if [low, high].iter().any(|t| t.date.is_none()) {
                return wrong(f, "write dates: range = [2023-01-01, 2025-12-31]");
            }
            if c.ty == SqlType::Date && [low, high].iter().any(|t| t.time.is_some()) {
                return wrong(f, "write dates without a time: range = [2023-01-01, 2025-12-31]");
            }
            if c.ty == SqlType::Timestamp && [low, high].iter().any(|t| t.offset.is_some()) {
                return wrong(f, "leave out the offset: the column has no time zone");
            }
            let (Some(start), Some(mut end)) = (time::micros(low), time::micros(high)) else {
                return wrong(f, "write dates that exist, in the years 0001 to 9999");
            };
            // A bare date as the upper end means that whole day.
            if c.ty != SqlType::Date && high.time.is_none() {
                end += schema::time::DAY - 1;
            }
            Some((End::Time(start), End::Time(end)))
        }
        _ if c.ty.is_number() => wrong(f, "write numbers: range = [0, 60]"),
        _ if c.ty.is_datetime() => wrong(f, "write dates: range = [2023-01-01, 2025-12-31]"),
        _ => wrong(f, "ranges are for numbers, dates and timestamps; remove it, or list the values"),
    }
}

/// A declared range of numbers lies within its type and on its grid, and has a grid.
fn numbers(
    c: &schema::Column,
    low: &BigDecimal,
    high: &BigDecimal,
    grid_declared: bool,
    grid: Option<&BigDecimal>,
    span: &Span,
    f: &mut Findings,
) -> Option<()> {
    if let Some((least, greatest)) = limits(c)
        && (*low < least || *high > greatest)
    {
        let shown = |n: &BigDecimal| shorten(&n.to_string());
        f.error(
            span,
            format!("the range of {:?} goes beyond its type, {}", c.name, type_name(&c.ty)),
            format!("the type holds {} to {}", shown(&least), shown(&greatest)),
        );
        return None;
    }
    let Some(grid) = grid else {
        // A grid that is wrong was reported where it stands.
        if !grid_declared {
            let what = format!("{:?} is {} and has a range but no grid", c.name, type_name(&c.ty));
            f.error(span, what, "add the step that sums are counted in, for example grid = 0.01");
        }
        return None;
    };
    for end in [low, high] {
        if !(end % grid).is_zero() {
            f.error(
                span,
                format!(
                    "{} is not a multiple of the grid, {}",
                    end.to_plain_string(),
                    grid.to_plain_string()
                ),
                "both ends of a range lie on the grid",
            );
            return None;
        }
        // What one row adds to a sum is a 64-bit integer of grid steps.
        if end.abs() > grid * BigDecimal::from(i64::MAX) {
            let hint = "write a coarser grid, or a smaller range";
            f.error(span, format!("the grid of {:?} is too fine for its range", c.name), hint);
            return None;
        }
    }
    Some(())
}

/// Least and greatest of listed integers.
fn span_of(values: &[String]) -> Option<(End, End)> {
    let numbers = values.iter().map(|v| decimal_text(v, 10)).collect::<Option<Vec<_>>>()?;
    let (low, high) = (numbers.iter().min()?.clone(), numbers.iter().max()?.clone());
    Some((End::Number(low), End::Number(high)))
}

/// For the model: ends from CHECKs are moved outward to the grid, on which declared ends lie already.
fn model(low: End, high: End, grid: Option<&BigDecimal>) -> Option<Range> {
    match (low, high) {
        (End::Number(low), End::Number(high)) => Some(match grid {
            Some(grid) => Range::Number { low: below(&low, grid), high: -below(&-high, grid) },
            None => Range::Number { low, high },
        }),
        (End::Time(low), End::Time(high)) => Some(Range::Time { low, high }),
        _ => None,
    }
}

/// The greatest multiple of `grid` that is not above `n`.
fn below(n: &BigDecimal, grid: &BigDecimal) -> BigDecimal {
    let rest = n % grid;
    let down = if rest.is_negative() { n - &rest - grid } else { n - &rest };
    if down.is_zero() { BigDecimal::zero() } else { down.normalized() }
}
