//! A plan as JSON: for owners with the SQL that it leads to, for analysts with what EXPLAIN tells them as lines. The keys are
//! described in docs/explain.md.

pub mod number;

use answer::ClientError;
use dp::quantile::Selector;
use dp::{self, Distribution, Noise, Points, Ratio, Selection, UNITS_PER_ONE, Weights};
use emit::print::{self, Constants};
use emit::{domain, fetch};
use ledger::words::percent;
use ledger::{Amount, Counter};
use num_bigint::BigUint;
use number::{decimal, integer, measure, quotient, root_of_quotient, signed, square_root};
use plan::aggregates::{Axis, Cells};
use plan::{Part, Plan, Release, Settings, explain};
use policy::{Accounting, Budget, Policy, Privacy, Scope, Table};
use serde_json::{Map, Value, json};
use sql::output::output_name;

/// Everything that is known of a statement before it runs.
pub fn plan(plan: &Plan, policy: &Policy, constants: &Constants) -> Value {
    let mut warnings = Vec::new();
    let price = price(plan, policy, &mut warnings);
    let each = |r: &Release| {
        let mut of = release(r, plan, policy);
        merge(&mut of, texts(r, policy));
        of
    };
    json!({
        "price": price,
        "releases": plan.releases.iter().map(each).collect::<Vec<_>>(),
        "finish_sql": print::finish(plan, policy, constants, &[]).0.sql,
        "tables": tables(plan, policy),
        "warnings": warnings,
        "summary": summary(plan, policy),
        "plan": explain::lines(plan, policy),
    })
}

/// Sentences about the cost in each whole budget, the error of the answer, and what is cut.
pub fn summary(plan: &Plan, policy: &Policy) -> Vec<String> {
    let mut out: Vec<String> = match &plan.charge {
        None => vec!["This costs nothing: no private rows are read.".into()],
        Some(charge) => costs(policy, charge, "This costs"),
    };
    out.extend(plan::explain::summary::sentences(plan, policy));
    out
}

/// Sentences about the cost of a charge in each budget of which nothing is spent.
pub fn costs(policy: &Policy, charge: &dp::Charge, begin: &str) -> Vec<String> {
    policy.budgets.iter().filter_map(|b| cost(b, charge, begin)).collect()
}

fn cost(budget: &Budget, charge: &dp::Charge, begin: &str) -> Option<String> {
    let counter = Counter::of(budget, &[]).ok()?;
    let owner = match budget.scope {
        Scope::Dataset => "everybody together".to_owned(),
        scope => format!("per {}", scope.word()),
    };
    let window = budget.window.map(|w| format!(", anew every {}", w.word())).unwrap_or_default();
    Some(match counter.price(charge) {
        Err(why) => format!("Budget \"{}\" ({owner}{window}) refuses it: {why}.", budget.name),
        Ok(price) => {
            let nothing = counter.nothing();
            let (share, fits) = (percent(counter.share(&nothing, &price)), counter.fits(&nothing, &price));
            format!(
                "{begin} {share} of budget \"{}\" ({owner}{window}), which holds {fits} like it.",
                budget.name
            )
        }
    })
}

/// The explanation for an analyst: no SQL over tables, whose names and columns it may hide, and of
/// budgets only the cost of the statement. `summary` and `lines` are those of its text.
pub fn told(
    plan: &Plan,
    policy: &Policy,
    settings: &Settings,
    summary: &[String],
    lines: &[String],
) -> Value {
    let mut price = price(plan, policy, &mut Vec::new());
    let budgets = price.get_mut("budgets").and_then(Value::as_array_mut);
    for budget in budgets.into_iter().flatten().filter_map(Value::as_object_mut) {
        budget.retain(|key, _| ["name", "per", "accounting", "cost", "refused"].contains(&key.as_str()));
    }
    json!({
        "settings": {
            "epsilon": ratio(&settings.epsilon),
            "delta": ratio(&settings.delta),
            "max_groups": settings.max_groups,
            "max_rows": settings.chosen_rows.unwrap_or(settings.max_rows),
        },
        "price": price,
        "releases": plan.releases.iter().map(|r| release(r, plan, policy)).collect::<Vec<_>>(),
        "tables": tables(plan, policy),
        "summary": summary,
        "plan": lines,
    })
}

fn tables(plan: &Plan, policy: &Policy) -> Vec<Value> {
    plan.tables.iter().filter_map(|t| policy.tables.get(*t)).map(|t| table(t, policy)).collect()
}

/// A refusal.
pub fn error(e: &ClientError) -> Value {
    let mut of = Map::new();
    of.insert("sqlstate".into(), e.code.as_str().into());
    of.insert("message".into(), e.message.clone().into());
    let more = [("detail", e.detail.clone().map(Value::from)), ("hint", e.hint.clone().map(Value::from))];
    let position = ("position", e.position.map(Value::from));
    of.extend(more.into_iter().chain([position]).filter_map(|(k, v)| Some((k.to_owned(), v?))));
    json!({ "error": of })
}

fn table(t: &Table, policy: &Policy) -> Value {
    let mut of = json!({ "schema": t.schema, "name": t.name });
    let privacy = match &t.privacy {
        Privacy::Public => json!({ "privacy": "public" }),
        Privacy::Private { .. } | Privacy::Path(_) => {
            json!({ "privacy": "private", "unit": policy.unit_name() })
        }
    };
    merge(&mut of, privacy);
    of
}

/// Adds the keys of `more` to `to`.
fn merge(to: &mut Value, more: Value) {
    if let (Value::Object(to), Value::Object(more)) = (to, more) {
        to.extend(more);
    }
}

/// What PostgreSQL gets for a release.
fn texts(r: &Release, policy: &Policy) -> Value {
    if r.is_domain_only() {
        return json!({ "domain_sql": domain::rows(r, policy) });
    }
    let text = fetch::fetch(r, policy);
    let seed =
        json!([{ "name": "$1", "type": "int8", "value": "a secret random seed, new for each statement" }]);
    let parameters = if text.seeded { seed } else { json!([]) };
    json!({ "fetch_sql": text.sql, "parameters": parameters })
}

fn release(r: &Release, plan: &Plan, policy: &Policy) -> Value {
    let keys: Vec<Value> = r
        .keys
        .iter()
        .map(|k| json!({ "name": k.label, "type": short_type(&k.scalar.ty().sql_name()) }))
        .collect();
    let groups = json!({ "public": r.public_groups, "why": r.groups_why, "keys": keys });
    if r.is_domain_only() {
        return json!({ "private": false, "groups": groups });
    }
    let scans = r.source.scans.iter().filter_map(|s| policy.tables.get(s.table()?));
    let tables: Vec<&str> = scans.map(|t| t.name.as_str()).collect();
    let aggregates: Vec<Value> =
        r.parts.iter().zip(&r.spec.aggregates).map(|(part, noise)| aggregate(part, noise)).collect();
    let outputs: Vec<Value> = r
        .outputs
        .iter()
        .map(|(a, output)| {
            json!({ "name": explain::name(a, &plan.statement.bindings), "aggregates": output.parts() })
        })
        .collect();
    let mut of = json!({
        "private": true,
        "tables": tables,
        "groups": groups,
        "grouping_sets": sets(r, plan),
        "bounding": bounding(r),
        "work": { "fan_out": r.work.fan_out, "steps": r.work.steps },
        "aggregates": aggregates,
        "outputs": outputs,
        "points": r.cells.as_ref().zip(r.spec.points.as_ref()).map(|(c, p)| points(r, c, p)),
        "selection": r.spec.selection.as_ref().map(selection),
    });
    if let Some(n) = r.round {
        merge(&mut of, json!({ "round": { "number": n + 1, "of": dp::ROUNDS } }));
    }
    of
}

/// The grouping sets whose rows a release has, and how many of its groups each adds up to one.
fn sets(r: &Release, plan: &Plan) -> Vec<Value> {
    let of = plan.grouping_sets.iter().filter(|s| s.select == r.select);
    let each = of.flat_map(|all| all.sets.iter().filter(|s| s.of == r.set).map(move |s| (all, s)));
    each.map(|(all, set)| {
        let keys = set.keys.iter().filter_map(|k| all.keys.get(*k));
        let names: Vec<String> = keys.map(|(e, _)| output_name(e, &plan.statement.bindings)).collect();
        json!({ "keys": names, "adds_up": set.added })
    })
    .collect()
}

fn short_type(name: &str) -> &str {
    name.trim_start_matches("pg_catalog.")
}

fn bounding(r: &Release) -> Value {
    let b = &r.bounding;
    json!({
        "max_groups": b.l0(),
        "drops_groups": b.l0_stage(),
        "max_total_rows": b.spread(),
        "max_rows": b.rows(),
        "scales_rows": b.rows_stage(),
        "why": explain::bounds(b, r.norm()),
    })
}

/// What is chosen among points of a grid, and how.
fn points(r: &Release, cells: &Cells, points: &Points) -> Value {
    let mechanism = match points.selector() {
        Selector::Exponential => "exponential",
        Selector::PermuteAndFlip => "permute_and_flip",
    };
    let grid = match &cells.axis {
        Axis::Values | Axis::Listed(_) => Value::Null,
        Axis::Grid { step, low, high, .. } => {
            let [low, high, step] = [low, high, step].map(|x| x.to_plain_string());
            json!({ "low": low, "high": high, "step": step })
        }
    };
    json!({
        "choices": r.parts.iter().map(|p| p.label.as_str()).collect::<Vec<_>>(),
        "mechanism": mechanism,
        "grid": grid,
        "points": cells.points,
        "levels": points.levels(),
        "epsilon_of_a_level": plan::words::decimal(&points.level()),
        "weight": points.weight(),
        "error95_in_rows": r.drawn().rank95(),
    })
}

fn aggregate(part: &Part, noise: &Noise) -> Value {
    let one = bigdecimal::BigDecimal::from(1);
    let kind = part.kind.name();
    let grid = part.kind.grid().unwrap_or(&one) / bigdecimal::BigDecimal::from(noise.steps.max(1));
    let by = noise.sensitivity;
    let gaussian = matches!(noise.distribution, Distribution::Gaussian { .. });
    let mut of = json!({
        "name": part.label,
        "kind": kind,
        "grid": decimal(&grid),
        "per_unit_per_group": integer(by.linf),
        "l0": if by.groups == u64::MAX { Value::Null } else { Value::from(by.groups) },
        "linf": integer(by.linf),
        // Of squares no more is known of the sum than that it is less.
        "l1": if gaussian && by.groups == u64::MAX { Value::Null } else { integer(by.l1) },
        "l2": square_root(&BigUint::from(by.l2_squared)),
        "noise": self::noise(noise),
    });
    if let Some(s) = part.kind.on_grid() {
        let (low, high) = s.range();
        let range = json!({ "clamped_to": [decimal(&low), decimal(&high)], "center": signed(s.centre()) });
        merge(&mut of, range);
    }
    of
}

fn noise(noise: &Noise) -> Value {
    let mut of = distribution(&noise.distribution);
    merge(&mut of, json!({ "error95": measure(noise.error95() * f64::from(noise.steps)) }));
    of
}

fn distribution(noise: &Distribution) -> Value {
    match noise {
        Distribution::None => json!({ "mechanism": "none" }),
        Distribution::Laplace { scale } => {
            json!({ "mechanism": "discrete_laplace", "scale": ratio(scale), "scale_exact": exact(scale) })
        }
        Distribution::Gaussian { variance } => json!({
            "mechanism": "discrete_gaussian",
            "sigma": root_of_quotient(&BigUint::from(*variance.numer()), &BigUint::from(*variance.denom())),
            "variance_exact": exact(variance),
        }),
    }
}

fn selection(s: &Selection) -> Value {
    let counts = match s.weights {
        Weights::Units => "distinct units of the group".to_owned(),
        Weights::Sum(w) => format!("distinct units of the group, of which one in s groups weighs {w} / s"),
        Weights::Squares(w) => {
            format!("distinct units of the group, of which one in s groups weighs {w} / sqrt(s)")
        }
    };
    let mut of = json!({
        "counts": counts,
        "threshold": signed(s.threshold),
        "delta": ratio(&s.delta),
    });
    merge(&mut of, distribution(&s.noise));
    of
}

fn ratio(r: &Ratio) -> Value {
    quotient(&BigUint::from(*r.numer()), &BigUint::from(*r.denom()))
}

fn exact(r: &Ratio) -> String {
    r.to_string()
}

fn price(plan: &Plan, policy: &Policy, warnings: &mut Vec<String>) -> Value {
    let Some(charge) = &plan.charge else {
        return json!({ "epsilon": 0, "delta": 0, "budgets": [] });
    };
    let budgets: Vec<Value> = policy.budgets.iter().map(|b| budget(b, charge, warnings)).collect();
    json!({
        "epsilon": ratio(&charge.epsilon),
        "delta": ratio(&charge.selection_delta),
        "budgets": budgets,
    })
}

/// What a charge costs in a budget's own notion.
fn budget(b: &Budget, charge: &dp::Charge, warnings: &mut Vec<String>) -> Value {
    let per = match b.scope {
        Scope::Dataset => Value::Null,
        Scope::User => "user".into(),
        Scope::Role => "role".into(),
    };
    let mut of = json!({ "name": b.name, "per": per, "accounting": b.accounting.word() });
    if let Some(window) = b.window {
        merge(&mut of, json!({ "window": window.word() }));
    }
    if !b.tables.is_empty() {
        merge(&mut of, json!({ "tables": b.tables }));
    }
    let counter = match Counter::of(b, &[]) {
        Ok(counter) => counter,
        Err(e) => {
            warnings.push(e.to_string());
            return of;
        }
    };
    match counter.price(charge) {
        Ok(cost) => {
            let fits = counter.fits(&counter.nothing(), &cost);
            if fits == 0 {
                warnings.push(format!("budget {:?} has no room for this statement, even unspent", b.name));
            }
            merge(&mut of, json!({ "cost": amount(b.accounting, &cost) }));
            merge(&mut of, json!({ "limit": amount(b.accounting, &counter.limit()), "fits": integer(fits) }));
        }
        Err(e) => {
            warnings.push(format!("budget {:?} refuses this statement: {e}", b.name));
            merge(&mut of, json!({ "refused": e.to_string() }));
        }
    }
    of
}

/// What a budget sums, by the name that its notion has for it.
fn amount(accounting: Accounting, amount: &Amount) -> Value {
    let units = |x: u128| quotient(&BigUint::from(x), &BigUint::from(UNITS_PER_ONE));
    let cost = match amount {
        Amount::Uses(tokens) => return json!({ "uses": tokens.counts() }),
        Amount::Cost(cost) => cost,
    };
    let Some(name) = accounting.notion().map_or(Some("epsilon"), dp::Notion::key) else {
        return json!({ "delta": units(cost.delta) });
    };
    let mut of = Map::new();
    of.insert(name.to_owned(), units(cost.loss));
    of.insert("delta".to_owned(), units(cost.delta));
    Value::Object(of)
}
