//! Prices and limits to the last unit. They are the same on every machine, and change with [`PRICING`] only.
#![allow(clippy::unwrap_used)]
use super::*;
use crate::{Charge, Event, Guarantee, Mechanism, Ratio, Sensitivity, ratio::exact};
use std::fmt::Write;

fn events() -> Vec<(&'static str, Mechanism)> {
    let laplace = |linf, n, d| Mechanism::DiscreteLaplace {
        sensitivity: Sensitivity::of_one(linf),
        scale: Ratio::new(n, d),
    };
    let guaranteed = Mechanism::Guaranteed;
    vec![
        ("laplace 1/10", laplace(1, 10, 1)),
        ("laplace 1", laplace(1, 1, 1)),
        ("laplace 7/3", laplace(7, 3, 1)),
        ("laplace 20/(1000/3)", laplace(20, 1000, 3)),
        ("laplace 3000/40001", laplace(3000, 40_001, 1)),
        ("laplace 60 rows, 7 in a group/100", {
            Mechanism::DiscreteLaplace {
                sensitivity: Sensitivity::in_all(60, 7),
                scale: Ratio::from_integer(100),
            }
        }),
        (
            "gaussian 5/100",
            Mechanism::DiscreteGaussian {
                sensitivity: Sensitivity::of_one(5),
                variance: Ratio::new(10_000, 7),
            },
        ),
        ("pure 1/3", guaranteed(Guarantee::Pure { epsilon: Ratio::new(1, 3) })),
        ("bounded range 1/3", guaranteed(Guarantee::BoundedRange { epsilon: Ratio::new(1, 3) })),
        ("concentrated 1/7", guaranteed(Guarantee::Concentrated { rho: exact(&Ratio::new(1, 7)) })),
        ("real gaussian 1/7", guaranteed(Guarantee::Gaussian { square: exact(&Ratio::new(1, 7)) })),
    ]
}

#[test]
fn rule_43_prices_of_this_version() {
    let mut text = format!("version {PRICING}\n");
    for notion in Notion::ALL {
        for (name, mechanism) in events() {
            let events = vec![Event { mechanism, times: 3 }];
            let (epsilon, selection_delta) = (Ratio::from_integer(1), Ratio::from_integer(0));
            if let Ok(price) = notion.price(&Charge { epsilon, events, selection_delta }) {
                writeln!(text, "{} {name}: {}", notion.word(), price.loss_text()).unwrap();
            }
        }
        for (e, d) in [((1, 2), (1, 1_000_000)), ((8, 1), (1, 100_000)), ((1, 10), (1, 1_000_000_000_000))] {
            let delta = if notion == Notion::Pure { Ratio::from_integer(0) } else { Ratio::new(d.0, d.1) };
            let half = delta / Ratio::from_integer(2);
            let limit = Filter::new(notion, &Ratio::new(e.0, e.1), &delta, &half).unwrap().limit;
            writeln!(text, "{} limit {}/{} {delta}: {}", notion.word(), e.0, e.1, limit.loss_text()).unwrap();
        }
    }
    assert_eq!(text, include_str!("prices.txt"), "another price is another version: raise dp::PRICING");
}
