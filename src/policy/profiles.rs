//! Profiles at the tables that they were measured of.

use super::model::{Item, Measure, Measured, Policy, Privacy, Profile, Table};
use super::version;
use dp::profile::Histogram;

impl Policy {
    /// How a table's rows lead to their unit: the columns of each step, and the unit's column. A
    /// profile is of units, and true of no others.
    pub fn owner(&self, table: &Table) -> Option<String> {
        let (mut table, mut steps) = (table, Vec::new());
        // Paths have no circles; a policy that had one would end here.
        for _ in 0..=self.tables.len() {
            match &table.privacy {
                Privacy::Public => return None,
                Privacy::Private { unit, .. } => {
                    steps.push(unit.clone());
                    return Some(steps.join(" -> "));
                }
                Privacy::Path(path) => {
                    let next = self.tables.get(path.table)?;
                    let columns = path.columns.join(", ");
                    steps.push(format!("({columns}) = {}.({})", next.name, path.key.join(", ")));
                    table = next;
                }
            }
        }
        None
    }

    /// The policy with these profiles, of which later ones count, and with a version of its own.
    /// Those of tables that it does not have, or that have other units by now, are left out.
    pub fn with_profiles<'a>(&mut self, profiles: impl IntoIterator<Item = &'a Measured>) {
        for found in profiles {
            let place = self.tables.iter().position(|t| t.schema == found.schema && t.name == found.table);
            let owner = place.and_then(|at| self.owner(self.tables.get(at)?));
            let Some(table) = place.and_then(|at| self.tables.get_mut(at)) else { continue };
            if owner.as_deref() != Some(found.owner.as_str()) {
                continue;
            }
            let item = |(of, histogram): &(Measure, Histogram)| Item {
                of: of.clone(),
                histogram: histogram.clone(),
                tail: histogram.tail(table.most_rows.map(|rows| of.most(rows))),
            };
            let items = found.items.iter().map(item).collect();
            let Measured { id, measured, valid_until, .. } = *found;
            table.profile = Some(Profile { id, measured, valid_until, items });
        }
        self.version = version::of(self);
    }
}
