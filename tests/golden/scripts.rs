//! Golden scripts: SQL in; plan, price, rewritten SQL and answer out, with the noise pinned.
//!
//! `UPDATE_GOLDENFILES=1 cargo test --test golden scripts` writes the outputs anew; read the difference before it is
//! committed. In a script, `> SELECT …` shows the whole way, `[plan]> SELECT …` the plan alone, `[sql]> SELECT …` the
//! texts that PostgreSQL runs, `[answer]> SELECT …` the rows alone, `[same]> SELECT …` the form that a stored answer is known
//! by, `[choice]> SELECT …` the release that `noisegate.bounds = auto` chooses its bound by, `[words]> SELECT …` what EXPLAIN tells in sentences, and `!> SELECT …` the error that it must end in. `SET noisegate.mechanism = …`, `SET noisegate.intervals = …`, `SET noisegate.consistent = …`, `SET noisegate.accuracy = …`, `SET noisegate.bounds = …` (a bound that was chosen), `SET noisegate.profile = …` (bins of the trips of riders, of an ε of 0.1), `SET noisegate.item = fare about 3.2 in 64 by station: …` (bins of another item, in steps of the grid) and `SET noisegate.stream = …` hold for
//! what follows them.

use crate::bikes::Bikes;
use crate::script::Runner;
use std::path::Path;

fn run(name: &str) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let bikes = runtime.block_on(async {
        match name {
            // Gaussian noise needs a budget that has a price for it.
            "both_norms" | "gaussian" | "groups_in_rounds" | "profile_sums" => Bikes::paying_by("zcdp").await,
            "collected" | "collected_sets" => Bikes::collecting().await,
            _ => Bikes::new().await,
        }
    });
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts").join(name);
    goldenscript::run(&mut Runner { runtime, bikes }, path).unwrap();
}

macro_rules! scripts {
    ($($name:ident),* $(,)?) => {
        $(#[test] fn $name() { run(stringify!($name)) })*
        const SCRIPTS: &[&str] = &[$(stringify!($name)),*];
    };
}

scripts!(
    accuracy,
    both_norms,
    bounding,
    bounds,
    bounds_chosen,
    collected,
    collected_sets,
    distinct,
    expressions,
    expressions_buckets,
    expressions_formats,
    expressions_functions,
    expressions_patterns,
    expressions_texts,
    expressions_times,
    times_of_day,
    json_members,
    finish,
    gaussian,
    group_by,
    grouping_sets,
    groups_computed,
    groups_narrowed,
    groups_private,
    groups_in_rounds,
    groups_public,
    groups_together,
    in_exists,
    intervals,
    joins,
    light,
    mixed_unions,
    once,
    one_table,
    other_spellings,
    per_unit,
    per_unit_windows,
    price,
    probes,
    profile,
    profile_sums,
    private_joins,
    public,
    public_rows,
    quantiles,
    ranking,
    refused_rows,
    released_values,
    refused_statements,
    same_question,
    scalar_subqueries,
    set_operations,
    spread,
    streams,
    unit_path,
    values,
    what_to_write,
    where_clause,
    words,
);

#[test]
fn every_script_is_run() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(SCRIPTS.contains(&name.as_str()), "tests/scripts/{name} is not in the list");
    }
}
