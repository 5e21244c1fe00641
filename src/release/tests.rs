#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
use super::*;
use crate::testing::SeededRng;
use crate::within::Within;
use answer::{Identity, SqlState};
use bytes::{Buf, BufMut, Bytes, BytesMut};
use dp::quantile::Selector;
use dp::{
    DiscreteLaplace, Distribution, DpError, Noise, Notion, Outline, Pick, Points, Preference, Ratio,
    Selection, choose,
};
use kernel::Weights::{Squares, Sum, Units};
use kernel::{Certified, Part};
use ledger::{Ledger, Terms};
use policy::{Accounting, Budget, LedgerLocation, Scope};
use postgres_types::Type;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_postgres::Row;
use within::Groups;

/// A ledger with room for everything, and the receipt of one charge.
async fn receipt(specs: &[Spec], epsilon: Ratio) -> Receipt {
    receipt_in(Accounting::Notion(dp::Notion::Approx), specs, epsilon).await
}

async fn receipt_in(accounting: Accounting, specs: &[Spec], epsilon: Ratio) -> Receipt {
    receipt_of(accounting, Proven::unproven(dp::Charge::of(&epsilon, specs).unwrap())).await
}

async fn receipt_of(accounting: Accounting, charge: Proven) -> Receipt {
    let folder = tempfile::tempdir().unwrap();
    let place = LedgerLocation::Sqlite(folder.path().join("books.db").into());
    let budget = Budget {
        name: "everyone".into(),
        scope: Scope::Dataset,
        accounting,
        epsilon: 1_000_000.into(),
        delta: "0.6".parse().unwrap(),
        selection_delta: "0.5".parse().unwrap(),
        ..Budget::new("", Scope::Dataset, accounting, 0.into(), 0.into())
    };
    let terms = Terms::unchecked(&[budget], "t.u");
    Ledger::create(&place, &terms).unwrap();
    let ledger = Ledger::open(&place, &terms).unwrap();
    let who = Identity { user: "ada".into(), role: None };
    ledger.debit(&who, [0; 32], &charge).await.unwrap()
}

/// What its specification was made for: where a test says nothing else, the kernel proved just that.
fn as_planned() -> Proof {
    Proof::unproven(0, Units, Vec::new(), true, false)
}

fn planned(spec: &Spec) -> Proof {
    let weights = match spec.selection.as_ref().map(|s| s.weights) {
        Some(dp::Weights::Sum(w)) => Sum(w.into()),
        Some(dp::Weights::Squares(w)) => Squares(w.into()),
        _ => Units,
    };
    let part = |n: &Noise| Part {
        linf: n.sensitivity.linf,
        l1: Some(n.sensitivity.l1),
        l2_squared: Some(n.sensitivity.l2_squared),
        rises: true,
    };
    let cells = spec.points.iter().map(|p| Part::in_all(p.weight().into()));
    let parts = spec.aggregates.iter().map(part).chain(cells).collect();
    let selects = spec.selection.is_some();
    Proof::unproven(spec.l0.into(), weights, parts, !selects, selects)
}

/// The receipt for what was proven.
async fn receipt_for(exact: &Exact, spec: &Spec, epsilon: Ratio) -> Receipt {
    let charge = Proven::of(&epsilon, &[(exact.proven.clone(), spec)]);
    let specs = [spec.clone()];
    let epsilon = charge.as_ref().map_or(epsilon, |c| c.charge().epsilon);
    match charge {
        Ok(charge) => receipt_of(Accounting::Notion(dp::Notion::Approx), charge).await,
        Err(_) => receipt(&specs, epsilon).await,
    }
}

fn perturb(
    mut parts: Vec<(Exact, &Spec)>,
    receipt: Receipt,
    rng: &mut impl Entropy,
) -> Result<Vec<Noisy>, ReleaseError> {
    for (exact, spec) in parts.iter_mut().filter(|(exact, _)| exact.proven == as_planned()) {
        exact.proven = planned(spec);
    }
    super::perturb(parts, receipt, rng)
}

fn bytes(text: &str) -> Option<Bytes> {
    Some(Bytes::copy_from_slice(text.as_bytes()))
}

fn one() -> Ratio {
    Ratio::from_integer(1)
}

fn public(keys: &[&str], values: Vec<Vec<i128>>) -> Exact {
    Exact {
        keys: vec![keys.iter().map(|k| bytes(k)).collect()],
        units: None,
        rows: keys.len(),
        proven: as_planned(),
        selected: None,
        within: None,
        values,
    }
}

// Whether a type has a trait, decided while compiling: the inherent constant wins where its bound holds.
macro_rules! lacks {
    ($type:ty: $($trait:path),+) => {$({
        trait Fallback { const HAS: bool = false; }
        impl<T: ?Sized> Fallback for T {}
        struct Probe<T: ?Sized>(std::marker::PhantomData<T>);
        #[allow(dead_code)]
        impl<T: ?Sized + $trait> Probe<T> { const HAS: bool = true; }
        const { assert!(!<Probe<$type>>::HAS, concat!(stringify!($type), " has ", stringify!($trait))) };
        // The probe itself can tell.
        const { assert!(<Probe<u64>>::HAS) };
    })+};
}

/// Exact values cannot be printed, copied or written; a receipt cannot be copied; a generator cannot be printed.
#[test]
fn exact_values_cannot_leave_by_a_trait() {
    lacks!(Exact: Clone, std::fmt::Debug, std::fmt::Display, serde::Serialize, PartialEq, std::hash::Hash);
    lacks!(Receipt: Clone, serde::Serialize);
    lacks!(dp::SecureRng: Clone, std::fmt::Debug, serde::Serialize);
}

#[tokio::test]
async fn public_groups_all_come_back_in_order_with_noise() {
    let spec = Spec::laplace(&one(), 2, &[3], None).unwrap();
    let keys = ["b", "a", "c"];
    let exact = public(&keys, vec![vec![1000, 0, -5]]);
    let paid = receipt(std::slice::from_ref(&spec), one()).await;
    let noisy = perturb(vec![(exact, &spec)], paid, &mut SeededRng::new(1)).unwrap().remove(0);
    assert_eq!(noisy.keys, [keys.map(bytes)]);
    assert_eq!(noisy.rows, 3);
    // The noise is that of the specification's scale, drawn in the order of the rows.
    let laplace = DiscreteLaplace::new(&Ratio::from_integer(6)).unwrap();
    let mut rng = SeededRng::new(1);
    let expected = [1000, 0, -5].map(|v| v + laplace.sample(&mut rng).unwrap());
    assert_eq!(noisy.values[0], expected);
    assert_ne!(noisy.values[0], [1000, 0, -5]);
}

/// A part that has no noise is a constant, and is not fetched: one that comes back all the same is not released.
#[tokio::test]
async fn rule_35_nothing_leaves_without_noise() {
    let spec = Spec::laplace(&one(), 2, &[3, 0], None).unwrap();
    let exact = public(&["a"], vec![vec![1000], vec![7]]);
    let paid = receipt(std::slice::from_ref(&spec), one()).await;
    let refused = perturb(vec![(exact, &spec)], paid, &mut SeededRng::new(1));
    assert_eq!(refused.err(), Some(ReleaseError::Receipt));
}

/// More than the kernel proved is not released: parts that change by more, over all groups or, for a stream, in one; more
/// groups where they are selected.
#[tokio::test]
async fn rule_46_what_was_not_proven_is_not_released() {
    let spec = Spec::laplace(&one(), 2, &[3], None).unwrap();
    let proven = |part| Proof::unproven(u64::MAX, Units, vec![part], true, false);
    let exact = |part| Exact { proven: proven(part), ..public(&["a"], vec![vec![1000]]) };
    let each = [
        (Part::in_each(3, Some(2)), true),
        (Part::in_each(2, Some(3)), true),
        (in_both(6, 3), true),
        // All of it in one group costs more than so much in each of two.
        (Part::in_all(6), false),
        (in_both(7, 3), false),
        (Part::in_each(3, Some(3)), false),
        (Part::in_each(3, None), false),
    ];
    for (part, released) in each {
        let paid = receipt_for(&exact(part), &spec, one()).await;
        let out = perturb(vec![(exact(part), &spec)], paid, &mut SeededRng::new(1));
        assert_eq!(out.is_ok(), released, "{part:?}");
        let proof = proven(part);
        assert_eq!(covers(&proof, &spec, true), released, "{part:?}");
        assert_eq!(covers(&proof, &spec, false), part.linf <= 3, "{part:?}");
    }
    assert!(!covers(&Proof::unproven(1, Units, vec![Part::in_all(3)], true, true), &spec, true));
    assert!(!covers(&Proof::unproven(1, Units, Vec::new(), true, false), &spec, true));
    let delta = Ratio::new(1, 1_000_000);
    let selecting = Spec::laplace(&one(), 2, &[3], Some(&delta)).unwrap();
    let in_groups = |l0| Proof::unproven(l0, Units, vec![in_both(6, 3)], false, true);
    assert!(covers(&in_groups(2), &selecting, true));
    assert!(!covers(&in_groups(3), &selecting, true));
}

/// Gaussian noise covers what the squares of changes add up to, and Laplace noise nothing that is known by its squares alone.
#[test]
fn rule_46_each_noise_covers_its_own_norm() {
    let laplace = Spec::laplace(&one(), 4, &[10], None).unwrap();
    let gaussian =
        laplace.gaussian(&dp::BigRatio::from_integer(1u8.into()), &Outline::even(4, &[10], None)).unwrap();
    let squares = |n| Part { linf: 20, l1: None, l2_squared: Some(n), rises: false };
    for (part, by_laplace, by_gaussian) in [
        (squares(400), false, true),
        (squares(401), false, false),
        (in_both(20, 10), true, true),
        (Part::in_all(20), false, true),
        (in_both(40, 10), true, true),
        (in_both(40, 11), false, false),
        (Part::in_each(10, Some(4)), true, true),
    ] {
        let proof = Proof::unproven(1, Units, vec![part], true, false);
        assert_eq!(covers(&proof, &laplace, true), by_laplace, "{part:?}");
        assert_eq!(covers(&proof, &gaussian, true), by_gaussian, "{part:?}");
    }
}

/// Of cells only which points were chosen leaves, for a weight that was proven, against the receipt of that choice.
#[tokio::test]
async fn points_are_chosen_in_each_group_and_no_cell_comes_back() {
    let much = Ratio::from_integer(1000);
    let pick = |picks: &[Pick], weight| Spec {
        l0: weight,
        points: Some(Points::new(&much, weight, picks, Selector::Exponential).unwrap()),
        ..Spec::default()
    };
    let spec = pick(&[Pick::Quantile(Ratio::new(1, 2)), Pick::Greatest], 2);
    let point = |n: i64| Some(Bytes::copy_from_slice(&n.to_be_bytes()));
    let exact = || Exact {
        keys: vec![
            ["a", "a", "a", "b", "b", "b"].map(bytes).to_vec(),
            [-5, 0, 5, -5, 0, 5].map(point).to_vec(),
        ],
        rows: 6,
        ..public(&[], vec![vec![900, 2000, 0, -7, 100, 1001]])
    };
    let paid = receipt(std::slice::from_ref(&spec), much).await;
    let noisy = perturb(vec![(exact(), &spec)], paid, &mut SeededRng::new(1)).unwrap().remove(0);
    assert_eq!(noisy.rows, 2);
    assert_eq!(noisy.keys, [vec![bytes("a"), bytes("b")], vec![point(0), point(5)]]);
    assert_eq!(noisy.values, [[0, 5], [0, 5]]);
    // The receipt of another choice.
    let other = pick(&[Pick::Quantile(Ratio::new(1, 2))], 2);
    let paid = receipt(std::slice::from_ref(&other), much).await;
    let refused = perturb(vec![(exact(), &spec)], paid, &mut SeededRng::new(1));
    assert_eq!(refused.err(), Some(ReleaseError::Receipt));
    // What one unit's cells weigh together.
    for (linf, enough) in [(1, true), (2, true), (3, false)] {
        let proven = Certified::unproven("", 2, false, vec![Part::in_all(linf)]);
        assert_eq!(covers(&Proof::from(&proven), &spec, true), enough, "{linf}");
    }
    assert!(!covers(&Proof::from(&Certified::unproven("", 2, true, vec![Part::in_all(1)])), &spec, true));
}

/// Of all groups those with the greatest counts are chosen, and nothing of the others comes back; the proof is of each count.
#[tokio::test]
async fn the_greatest_counts_are_chosen_and_have_noise() {
    let much = Ratio::from_integer(1000);
    let spec = Spec::top(&much, 2, 3, Selector::PermuteAndFlip).unwrap();
    let exact = |linf| Exact {
        keys: vec![["a", "b", "c", "d"].map(bytes).to_vec()],
        units: None,
        values: vec![vec![10, 4000, -5, 9000]],
        rows: 4,
        proven: Proof::unproven(u64::MAX, Units, vec![Part::in_each(linf, None).rising(true)], true, false),
        selected: None,
        within: None,
    };
    let paid = receipt(std::slice::from_ref(&spec), much).await;
    let noisy = perturb(vec![(exact(3), &spec)], paid, &mut SeededRng::new(1)).unwrap().remove(0);
    assert_eq!((noisy.rows, &noisy.keys), (2, &vec![vec![bytes("d"), bytes("b")]]));
    assert!(noisy.values[0][0].abs_diff(9000) < 10 && noisy.values[0][1].abs_diff(4000) < 10, "{noisy:?}");
    // More than there is noise for, and another choice than was paid for.
    let paid = receipt(std::slice::from_ref(&spec), much).await;
    let refused = perturb(vec![(exact(4), &spec)], paid, &mut SeededRng::new(1));
    assert_eq!(refused.err(), Some(ReleaseError::Uncertified));
    let other = Spec::top(&much, 1, 3, Selector::PermuteAndFlip).unwrap();
    let paid = receipt(std::slice::from_ref(&other), much).await;
    let refused = perturb(vec![(exact(3), &spec)], paid, &mut SeededRng::new(1));
    assert_eq!(refused.err(), Some(ReleaseError::Receipt));
    // Counts that a unit could lower: choices would weigh twice as much.
    let signed = Proof::unproven(u64::MAX, Units, vec![Part::in_each(3, None)], true, false);
    assert!(!covers(&signed, &spec, true));
    // Noise for fewer groups than are chosen, and groups that are not public.
    let certified = |selects| Certified::unproven("", 1, selects, vec![Part::in_each(3, None).rising(true)]);
    assert!(
        covers(&Proof::from(&certified(false)), &spec, true)
            && !covers(&Proof::from(&certified(true)), &spec, true)
    );
    let fewer = other.aggregates.clone();
    assert!(!covers(&Proof::from(&certified(false)), &Spec { aggregates: fewer, ..spec.clone() }, true));
}

/// Of private groups points are chosen in those that are given, which another part selects or which were released before, and
/// nothing is told of the others; cells that a fetch does not have are empty.
#[tokio::test]
async fn points_of_private_groups_are_chosen_in_selected_ones() {
    let much = Ratio::from_integer(1000);
    let points = Points::new(&much, 2, &[Pick::Quantile(Ratio::new(1, 2))], Selector::Exponential).unwrap();
    let spec = Spec { l0: 1, points: Some(points), ..Spec::default() };
    let selection = Selection::new(1, &Ratio::new(1, 100), &Ratio::new(1, 1 << 20)).unwrap();
    let selecting = Spec { l0: 1, selection: Some(selection), ..Spec::default() };
    let point = |n: i64| Some(Bytes::copy_from_slice(&n.to_be_bytes()));
    let groups = || Exact {
        keys: vec![["a", "b"].map(bytes).to_vec()],
        units: Some(vec![500, 1]),
        values: vec![],
        rows: 2,
        proven: Proof::unproven(1, Units, vec![], false, true),
        selected: None,
        within: None,
    };
    let cells = |within| Exact {
        keys: vec![["b", "a", "a"].map(bytes).to_vec(), [-5, 7, -5].map(point).to_vec()],
        units: None,
        values: vec![vec![1000, 1001, 900]],
        rows: 3,
        proven: Proof::unproven(u64::MAX, Units, vec![Part::in_all(2)], false, false),
        selected: None,
        within,
    };
    let of = |groups| Some(Within { groups, grid: Some((-5, 20)) });
    let both = [selecting.clone(), spec.clone()];
    let parts = vec![(groups(), &selecting), (cells(of(Groups::Of(0))), &spec)];
    let paid = receipt(&both, Ratio::from_integer(2000)).await;
    let noisy = perturb(parts, paid, &mut SeededRng::new(1)).unwrap();
    assert_eq!(noisy[0].keys, [vec![bytes("a")]]);
    assert_eq!((&noisy[1].keys, &noisy[1].values), (&vec![vec![bytes("a")], vec![point(7)]], &vec![vec![7]]));
    // Groups of an earlier release: one of them has no cell left, and has an answer.
    let earlier = Groups::Released(vec![["c", "b"].map(bytes).to_vec()]);
    let paid = receipt(std::slice::from_ref(&spec), much).await;
    let noisy = perturb(vec![(cells(of(earlier)), &spec)], paid, &mut SeededRng::new(1)).unwrap().remove(0);
    assert_eq!((noisy.rows, noisy.values[0][1]), (2, -5));
    assert_eq!(noisy.keys[0], [bytes("c"), bytes("b")]);
    // Groups that nobody has selected, those of a part that comes later, and points that are none.
    for (within, why) in [
        (None, ReleaseError::Uncertified),
        (of(Groups::Of(0)), ReleaseError::Shape),
        (
            Some(Within { groups: Groups::Released(vec![vec![bytes("a")]]), grid: Some((0, 20)) }),
            ReleaseError::Shape,
        ),
    ] {
        let paid = receipt(std::slice::from_ref(&spec), much).await;
        let refused = perturb(vec![(cells(within), &spec)], paid, &mut SeededRng::new(1));
        assert_eq!(refused.err(), Some(why));
    }
}

/// Integers of private groups come back for those that are given, in their order: 0 and noise where the fetch has none.
#[tokio::test]
async fn integers_of_private_groups_are_released_in_selected_ones() {
    let much = Ratio::from_integer(1000);
    let spec = Spec::laplace(&much, 1, &[4], None).unwrap();
    let counts = |within| Exact {
        keys: vec![["b", "a", "x"].map(bytes).to_vec()],
        units: None,
        values: vec![vec![7, 5, 9]],
        rows: 3,
        proven: Proof::unproven(4, Units, vec![Part::in_all(4)], false, false),
        selected: None,
        within,
    };
    let of =
        |grid| Some(Within { groups: Groups::Released(vec![["a", "c", "b"].map(bytes).to_vec()]), grid });
    let paid = receipt_for(&counts(None), &spec, much).await;
    let noisy = perturb(vec![(counts(of(None)), &spec)], paid, &mut SeededRng::new(1)).unwrap().remove(0);
    assert_eq!((noisy.rows, &noisy.keys), (3, &vec![["a", "c", "b"].map(bytes).to_vec()]));
    assert_eq!(noisy.values, [[5, 0, 7]]);
    for (within, why) in [(None, ReleaseError::Uncertified), (of(Some((0, 20))), ReleaseError::Shape)] {
        let paid = receipt_for(&counts(None), &spec, much).await;
        let refused = perturb(vec![(counts(within), &spec)], paid, &mut SeededRng::new(1));
        assert_eq!(refused.err(), Some(why));
    }
}

/// Gaussian noise has the variance of the specification, beside a selection by such noise.
#[tokio::test]
async fn gaussian_noise_is_drawn_where_it_was_paid_for() {
    let outline = Outline::even(2, &[30], Some(&Ratio::new(1, 1_000_000)));
    let choice = choose(&one(), &[outline], Preference::Gaussian, &[Notion::Zcdp]).unwrap();
    let spec = &choice.specs[0];
    let Distribution::Gaussian { variance } = spec.aggregates[0].distribution else { panic!() };
    assert_eq!(variance, Ratio::from_integer(2 * 30 * 30) / Ratio::new(2, 3));
    let groups = 4096;
    let keys = (0..groups).map(|n: i32| bytes(&format!("{n:05}"))).collect();
    let exact = Exact {
        keys: vec![keys],
        units: Some(vec![9999; 4096]),
        values: vec![vec![500; 4096]],
        rows: 4096,
        proven: as_planned(),
        selected: None,
        within: None,
    };
    let paid = receipt_in(Accounting::Notion(dp::Notion::Zcdp), &choice.specs, one()).await;
    let noisy = perturb(vec![(exact, spec)], paid, &mut SeededRng::new(1)).unwrap().remove(0);
    assert_eq!(noisy.rows, 4096);
    let noise: Vec<f64> = noisy.values[0].iter().map(|v| (v - 500) as f64).collect();
    let mean_square = noise.iter().map(|x| x * x).sum::<f64>() / 4096.0;
    assert!((mean_square / 2700.0 - 1.0).abs() < 0.1, "{mean_square}");
    // A Laplace variable is beyond three standard deviations 20 times as often.
    let far = noise.iter().filter(|x| x.abs() > 3.0 * 2400f64.sqrt()).count();
    assert!(far < 30, "{far}");
}

/// Large groups are kept, groups of one unit are not, and the order is that of the keys.
#[tokio::test]
async fn private_groups_pass_a_threshold_and_are_sorted() {
    let spec = Spec::laplace(&one(), 1, &[1], Some(&Ratio::new(1, 1_000_000))).unwrap();
    let names = ["zoo", "lonely", "beach", "", "airport"];
    let mut keys: Vec<Option<Bytes>> = names.iter().map(|k| bytes(k)).collect();
    keys[3] = None;
    let exact = || Exact {
        keys: vec![keys.clone(), vec![bytes("x"); 5]],
        units: Some(vec![900, 1, 5000, 700, 800]),
        values: vec![vec![9000, 1, 50_000, 7000, 8000]],
        rows: 5,
        proven: as_planned(),
        selected: None,
        within: None,
    };
    for seed in 0..20 {
        let paid = receipt(std::slice::from_ref(&spec), one()).await;
        let noisy = perturb(vec![(exact(), &spec)], paid, &mut SeededRng::new(seed)).unwrap().remove(0);
        assert_eq!(noisy.keys[0], [None, bytes("airport"), bytes("beach"), bytes("zoo")]);
        assert_eq!(noisy.keys[1], vec![bytes("x"); 4]);
        assert_eq!(noisy.rows, 4);
        // Values went with their keys (noise of scale 2 is far below the distances).
        for (value, exact) in noisy.values[0].iter().zip([7000, 8000, 50_000, 9000]) {
            assert!((value - exact).abs() < 500, "{value} {exact}");
        }
    }
}

/// What selects is what is released: no number is below the threshold, and none has noise of its own.
#[tokio::test]
async fn a_count_that_selects_is_drawn_once() {
    let delta = Ratio::new(1, 1_000_000);
    let outline = Outline { counted: Some(1), ..Outline::even(1, &[5, 1], Some(&delta)) };
    let spec = Spec::of(&one(), &outline).unwrap();
    let threshold = spec.selection.as_ref().unwrap().threshold;
    let near = usize::try_from(threshold).unwrap();
    let exact = || Exact {
        keys: vec![(0..400).map(|n| bytes(&format!("{n:03}"))).collect()],
        units: Some(vec![threshold; 400]),
        values: vec![vec![0; 400], vec![threshold; 400]],
        rows: 400,
        proven: Proof::unproven(1, Units, vec![Part::in_all(5), Part::in_all(1)], false, true),
        selected: None,
        within: None,
    };
    let paid = receipt(std::slice::from_ref(&spec), one()).await;
    let noisy = perturb(vec![(exact(), &spec)], paid, &mut SeededRng::new(4)).unwrap().remove(0);
    // Half of the groups pass, and all that do by what is shown of them.
    assert!(noisy.rows > 150 && noisy.rows < 300, "{} of 400 near {near}", noisy.rows);
    assert!(
        noisy.values[1].iter().all(|n| *n >= threshold) && noisy.values[1].iter().any(|n| *n > threshold)
    );
    // The other has noise of both signs.
    assert!(noisy.values[0].iter().any(|n| *n < 0) && noisy.values[0].iter().any(|n| *n > 0));
    // A specification that says so of a number with other noise is none that was paid for.
    let wrong = Spec { counted: Some(0), ..spec.clone() };
    let charge = dp::Charge::of(&Ratio::from_integer(2), std::slice::from_ref(&wrong)).unwrap();
    assert_ne!(charge.events, dp::Charge::of(&one(), std::slice::from_ref(&spec)).unwrap().events);
    let paid = receipt(std::slice::from_ref(&wrong), Ratio::from_integer(2)).await;
    let refused = perturb(vec![(exact(), &wrong)], paid, &mut SeededRng::new(4));
    assert_eq!(refused.err(), Some(ReleaseError::Receipt));
}

/// A generator that counts.
struct Counting(SeededRng, usize);

impl Entropy for Counting {
    fn next_u64(&mut self) -> Result<u64, EntropyError> {
        self.1 += 1;
        self.0.next_u64()
    }
}

/// The number of draws tells the number of groups only to the next power of two, and nothing of which were kept.
#[tokio::test]
async fn rule_29_draws_are_padded() {
    let spec = Spec::laplace(&one(), 1, &[1], Some(&Ratio::new(1, 100))).unwrap();
    let mut counts = Vec::new();
    for (groups, units) in [(0usize, 1), (1, 1), (63, 1), (64, 1_000_000), (64, 1), (65, 1)] {
        let exact = Exact {
            keys: vec![(0..groups).map(|n| bytes(&n.to_string())).collect()],
            units: Some(vec![units; groups]),
            values: vec![vec![5; groups]],
            rows: groups,
            proven: as_planned(),
            selected: None,
            within: None,
        };
        let paid = receipt(std::slice::from_ref(&spec), one()).await;
        let mut rng = Counting(SeededRng::new(9), 0);
        let noisy = perturb(vec![(exact, &spec)], paid, &mut rng).unwrap().remove(0);
        assert_eq!(noisy.rows == groups, units > 1 || groups == 0);
        counts.push(rng.1);
    }
    assert!(counts[..5].iter().all(|c| *c == counts[0]), "{counts:?}");
    assert!(counts[5] > counts[0]);
}

#[tokio::test]
async fn a_receipt_pays_for_its_own_charge_only() {
    let spec = Spec::laplace(&one(), 2, &[3], None).unwrap();
    let exact = || public(&["a"], vec![vec![1]]);
    let refused = |parts, paid| {
        let mut rng = Counting(SeededRng::new(1), 0);
        let result = perturb(parts, paid, &mut rng);
        assert_eq!(rng.1, 0, "nothing is drawn");
        result.unwrap_err()
    };
    // Less was paid; the same price for another noise; one release of two; a release twice.
    let cheaper = Spec::laplace(&Ratio::new(1, 2), 2, &[3], None).unwrap();
    let paid = receipt(std::slice::from_ref(&cheaper), Ratio::new(1, 2)).await;
    assert!(matches!(refused(vec![(exact(), &spec)], paid), ReleaseError::Spec(DpError::Mispriced)));
    let other = Spec::laplace(&one(), 1, &[3], None).unwrap();
    let paid = receipt(std::slice::from_ref(&other), one()).await;
    assert_eq!(refused(vec![(exact(), &spec)], paid), ReleaseError::Receipt);
    let paid = receipt(&[spec.clone(), spec.clone()], Ratio::from_integer(2)).await;
    assert_eq!(refused(vec![(exact(), &spec)], paid), ReleaseError::Receipt);
    let paid = receipt(std::slice::from_ref(&spec), one()).await;
    let twice = refused(vec![(exact(), &spec), (exact(), &spec)], paid);
    assert!(matches!(twice, ReleaseError::Spec(DpError::Mispriced)));
    // The right one.
    let paid = receipt(std::slice::from_ref(&spec), one()).await;
    assert!(perturb(vec![(exact(), &spec)], paid, &mut SeededRng::new(1)).is_ok());
}

/// A specification that lies about its threshold, or rows of another shape, release nothing.
#[tokio::test]
async fn inconsistent_parts_are_refused() {
    let honest = Spec::laplace(&one(), 1, &[1], Some(&Ratio::new(1, 1_000_000))).unwrap();
    let selection = honest.selection.clone().unwrap();
    let lying = Spec {
        selection: Some(Selection { threshold: selection.threshold - 1, ..selection }),
        ..honest.clone()
    };
    let exact = || Exact {
        keys: vec![],
        units: Some(vec![]),
        values: vec![vec![]],
        rows: 0,
        proven: as_planned(),
        selected: None,
        within: None,
    };
    let paid = receipt(std::slice::from_ref(&lying), one()).await;
    let result = perturb(vec![(exact(), &lying)], paid, &mut SeededRng::new(1));
    assert_eq!(result.unwrap_err(), ReleaseError::Receipt);
    // Rows without the number of units.
    let paid = receipt(std::slice::from_ref(&honest), one()).await;
    let result = perturb(vec![(Exact { units: None, ..exact() }, &honest)], paid, &mut SeededRng::new(1));
    assert_eq!(result.unwrap_err(), ReleaseError::Receipt);
    let paid = receipt(std::slice::from_ref(&honest), one()).await;
    let result = perturb(vec![(Exact { values: vec![], ..exact() }, &honest)], paid, &mut SeededRng::new(1));
    assert_eq!(result.unwrap_err(), ReleaseError::Shape);
}

#[tokio::test]
async fn sums_saturate_at_the_edges() {
    let spec = Spec::laplace(&one(), 1, &[1 << 60], None).unwrap();
    let exact = public(&["a", "b"], vec![vec![i128::MAX, i128::MIN]]);
    let paid = receipt(std::slice::from_ref(&spec), one()).await;
    let noisy = perturb(vec![(exact, &spec)], paid, &mut SeededRng::new(3)).unwrap().remove(0);
    let far = 1i128 << 70;
    assert!(noisy.values[0][0] > i128::MAX - far && noisy.values[0][1] < i128::MIN + far);
}

/// A backend that answers every query with the same rows: enough of the protocol for one `query`.
async fn rows(columns: &[Type], rows: &[Vec<Option<Vec<u8>>>]) -> Vec<Row> {
    let (client, mut server) = tokio::io::duplex(1 << 16);
    let message = |tag: u8, body: &[u8]| {
        let mut out = BytesMut::new();
        out.put_u8(tag);
        out.put_i32(body.len() as i32 + 4);
        out.put_slice(body);
        out
    };
    let mut description = BytesMut::new();
    description.put_i16(columns.len() as i16);
    for column in columns {
        description.put_slice(b"c\0");
        description.put_i32(0);
        description.put_i16(0);
        description.put_u32(column.oid());
        description.put_i16(-1);
        description.put_i32(-1);
        description.put_i16(1);
    }
    let mut prepared = message(b'1', &[]);
    prepared.extend(message(b't', &[0, 0]));
    prepared.extend(message(b'T', &description));
    prepared.extend(message(b'Z', b"I"));
    let mut executed = message(b'2', &[]);
    for row in rows {
        let mut data = BytesMut::new();
        data.put_i16(row.len() as i16);
        for cell in row {
            data.put_i32(cell.as_ref().map_or(-1, |c| c.len() as i32));
            data.put_slice(cell.as_deref().unwrap_or_default());
        }
        executed.extend(message(b'D', &data));
    }
    executed.extend(message(b'C', b"SELECT 1\0"));
    executed.extend(message(b'Z', b"I"));
    let backend = tokio::spawn(async move {
        let mut start = vec![0; server.read_i32().await.unwrap() as usize - 4];
        server.read_exact(&mut start).await.unwrap();
        let mut hello = message(b'R', &[0, 0, 0, 0]);
        hello.extend(message(b'Z', b"I"));
        server.write_all(&hello).await.unwrap();
        let mut last = 0;
        // Until the client hangs up; what a Sync ends decides what is answered.
        while let Ok(tag) = server.read_u8().await {
            let mut body = vec![0; server.read_i32().await.unwrap() as usize - 4];
            server.read_exact(&mut body).await.unwrap();
            match (tag, last) {
                (b'S', b'D') => server.write_all(&prepared).await.unwrap(),
                (b'S', b'E') => server.write_all(&executed).await.unwrap(),
                _ => {}
            }
            last = tag;
        }
    });
    let (client, connection) =
        tokio_postgres::Config::new().user("u").connect_raw(client, tokio_postgres::NoTls).await.unwrap();
    let connection = tokio::spawn(connection);
    let statement = client.prepare("fetch").await.unwrap();
    let rows = client.query(&statement, &[]).await.unwrap();
    backend.abort();
    connection.abort();
    rows
}

fn numeric(value: i128) -> Option<Vec<u8>> {
    Some(numeric::encode(value, 0).to_vec())
}

fn spec(aggregates: usize, private: bool) -> Spec {
    let selection = Selection::new(1, &one(), &Ratio::new(1, 1000)).unwrap();
    Spec {
        l0: 1,
        aggregates: vec![
            Noise::new(dp::Sensitivity::of_one(1 << 100), Distribution::Laplace { scale: one() });
            aggregates
        ],
        selection: private.then_some(selection),
        ..Spec::default()
    }
}

fn proven(keys: usize, selects: bool, parts: usize) -> Certified {
    Certified::unproven("", keys, selects, vec![Part::in_all(1 << 100); parts])
}

#[tokio::test]
async fn rows_are_decoded_as_raw_keys_and_integers() {
    let types = [Type::TEXT, Type::TIMESTAMPTZ, Type::INT8, Type::INT4, Type::NUMERIC];
    let fetched = rows(
        &types,
        &[
            vec![
                Some(b"caf\xc3\xa9".to_vec()),
                Some(vec![1; 8]),
                Some(5i64.to_be_bytes().into()),
                Some((-3i32).to_be_bytes().into()),
                numeric(1 << 100),
            ],
            vec![None, Some(vec![]), Some(0i64.to_be_bytes().into()), Some(vec![0; 4]), numeric(0)],
        ],
    )
    .await;
    let exact = Exact::decode(&fetched, &proven(2, true, 2), &spec(2, true), true).ok().unwrap();
    assert_eq!(exact.keys[0], [bytes("café"), None]);
    assert_eq!(exact.keys[1], [Some(Bytes::from(vec![1; 8])), Some(Bytes::new())]);
    assert_eq!(exact.units, Some(vec![5, 0]));
    assert_eq!(exact.values, [[-3, 0], [1 << 100, 0]]);
    // Public groups have no column of units.
    let exact = Exact::decode(&fetched, &proven(2, false, 3), &spec(3, false), true).ok().unwrap();
    assert_eq!((exact.units, exact.values[0].clone()), (None, vec![5, 0]));
    let Err(error) = Exact::decode(&fetched, &proven(2, false, 2), &spec(2, false), true) else { panic!() };
    assert_eq!(error, ReleaseError::Shape);
    // No rows, no columns to look at.
    let exact = Exact::decode(&[], &proven(2, true, 2), &spec(2, true), true).ok().unwrap();
    assert_eq!((exact.keys.len(), exact.values.len(), exact.rows), (2, 2, 0));
}

#[tokio::test]
async fn what_is_no_integer_is_an_error_without_a_value() {
    let nan = [0u16, 0, 0xc000, 0].iter().flat_map(|w| w.to_be_bytes()).collect();
    for (ty, cell, problem) in [
        (Type::INT8, None, "NULL"),
        (Type::NUMERIC, Some(numeric::encode(123_456, 2).to_vec()), "a numeric that is no integer"),
        (Type::NUMERIC, Some(nan), "a numeric that is no integer"),
        (Type::FLOAT8, Some(vec![0; 8]), "a type that is no integer"),
        (Type::INT8, Some(vec![0; 4]), "a malformed integer"),
        (Type::INT4, Some(vec![0; 8]), "a malformed integer"),
    ] {
        let fetched = rows(std::slice::from_ref(&ty), &[vec![cell]]).await;
        let Err(error) = Exact::decode(&fetched, &proven(0, false, 1), &spec(1, false), true) else {
            panic!()
        };
        assert_eq!(error, ReleaseError::Column { column: 0, problem });
        let client = error.client();
        assert_eq!(client.code, SqlState::INTERNAL);
        assert_eq!(client.message, "the answer could not be released");
    }
}

/// The fake backend above can be told apart from a broken one.
#[test]
fn numeric_words_are_big_endian() {
    let mut encoded = numeric::encode(10_001, 0);
    assert_eq!([encoded.get_u16(), encoded.get_u16()], [2, 1]);
}

/// Groups that are selected by weights pass a threshold for these very weights: not one for numbers of units, nor for weights of
/// another norm, another whole or fewer groups.
#[tokio::test]
async fn weights_are_those_of_the_threshold() {
    let outline =
        dp::Outline { round: Some(0), ..dp::Outline::even(4, &[], Some(&Ratio::new(1, 1_000_000))) };
    let laplace = Spec::of(&one(), &outline).unwrap();
    let square = dp::BigRatio::from_integer(1u8.into());
    let gaussian = laplace.gaussian(&square, &outline).unwrap();
    let units = Spec::laplace(&one(), 4, &[], Some(&Ratio::new(1, 1_000_000))).unwrap();
    let whole = u64::from(dp::WHOLE);
    let exact = |weights, l0| Exact {
        keys: vec![["a", "b"].map(bytes).to_vec()],
        units: Some(vec![900 * i128::from(whole), 500_000]),
        values: vec![],
        rows: 2,
        proven: Proof::unproven(l0, weights, vec![], false, true),
        selected: None,
        within: None,
    };
    for (spec, own) in [(&laplace, Sum(whole)), (&gaussian, Squares(whole)), (&units, Units)] {
        for weights in [Sum(whole), Squares(whole), Units, Sum(whole + 1), Squares(whole / 2)] {
            let paid =
                receipt_in(Accounting::Notion(dp::Notion::Zcdp), std::slice::from_ref(spec), one()).await;
            let given = perturb(vec![(exact(weights, 4), spec)], paid, &mut SeededRng::new(1));
            match weights == own {
                // Of nine hundred units one stays, and of half a unit nothing; as numbers of units both are many.
                true => assert_eq!(given.unwrap()[0].rows, if own == Units { 2 } else { 1 }),
                false => assert_eq!(given.unwrap_err(), ReleaseError::Uncertified),
            }
        }
        let paid = receipt_in(Accounting::Notion(dp::Notion::Zcdp), std::slice::from_ref(spec), one()).await;
        let wider = perturb(vec![(exact(own, 5), spec)], paid, &mut SeededRng::new(1));
        assert_eq!(wider.unwrap_err(), ReleaseError::Uncertified);
    }
}

/// Noise that selects groups is drawn once for one receipt: neither a second reading nor the release draws it again. Mutation: what
/// was borrowed for the one is used up by nobody.
#[tokio::test]
async fn rule_51_groups_are_selected_once_for_a_receipt() {
    use arriving::{Part as Coming, arriving};
    let delta = Ratio::new(1, 1_000_000);
    let spec = Spec::laplace(&one(), 1, &[], Some(&delta)).unwrap();
    let coming = || [Coming { proof: planned(&spec), spec: &spec, groups: None, keys: 1 }];
    let mut paid = receipt(std::slice::from_ref(&spec), one()).await;
    assert!(arriving(&coming(), &mut paid).unwrap().iter().all(|(decides, _)| decides.is_some()));
    assert_eq!(arriving(&coming(), &mut paid).err(), Some(ReleaseError::Receipt));
    let exact = Exact { units: Some(vec![900]), ..public(&["a"], vec![]) };
    assert_eq!(
        perturb(vec![(exact, &spec)], paid, &mut SeededRng::new(1)).err(),
        Some(ReleaseError::Receipt)
    );
    // Groups that are public need none of it.
    let spec = Spec::laplace(&one(), 1, &[3], None).unwrap();
    let mut paid = receipt(std::slice::from_ref(&spec), one()).await;
    let coming = [Coming { proof: planned(&spec), spec: &spec, groups: None, keys: 1 }];
    assert!(arriving(&coming, &mut paid).unwrap().iter().all(|(decides, _)| decides.is_none()));
    assert!(!paid.has_selected());
}

/// A part that changes by at most `l1` in all groups together, and by at most `linf` in each.
fn in_both(l1: u128, linf: u128) -> Part {
    Part { linf, l2_squared: Some(linf * l1), ..Part::in_all(l1) }
}
