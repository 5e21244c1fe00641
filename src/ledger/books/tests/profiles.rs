#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
//! Profiles: the latest of a table counts, each was paid for, and nobody's own budget pays.

use super::*;
use dp::{Distribution, profile};
use policy::{Measure, Measured};

/// Of `units` units with one row each, at ε = 1/`d` with Laplace noise.
fn profile(table: &str, units: i64, d: u128) -> Measured {
    let mut bins = vec![0; profile::BINS];
    bins[0] = units;
    let noise = Distribution::Laplace { scale: Ratio::from_integer(d) };
    Measured {
        schema: "public".into(),
        table: table.into(),
        owner: "rider_id".into(),
        id: 0,
        measured: START,
        valid_until: START + 90 * DAY,
        items: vec![(Measure::ROWS, profile::Histogram::new(bins, noise, Ratio::new(1, d)).unwrap())],
    }
}

fn entry(profile: &Measured, paid_by: &[i64]) -> Profile {
    Profile {
        profile: profile.written(),
        paid_by: paid_by.to_vec(),
        author: "owner".into(),
        reason: "test".into(),
    }
}

impl Chain {
    /// The owner pays ε = 1/`d` for something over a table; the entry's number.
    fn measured(&mut self, table: &str, d: u128) -> i64 {
        self.debit("", &charge(1, d), Some(&[table])).unwrap();
        self.tip.id
    }

    fn profile(&mut self, profile: &Measured, paid_by: &[i64]) -> Result<(), String> {
        let entry = Entry::new(self.now, Body::Profile(entry(profile, paid_by)));
        self.write(&entry).map_err(|e| e.why)
    }
}

#[test]
fn the_latest_profile_of_a_table_counts() {
    let mut c = Chain::new(&[pure("everyone", Scope::Dataset, "1"), pure("own", Scope::User, "0.1")]);
    let (first, second) = (c.measured("trips", 10), c.measured("payments", 10));
    c.profile(&profile("trips", 900, 10), &[first]).unwrap();
    c.profile(&profile("payments", 800, 10), &[second]).unwrap();
    let third = c.measured("trips", 20);
    c.profile(&profile("trips", 950, 20), &[first, third]).unwrap();
    let held: Vec<_> =
        c.books.profiles().iter().map(|p| (p.table.clone(), p.id, p.items[0].1.bins()[0])).collect();
    assert_eq!(held, [("payments".into(), 6, 800), ("trips".into(), 8, 950)]);
    // Paid by everybody together, and from nobody's own.
    assert_eq!((c.spent("everyone", ""), c.spent("own", "")), (TENTH * 5 / 2, 0));
    // Another policy over the same rows keeps them.
    let mut more = terms(&[pure("everyone", Scope::Dataset, "2")]);
    more.version = Some("v2".into());
    c.policy(&more, true).unwrap();
    assert_eq!(c.books.profiles().len(), 2);
    // Rows that are somebody else's now were not measured.
    let mut moved = terms(&[pure("everyone", Scope::Dataset, "2")]);
    moved.tables[1].rows = "by bike_id".into();
    c.policy(&moved, true).unwrap();
    let left: Vec<_> = c.books.profiles().into_iter().map(|p| p.table).collect();
    assert_eq!(left, ["payments"]);
    // The same from the beginning.
    let mut again = Books::new();
    c.rows.iter().for_each(|row| again.apply(row).unwrap());
    assert_eq!(again.profiles(), c.books.profiles());
}

#[test]
fn a_profile_that_nobody_paid_for_is_none() {
    let mut c = Chain::new(&[pure("everyone", Scope::Dataset, "1")]);
    let paid = c.measured("trips", 10);
    assert!(c.tenth("ada"));
    let asked = c.tip.id;
    let good = profile("trips", 900, 10);
    let unpaid = "no entry paid for its histogram of rows";
    for (profile, paid_by, why) in [
        (good.clone(), vec![], unpaid),
        // What somebody else asked.
        (good.clone(), vec![asked], unpaid),
        // Less noise than was paid for, and another table's.
        (profile("trips", 900, 5), vec![paid], unpaid),
        (profile("payments", 900, 10), vec![paid], unpaid),
        (Measured { items: vec![], ..good.clone() }, vec![paid], "it measures nothing, or the same twice"),
        (
            Measured { items: [good.items.clone(), good.items.clone()].concat(), ..good.clone() },
            vec![paid],
            "it measures nothing, or the same twice",
        ),
        (
            Measured { measured: START + DAY, valid_until: START + 2 * DAY, ..good.clone() },
            vec![paid],
            "it was measured, or ends, at a time that cannot be",
        ),
        (
            Measured { valid_until: START - 1, ..good.clone() },
            vec![paid],
            "it was measured, or ends, at a time that cannot be",
        ),
        (profile("trips", 1 << 53, 10), vec![paid], "a number of its histograms has more than 53 bits"),
    ] {
        assert_eq!(c.profile(&profile, &paid_by), Err(why.into()), "{profile:?}");
    }
    // One payment for two items.
    let mut both = good.clone();
    let by = Some(policy::ByKey { column: "station".into(), to: Some(policy::Calendar::Month) });
    both.items.push((Measure { by, ..Measure::ROWS }, good.items[0].1.clone()));
    let unpaid = "no entry paid for its histogram of rows by station:month";
    assert_eq!(c.profile(&both, &[paid]), Err(unpaid.into()));
    assert_eq!(c.profile(&both, &[paid, paid]), Err(unpaid.into()));
    let again = c.measured("trips", 10);
    c.profile(&both, &[paid, again]).unwrap();
    c.profile(&good, &[paid]).unwrap();
    // Another number of bins, another spelling.
    let body = Entry::new(c.now, Body::Profile(entry(&good, &[paid]))).write().unwrap();
    let raw = |body: String| c.clone().raw(&body).unwrap_err().why;
    assert!(raw(body.replace("[900,0", "[900")).contains("histograms cannot be read"));
    assert!(
        raw(body.replace("\"laplace\":\"10\"", "\"laplace\":\"20/2\""))
            .contains("not written as this program")
    );
    assert!(raw(body.replace("[900,0", "[900, 0")).contains("not written as this program"));
    assert!(raw(body.replace("\"of\":\"rows\"", "\"of\":\"cells\"")).contains("histograms cannot be read"));
    assert!(c.clone().raw(&body).is_ok(), "{body}");
}
