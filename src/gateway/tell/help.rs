//! `noisegate.help`: what an analyst needs to know, without a folder of documents. A line of text for each row, in order.
//!
//! `docs/sql.md` says it at length. The examples are run by `tests/answers/help.rs`.

use emit::print::OwnRow;
use sql::functions::{Class, names};

/// Topics, and what is said of each.
pub const HELP: &[(&str, &[&str])] = &[
    (
        "start",
        &[
            "Rows of private tables are never shown. Aggregates over many people's rows are, with noise.",
            "Noise and price do not depend on the rows. EXPLAIN SELECT … says what it costs, how wrong the answer will be and what is cut, for nothing.",
            "SELECT table_name, column_name, data_type, low, high, groups FROM noisegate.columns lists what there is.",
            "Each answer costs a part of a budget: see the topic budget. The same question again costs nothing.",
            "A small group's number may be negative, or nothing but noise: compare it with its error.",
            "Other topics: SELECT DISTINCT topic FROM noisegate.help.",
        ],
    ),
    (
        "budget",
        &[
            "SELECT name, fraction_left, answers_left FROM noisegate.budget: what is left.",
            "SET noisegate.epsilon = 0.1: what the next statements cost. Twice as much halves the noise. EXPLAIN says which share of a budget it is.",
            "SELECT at, epsilon, query FROM noisegate.history: what you asked.",
            "Statements over public tables alone, groups without aggregates, and noisegate.* cost nothing.",
        ],
    ),
    (
        "groups",
        &[
            "Groups are public where their values follow from the policy or the statement: all of them come back.",
            "Public keys: listed values, columns of public tables, booleans, whole numbers and dates with a range,",
            "date_trunc('month', t), t::date, extract(hour FROM t), floor(x / 10) * 10, CASE with constants, and functions of these.",
            "A key without public values becomes public by WHERE: k IN ('a', 'b') for any, k BETWEEN 1 AND 99 for whole numbers.",
            "Other groups are private: one comes back only if enough people are in it, which EXPLAIN tells.",
            "WHERE narrows groups: t >= '2025-01-01' AND t < '2025-04-01' leaves three months.",
            "SET noisegate.empty_groups = off leaves out public groups that cannot be told from empty ones.",
        ],
    ),
    (
        "bounds",
        &[
            "One person's rows count up to a bound, which noisegate.max_rows and noisegate.max_groups set.",
            "Where the policy allows it, SET noisegate.bounds = auto chooses the bound on rows privately, for a share of the price.",
            "Who has more is scaled down, or loses some groups at random. EXPLAIN (VERBOSE) SELECT … says which bounds hold.",
            "A sum or an average needs a range, declared or written: sum(LEAST(GREATEST(x, 0), 100)).",
            "Values outside a range count as its nearest end.",
        ],
    ),
    (
        "joins",
        &[
            "Rows of different people never meet: a join of private tables equates their units, as in USING (rider_id).",
            "Public tables join freely, and so do results: WITH a AS (SELECT … GROUP BY k), b AS (…) SELECT … FROM a JOIN b USING (k).",
            "EXISTS and IN over private rows hold the equality of units inside.",
        ],
    ),
    (
        "settings",
        &[
            "SELECT name, setting, description FROM noisegate.settings: all of them.",
            "SET noisegate.epsilon = 1; SET noisegate.max_groups = 12; RESET noisegate.epsilon; SHOW noisegate.epsilon.",
            "SET noisegate.notices = off: no NOTICE of prices and errors.",
        ],
    ),
    (
        "intervals",
        &[
            "SET noisegate.intervals = on: columns _low and _high beside each number, between which it lies without noise 95 times in 100.",
            "SELECT count(*), noisegate.low(count(*)), noisegate.high(count(*)), noisegate.stddev(count(*)) FROM trips: the same by name.",
            "SET noisegate.accuracy = 50: the least price, up to noisegate.epsilon, at which each count and sum comes within 50; = '2 %': within 2 % of itself.",
            "SET noisegate.confidence = 0.99: how often they hold. They cost nothing, and reach as far as what bounds cut: an end that nobody has measured is NULL.",
            "SET noisegate.round = on: numbers are shown without the digits that their interval says nothing of.",
        ],
    ),
    (
        "functions",
        &[
            "Above the aggregates these may stand, at no price: round(avg(x), 1), rank() OVER (ORDER BY count(*)).",
        ],
    ),
    (
        "errors",
        &[
            "0A000: not supported; DETAIL says why and HINT what to write instead. It costs nothing.",
            "42501: nobody may do that here. 42703, 42P01: no such column or table; HINT names what there is.",
            "53400: a budget is spent, or does not hold the price: SELECT * FROM noisegate.budget.",
            "57014: cancelled, or the time is over; what was charged stays charged.",
            "XX000 with an incident id: ask the owner, who finds the id in the log.",
        ],
    ),
];

/// The rows.
pub(in crate::gateway) fn rows() -> Vec<OwnRow> {
    let row = |topic: &str, text: String| vec![Some(topic.to_owned()), Some(text)];
    let mut out = Vec::new();
    for (topic, lines) in HELP {
        out.extend(lines.iter().map(|line| row(topic, (*line).to_owned())));
        if *topic == "functions" {
            for class in [Class::Plain, Class::Aggregate, Class::Window] {
                out.push(row(topic, names(class).collect::<Vec<_>>().join(" ")));
            }
            out.push(row(
                topic,
                format!("{} In them, and in WHERE and GROUP BY:", plan::aggregates::supported()),
            ));
            out.extend(plan::expr::entries().map(|e| row(topic, format!("{}: {}", e.form, e.types))));
        }
    }
    out
}
