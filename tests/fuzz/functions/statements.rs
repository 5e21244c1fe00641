//! What analysts write, all the way: parsed, planned, printed, and proven by the kernel from what was printed.

use super::pulled_up::pulled_up;
use noisegate::dp;
use noisegate::emit::fetch;
use noisegate::emit::print::{self, Constants};
use noisegate::kernel;
use noisegate::plan::{self, Plan, PlanError};
use noisegate::policy::{self, Policy};
use noisegate::price::{Proof, covers};
use noisegate::sql::{self, Kind};
use std::path::Path;
use std::sync::LazyLock;

static POLICY: LazyLock<Policy> = LazyLock::new(policy_of_bikes);

/// Rounds in which a plan asks for sizes of public columns, or is made anew.
const ROUNDS: usize = 64;

fn policy_of_bikes() -> Policy {
    let schema = serde_json::from_str(include_str!("../../policy/schema.json")).unwrap();
    let text = include_str!("../../../config/bikes.toml");
    policy::parse(text, "bikes.toml", Path::new("")).unwrap().check(&schema).unwrap()
}

fn settings(policy: &Policy) -> plan::Settings {
    let ratio = |x| dp::ratio(x).unwrap();
    plan::Settings {
        budgets: policy.budgets.iter().map(|b| (b.name.clone(), b.notion())).collect(),
        ..plan::Settings::new(ratio(&policy.statement.epsilon), ratio(&policy.statement.delta), 3, 7)
    }
}

fn constants() -> Constants {
    Constants {
        now: "2025-01-01 00:00:00+00".into(),
        user: "ada".into(),
        database: "bikes".into(),
        schema: Some("public".into()),
        own: Vec::new(),
    }
}

/// The plan of a statement, or why there is none.
fn planned(text: &str, policy: &Policy) -> Result<Plan, String> {
    let parsed = sql::parse::parse(text, &policy.limits).map_err(|e| e.to_string())?;
    let parsed = parsed.into_iter().next().ok_or("nothing is asked")?;
    let (Kind::Query(query, lines) | Kind::Explain(query, lines, _) | Kind::Arguments(query, lines)) =
        sql::classify(parsed).map_err(|e| e.to_string())?.kind
    else {
        return Err("no query".into());
    };
    sql::text_size::check(&query, &lines, None, &policy.limits).map_err(|e| e.to_string())?;
    let mut statement =
        sql::resolve::resolve(&query, &lines, policy, &policy.limits).map_err(|e| e.to_string())?;
    sql::constants::visit(&mut statement, sql::constants::Wanted::Values, &mut |e, array| {
        if let Some(value) =
            plan::expr::constant::evaluate(e, Some("2025-01-01 00:00:00+00")).filter(|_| !array)
        {
            *e = value;
        }
    });
    let mut sizes = plan::Sizes::new();
    for _ in 0..ROUNDS {
        match plan::plan(&mut statement, policy, &settings(policy), &sizes) {
            Ok(plan) => return Ok(plan),
            Err(PlanError::Missing(missing)) if !missing.types.is_empty() => {
                return Err("types are needed".into());
            }
            Err(PlanError::Missing(missing)) if !missing.rows.is_empty() => {
                return Err("rows are needed".into());
            }
            Err(PlanError::Missing(missing)) => {
                sizes.extend(missing.sizes.into_iter().map(|size| (size, 10)));
            }
            Err(PlanError::Refused(e)) => return Err(e.to_string()),
        }
    }
    Err("sizes are asked for without end".into())
}

/// A statement is refused, or all that would be read for it is proven by the kernel, and covered by the noise.
fn all_the_way(plan: Plan, policy: &Policy) -> Result<bool, String> {
    let (typed, finish) = (
        print::typed(&plan.statement, policy, &constants()),
        print::finish(&plan, policy, &constants(), &[]),
    );
    if typed.sql.is_empty() || finish.0.sql.is_empty() {
        return Err("nothing was printed".into());
    }
    let private = plan.charge.is_some();
    let reads = plan.releases.iter().any(|r| !r.is_domain_only());
    if !private && reads && plan.free.is_none() {
        return Err("releases, and no charge".into());
    }
    for release in plan.releases.iter().filter(|r| !r.is_domain_only()) {
        let sql = fetch::fetch(release, policy).sql;
        let certified = match kernel::certify(&sql, policy) {
            // It is refused for that.
            Err(e) if e.is_depth() => return Ok(private),
            certified => certified.map_err(|e| format!("not certified: {e}\n{sql}\nof"))?,
        };
        if certified.keys != release.keys.len()
            || !covers(&Proof::from(&certified), &release.spec, plan.question.is_none())
        {
            return Err(format!("not covered: {:?}\n{sql}\nof", release.spec));
        }
    }
    Ok(private)
}

/// A statement, which is refused or read private rows as far as it may.
pub fn statements(bytes: &[u8]) -> Result<bool, String> {
    match std::str::from_utf8(bytes).map(|text| planned(text, &POLICY)) {
        Ok(Ok(plan)) => all_the_way(plan, &POLICY),
        Ok(Err(_)) | Err(_) => Ok(false),
    }
}

/// What becomes of a statement: with what it is refused, or that it was planned.
pub fn far(text: &str) -> Result<String, String> {
    match planned(text, &POLICY) {
        Ok(plan) => {
            let (pulled_up, limit) = (pulled_up(&plan.statement), POLICY.limits.max_expressions);
            if pulled_up > limit as u64 {
                return Err(format!("PostgreSQL gets {pulled_up} expressions"));
            }
            all_the_way(plan, &POLICY).map(|private| format!("planned, private: {private}"))
        }
        Err(refused) => Ok(refused),
    }
}
