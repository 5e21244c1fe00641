//! Lines of `check` about what is collected: in ε, in DDL, and in words.

use bigdecimal::{BigDecimal, ToPrimitive};
use policy::{Collect, Collected, Policy, Randomiser};
use std::fmt::Write as _;

/// What somebody believed before they saw a report.
const PRIOR: f64 = 0.1;

/// All that is collected.
pub fn summary(policy: &Policy) -> String {
    policy.collects.iter().map(|c| of(c, policy)).collect()
}

fn of(c: &Collect, policy: &Policy) -> String {
    let mut text = String::new();
    let who: Vec<String> =
        c.users.iter().cloned().chain(c.roles.iter().map(|r| format!("role {r}"))).collect();
    let _ = writeln!(
        text,
        "  collect   {}: randomised reports in {}.{}, written by {}; local ε = {} a row",
        c.name,
        c.schema,
        c.table,
        who.join(", "),
        c.epsilon()
    );
    for column in &c.columns {
        let missing = if column.missing { " and NULL" } else { "" };
        let values = match &column.randomiser {
            Randomiser::Oracle(_) => format!("{} values{missing}", column.values.len()),
            Randomiser::Mean { mean, .. } => format!("{} steps", mean.steps()),
            Randomiser::Sets(sets) => format!("up to {} of {} values", sets.most(), sets.values()),
        };
        let _ = writeln!(
            text,
            "            {}: {} of {values}, ε = {}, {}; {}",
            column.name,
            column.kind.word(),
            column.epsilon.normalized(),
            column.randomiser.word(),
            error(column)
        );
    }
    let _ = writeln!(text, "            {}", of_one_person(c));
    if let Some(s) = c.shuffled() {
        let _ = writeln!(
            text,
            "            randomised and sealed where it is given; a shuffler lets {} reports or more go together, or after {} s what \
             there is; `noisegate collect describe` prints the description for both",
            s.min_batch, s.max_delay
        );
    }
    let _ = writeln!(text, "            {}", stolen(c));
    if let Some(line) = shuffled(c) {
        let _ = writeln!(text, "            {line}");
    }
    let user = |url: &policy::Given<String>, otherwise: &str| {
        Some(url.shown().user).filter(|user| !user.is_empty()).unwrap_or_else(|| otherwise.to_owned())
    };
    let unnamed = policy::Given::default();
    let writer = user(policy.backend.collect_url.as_ref().unwrap_or(&unnamed), "noisegate_collect");
    let fetch = user(&policy.backend.url, "noisegate");
    let finish = user(&policy.backend.finish_url, "noisegate_finish");
    for line in c.ddl(&writer, [&fetch, &finish]) {
        let _ = writeln!(text, "            {line}");
    }
    text
}

/// What one person gives at most.
fn of_one_person(c: &Collect) -> String {
    let row = c.epsilon();
    let Some(person) = &c.person else {
        return format!(
            "a person who writes n rows is protected by n times {row}: nothing here limits how many one person writes"
        );
    };
    let mut text = match &person.limit {
        Some(limit) => {
            let whole = &row * BigDecimal::from(limit.rows);
            format!(
                "a person, told apart by {:?}, gives {} rows in {} s, ε = {} of {}; over w windows w times that",
                person.column,
                limit.rows,
                limit.window,
                whole.normalized(),
                limit.epsilon.normalized()
            )
        }
        None => format!(
            "a person, told apart by {:?}, who writes n rows is protected by n times {row}",
            person.column
        ),
    };
    if let Some(permanent) = &person.permanent {
        let instant = permanent.instant_epsilon.normalized();
        text += &format!(
            "; whoever says the same each time by {row}, however often, and by as much again for other values; rows of a person are \
             linked by ε = {instant} each"
        );
        text += &match permanent.rows {
            Some(n) => format!(", and intervals hold for persons who give up to {n}"),
            None => ", and no interval is told, since rows_per_person is not known".to_owned(),
        };
    }
    text
}

/// How far an estimate of 10,000 reports is off, with 95 %.
fn error(column: &Collected) -> String {
    let share = |deviation: f64| {
        format!("of 10,000 reports a share is known within ±{:.1} %", 196.0 * deviation / 10_000.0)
    };
    match (&column.randomiser, column.probabilities()) {
        (_, Some(probabilities)) => share(dp::randomised::deviation(probabilities, 10_000, 0)),
        (Randomiser::Mean { mean, grid, .. }, _) => {
            let grid = grid.to_f64().unwrap_or(1.0);
            // Through two layers: of one of two symbols, at worst where both are as likely.
            let variance = match (&column.instant, column.affine()) {
                (Some(_), Some((scale, _))) => scale * scale / 4.0,
                _ => mean.largest_variance(),
            };
            let deviation = (variance / 10_000.0).sqrt() * grid;
            format!("of 10,000 reports the average is known within ±{:.3}", 1.96 * deviation)
        }
        _ => String::new(),
    }
}

/// What shuffling would make of it: the numerical bound, and the closed form beside it.
fn shuffled(c: &Collect) -> Option<String> {
    const DELTA: f64 = 1e-6;
    let local = dp::ratio(&c.epsilon())?;
    let of = |n: u64| {
        let closed =
            dp::shuffle::closed_form(n, &local, DELTA).map_or("no bound".to_owned(), |e| format!("{e:.3}"));
        format!("{n} reports {:.3} ({closed})", dp::shuffle::epsilon(n, &local, DELTA))
    };
    if let Some(s) = c.shuffled() {
        let all: Vec<String> =
            [s.min_batch, 10 * s.min_batch, 100 * s.min_batch].into_iter().map(of).collect();
        return Some(format!(
            "central ε at δ = {DELTA:e} for who sees a batch and not the shuffler, by the numerical bound (the closed form): {}; a \
             small batch hides in its own size alone",
            all.join(", ")
        ));
    }
    let all: Vec<String> = [1_000, 10_000, 100_000].into_iter().map(of).collect();
    Some(format!(
        "central ε at δ = {DELTA:e} for who sees answers over that many reports once, by the numerical bound (the closed form): {}; \
         who asks before and after one report sees that report, at ε = {}: there is no shuffler",
        all.join(", "),
        c.epsilon()
    ))
}

/// What a thief of the table learns of one person, in words: Bayes' rule at the likelihood ratio that ε bounds.
fn stolen(c: &Collect) -> String {
    let each = |column: &Collected| {
        let belief = 100.0 * column.posterior(PRIOR);
        format!("after {}, {belief:.0} %", column.name)
    };
    format!(
        "who steals the database, knows which row is whose, and suspected somebody of something with {:.0} %, suspects them with \
         at most: {}; the table says when rows were written only as far as the order of transactions does",
        100.0 * PRIOR,
        c.columns.iter().map(each).collect::<Vec<_>>().join("; ")
    )
}
