//! Functions of texts. Each looks at the first 10,000 characters of a column, and no argument but a constant decides how
//! long its result is: what is proven of a text is how many characters it has at most.

use super::facts::Facts;
use super::print::{Print, collated, is_varied};
use super::refusal::{Result, refusal, refused};
use super::scalar::{Choice, Node, Param, Scalar};
use super::table::{Entry, Function};
use super::text::LONGEST_TEXT;
use super::{casts, choice};
use crate::expr::domain::Domain;
use crate::expr::interval::Interval;
use crate::refusals::text::Text;
use crate::refusals::value::{Unfit, Value};
use bigdecimal::ToPrimitive;
use schema::SqlType;
use sql::ast::Pos;

/// Characters that a computed text may have.
const MOST_TEXT: u64 = 100_000;
/// Characters of a constant argument.
const MOST_CONSTANT: u64 = 1_000;
/// Positions and numbers of characters in arguments.
const MOST_PLACE: i64 = 1_000_000;

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        form: "lower(x), upper(x), initcap(x), reverse(x)",
        types: "text → text",
        total: "the first 10,000 characters of x are looked at; refused for nondeterministic collations",
        range: "at most three times as long; NULL where x is",
        cost: "50 for each character",
        samples: &["lower({s})", "upper({s})", "initcap({s})", "reverse({s})", "(lower({s}) = {e})"],
    },
    Entry {
        form: "trim([both | leading | trailing] 'chars' FROM x), btrim(x[, 'chars']), ltrim(x[, 'chars']), rtrim(x[, 'chars'])",
        types: "text → text",
        total: "as for lower; the characters are a constant of at most 1,000",
        range: "no longer than x; NULL where x is",
        cost: "10 for each character and each of the constant's",
        samples: &["btrim({s})", "ltrim({s}, {e})", "rtrim({s}, 'ab')", "trim(leading 'o' from {s})"],
    },
    Entry {
        form: "left(x, n), right(x, n), substring(x FROM n [FOR m]), substr(x, n[, m])",
        types: "text → text",
        total: "as for lower; n and m are constants within a million, m at least 0",
        range: "no longer than x; NULL where x is",
        cost: "10 for each character",
        samples: &[
            "left({s}, 3)",
            "left({s}, -2)",
            "right({s}, 2)",
            "right({s}, -1)",
            "substring({s} from 2 for 3)",
            "substr({s}, -1, 4)",
            "substr({s}, 2)",
        ],
    },
    Entry {
        form: "length(x), char_length(x), octet_length(x), position('c' IN x), strpos(x, 'c')",
        types: "text → integer",
        total: "as for lower; what is searched for is a constant of at most 1,000 characters",
        range: "0 to 10,000, or to what x can have (four times as much for octet_length); NULL where x is",
        cost: "10 for each character, and each of the constant's",
        samples: &["length({s})", "octet_length({s})", "position({e} in {s})", "strpos({s}, 'a')"],
    },
    Entry {
        form: "a || b, concat(a, …), concat_ws('sep', a, …)",
        types: "texts, and integers, enums and uuids as texts → text",
        total: "as for lower; a result that may be longer than 100,000 characters is refused",
        range: "as long as all of them; || is NULL where an argument is, concat takes NULL as ''",
        cost: "2 for each character",
        samples: &[
            "({s} || {e})",
            "({s} || {s})",
            "concat({s}, {e}, {s})",
            "concat_ws(', ', {s}, {e})",
            "length({s} || {i})",
        ],
    },
    Entry {
        form: "replace(x, 'from', 'to'), translate(x, 'from', 'to'), split_part(x, 'delimiter', n), starts_with(x, 'c')",
        types: "text → text, starts_with → boolean",
        total: "as for lower; other arguments are constants of at most 1,000 characters, n at least 1",
        range: "replace: as many times 'to' as x can hold 'from', within 100,000 characters; else no longer than x; NULL where x is",
        cost: "20 for each character and each of the constant's",
        samples: &[
            "replace({s}, {e}, 'bcd')",
            "replace({s}, 'a', '')",
            "translate({s}, 'ao', 'bc')",
            "split_part({s}, ' ', 2)",
            "starts_with({s}, {e})",
        ],
    },
    Entry {
        form: "md5(x)",
        types: "text → text",
        total: "as for lower; a server that has no MD5 says so whatever the rows are",
        range: "32 hexadecimal digits; groups by left(md5(x), 1) or left(md5(x), 2) are public; NULL where x is",
        cost: "100,000",
        samples: &["md5({s})", "left(md5({s}), 1)"],
    },
];

const fn function(name: &'static str, rule: super::table::Rule) -> Function {
    Function { name, rule, text: called, commutes: false, int8: false }
}

const FUNCTIONS: &[Function] = &[
    function("lower", folded),
    function("upper", folded),
    function("initcap", folded),
    function("reverse", folded),
    function("btrim", trimmed),
    function("ltrim", trimmed),
    function("rtrim", trimmed),
    function("left", end),
    function("right", end),
    function("substr", slice),
    function("length", characters),
    function("octet_length", bytes),
    function("strpos", found),
    function("replace", replaced),
    function("translate", translated),
    function("split_part", split),
    function("starts_with", started),
    Function::plain("md5", hashed, hashed_text),
];

const CUT: Function = Function::plain("cut", cut_rule, cut_text);
const CONCAT: Function = Function::plain("||", joined, joined_text);

/// The function of texts that has this name; two have a second one, by their syntax.
fn named(name: &str) -> Option<&'static Function> {
    let name = match name {
        "substring" => "substr",
        "position" => "strpos",
        name => name,
    };
    FUNCTIONS.iter().find(|f| f.name == name)
}

/// Whether a function of texts has this name.
pub(super) fn is_known(name: &str) -> bool {
    named(name).is_some()
}

/// `name(x, constants)`
pub(super) fn call(name: &str, mut args: Vec<Scalar>, pos: Pos) -> Result<Scalar> {
    let f = named(name).ok_or_else(|| refusal(Unfit::Function, pos))?;
    if let Some(x) = args.first_mut() {
        *x = short(x.clone(), pos)?;
    }
    Scalar::apply(f, args, Param::None).map_err(|e| e.at(pos))
}

/// `a || b`
pub(super) fn concatenation(a: Scalar, b: Scalar, pos: Pos) -> Result<Scalar> {
    let both = vec![written(a, pos)?, written(b, pos)?];
    Scalar::apply(&CONCAT, both, Param::None).map_err(|e| e.at(pos))
}

/// `concat(a, …)`: NULL is the empty text.
pub(super) fn concat(list: Vec<Scalar>, pos: Pos) -> Result<Scalar> {
    let mut out: Option<Scalar> = None;
    for x in list {
        let x = written(x, pos)?;
        let there = match x.facts.nullable {
            true => {
                choice::choice(Choice::Coalesce, vec![x, Scalar::text_constant("")]).map_err(|e| e.at(pos))?
            }
            false => x,
        };
        out = Some(match out {
            Some(before) => concatenation(before, there, pos)?,
            None => there,
        });
    }
    out.ok_or_else(|| refusal(Unfit::Concat, pos))
}

/// `concat_ws('sep', a, …)`: each that is there behind the separator, of which the first is cut off.
pub(super) fn concat_with(separator: &str, list: Vec<Scalar>, pos: Pos) -> Result<Scalar> {
    let led = list.into_iter().map(|x| concatenation(Scalar::text_constant(separator), x, pos));
    let all = concat(led.collect::<Result<Vec<_>>>()?, pos)?;
    let from = i64::try_from(separator.chars().count()).unwrap_or(MOST_PLACE) + 1;
    let from = super::numbers::literal(&from.to_string(), None, pos)?;
    call("substr", vec![all, from], pos)
}

/// A value as text, where every type has one way to be written.
fn written(x: Scalar, pos: Pos) -> Result<Scalar> {
    match &x.facts.ty {
        t if t.is_text() => short(x, pos),
        _ if matches!(x.node, Node::Null) => Ok(Scalar::null(SqlType::Text)),
        SqlType::Int2 | SqlType::Int4 | SqlType::Int8 | SqlType::Uuid | SqlType::Enum { .. } => {
            casts::to_text(x, pos)
        }
        _ => refused(Text::Joined, pos),
    }
}

/// A text of a proven number of characters.
pub(super) fn short(x: Scalar, pos: Pos) -> Result<Scalar> {
    if matches!(x.node, Node::Null) {
        return Ok(Scalar::null(SqlType::Text));
    }
    if !x.facts.ty.is_text() {
        return refused(Text::Other, pos);
    }
    match x.facts.longest <= MOST_TEXT {
        true => Ok(x),
        false => Scalar::apply(&CUT, vec![x], Param::None).map_err(|e| e.at(pos)),
    }
}

fn cut_rule(args: &[Scalar], _: &Param) -> Result<Facts, Value> {
    match args {
        [x] if x.facts.ty.is_text() => Ok(Facts {
            longest: LONGEST_TEXT.min(x.facts.longest),
            domain: None,
            cost: LONGEST_TEXT,
            ..Facts::clone(&x.facts)
        }),
        _ => Err(Unfit::Cut.into()),
    }
}

fn cut_text(_: &Scalar, args: &[Scalar], _: &Param, print: Print) -> String {
    args.first().map_or_else(String::new, |x| format!("pg_catalog.\"left\"({}, {LONGEST_TEXT})", print(x)))
}

/// The first argument: a text under a deterministic collation, of proven length.
fn subject(args: &[Scalar]) -> Result<(&Facts, &[Scalar]), Value> {
    match args {
        [x, ..] if !x.facts.canonical => Err(Text::Spelled.into()),
        [x, rest @ ..] if x.facts.ty.is_text() && x.facts.longest <= MOST_TEXT => Ok((&x.facts, rest)),
        _ => Err(Unfit::Length.into()),
    }
}

/// A text of so many characters, made of `x`.
fn made(x: &Facts, longest: u64, each: u64) -> Result<Facts, Value> {
    if longest > MOST_TEXT {
        return Err(Text::Long.into());
    }
    let cost = 100 + x.longest.saturating_mul(each);
    Ok(Facts { longest, cost, ..Facts::of_type(SqlType::Text, x.nullable) })
}

/// How many characters a constant argument has.
fn constant(x: &Scalar) -> Result<u64, Value> {
    let count = match &x.node {
        Node::Text(t) if x.facts.ty.is_text() => u64::try_from(t.chars().count()).unwrap_or(u64::MAX),
        _ => {
            return Err(Text::Inconstant.into());
        }
    };
    match count <= MOST_CONSTANT {
        true => Ok(count),
        false => Err(Text::LongConstant.into()),
    }
}

/// A constant whole number.
fn place(x: &Scalar) -> Result<i64, Value> {
    let n = match &x.node {
        Node::Number(n) if x.facts.ty.is_integer() => n.to_i64(),
        _ => None,
    };
    n.filter(|n| n.abs() <= MOST_PLACE).ok_or_else(|| Text::Place.into())
}

fn folded(args: &[Scalar], _: &Param) -> Result<Facts, Value> {
    match subject(args)? {
        // A letter becomes up to three others.
        (x, []) => made(x, x.longest * 3, 50),
        _ => Err(Unfit::TextArguments.into()),
    }
}

fn trimmed(args: &[Scalar], _: &Param) -> Result<Facts, Value> {
    match subject(args)? {
        (x, []) => made(x, x.longest, 20),
        (x, [what]) => made(x, x.longest, 10 + 10 * constant(what)?),
        _ => Err(Unfit::TextArguments.into()),
    }
}

/// The first or the last characters, or all but so many.
fn end(args: &[Scalar], _: &Param) -> Result<Facts, Value> {
    let (x, [n]) = subject(args)? else { return Err(Unfit::TextArguments.into()) };
    let n = place(n)?;
    let hexadecimal = matches!(args, [Scalar { node: Node::Apply(f, ..), .. }, _] if f.name == "md5");
    let domain = match n {
        1 if hexadecimal => Some((0..16).map(|i| format!("{i:x}")).collect()),
        2 if hexadecimal => Some((0..256).map(|i| format!("{i:02x}")).collect()),
        _ => None,
    }
    .map(Domain::Values);
    let longest = u64::try_from(n).map_or(x.longest, |n| n.min(x.longest));
    Ok(Facts { domain, ..made(x, longest, 10)? })
}

fn slice(args: &[Scalar], _: &Param) -> Result<Facts, Value> {
    match subject(args)? {
        (x, [from]) => {
            place(from)?;
            made(x, x.longest, 10)
        }
        (x, [from, count]) => {
            place(from)?;
            let count = u64::try_from(place(count)?).map_err(|_| Text::Negative)?;
            made(x, x.longest.min(count), 10)
        }
        _ => Err(Unfit::TextArguments.into()),
    }
}

fn whole(x: &Facts, most: u64, cost: u64) -> Facts {
    Facts { cost: 100 + cost, ..Facts::whole(Interval::new(0, most), x.nullable) }
}

fn characters(args: &[Scalar], _: &Param) -> Result<Facts, Value> {
    match subject(args)? {
        (x, []) => Ok(whole(x, x.longest, x.longest * 10)),
        _ => Err(Unfit::TextArguments.into()),
    }
}

/// A character of UTF-8 has four at most.
fn bytes(args: &[Scalar], _: &Param) -> Result<Facts, Value> {
    match subject(args)? {
        (x, []) => Ok(whole(x, x.longest * 4, x.longest * 10)),
        _ => Err(Unfit::TextArguments.into()),
    }
}

fn found(args: &[Scalar], _: &Param) -> Result<Facts, Value> {
    match subject(args)? {
        // An empty text is found at 1.
        (x, [what]) => Ok(whole(x, x.longest.max(1), x.longest * (10 + constant(what)?))),
        _ => Err(Unfit::TextArguments.into()),
    }
}

fn replaced(args: &[Scalar], _: &Param) -> Result<Facts, Value> {
    match subject(args)? {
        (x, [from, to]) => {
            let (from, to) = (constant(from)?, constant(to)?);
            let times = x.longest.checked_div(from).unwrap_or(0);
            made(x, x.longest.max(times * to + from), 20 + 20 * from + 2 * to)
        }
        _ => Err(Unfit::TextArguments.into()),
    }
}

fn translated(args: &[Scalar], _: &Param) -> Result<Facts, Value> {
    match subject(args)? {
        (x, [from, to]) => made(x, x.longest, 20 + 20 * constant(from)? + constant(to)?),
        _ => Err(Unfit::TextArguments.into()),
    }
}

fn split(args: &[Scalar], _: &Param) -> Result<Facts, Value> {
    match subject(args)? {
        (x, [delimiter, n]) => match place(n)? {
            1.. => made(x, x.longest, 20 + 20 * constant(delimiter)?),
            _ => Err(Text::Field.into()),
        },
        _ => Err(Unfit::TextArguments.into()),
    }
}

fn started(args: &[Scalar], _: &Param) -> Result<Facts, Value> {
    match subject(args)? {
        (x, [with]) => Ok(Facts::truth(x.nullable, 100 + constant(with)? + x.longest)),
        _ => Err(Unfit::TextArguments.into()),
    }
}

fn hashed(args: &[Scalar], _: &Param) -> Result<Facts, Value> {
    match subject(args)? {
        (x, []) => Ok(Facts { longest: 32, ..made(x, x.longest.max(32), 10)? }),
        _ => Err(Unfit::TextArguments.into()),
    }
}

/// The condition is constant: a server without MD5 fails before it reads a row.
fn hashed_text(_: &Scalar, args: &[Scalar], _: &Param, print: Print) -> String {
    let x = args.first().map(print).unwrap_or_default();
    format!("(CASE WHEN pg_catalog.md5('') IS NOT NULL THEN pg_catalog.md5({x}) END)")
}

fn called(s: &Scalar, args: &[Scalar], _: &Param, print: Print) -> String {
    let Node::Apply(f, ..) = s.node() else { return "NULL".into() };
    let args: Vec<String> = args.iter().map(print).collect();
    // These two are words of the language.
    let quote = if matches!(f.name, "left" | "right") { "\"" } else { "" };
    format!("pg_catalog.{quote}{}{quote}({})", f.name, args.join(", "))
}

fn joined(args: &[Scalar], _: &Param) -> Result<Facts, Value> {
    let [a, b] = args else { return Err(Unfit::TextArguments.into()) };
    subject(args)?;
    let (other, _) = subject(std::slice::from_ref(b))?;
    let longest = a.facts.longest.saturating_add(other.longest);
    let facts = made(&a.facts, longest, 2)?;
    Ok(Facts { nullable: a.facts.nullable || other.nullable, cost: 100 + longest * 2, ..facts })
}

fn joined_text(_: &Scalar, args: &[Scalar], _: &Param, print: Print) -> String {
    let [a, b] = args else { return "NULL".into() };
    match is_varied(a) && is_varied(b) {
        true => format!("({} || {})", collated(a, print), collated(b, print)),
        false => format!("({} || {})", print(a), print(b)),
    }
}
