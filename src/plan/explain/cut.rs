//! Words about what bounds on rows cut.

use crate::bound::bounding::Profiled;
use crate::release::Release;
use crate::words::short;

/// A sentence about the rows that a bound cuts, as far as it was measured.
pub(super) fn measured(r: &Release, unit: &str) -> Option<String> {
    let lost = r.lost_rows();
    if lost.is_some_and(f64::is_nan) {
        return r.bounding.cut().is_none().then(|| unmeasured(r));
    }
    let profiled = r.bounding.profiled().filter(|_| r.bounding.rows_stage() && r.counts_rows())?;
    let (tail, day) = (&profiled.tail, day(profiled));
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
