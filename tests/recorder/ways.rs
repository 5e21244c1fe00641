//! How a fetch is run on the two sides of a comparison: by which plans, under which settings, over rows in which order on disk.
//! What one unit changes is bounded whatever these are (soundness rules 48 and 49), and statistics, other sessions and a
//! vacuum choose them anew at any time.

use crate::data;
use crate::rng::Rng;

/// Ways to read, sort, group and join, each of which is switched off now and then.
const PLANS: [&str; 14] = [
    "bitmapscan",
    "hashagg",
    "hashjoin",
    "incremental_sort",
    "indexonlyscan",
    "indexscan",
    "material",
    "memoize",
    "mergejoin",
    "nestloop",
    "parallel_hash",
    "partitionwise_join",
    "seqscan",
    "sort",
];

/// What a session may be set to. Fetch sessions are pinned to the first by `backend::options`, and what makes texts of times and
/// floats relies on that: such fetches have one of these on both sides. Others have two. TimeZone is pinned, too; the zone of
/// who asks is in the text.
const STYLES: [&str; 5] = [
    "datestyle = 'ISO, MDY'; intervalstyle = 'postgres'; extra_float_digits = 1; bytea_output = 'hex'",
    "datestyle = 'ISO, DMY'; intervalstyle = 'sql_standard'; extra_float_digits = -15; bytea_output = 'escape'",
    "datestyle = 'German, DMY'; intervalstyle = 'postgres_verbose'; extra_float_digits = 3; bytea_output = 'hex'",
    "datestyle = 'SQL, YMD'; intervalstyle = 'iso_8601'; extra_float_digits = 0; bytea_output = 'escape'",
    "datestyle = 'Postgres, MDY'; intervalstyle = 'sql_standard'; extra_float_digits = -15; bytea_output = 'hex'",
];

const ZONES: [&str; 4] = ["UTC", "Asia/Tokyo", "America/St_Johns", "+15:59"];

/// Settings of one side, as `SET LOCAL`.
fn set(list: &str) -> String {
    list.split("; ").map(|one| format!("SET LOCAL {one};")).collect()
}

/// One of the styles.
fn styles(rng: &mut Rng) -> String {
    let style = rng.pick(&STYLES);
    set(style)
}

/// How both sides are run.
#[derive(Clone, Debug, Default)]
pub struct Ways {
    /// Settings of the database with all units.
    pub whole: String,
    /// Those of its neighbours.
    pub neighbours: String,
    /// The order of rows in the neighbours.
    order: usize,
    /// Styles of the neighbours, where they are not those of the whole.
    styles: String,
}

impl Ways {
    /// Drawn, for a server of this version.
    pub fn drawn(rng: &mut Rng, version: i64) -> Self {
        let both = styles(rng);
        // Compiling costs more than most statements, and what it computes is looked at once.
        let compiled = match rng.chance(6) {
            true => "jit = on; jit_above_cost = 0; jit_inline_above_cost = -1; jit_optimize_above_cost = -1",
            false => "jit = off",
        };
        let whole = format!("{}{}{both}", plans(rng, version, 12), set(compiled));
        let neighbours = format!("{}{}{both}", plans(rng, version, 4), set("jit = off"));
        let zone = format!("timezone = '{}'", rng.pick(&ZONES));
        let others = format!("{}{}", styles(rng), set(&zone));
        Self { whole, neighbours, order: rng.below(2), styles: others }
    }

    /// What comes before the neighbours are read. `apart`: styles are others, too.
    pub fn between(&self, apart: bool) -> String {
        let styles = if apart { &self.styles } else { "" };
        format!("{}{}{styles}", self.neighbours, data::in_another_order(self.order))
    }
}

/// Whether a text makes texts of values, which orders and hashes are of.
pub fn shows_texts(sql: &str) -> bool {
    sql.match_indices("::pg_catalog.text").any(|(at, _)| !sql[..at].ends_with('\''))
}

/// Plans; `parallel`: in so many of 100 cases by several workers, which each cost some milliseconds. Then nothing else is switched
/// off, and to start them is not for nothing: a nested loop would start them anew for each row.
fn plans(rng: &mut Rng, version: i64, parallel: usize) -> String {
    let parallel = rng.chance(parallel);
    let off = if parallel || rng.chance(30) { 0 } else { 25 };
    let each = PLANS.map(|name| format!("enable_{name} = {}; ", if rng.chance(off) { "off" } else { "on" }));
    let (memory, times) = (rng.pick(&["64kB", "64kB", "4MB"]), rng.pick(&[1, 2]));
    let forced = if version < 160_000 { "force_parallel_mode" } else { "debug_parallel_query" };
    let workers = match parallel {
        true => {
            "on; max_parallel_workers_per_gather = 2; parallel_setup_cost = 20; parallel_tuple_cost = 0; \
             min_parallel_table_scan_size = 0; min_parallel_index_scan_size = 0"
        }
        false => "off; max_parallel_workers_per_gather = 0",
    };
    set(&format!(
        "{}work_mem = '{memory}'; hash_mem_multiplier = {times}; {forced} = {workers}",
        each.concat()
    ))
}
