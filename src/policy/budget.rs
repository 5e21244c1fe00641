//! `[statement]` and `[[budget]]`: prices and limits, in exact decimals.

use super::auto;
use super::envelope;
use super::error::{At, Findings, Span};
use super::keys::{Key, Keys, REQUIRED};
use super::model::{Accounting, Budget, Scope, StatementDefaults, Window};
use super::raw_table::RawTable;
use super::reader::{Section, shorten, text};
use super::suggest::suggest;
use bigdecimal::BigDecimal;
use dp::suspicion::Meaning;
use num_traits::{One, Signed, ToPrimitive, Zero};

/// Decimal `digits * 10^-scale`.
fn dec(digits: i64, scale: i64) -> BigDecimal {
    BigDecimal::new(digits.into(), scale)
}

/// ε from 10⁻⁹ to 1000: beyond either end it is a slip of the pen, not a price.
pub(super) fn epsilon(section: &Section<'_, '_>, f: &mut Findings) -> Option<At<BigDecimal>> {
    price(section, "epsilon", f)
}

/// An ε of this name.
pub(super) fn price(section: &Section<'_, '_>, key: &str, f: &mut Findings) -> Option<At<BigDecimal>> {
    let e = section.number(key, f)?;
    let (what, hint) = if !e.value.is_positive() {
        ("must be greater than 0", "write for example: epsilon = 1.0")
    } else if e.value > dec(1000, 0) {
        ("is over 1000", "an answer at this price is the exact one; usual totals are from 0.1 to 20")
    } else if e.value < dec(1, 9) {
        ("is under 1e-9", "the noise would hide every answer; usual prices are from 0.001 to 1")
    } else {
        return Some(e);
    };
    f.error(&e.span, format!("{key} {what}"), hint);
    None
}

/// δ from 10⁻¹⁰⁰ to 1, or 0 where `zero` allows it.
pub(super) fn delta(
    section: &Section<'_, '_>,
    key: &str,
    zero: bool,
    f: &mut Findings,
) -> Option<At<BigDecimal>> {
    let d = section.number(key, f)?;
    let (what, hint) = if d.value.is_negative() {
        ("must not be negative", "write for example: 1e-9")
    } else if d.value.is_zero() {
        if zero {
            return Some(d);
        }
        ("must be greater than 0", "write for example: 1e-6; a budget without δ has accounting = \"pure\"")
    } else if d.value >= BigDecimal::one() {
        ("must be less than 1", "δ is a probability that the guarantee fails: write for example 1e-6")
    } else if d.value < dec(1, 100) {
        ("is under 1e-100", "write for example: 1e-9")
    } else {
        if d.value > dec(1, 3) {
            let hint = "usual values are well below one over the number of units, for example 1e-6";
            f.warn(&d.span, format!("{key} is over 0.001"), hint);
        }
        return Some(d);
    };
    f.error(&d.span, format!("{key} {what}"), hint);
    None
}

/// Keys of `[statement]`.
pub(super) const STATEMENT: Keys = Keys {
    section: "[statement]",
    list: &[
        Key::of("epsilon", "number, 1e-9 to 1000", "0.1", "0.5")
            .says("Price of a statement that reads private rows: noise has the scale (what one unit can change) / ε."),
        Key::of("min_epsilon", "number, 1e-9 to 1000", "1e-4", "0.001")
            .says("The least ε of a statement, and of a stream: what takes time and may fail is no answer for next to nothing."),
        Key::of("delta", "number, 0 to 1", "1e-9", "1e-8")
            .says("The most that a statement spends on selecting private groups; 0 allows public groups only."),
        Key::of("max_groups", "whole number", "4", "10")
            .says("Groups that a unit may touch (l0), where groups are private or units are counted; its others are dropped. Where they are public, a unit may be in any number of groups, and `max_rows` times as many rows count in all of them."),
        Key::of("max_rows", "whole number", "8", "20")
            .says("Rows of a unit, at most 1,000,000, that count in each private group, and times `max_groups` in all groups together, or without groups; a unit with more is scaled down."),
        Key::of("auto_max_rows", "whole number", "none: `noisegate.bounds = auto` is refused", "1000")
            .says("The most rows of a unit, in all groups together, that `noisegate.bounds = auto` may choose."),
        Key::of("auto_share", "number, 0.01 to 0.5", "0.2", "0.1")
            .says("The share of a statement's ε that `noisegate.bounds = auto` spends on choosing."),
    ],
    later: &["mechanism", "intervals", "accuracy"],
};

pub(super) fn statement(root: &Section<'_, '_>, f: &mut Findings) -> StatementDefaults {
    let mut statement = StatementDefaults {
        epsilon: dec(1, 1),
        min_epsilon: dec(1, 4),
        delta: dec(1, 9),
        max_groups: 4,
        max_rows: 8,
        auto_max_rows: None,
        auto_share: dec(2, 1),
    };
    let Some(section) = root.section("statement", f) else { return statement };
    section.keys(&STATEMENT, f);
    let (asked, least) = (epsilon(&section, f), price(&section, "min_epsilon", f));
    let span = asked.as_ref().or(least.as_ref()).map(|e| e.span.clone());
    if let Some(e) = least {
        statement.min_epsilon = e.value;
    }
    if let Some(e) = asked {
        statement.epsilon = e.value;
    }
    if let Some(span) = span.filter(|_| statement.epsilon < statement.min_epsilon) {
        under_the_least(&span, &statement.epsilon, &statement.min_epsilon, f);
    }
    if let Some(d) = delta(&section, "delta", true, f) {
        statement.delta = d.value;
    }
    if let Some(n) = bound(&section, "max_groups", f) {
        statement.max_groups = n;
    }
    if let Some(n) = bound(&section, "max_rows", f) {
        statement.max_rows = n;
    }
    statement.auto_max_rows = bound(&section, "auto_max_rows", f);
    if let Some(share) = auto_share(&section, f) {
        statement.auto_share = share;
    }
    statement
}

/// A part of ε for choosing bounds, of few digits: with less a choice tells nothing, with more little is left to be answered.
fn auto_share(section: &Section<'_, '_>, f: &mut Findings) -> Option<BigDecimal> {
    let share = section.number("auto_share", f)?;
    let few = share.value.normalized().fractional_digit_count() <= 4;
    if (&dec(1, 2)..=&dec(5, 1)).contains(&&share.value) && few {
        return Some(share.value);
    }
    let hint = "it is a part of a statement's epsilon: write for example auto_share = 0.2";
    f.error(&share.span, "auto_share must be from 0.01 to 0.5, with at most four digits", hint);
    None
}

/// An ε that no statement could be asked at (soundness rule 35: prices have a floor).
pub(super) fn under_the_least(
    span: &std::ops::Range<usize>,
    epsilon: &BigDecimal,
    least: &BigDecimal,
    f: &mut Findings,
) {
    let plain = |e: &BigDecimal| e.normalized().to_plain_string();
    f.error(
        span,
        format!("epsilon = {} is below statement.min_epsilon, {}", plain(epsilon), plain(least)),
        "raise it, or lower min_epsilon: at prices near nothing, how long statements take and which fail tells more than answers",
    );
}

/// A contribution bound.
pub(super) fn bound(section: &Section<'_, '_>, key: &str, f: &mut Findings) -> Option<u32> {
    section.count(key, 1_000_000, f).and_then(|n| u32::try_from(n).ok())
}

/// The word by which an owner leaves the notion to the program.
const AUTO: &str = "auto";

/// Keys of `[[budget]]`.
pub(super) const BUDGET: Keys = Keys {
    section: "[[budget]]",
    list: &[
        Key::of("name", "string", REQUIRED, "\"total\"")
            .says("Unique; the ledger knows the budget by it."),
        Key::of("per", "`user` or `role`", "one over the whole data set, which is the guarantee", "\"user\"")
            .says("A quota for each user or role instead."),
        Key::of("tables", "list of private tables", "all", "[\"trips\", \"payments\"]")
            .says("Only statements that read one of these are debited."),
        Key::of("window", "`Nd` or `month`", "none: it is never refilled", "\"30d\"")
            .says("The budget starts anew with each period of so many days (counted from 1970-01-01) or calendar month, in UTC. What is spent in different windows adds up."),
        Key::of("accounting", "`auto`, `pure`, `approx`, `advanced`, `zcdp`, `rdp`, `gdp` or `envelope`", "\"zcdp\"", "\"approx\"")
            .says("How prices add up: `pure` ε, without private groups; `approx` ε and δ; `advanced` ε²; `zcdp` ρ, which allows many more small statements for the same ε; `rdp` Rényi divergences; `gdp` μ²; `envelope` counts uses of `mechanisms`; `auto` takes that of `zcdp`, `rdp` and `approx` which buys most counts at `statement.epsilon`, once, when the ledger is made."),
        Key::of("epsilon", "number, 1e-9 to 1000", REQUIRED, "8.0")
            .says("The total."),
        Key::of("delta", "number below 1", "required, but for `pure`", "1e-6")
            .says("The total: the chance that the guarantee fails, well below one over the number of units."),
        Key::of("selection_delta", "number below `delta`", "half of `delta`", "4e-8")
            .says("The part of δ that pays for private groups."),
        Key::of("mechanisms", "list of tables", "required for `envelope`", "[{ noise = \"laplace\", sensitivity = 1, scale = 40, uses = 4000 }]")
            .says("What an `envelope` is good for; all uses together must keep (ε, δ)."),
    ],
    later: &[],
};

pub(super) fn budgets(
    root: &Section<'_, '_>,
    statement: &StatementDefaults,
    f: &mut Findings,
) -> Vec<Budget> {
    let mut budgets: Vec<Budget> = Vec::new();
    for section in root.sections("budget", f) {
        section.keys(&BUDGET, f);
        let name = section.required_string("name", "name = \"everyone\"", f);
        if let Some(n) = &name
            && budgets.iter().any(|b| b.name == n.value)
        {
            let what = format!("two budgets are called {:?}", shorten(&n.value));
            f.error(&n.span, what, "names are unique: the ledger knows a budget by its name");
        }
        let scope = scope(&section, f);
        let window = window(&section, scope, f);
        let tables = tables(&section, f);
        let accounting = accounting(&section, f);
        let mechanisms =
            envelope::mechanisms(&section, accounting.map(|a| a.unwrap_or(Accounting::USUAL)), f);
        if section.get("epsilon").is_none() {
            section.missing("epsilon", "epsilon = 8.0", f);
        }
        let total = epsilon(&section, f);
        if let Some(e) = &total
            && e.value < statement.epsilon
        {
            let hint = "lower epsilon in [statement], or analysts have to SET noisegate.epsilon first";
            f.warn(&e.span, "one statement at the default price costs more than this whole budget", hint);
        }
        let span = total.as_ref().map(|e| e.span.clone());
        let Some(accounting) = accounting else { continue };
        let Some((delta, selection_delta)) = deltas(&section, accounting.unwrap_or(Accounting::USUAL), f)
        else {
            continue;
        };
        let (Some(name), Some(scope), Some(total)) = (name, scope, total) else { continue };
        let (Some(window), Some(tables), Some(mechanisms)) = (window, tables, mechanisms) else { continue };
        let (name, epsilon) = (name.value, total.value);
        let auto = accounting.is_none();
        let accounting = accounting.unwrap_or(Accounting::USUAL);
        let mut budget = Budget {
            name,
            scope,
            tables,
            window,
            accounting,
            epsilon,
            delta,
            selection_delta,
            mechanisms,
            choices: Vec::new(),
        };
        if let Some(span) = span.filter(|_| promises_little(&budget.epsilon)) {
            protects_little(&budget, &span, f);
        }
        if auto {
            auto::choose(&mut budget, &statement.epsilon);
        }
        budgets.push(budget);
    }
    budgets
}

/// The ε above which a total is no slip of the pen, and no protection that anybody would call one.
const LENIENT: i64 = 20;

/// Whether an ε leaves next to nothing in doubt.
pub(super) fn promises_little(epsilon: &BigDecimal) -> bool {
    *epsilon > dec(LENIENT, 0)
}

/// Warns of a total that leaves next to nothing in doubt, in the words of EXPLAIN.
fn protects_little(budget: &Budget, span: &Span, f: &mut Findings) {
    let float = |n: &BigDecimal| n.to_f64().unwrap_or(f64::INFINITY);
    let meaning = Meaning::of(float(&budget.epsilon), float(&budget.delta));
    let each = if budget.window.is_some() { " with each window" } else { "" };
    f.warn(
        span,
        format!(
            "epsilon = {} promises next to nothing: {}{each}",
            budget.epsilon.normalized().to_plain_string(),
            meaning.brief()
        ),
        "usual totals are from 0.1 to 20: 1 is strict, 10 is lenient",
    );
}

/// When it starts anew. The outer None: a mistake.
fn window(section: &Section<'_, '_>, scope: Option<Scope>, f: &mut Findings) -> Option<Option<Window>> {
    if section.get("window").is_none() {
        return Some(None);
    }
    let example = "window = \"30d\", or window = \"month\"";
    let written = section.string("window", example, f)?;
    let Some(window) = Window::parse(&written.value) else {
        let what = format!("window = {:?} is neither days nor \"month\"", shorten(&written.value));
        f.error(&written.span, what, format!("write for example: {example}; from 1d to 3660d"));
        return None;
    };
    if scope == Some(Scope::Dataset) && section.get("tables").is_none() {
        let what = format!(
            "a budget over the whole dataset with a window bounds what one window tells: a year touches up to {} of \
             them, and what they tell adds up",
            window.in_a_year()
        );
        f.warn(&written.span, what, "leave window out for a guarantee for all time; give quotas the window");
    }
    Some(Some(window))
}

/// The tables that it is for; empty where it is for all. None: a mistake.
fn tables(section: &Section<'_, '_>, f: &mut Findings) -> Option<Vec<String>> {
    if section.get("tables").is_none() {
        return Some(Vec::new());
    }
    let example = "tables = [\"trips\", \"payments\"]";
    let list = section.list("tables", example, f)?;
    if list.value.is_empty() {
        f.error(&list.span, "tables is empty", "leave it out for a budget over all tables");
        return None;
    }
    let mut names = list
        .value
        .into_iter()
        .map(|value| text("a table", value, example, f).map(|name| name.value))
        .collect::<Option<Vec<_>>>()?;
    names.sort();
    names.dedup();
    Some(names)
}

/// Checks that budgets are over private tables of the policy, and, by soundness rule 24, that one
/// is over the whole data set: quotas per user or role are no guarantee, and what is read of other
/// tables is not counted. Judged by the text, so that a mistake in the dataset-wide budget is not
/// reported as its absence.
pub(super) fn coverage(root: &Section<'_, '_>, allowed: bool, tables: &[RawTable], f: &mut Findings) {
    if root.get("budget").is_some_and(|b| !b.get_ref().is_array()) {
        return;
    }
    let private = || tables.iter().filter(|t| !t.public).map(|t| t.name.value.as_str());
    // Mistakes of type were reported when the budgets were read.
    let mut known = Findings::new("", "");
    let mut total = false;
    for section in root.sections("budget", &mut known) {
        let named = section.list("tables", "", &mut known);
        let mut covered = Vec::new();
        for value in named.iter().flat_map(|l| &l.value) {
            let Some(name) = value.get_ref().as_str() else { continue };
            covered.push(name.to_owned());
            let (what, hint) = match tables.iter().find(|t| t.name.value == name) {
                Some(t) if t.public => {
                    ("is public: statements over it cost nothing", "name private tables only".to_owned())
                }
                Some(_) => continue,
                None => ("is not a table of the policy", suggest(name, private())),
            };
            f.error(&value.span(), format!("{:?} {what}", shorten(name)), hint);
        }
        let all = section.get("tables").is_none() || private().all(|t| covered.iter().any(|c| c == t));
        total |= all && section.get("per").is_none();
    }
    if !total && !allowed {
        f.error_in_file(
            "no budget over the whole dataset: budgets per user or role are quotas, colleagues share answers; budgets \
             with tables leave the others out",
            "add a [[budget]] without per and tables; or, if no total is what you want, allow_no_total = true in \
             [privacy]",
        );
    }
}

fn scope(section: &Section<'_, '_>, f: &mut Findings) -> Option<Scope> {
    if section.get("per").is_none() {
        return Some(Scope::Dataset);
    }
    let per = section.string("per", "per = \"user\"", f)?;
    match per.value.as_str() {
        "user" => Some(Scope::User),
        "role" => Some(Scope::Role),
        other => {
            let what = format!("per = {:?} is neither \"user\" nor \"role\"", shorten(other));
            f.error(&per.span, what, "leave per out for a budget over the whole dataset");
            None
        }
    }
}

/// The notion; the inner None where the program is to choose it. The outer None: a mistake.
fn accounting(section: &Section<'_, '_>, f: &mut Findings) -> Option<Option<Accounting>> {
    if section.get("accounting").is_none() {
        return Some(Some(Accounting::USUAL));
    }
    let a = section.string("accounting", "accounting = \"zcdp\"", f)?;
    if a.value == AUTO {
        return Some(None);
    }
    let known = Accounting::parse(&a.value);
    if known.is_none() {
        let what = format!("unknown accounting {:?}", shorten(&a.value));
        f.error(&a.span, what, suggest(&a.value, Accounting::all().map(Accounting::word).chain([AUTO])));
    }
    known.map(Some)
}

/// δ and its part for selection, which soundness rule 22 fixes at creation.
fn deltas(
    section: &Section<'_, '_>,
    accounting: Accounting,
    f: &mut Findings,
) -> Option<(BigDecimal, BigDecimal)> {
    if !accounting.has_delta() {
        let mut ok = true;
        for key in ["delta", "selection_delta"] {
            let Some(value) = section.get(key) else { continue };
            if section.number(key, f).is_none_or(|d| !d.value.is_zero()) {
                ok = false;
                f.error(
                    &value.span(),
                    format!("a pure budget has no {key}"),
                    "remove it, or use accounting = \"approx\" or \"zcdp\"",
                );
            }
        }
        return ok.then(|| (BigDecimal::zero(), BigDecimal::zero()));
    }
    if section.get("delta").is_none() {
        section.missing("delta", "delta = 1e-6 (only accounting = \"pure\" does without)", f);
    }
    let total = delta(section, "delta", false, f);
    if accounting == Accounting::Envelope {
        if let Some(value) = section.get("selection_delta") {
            let hint = "remove it: an envelope is for statements over public groups";
            f.error(&value.span(), "an envelope has no selection_delta", hint);
            return None;
        }
        return total.map(|t| (t.value, BigDecimal::zero()));
    }
    let selection = match section.get("selection_delta") {
        Some(_) => delta(section, "selection_delta", true, f)?,
        None => {
            let total = total.as_ref()?;
            At { value: (&total.value / BigDecimal::from(2)).normalized(), span: total.span.clone() }
        }
    };
    let total = total?;
    if selection.value >= total.value {
        f.error(
            &selection.span,
            "selection_delta must be less than delta",
            "it is the part of delta that pays for private groups; the rest serves conversion (default: half)",
        );
        return None;
    }
    Some((total.value, selection.value))
}
