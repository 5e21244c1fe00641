//! The allow-list as a table: one entry for each function, operator, form and cast that may stand over private rows.
//!
//! An entry says what it is for people, and holds the two functions that must agree: the rule that computes the facts of a
//! result from those of its arguments, and the text that PostgreSQL runs. Nothing else can make such a scalar. The
//! reference of expressions in `docs/sql.md` is printed from here, and `tests/` draw their expressions from `samples`:
//! each is evaluated by PostgreSQL over awkward values, and whatever leaves its proven facts fails.

use super::facts::Facts;
use super::print::Print;
use super::refusal::Result;
use super::{Param, Scalar};
use super::{
    casts, choice, comparison, dates, formats, functions, json, made, numbers, regex, strings, text, times,
};
use crate::refusals::value::Value;

/// Computes the facts of a result.
pub(super) type Rule = fn(&[Scalar], &Param) -> Result<Facts, Value>;

/// Prints a result from its arguments.
pub(super) type Text = fn(&Scalar, &[Scalar], &Param, Print) -> String;

/// A function or an operator of the allow-list.
pub struct Function {
    /// Name, which no other function has.
    pub name: &'static str,
    pub(super) rule: Rule,
    pub(super) text: Text,
    /// `f(a, b)` is `f(b, a)`.
    pub commutes: bool,
    /// The text is of type int8 when it is computed as int8.
    pub(super) int8: bool,
}

impl Function {
    /// A function whose arguments keep their places, and whose text is of no type in particular.
    pub(super) const fn plain(name: &'static str, rule: Rule, text: Text) -> Self {
        Self { name, rule, text, commutes: false, int8: false }
    }

    pub(super) fn is_int8(&self) -> bool {
        self.int8
    }
}

impl std::fmt::Debug for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// An entry of the allow-list: words for the reference, and samples for tests.
pub struct Entry {
    /// As it is written.
    pub form: &'static str,
    /// Types of arguments and result.
    pub types: &'static str,
    /// Why no row makes it fail.
    pub total: &'static str,
    /// Range of the values, and the condition for NULL.
    pub range: &'static str,
    /// Cost of one evaluation, in steps.
    pub cost: &'static str,
    /// Expressions with holes: `{n}` a number, `{i}` an integer, `{f}` a float, `{t}` a date or timestamp, `{s}` a text,
    /// `{b}` a truth value, `{c}` a constant number, `{d}` a number of digits, `{p}` a pattern, `{e}` a text constant,
    /// `{m}` a constant moment.
    pub samples: &'static [&'static str],
}

/// The whole allow-list, in the order of the reference.
pub fn entries() -> impl Iterator<Item = &'static Entry> {
    let all: [&[Entry]; 13] = [
        numbers::ENTRIES,
        functions::ENTRIES,
        comparison::ENTRIES,
        choice::ENTRIES,
        text::ENTRIES,
        regex::ENTRIES,
        strings::ENTRIES,
        times::ENTRIES,
        dates::ENTRIES,
        made::ENTRIES,
        casts::ENTRIES,
        formats::ENTRIES,
        json::ENTRIES,
    ];
    all.into_iter().flatten()
}

/// The reference of expressions, as a table of Markdown.
pub fn reference() -> String {
    let mut out = String::from(
        "| expression | types | where rows would make it fail | values | steps |\n|---|---|---|---|---|\n",
    );
    for e in entries() {
        let cell = |s: &str| s.replace('|', "\\|");
        out.push_str(&format!(
            "| `{}` | {} | {} | {} | {} |\n",
            cell(e.form),
            cell(e.types),
            cell(e.total),
            cell(e.range),
            cell(e.cost)
        ));
    }
    out
}
