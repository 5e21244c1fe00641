//! A hash of everything in a policy that changes what an answer means.

use super::model::{Added, Domain, Measure, Policy, Privacy, Profile, Range, Scope};
use bigdecimal::BigDecimal;
use dp::{Distribution, Ratio};
use sha2::{Digest, Sha256};

/// Canonical: each field is tagged by its place, each text preceded by its length, each list by its count.
struct Canon(Sha256);

impl Canon {
    fn text(&mut self, s: &str) {
        self.number(s.len() as u64);
        self.0.update(s.as_bytes());
    }

    fn number(&mut self, n: u64) {
        self.0.update(n.to_be_bytes());
    }

    fn decimal(&mut self, d: &BigDecimal) {
        self.text(&d.normalized().to_string());
    }

    fn list<T>(&mut self, items: &[T], each: impl Fn(&mut Self, &T)) {
        self.number(items.len() as u64);
        items.iter().for_each(|i| each(self, i));
    }

    fn ratio(&mut self, r: &Ratio) {
        self.text(&format!("{}/{}", r.numer(), r.denom()));
    }

    /// Its times are not in it: until when it is believed is judged when something is told.
    fn profile(&mut self, profile: &Profile) {
        self.number(profile.id);
        self.list(&profile.items, |c, item| {
            c.measure(&item.of);
            c.ratio(item.histogram.epsilon());
            match item.histogram.noise() {
                Distribution::None => c.number(0),
                Distribution::Laplace { scale } => {
                    c.number(1);
                    c.ratio(scale);
                }
                Distribution::Gaussian { variance } => {
                    c.number(2);
                    c.ratio(variance);
                }
            }
            c.list(item.histogram.bins(), |c, n| c.text(&n.to_string()));
        });
    }

    fn measure(&mut self, of: &Measure) {
        self.text(&of.to_string());
        if let Added::Deviations(d) = &of.added {
            [&d.low, &d.high, &d.grid].into_iter().for_each(|end| self.decimal(end));
            self.number(d.steps);
        }
    }

    fn option<T>(&mut self, item: Option<T>, each: impl FnOnce(&mut Self, T)) {
        self.number(u64::from(item.is_some()));
        if let Some(item) = item {
            each(self, item);
        }
    }
}

/// SHA-256 over unit, statement defaults, budgets, streams and tables. Addresses, logins, limits and OIDs are not in it:
/// the same policy over a restored dump is the same policy.
pub(super) fn of(policy: &Policy) -> [u8; 32] {
    let mut c = Canon(Sha256::new());
    c.text("noisegate policy 2");
    if let Some(unit) = &policy.unit {
        c.number(unit.table as u64);
        c.text(&unit.column);
    }
    c.decimal(&policy.statement.epsilon);
    c.decimal(&policy.statement.delta);
    c.number(policy.statement.max_groups.into());
    c.number(policy.statement.max_rows.into());
    c.list(&policy.budgets, |c, b| {
        c.text(&b.name);
        c.number(match b.scope {
            Scope::Dataset => 0,
            Scope::User => 1,
            Scope::Role => 2,
        });
        c.list(&b.tables, |c, table| c.text(table));
        c.option(b.window, |c, window| c.text(&window.word()));
        // Which notion `auto` has become is the ledger's to say.
        c.text(if b.choices.is_empty() { b.accounting.word() } else { "auto" });
        c.decimal(&b.epsilon);
        c.decimal(&b.delta);
        c.decimal(&b.selection_delta);
        c.list(&b.mechanisms, |c, declared| {
            c.text(&format!("{:?}", declared.mechanism));
            c.number(declared.uses.into());
        });
    });
    c.list(&policy.streams, |c, s| {
        c.text(&s.name);
        c.text(s.variant.word());
        c.decimal(&s.epsilon);
        c.decimal(&s.delta);
        c.number(s.positives.into());
        c.option(s.max_rows, |c, n| c.number(n.into()));
    });
    // Policies that collect nothing keep their version.
    if !policy.collects.is_empty() {
        c.list(&policy.collects, |c, collect| {
            c.text(&collect.name);
            c.number(collect.reports as u64);
            c.list(&collect.columns, |c, column| {
                c.text(&column.name);
                c.text(column.kind.word());
                c.list(&column.values, |c, v| c.text(v));
                c.option(column.other, |c, n| c.number(n as u64));
                c.number(u64::from(column.missing));
                c.decimal(&column.epsilon);
                c.text(&format!("{:?}", column.randomiser));
            });
        });
    }
    c.list(&policy.tables, |c, t| {
        c.text(&t.schema);
        c.text(&t.name);
        match &t.privacy {
            Privacy::Public => c.number(0),
            Privacy::Private { unit, nullable, ty } => {
                c.number(1);
                c.text(unit);
                c.number(u64::from(*nullable));
                c.text(&ty.sql_name());
            }
            Privacy::Path(path) => {
                c.number(2);
                c.list(&path.columns, |c, column| c.text(column));
                c.number(path.table as u64);
                c.list(&path.key, |c, column| c.text(column));
            }
        }
        c.option(t.max_rows, |c, n| c.number(n.into()));
        c.option(t.max_total_rows, |c, n| c.number(n.into()));
        c.option(t.proven_rows, |c, n| c.number(n.into()));
        // Tables without these keep their version; what follows otherwise is 0 or 1.
        if let Some(most) = t.most_rows {
            c.number(u64::MAX - 2);
            c.number(most.into());
        }
        if let Some(profile) = &t.profile {
            c.number(u64::MAX - 3);
            c.profile(profile);
        }
        c.number(u64::from(t.only));
        c.list(&t.keys, |c, key| c.list(key, |c, column| c.text(column)));
        c.list(&t.columns, |c, column| {
            c.text(&column.name);
            c.text(&column.ty.sql_name());
            c.number(u64::from(column.not_null));
            c.number(u64::from(column.deterministic));
            c.option(column.grid.as_ref(), Canon::decimal);
            c.option(column.range.as_ref(), |c, range| match range {
                Range::Number { low, high } => {
                    c.number(0);
                    c.decimal(low);
                    c.decimal(high);
                }
                Range::Time { low, high } => {
                    c.number(1);
                    c.text(&format!("{low} {high}"));
                }
            });
            c.option(column.domain.as_ref(), |c, domain| match domain {
                Domain::Values(values) => {
                    c.number(0);
                    c.list(values, |c, v| c.text(v));
                }
                Domain::References { table, column } => {
                    c.number(1);
                    c.number(*table as u64);
                    c.text(column);
                }
            });
            // Policies without the key keep their version.
            if !column.nan {
                // Nor so long as this.
                c.number(u64::MAX - 1);
            }
            // Policies without paths keep their version.
            if !column.paths.is_empty() {
                // No text is so long: what follows is no column.
                c.number(u64::MAX);
                c.list(&column.paths, |c, path| {
                    c.list(&path.keys, |c, key| c.text(key));
                    c.option(path.values.as_ref(), |c, values| c.list(values, |c, v| c.text(v)));
                    c.option(path.range.as_ref(), |c, (low, high)| {
                        c.decimal(low);
                        c.decimal(high);
                    });
                });
            }
        });
    });
    c.0.finalize().into()
}
