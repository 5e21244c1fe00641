//! Releases with one key mean the same: what is hashed, run in place of what is fetched, gives the same exact rows, over
//! rows made to hurt and for statements that the sensitivity recorder's generator makes up; and so do any two of these
//! statements that happen to have one key.
//!
//! `NOISEGATE_CANONICAL_STATEMENTS` sets how many are tried, `NOISEGATE_RECORDER_SEED` what they are drawn from.

use crate::data::Variant;
use crate::harness::{Claim, Lab, Rows, settings};
use crate::query;
use crate::rng::Rng;
use crate::samples::Samples;
use noisegate::dp::Preference;
use noisegate::emit::fetch;
use noisegate::store::{Key, KeyContext, Keys, canonical};
use std::collections::HashMap;

/// A group: its keys as raw bytes, and its integers.
type Group = (Vec<Option<Vec<u8>>>, Vec<i128>);

/// Groups of the statement's own order, by key.
fn by_key(rows: &Rows, order: &[usize]) -> Vec<Group> {
    let mut all: Vec<_> = rows
        .0
        .iter()
        .map(|(keys, values)| {
            let mut own = vec![None; keys.len()];
            for (key, place) in keys.iter().zip(order) {
                own[*place].clone_from(key);
            }
            (own, values.clone())
        })
        .collect();
    all.sort();
    all
}

async fn agree(v: Variant) {
    let number = |name: &str, or: u64| std::env::var(name).map_or(or, |n| n.parse().unwrap());
    let wanted = number("NOISEGATE_CANONICAL_STATEMENTS", 400).div_ceil(2);
    let seed = number("NOISEGATE_RECORDER_SEED", 20_260_401);
    let mut lab = Lab::new(v).await;
    let samples = Samples::of_lab(&mut lab).await;
    lab.client.batch_execute("SET timezone = 'Europe/Berlin'").await.unwrap();
    let mut seen: HashMap<Key, (String, Vec<i128>)> = HashMap::new();
    let (mut planned, mut changed, mut met) = (0, 0, 0);
    for case in 0..wanted {
        let mut rng = Rng::of_case(seed ^ v.seed, case);
        let rows = rng.between(1, 6) as u32;
        let q = query::query(&mut rng, &samples, false);
        // So many groups that none is dropped at random.
        let Ok(plan) = lab.plan(&q.sql, &settings(100_000, rows)).await else { continue };
        for (release, sql) in lab.paying(&plan) {
            let canonical = canonical(release);
            let own = canonical.whole(&release.spec);
            let text = fetch::fetch(&own, &lab.policy).sql;
            let claim = Claim::of(release);
            let identity: Vec<usize> = (0..release.keys.len()).collect();
            let fetched = lab.fetch(sql, &claim).await.unwrap_or_else(|e| panic!("{}\n{e}", q.sql));
            let read = lab.fetch(&text, &claim).await.unwrap_or_else(|e| panic!("{}\n{text}\n{e}", q.sql));
            let (fetched, read) = (by_key(&fetched, &identity), by_key(&read, &canonical.keys));
            assert_eq!(fetched, read, "{}\nfetch: {sql}\ncanonical: {text}", q.sql);
            planned += 1;
            changed += usize::from(text != sql);
            let around = KeyContext {
                database: "",
                policy: &lab.policy,
                epoch: &noisegate::store::Epoch::at(0, None, 0),
                role: None,
                delta: &settings(1, 1).delta,
                mechanism: Preference::Auto,
                given: &[],
                without: &[],
                within: None,
            };
            let keys = Keys::of(&canonical, &release.spec, &around);
            let again = Keys::of(&noisegate::store::canonical(&own), &release.spec, &around);
            assert_eq!(keys.exact, again.exact, "{}\n{text}", q.sql);
            // All numbers of all groups, in an order that does not depend on the order of keys and parts.
            let mut numbers: Vec<i128> = read.iter().flat_map(|(_, values)| values.clone()).collect();
            numbers.sort_unstable();
            let (other, same) = seen.entry(keys.exact).or_insert_with(|| (q.sql.clone(), numbers.clone()));
            assert_eq!(numbers, *same, "one key for two questions:\n{other}\n{}", q.sql);
            met += usize::from(*other != q.sql);
        }
    }
    println!("{v:?}: {planned} releases, of which {changed} have another form; {met} met another's key");
    assert!(planned as u64 * 2 > wanted && changed > 0, "{planned} {changed}");
}

#[tokio::test]
async fn the_canonical_form_reads_the_same_rows() {
    agree(Variant { dirty: true, nullable_unit: false, tied: 0, seed: 21 }).await;
}

#[tokio::test]
async fn the_canonical_form_reads_the_same_rows_without_units() {
    agree(Variant { dirty: true, nullable_unit: true, tied: 0, seed: 22 }).await;
}
