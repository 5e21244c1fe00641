//! Profiles of units: which is the latest of each table, and that each was paid for.

use super::body::{LATEST, Profile};
use super::state::{Books, Measurement};
use dp::{Distribution, Event, Mechanism};
use policy::Measured;
use std::collections::BTreeSet;

impl Books {
    /// The latest profile of each table.
    pub(crate) fn profiles(&self) -> Vec<Measured> {
        self.profiles.values().cloned().collect()
    }

    /// The profile of an entry, if it is one and was paid for.
    pub(crate) fn check_profile(&self, id: i64, entry: &Profile, at: i64) -> Result<Measured, String> {
        let id = u64::try_from(id).map_err(|e| e.to_string())?;
        let profile = Measured::read(id, &entry.profile).ok_or("its histograms cannot be read")?;
        if profile.written() != entry.profile {
            return Err("its histograms are not written as this program writes".into());
        }
        let Measured { measured, valid_until, .. } = profile;
        if !(0..=at).contains(&measured) || !(measured..LATEST).contains(&valid_until) {
            return Err("it was measured, or ends, at a time that cannot be".into());
        }
        if profile.items.iter().flat_map(|(_, h)| h.bins()).any(|n| n.unsigned_abs() >= LATEST.unsigned_abs())
        {
            return Err("a number of its histograms has more than 53 bits".into());
        }
        let several = profile
            .items
            .iter()
            .enumerate()
            .any(|(i, (of, _))| profile.items.iter().skip(i + 1).any(|(other, _)| other == of));
        if profile.items.is_empty() || several {
            return Err("it measures nothing, or the same twice".into());
        }
        let mut paying: BTreeSet<&i64> = entry.paid_by.iter().collect();
        for (of, histogram) in &profile.items {
            let pays = |m: &Measurement| {
                m.tables.contains(&profile.table)
                    && m.charge.events.iter().any(|e| is_of(e, histogram.noise()))
            };
            let found = paying.iter().find(|id| self.measurements.get(*id).is_some_and(pays)).copied();
            // Each pays for one.
            if !found.is_some_and(|id| paying.remove(id)) {
                return Err(format!("no entry paid for its histogram of {of}"));
            }
        }
        Ok(profile)
    }

    pub(super) fn take_profile(&mut self, id: i64, entry: &Profile, at: i64) -> Result<(), String> {
        let profile = self.check_profile(id, entry, at)?;
        self.profiles.insert((profile.schema.clone(), profile.table.clone()), profile);
        Ok(())
    }

    /// Forgets profiles of rows that are somebody else's now: of these tables, or of all.
    pub(super) fn forget_profiles(&mut self, tables: Option<&BTreeSet<String>>) {
        self.profiles.retain(|(_, table), _| tables.is_some_and(|tables| !tables.contains(table)));
    }
}

/// Whether an event is such noise on a histogram of which a unit changes one bin by 1.
fn is_of(event: &Event, noise: &Distribution) -> bool {
    match (&event.mechanism, noise) {
        (Mechanism::DiscreteLaplace { sensitivity, scale }, Distribution::Laplace { scale: own }) => {
            sensitivity.l1 == 1 && scale == own
        }
        (Mechanism::DiscreteGaussian { sensitivity, variance }, Distribution::Gaussian { variance: own }) => {
            sensitivity.l2_squared == 1 && variance == own
        }
        _ => false,
    }
}
