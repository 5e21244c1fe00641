//! Words about what bounds on rows cut.

use crate::profiled::{Own, Profiled, Serving};
use crate::release::Release;
use crate::words::short;
use dp::profile::Tail;

/// A sentence about the rows that a bound cuts, as far as it was measured.
pub(super) fn measured(r: &Release, unit: &str) -> Option<String> {
    let lost = r.lost_rows();
    if lost.is_some_and(f64::is_nan) {
        return r.bounding.cut().is_none().then(|| unmeasured(r));
    }
    let profiled = r.bounding.profiled().filter(|_| r.bounding.rows_stage() && r.counts_rows())?;
    let (tail, day) = (&r.bounding.item()?.tail, day(profiled));
    let cut = match lost {
        Some(lost) => {
            let lost = short(libm::ceil(lost));
            format!("that cuts at most {lost} rows of any group, which intervals include (profile of {day})")
        }
        None => format!("that cuts nothing of a {unit} with up to {} rows (profile of {day})", tail.h()),
    };
    let beyond = match libm::ceil(tail.kappa()) {
        units if units >= 1.0 => format!(
            ". At most {units} {unit}s have more than {} rows, of which the rest is counted nowhere",
            tail.h()
        ),
        _ => String::new(),
    };
    Some(cut + &beyond)
}

/// Sentences about what bounds on sums cut that have norms of their own.
pub(super) fn of_sums(r: &Release) -> Vec<String> {
    let Some(profiled) = r.bounding.profiled().filter(|p| p.valid) else { return Vec::new() };
    let told = |own: &Own| {
        let Serving { of, tail } = own.item()?;
        let cut = match tail.b_plus(own.ends()) {
            0.0 => "cuts nothing".to_owned(),
            lost => format!("cuts at most {} of any group, which intervals include", short(of.told(lost))),
        };
        Some(format!("the bound on {} {cut} (profile of {})", of.named(), day(profiled)))
    };
    r.own_norms().filter_map(told).collect()
}

/// A bound on the sums of a unit; `keys`: over its groups.
pub(super) fn bounded(own: &Own, keys: bool) -> Option<String> {
    let of = &own.item()?.of;
    let several = if own.is_squared() && keys { " in one group, fewer in each of several," } else { "" };
    Some(format!("{} add up to at most {}{several}", of.named(), short(of.told(own.ends() as f64))))
}

/// Words for a bound of which nobody knows what it cuts.
pub(super) fn unmeasured(r: &Release) -> String {
    let who = match r.bounding.profiled() {
        Some(old) if !old.valid => {
            format!("what that cuts was measured on {}, too long ago to hold still", day(old))
        }
        _ => "nobody has measured what that cuts".to_owned(),
    };
    // Which groups are dropped is no question of rows, which a profile counts.
    let measure = if r.bounding.l0_stage() { "" } else { "; the owner measures it by noisegate profile" };
    format!(
        "{who}: counts and sums may be too low by any amount, and upper ends of intervals are NULL{measure}"
    )
}

/// The day of a profile.
pub(super) fn day(profiled: &Profiled) -> String {
    schema::time::date(profiled.measured.saturating_sub(schema::time::EPOCH))
}

/// The next bounds below and above one.
fn beside(tail: &Tail, chosen: u64) -> impl Iterator<Item = u64> {
    let below = tail.ends().filter(|end| *end < chosen).last();
    below.into_iter().chain(tail.ends().find(|end| *end > chosen))
}

/// The profile that a bound follows from, and what other bounds would cut.
pub(super) fn profile(r: &Release) -> Option<String> {
    let profiled = r.bounding.profiled().filter(|_| r.bounding.rows_stage() && r.counts_rows())?;
    let item = r.bounding.item()?;
    let (tail, rows) = (&item.tail, u64::from(r.bounding.rows()));
    let told = |n: f64| short(libm::ceil(n));
    let others = beside(tail, rows).map(|end| format!("{} by {end}", told(tail.b_plus(end))));
    let chosen = if r.bounding.is_by_profile() { "chosen by" } else { "beside" };
    Some(format!(
        "  Profile {} of {} ({}): {rows} rows are {chosen} it; they cut {} to {} rows of any group, {}; at most {} units have more than {} rows",
        profiled.id,
        profiled.table,
        day(profiled),
        told(tail.b_minus(rows)),
        told(tail.b_plus(rows)),
        others.collect::<Vec<_>>().join(", "),
        told(tail.kappa()),
        tail.h()
    ))
}

/// The item by which sums are bounded that have a norm of their own, and what other bounds would cut.
pub(super) fn profile_of_sums(r: &Release, own: &Own) -> Option<String> {
    let (profiled, item) = r.bounding.profiled().zip(own.item())?;
    let (tail, chosen) = (&item.tail, own.ends());
    let told = |n: f64| short(item.of.told(n));
    let others =
        beside(tail, chosen).map(|end| format!(", {} by {}", told(tail.b_plus(end)), told(end as f64)));
    let others: String = others.collect();
    Some(format!(
        "  Profile {} of {} ({}), {}: sums up to {} are chosen by it; that cuts at most {} of any group{others}; at most {} units \
         have more than {}",
        profiled.id,
        profiled.table,
        day(profiled),
        item.of,
        told(chosen as f64),
        told(tail.b_plus(chosen)),
        short(libm::ceil(tail.kappa())),
        told(tail.h() as f64)
    ))
}
