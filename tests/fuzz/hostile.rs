//! What somebody writes to bring the proxy down: chains and nests of every operator and clause, each as long as `parse` takes it,
//! over public and private rows, in half of the stack that the program gives, and with the bytes counted that it takes.

use crate::functions::far;
use crate::mutate::Mutator;
use allocation_counter::measure;
use noisegate::STACK;
use noisegate::policy::Limits;
use noisegate::sql;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// What is made around an operand, again and again: `x` stands for it.
const AROUND: &[&str] = &[
    "x + 1",
    "x - 1",
    "x * 1",
    "x / 1",
    "x % 1",
    "x ^ 1",
    "x || 'a'",
    "x & 1",
    "x | 1",
    "x # 1",
    "x << 1",
    "x >> 1",
    "x = 1",
    "x <> 1",
    "x < 1",
    "x AND true",
    "x OR true",
    "true AND x",
    "true OR x",
    "x XOR true",
    "x DIV 1",
    "x IS NULL",
    "x IS NOT NULL",
    "x ISNULL",
    "x NOTNULL",
    "x IS TRUE",
    "x IS NOT FALSE",
    "x IS UNKNOWN",
    "x IS DISTINCT FROM 1",
    "x IS NOT DISTINCT FROM 1",
    "x IS NORMALIZED",
    "x IS DOCUMENT",
    "x IS JSON",
    "x LIKE 'a'",
    "x ILIKE 'a'",
    "x NOT LIKE 'a'",
    "x SIMILAR TO 'a'",
    "x NOT SIMILAR TO 'a'",
    "x ~ 'a'",
    "x !~* 'a'",
    "x RLIKE 'a'",
    "x REGEXP 'a'",
    "x BETWEEN 0 AND 1",
    "x NOT BETWEEN 0 AND 1",
    "x BETWEEN SYMMETRIC 0 AND 1",
    "(x BETWEEN 0 AND 1)",
    "(x IN (1))",
    "x IN (1, 2)",
    "(1 IN (x, 2))",
    "x IN (SELECT 1)",
    "x = ANY (ARRAY[1])",
    "x MEMBER OF (1)",
    "x OVERLAPS (1, 2)",
    "x::int",
    "x::text",
    "x COLLATE \"C\"",
    "x AT TIME ZONE 'UTC'",
    "x AT LOCAL",
    "x[1]",
    "x.f",
    "x -> 'a'",
    "x ->> 'a'",
    "x #> 'a'",
    "x @> 'a'",
    "x <-> 1",
    "x ^@ 'a'",
    "x ? 'a'",
    "x OPERATOR(pg_catalog.+) 1",
    "x !",
    "- x",
    "-(x)",
    "+ x",
    "~ x",
    "NOT x",
    "@ x",
    "|/ x",
    "!! x",
    "PRIOR x",
    "(x)",
    "(x + 1)",
    "(-x)",
    "abs(x)",
    "coalesce(x, 1)",
    "nullif(x, 1)",
    "greatest(x, 1)",
    "least(1, x)",
    "f(x)",
    "round(x, 1)",
    "upper(x)",
    "extract(year FROM x)",
    "date_trunc('day', x)",
    "CAST(x AS int)",
    "TRY_CAST(x AS int)",
    "CASE WHEN x THEN 1 END",
    "CASE x WHEN 1 THEN 1 END",
    "CASE WHEN true THEN x END",
    "CASE WHEN true THEN 1 ELSE x END",
    "ARRAY[x]",
    "(ARRAY[x])[1]",
    "ROW(x)",
    "(SELECT x)",
    "(x, 1)",
    "EXISTS (SELECT x)",
    "x IN (SELECT x)",
    "POSITION('a' IN x)",
    "SUBSTRING(x FROM 1 FOR 2)",
    "TRIM(x)",
    "OVERLAY(x PLACING 'a' FROM 1)",
    "INTERVAL x DAY",
    "(x < (1))",
    "sum(x)",
    "sum(x) OVER ()",
    "count(*) FILTER (WHERE x)",
    "x AND x",
    "x + x",
    "nullif(x, x)",
    "(x IS NULL OR x)",
    "1 + x",
    "x + 1 = 1",
    "x IS NULL AND true",
    "NOT x IS NULL",
    "f(1, x)",
    "GROUPING(x)",
    "x AS a",
    "x a",
];

/// What is made around a query: `q` stands for it.
const QUERIES: &[&str] = &[
    "SELECT * FROM (q) t",
    "SELECT *, * FROM (q) t",
    "SELECT t.*, t.* FROM (q) t",
    "SELECT x + x AS x FROM (q) t",
    "SELECT x * 0 + x * 0 AS x FROM (q) t",
    "SELECT x BETWEEN x AND x AS x FROM (q) t",
    "SELECT x, x FROM (q) t",
    "SELECT x FROM (q) t WHERE x = x",
    "SELECT x FROM (q) t ORDER BY x",
    "SELECT DISTINCT x FROM (q) t",
    "(q)",
    "q UNION ALL q0",
    "q UNION q0",
    "q EXCEPT q0",
    "q INTERSECT q0",
    "q0 UNION ALL (q)",
    "SELECT x FROM (q) t GROUP BY x",
    "WITH w AS (q) SELECT x FROM w",
    "WITH w AS (q) SELECT a.x FROM w a, w b",
    "SELECT (q) AS x",
    "SELECT x FROM s JOIN (q) t ON true",
    "SELECT x FROM (q) t CROSS JOIN s",
    "SELECT x FROM (q) t NATURAL JOIN s",
    "SELECT x FROM LATERAL (q) t",
    "SELECT max(x) AS x FROM (q) t",
    "SELECT CASE WHEN x = 1 THEN x ELSE x END AS x FROM (q) t",
    "SELECT x FROM (q) t WHERE EXISTS (q0)",
    "SELECT x FROM (q) t WHERE x IN (q0)",
    "SELECT coalesce(x, x, x) AS x FROM (q) t",
    "SELECT x FROM (q0) t WHERE x IN (q)",
    "SELECT x FROM (q0) t WHERE EXISTS (q)",
    "SELECT row_number() OVER (ORDER BY x) AS x FROM (q) t",
    "TABLE (q)",
    "q LIMIT 1",
    "SELECT x FROM ((q) t)",
    "EXPLAIN q",
];

/// What is written often beside each other, and with what between.
const BESIDE: &[(&str, &str)] = &[
    ("1", ", "),
    ("x", ", "),
    ("x = 1", " OR "),
    ("x = 1", " AND "),
    ("x + 1", ", "),
    ("coalesce(x, 1)", ", "),
    ("'a'", " || "),
];

/// What takes many: `y` stands for them.
const LISTS: &[&str] = &[
    "coalesce(y)",
    "greatest(y)",
    "x IN (y)",
    "(y)",
    "ARRAY[y]",
    "f(y)",
    "x = ANY (ARRAY[y])",
    "y",
    "concat(y)",
    "ROW(y)",
];

/// Where an expression stands: `e`, of `o`, the operand that is there.
const PLACES: &[(&str, &str)] = &[
    ("SELECT e", "1"),
    ("SELECT e FROM stations", "capacity"),
    ("SELECT 1 FROM stations WHERE e", "capacity = 1"),
    ("SELECT sum(e) FROM trips", "minutes"),
    ("SELECT sum(e) FROM trips", "fare"),
    ("SELECT count(*) FROM trips WHERE e", "minutes = 1"),
    ("SELECT count(*) FROM trips WHERE (e) IS NULL", "minutes"),
    ("SELECT count(*) FILTER (WHERE e) FROM trips", "station = 'a'"),
    ("SELECT e, count(*) FROM trips GROUP BY 1", "station"),
    ("SELECT count(*) FROM trips GROUP BY e", "minutes"),
    ("SELECT count(*) FROM trips HAVING e", "count(*) > 1"),
    ("SELECT count(*) FROM trips ORDER BY e", "count(*)"),
    ("SELECT count(*) + e FROM trips", "1"),
    ("SELECT count(*) FROM trips JOIN stations ON e", "trips.station = stations.station"),
    ("SELECT sum(e) OVER () FROM stations", "capacity"),
    ("SELECT 1 LIMIT e", "1"),
    ("VALUES (e)", "1"),
    ("SELECT * FROM stations LEFT JOIN trips ON e", "true"),
    ("EXPLAIN SELECT sum(e) FROM trips", "minutes"),
    ("DECLARE k CURSOR FOR SELECT e", "1"),
    ("COPY (SELECT e) TO STDOUT", "1"),
    ("PREPARE p AS SELECT e", "1"),
    ("EXECUTE p (e)", "1"),
    ("SET x = e", "1"),
    ("INSERT INTO survey VALUES (e)", "1"),
];

/// A way to write something of any length.
struct Family {
    name: String,
    write: Box<dyn Fn(usize) -> String + Send>,
}

fn replaced(pattern: &str, word: &str, by: &str) -> String {
    // A word by itself.
    let mut out = String::with_capacity(pattern.len() + by.len());
    let mut rest = pattern;
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    while let Some(at) = rest.find(word) {
        let (before, after) = (&rest[..at], &rest[at + word.len()..]);
        let alone = !before.ends_with(is_word) && !after.starts_with(is_word);
        out += before;
        out += if alone { by } else { word };
        rest = after;
    }
    out + rest
}

/// Each pattern around itself, up to a length that no limit allows.
fn nested(pattern: &str, word: &str, seed: &str, times: usize) -> String {
    const MOST: usize = 1 << 20;
    let count = replaced(pattern, word, "\u{1}").matches('\u{1}').count();
    let mut text = seed.to_owned();
    if count == 1 {
        let whole = replaced(pattern, word, "\u{1}");
        let (before, after) = whole.split_once('\u{1}').unwrap();
        let times = times.min(MOST / (before.len() + after.len()).max(1));
        return before.repeat(times) + seed + &after.repeat(times);
    }
    for _ in 0..times {
        if text.len() > MOST {
            break;
        }
        text = replaced(pattern, word, &text);
    }
    text
}

fn families() -> Vec<Family> {
    let mut all = Vec::new();
    for (place, operand) in PLACES {
        let mut add = |what: &str, write: Box<dyn Fn(usize) -> String + Send>| {
            all.push(Family { name: format!("{what} in {place}"), write });
        };
        for around in AROUND {
            add(around, Box::new(move |n| replaced(place, "e", &nested(around, "x", operand, n))));
        }
        for list in LISTS {
            for (item, between) in BESIDE {
                let write = move |n: usize| {
                    let item = replaced(item, "x", operand);
                    let items = vec![item; n.max(1)].join(between);
                    replaced(
                        place,
                        "e",
                        &replaced(&replaced(list, "y", "\u{1}"), "x", operand).replace('\u{1}', &items),
                    )
                };
                add(&format!("{list} of {item}"), Box::new(write));
            }
        }
    }
    for (source, column) in [("stations", "capacity"), ("trips", "minutes"), ("(VALUES (1)) v(c)", "c")] {
        for around in QUERIES {
            for last in ["q", "SELECT count(*) FROM (q) t", "SELECT sum(x) FROM (q) t WHERE x > 1"] {
                let write = move |n: usize| {
                    let seed = format!("SELECT {column} AS x FROM {source}");
                    let pattern = around.replace("q0", &format!("SELECT {column} AS x FROM {source}"));
                    let pattern = replaced(&pattern, "s", "stations s");
                    replaced(last, "q", &nested(&pattern, "q", &seed, n))
                };
                all.push(Family {
                    name: format!("{around} over {source} in {last}"),
                    write: Box::new(write),
                });
            }
        }
    }
    for around in [
        "SELECT x FROM p",
        "SELECT x + x AS x FROM p",
        "SELECT a.x FROM p a, p b",
        "SELECT x FROM p WHERE x IN (SELECT x FROM p)",
        "SELECT max(x) AS x FROM p",
        "SELECT DISTINCT x FROM p",
        "SELECT x FROM p UNION ALL SELECT x FROM p",
        "SELECT *, * FROM p",
        "SELECT (SELECT max(x) FROM p) AS x",
    ] {
        for (source, column) in [("stations", "capacity"), ("trips", "minutes"), ("(VALUES (1)) v(c)", "c")] {
            for last in ["SELECT x FROM p", "SELECT count(*) FROM p", "SELECT sum(x) FROM p WHERE x > 1"] {
                let write = move |n: usize| {
                    let n = n.min(20_000);
                    let each = (1..=n)
                        .map(|i| format!(", w{i} AS ({})", replaced(around, "p", &format!("w{}", i - 1))));
                    let each: String = each.collect();
                    format!(
                        "WITH w0 AS (SELECT {column} AS x FROM {source}){each} {}",
                        replaced(last, "p", &format!("w{n}"))
                    )
                };
                all.push(Family {
                    name: format!("WITH {around} over {source} in {last}"),
                    write: Box::new(write),
                });
            }
        }
    }
    all
}

/// The longest that is parsed, or what is refused first where nothing is.
fn longest(family: &Family, limits: &Limits) -> usize {
    let taken = |n: usize| {
        let text = (family.write)(n);
        let parsed = sql::parse::parse(&text, limits);
        parsed.is_ok()
    };
    if !taken(1) {
        return 1;
    }
    let (mut low, mut high) = (1, 2);
    while high < 1 << 18 && taken(high) {
        (low, high) = (high, high * 2);
    }
    while high - low > 1 {
        let middle = low.midpoint(high);
        if taken(middle) { low = middle } else { high = middle }
    }
    low
}

/// Bytes at a time for each byte of a text, and in any case.
const BYTES_PER_BYTE: u64 = 2_000;
const BYTES: u64 = 64 << 20;
/// What has not ended by then may never.
const LONGEST: Duration = Duration::from_secs(60);

#[test]
fn nothing_that_is_written_takes_the_stack_or_the_memory() {
    let seconds = std::env::var("NOISEGATE_FUZZ_SECONDS").ok().and_then(|s| s.parse().ok()).unwrap_or(15);
    let end = Instant::now() + Duration::from_secs(seconds);
    let only = std::env::var("NOISEGATE_HOSTILE").unwrap_or_default();
    let mut families = families();
    families.retain(|f| f.name.contains(&only));
    Mutator::new().shuffle(&mut families);
    let mut tried = 0;
    let count = families.len();
    let mut wrong = Vec::new();
    let mut worst: Vec<(Duration, u64, usize, String)> = Vec::new();
    for family in families {
        if Instant::now() > end {
            break;
        }
        // The name of the thread is what is printed if its stack is not enough.
        let name = family.name.clone();
        let thread = std::thread::Builder::new().name(name.clone()).stack_size(STACK / 2);
        let (done, doing) = channel();
        let run = thread.spawn(move || {
            let n = longest(&family, &Limits::default());
            let text = (family.write)(n);
            let begun = Instant::now();
            let mut outcome = Ok(String::new());
            let taken = measure(|| outcome = far(&text));
            let _ = done.send((text, n, begun.elapsed(), taken.bytes_max, outcome));
        });
        run.unwrap();
        let (text, n, time, bytes, outcome) = match doing.recv_timeout(LONGEST) {
            Ok(ran) => ran,
            Err(RecvTimeoutError::Disconnected) => panic!("it panicked: {name}"),
            Err(RecvTimeoutError::Timeout) => panic!("it has not ended in {LONGEST:?}: {name}"),
        };
        let short: String = text.chars().take(300).collect();
        let said = match outcome {
            Ok(said) => said,
            Err(e) => {
                wrong.push(format!("{name} × {n}: {}: {short}", e.chars().take(300).collect::<String>()));
                continue;
            }
        };
        let allowed = BYTES + BYTES_PER_BYTE * text.len() as u64;
        if bytes > allowed {
            wrong.push(format!("{name} × {n}: {bytes} bytes for a text of {}: {said}: {short}", text.len()));
        }
        tried += 1;
        worst.push((time, bytes, text.len(), format!("{name} × {n}: {said}")));
    }
    worst.sort_by_key(|w| std::cmp::Reverse(w.0));
    println!("{tried} of {count} ways to write at length");
    for (time, bytes, length, what) in worst.iter().take(12) {
        println!("{time:?}, {bytes} bytes at a time, {length} bytes written: {what}");
    }
    assert!(wrong.is_empty(), "{} went wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(tried > 0);
}
