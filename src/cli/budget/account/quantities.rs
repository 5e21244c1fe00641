//! Quantities by name: what a file of cases may ask for, and the function that computes it.

use super::computed::{Computed, number};
use super::formulas;
use dp::interval::Interval;
use dp::loss::PrivacyLoss;
use dp::pld::{Pld, Source};
use dp::rdp::Curve;
use dp::sparse::accuracy;
use dp::tradeoff::{Clt, TradeOff};
use dp::{Cost, Filter, Notion, Ratio, UNITS_PER_ONE, cdp, composition, gdp, ratio, rdp};
use serde_json::Value;

type Outcome = Result<Computed, String>;

/// A mechanism of a case, and how often it is used.
struct Use {
    kind: String,
    value: Value,
    count: u32,
}

/// A case's parameters, read with an explanation of what is missing.
struct Case<'a> {
    params: &'a Value,
    uses: Vec<Use>,
}

fn get(value: &Value, key: &str) -> Result<f64, String> {
    value.get(key).and_then(number).ok_or_else(|| format!("{key} is missing or no number"))
}

fn whole(value: &Value, key: &str) -> Result<u32, String> {
    let x = get(value, key)?;
    if x.fract() == 0.0 && (0.0..=4e9).contains(&x) {
        Ok(x as u32)
    } else {
        Err(format!("{key} is no count"))
    }
}

/// A decimal as an exact rational.
fn exact(value: &Value) -> Result<Ratio, String> {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let decimal = text.parse().map_err(|_| format!("{text} is no number"))?;
    ratio(&decimal).ok_or_else(|| format!("{text} has too many digits"))
}

impl<'a> Case<'a> {
    fn of(case: &'a Value) -> Result<Self, String> {
        let one = |m: &Value| {
            let kind = m.get("type").and_then(Value::as_str).ok_or("a mechanism has no type")?;
            let count = if m.get("count").is_some() { whole(m, "count")? } else { 1 };
            Ok(Use { kind: kind.to_owned(), value: m.clone(), count })
        };
        let none = vec![];
        let uses = case.get("mechanisms").and_then(Value::as_array).unwrap_or(&none);
        let uses = uses.iter().map(one).collect::<Result<Vec<_>, String>>()?;
        Ok(Self { params: case.get("params").unwrap_or(&Value::Null), uses })
    }

    fn param(&self, key: &str) -> Result<f64, String> {
        get(self.params, key)
    }

    fn count(&self, key: &str) -> Result<u32, String> {
        whole(self.params, key)
    }

    fn only(&self) -> Result<&Use, String> {
        match self.uses.as_slice() {
            [one] => Ok(one),
            _ => Err("one mechanism is expected".into()),
        }
    }

    fn uses<T>(&self, f: impl Fn(&Use) -> Result<T, String>) -> Result<Vec<(T, u32)>, String> {
        self.uses.iter().map(|u| Ok((f(u)?, u.count))).collect()
    }

    /// ε of each use, repeated as often as it is used.
    fn epsilons(&self) -> Result<Vec<f64>, String> {
        let each = self.uses(|u| get(&u.value, "epsilon"))?;
        Ok(each.into_iter().flat_map(|(e, n)| std::iter::repeat_n(e, n as usize)).collect())
    }

    /// μ of each use, repeated as often as it is used.
    fn mus(&self) -> Result<Vec<f64>, String> {
        let each = self.uses(|u| get(&u.value, "mu"))?;
        Ok(each.into_iter().flat_map(|(e, n)| std::iter::repeat_n(e, n as usize)).collect())
    }
}

impl Use {
    fn get(&self, key: &str) -> Result<f64, String> {
        get(&self.value, key)
    }

    /// Around the decimal that is written there.
    fn enclosed(&self, key: &str) -> Result<Interval, String> {
        exact(self.value.get(key).ok_or_else(|| format!("{key} is missing"))?).map(|r| Interval::ratio(&r))
    }

    /// Sensitivity over scale, stated as `name` or by the two.
    fn ratio(&self, name: &str, scale: &str) -> Result<Interval, String> {
        match self.get(name) {
            Ok(_) => self.enclosed(name),
            Err(_) => Ok(self.enclosed("sensitivity")? / self.enclosed(scale)?),
        }
    }

    fn unsuitable<T>(&self) -> Result<T, String> {
        Err(format!("nothing of this kind is known of {}", self.kind))
    }

    fn curve(&self) -> Result<Curve, String> {
        match self.kind.as_str() {
            "laplace" => Ok(Curve::ContinuousLaplace { epsilon: self.ratio("epsilon", "scale")? }),
            "gaussian" => Ok(Curve::Gaussian { square: self.ratio("mu", "sigma")?.square() }),
            "randomized_response" => Ok(Curve::Pure { epsilon: self.enclosed("epsilon")? }),
            "discrete_laplace" => {
                let rate = Interval::from(1.0) / self.enclosed("scale")?;
                Ok(Curve::DiscreteLaplace { sensitivity: self.enclosed("sensitivity")?, rate })
            }
            "discrete_gaussian" => {
                let square = self.enclosed("sensitivity")?.square() / self.enclosed("sigma2")?;
                Ok(Curve::Gaussian { square })
            }
            _ => self.unsuitable(),
        }
    }

    fn trade_off(&self) -> Result<TradeOff, String> {
        match self.kind.as_str() {
            "laplace" => Ok(TradeOff::Laplace { epsilon: self.ratio("epsilon", "scale")?.hi() }),
            "gaussian" => Ok(TradeOff::Gaussian { mu: self.ratio("mu", "sigma")?.hi() }),
            "randomized_response" => Ok(TradeOff::randomised_response(self.get("epsilon")?)),
            "approx_dp" => {
                Ok(TradeOff::Approximate { epsilon: self.get("epsilon")?, delta: self.get("delta")? })
            }
            _ => self.unsuitable(),
        }
    }

    fn loss(&self) -> Result<PrivacyLoss, String> {
        let many = || "there are too many outcomes to list".to_owned();
        match self.kind.as_str() {
            "randomized_response" => Ok(PrivacyLoss::randomised_response(self.enclosed("epsilon")?)),
            "approx_dp" => Ok(PrivacyLoss::approximate(self.enclosed("epsilon")?, self.enclosed("delta")?)),
            "discrete_laplace" => {
                let (width, rate) =
                    (whole(&self.value, "sensitivity")?, Interval::from(1.0) / self.enclosed("scale")?);
                PrivacyLoss::discrete_laplace(width.into(), rate).ok_or_else(many)
            }
            "discrete_gaussian" => {
                let (width, variance) = (whole(&self.value, "sensitivity")?, self.enclosed("sigma2")?);
                PrivacyLoss::discrete_gaussian(width.into(), variance).ok_or_else(many)
            }
            _ => self.unsuitable(),
        }
    }

    fn source(&self) -> Result<Source, String> {
        match self.kind.as_str() {
            "laplace" | "gaussian" => Ok(Source::Curve(self.trade_off()?)),
            _ => Ok(Source::Loss(self.loss()?)),
        }
    }
}

fn fields(all: Vec<(&'static str, f64)>) -> Outcome {
    Ok(Computed::Fields(all.into_iter().map(|(name, x)| (name, x.into())).collect()))
}

fn one(x: f64) -> Outcome {
    Ok(x.into())
}

/// The quantity's value in a case; None where the quantity is unknown.
pub(super) fn compute(quantity: &str, case: &Value) -> Option<Outcome> {
    let function = function(quantity)?;
    Some(Case::of(case).and_then(|case| function(&case)))
}

type Function = fn(&Case) -> Outcome;

fn function(quantity: &str) -> Option<Function> {
    Some(match quantity {
        "gdp_delta" => |c| one(gdp::delta(c.param("mu")?, c.param("eps")?)),
        "gdp_epsilon" => |c| one(gdp::epsilon(c.param("mu")?, c.param("delta")?)),
        "gdp_compose" => |c| {
            let mu = gdp::compose(c.mus()?);
            fields(vec![("mu_total", mu), ("delta", gdp::delta(mu, c.param("eps")?))])
        },
        "group_privacy_gdp" => |c| {
            let mu = gdp::group(c.only()?.get("mu")?, c.count("k")?);
            fields(vec![("mu", mu), ("delta", gdp::delta(mu, c.param("eps")?))])
        },
        "group_privacy_approx_dp" => |c| {
            let (e, d) =
                composition::group(c.only()?.get("epsilon")?, c.only()?.get("delta")?, c.count("k")?);
            fields(vec![("epsilon", e), ("delta", d)])
        },
        "pure_dp_to_gdp" => |c| one(gdp::of_pure(c.param("epsilon")?)),
        "analytic_gaussian_sigma" => |c| {
            let sigma = gdp::sigma(c.param("eps")?, c.param("delta")?, c.param("sensitivity")?);
            one(sigma.ok_or("epsilon and sensitivity are above 0, and delta between 0 and 1")?)
        },
        "tradeoff_gaussian" => |c| one(TradeOff::Gaussian { mu: c.param("mu")? }.at(c.param("alpha")?).lo()),
        "tradeoff_laplace" => {
            |c| one(TradeOff::Laplace { epsilon: c.param("epsilon")? }.at(c.param("alpha")?).lo())
        }
        "tradeoff_approx_dp" => |c| {
            let f = TradeOff::Approximate { epsilon: c.param("epsilon")?, delta: c.param("delta")? };
            one(f.at(c.param("alpha")?).lo())
        },
        "laplace_delta" => {
            |c| one(TradeOff::Laplace { epsilon: c.param("epsilon0")? }.profile(c.param("eps")?).hi())
        }
        "functionals_rr" | "functionals_laplace" => functionals,
        "clt_mu_gamma" => |c| {
            let clt = Clt::of(&c.uses(Use::trade_off)?).ok_or("the functionals are infinite")?;
            Ok(Computed::Fields(vec![
                ("mu", clt.mu.into()),
                ("gamma", clt.gamma.into()),
                ("applicable", Computed::Flag(clt.applicable())),
            ]))
        },
        "advanced_composition_dwork_roth" => |c| {
            let u = c.only()?;
            one(composition::advanced(u.get("epsilon")?, u.count, c.param("delta_prime")?))
        },
        "adaptive_filter_epsilon" => {
            |c| one(composition::adaptive(composition::squares(c.epsilons()?), c.param("delta_prime")?).hi())
        }
        "kov_heterogeneous" => {
            |c| one(composition::optimal_heterogeneous(&c.epsilons()?, c.param("delta_prime")?))
        }
        "optimal_composition_pure" => |c| {
            let u = c.only()?;
            one(composition::optimal_epsilon(u.get("epsilon")?, 0.0, u.count, c.param("delta")?))
        },
        "optimal_composition_pure_delta" => |c| {
            let u = c.only()?;
            one(composition::optimal_delta(u.get("epsilon")?, 0.0, u.count, c.param("eps")?))
        },
        "rdp_gaussian" | "rdp_laplace" | "rdp_rr_tight_pure_dp" => {
            |c| one(c.only()?.curve()?.divergence(c.param("alpha")?).hi())
        }
        "rdp_to_dp" => |c| {
            let (order, r, delta) = (c.param("alpha")?, c.param("rdp")?, c.param("delta")?);
            let mironov = rdp::epsilon_of_mironov(order, r, delta);
            fields(vec![("mironov", mironov), ("improved", rdp::epsilon(order, r.into(), delta))])
        },
        "rdp_accountant_epsilon" => |c| {
            let best = rdp::best_epsilon(&c.uses(Use::curve)?, &rdp::usual_orders(), c.param("delta")?);
            one(best.ok_or("there are no orders")?.0)
        },
        "zcdp_to_dp_epsilon" => |c| {
            let (rho, delta) = (c.param("rho")?, c.param("delta")?);
            fields(vec![("bs16", cdp::epsilon_loosely(rho, delta)), ("cks20", cdp::epsilon(rho, delta))])
        },
        "zcdp_to_dp_delta" => |c| one(cdp::delta(c.param("rho")?, c.param("eps")?)),
        "zcdp_rho_for_eps_delta" => |c| one(cdp::rho(c.param("eps")?, c.param("delta")?)),
        "pure_to_zcdp" => |c| {
            let e = c.param("epsilon")?;
            fields(vec![
                ("any_eps_dp_bs16", cdp::of_pure_loosely(e)),
                ("any_eps_dp_tight", cdp::of_pure(e)),
                ("laplace_tight", cdp::of_continuous_laplace(e)),
            ])
        },
        "discrete_gaussian_delta" | "discrete_laplace_delta" => {
            |c| one(c.only()?.loss()?.delta(c.param("eps")?))
        }
        "discrete_laplace_kl" => |c| one(c.only()?.loss()?.kl().hi()),
        "discrete_gaussian_pmf_var" => |c| Ok(formulas::discrete_gaussian(c.param("sigma2")?)),
        "discrete_laplace_pmf_var" => |c| Ok(formulas::discrete_laplace(c.param("scale")?)),
        "pld_epsilon" => |c| {
            let pld = Pld::new(c.uses(Use::source)?);
            one(pld.epsilon(c.param("delta")?).map_err(|e| e.to_string())?)
        },
        "pld_delta" => |c| {
            let pld = Pld::new(c.uses(Use::source)?);
            one(pld.delta(c.param("eps")?).map_err(|e| e.to_string())?)
        },
        "natural_filter_counterexample" => counterexample,
        "filter_decisions" => decisions,
        "svt_above_threshold_alpha" => {
            |c| one(accuracy::above_threshold(c.count("k")?.into(), c.param("beta")?, c.param("epsilon")?))
        }
        "svt_sparse" => |c| {
            let (k, positives) = (c.count("k")?, c.count("c")?);
            let (e, d) = (c.param("epsilon")?, c.param("delta")?);
            let alpha = accuracy::sparse(k.into(), positives, c.param("beta")?, e, d);
            fields(vec![("sigma", accuracy::sparse_sigma(positives, e, d)), ("alpha", alpha)])
        },
        "svt_numeric_sparse" => |c| {
            let (k, positives) = (c.count("k")?, c.count("c")?);
            let (e, d) = (c.param("epsilon")?, c.param("delta")?);
            let ((e1, e2), scales) =
                (accuracy::numeric_split(e, d), accuracy::numeric_scales(positives, e, d));
            fields(vec![
                ("eps1", e1),
                ("eps2", e2),
                ("scale_threshold", scales.0),
                ("scale_query", scales.1),
                ("scale_answer", scales.2),
                ("alpha", accuracy::numeric_sparse(k.into(), positives, c.param("beta")?, e, d)),
            ])
        },
        "svt_optimal_split" => |c| {
            let monotone =
                c.params.get("monotonic").and_then(Value::as_bool).ok_or("monotonic is missing")?;
            let positives = c.count("c")?;
            let (e1, e2) = accuracy::optimal_split(positives, c.param("epsilon")?, monotone);
            let times = if monotone { 1.0 } else { 2.0 };
            fields(vec![
                ("eps1", e1),
                ("eps2", e2),
                ("scale_threshold_per_sens", 1.0 / e1),
                ("scale_query_per_sens", times * f64::from(positives) / e2),
            ])
        },
        "partition_optimal_keep_prob" => {
            |c| one(formulas::optimal_keep_probability(c.param("epsilon")?, c.param("delta")?, c.count("n")?))
        }
        "partition_laplace_threshold" => {
            |c| one(formulas::laplace_threshold(c.param("epsilon")?, c.param("delta")?, c.param("l0")?))
        }
        "quantile_exponential_mechanism_interval_probs" => |c| {
            let data = c.params.get("data").and_then(Value::as_array).ok_or("data is missing")?;
            let data: Vec<f64> = data.iter().map(number).collect::<Option<_>>().ok_or("data are numbers")?;
            let range = (c.param("lower")?, c.param("upper")?);
            let all = formulas::quantile_intervals(data, range, c.param("q")?, c.param("epsilon")?);
            Ok(Computed::List(all.into_iter().map(Computed::from).collect()))
        },
        "audit_epsilon_lower_bound" => |c| {
            let (a, b, n) = (c.param("hits_D")?, c.param("hits_Dprime")?, c.param("n")?);
            let (low, high, e) =
                formulas::audit(a, b, n, c.param("alpha")?).ok_or("the counts make no sense")?;
            fields(vec![("p_lower", low), ("p_upper", high), ("eps_lower", e)])
        },
        _ => return None,
    })
}

fn functionals(c: &Case) -> Outcome {
    let f = c.only()?.trade_off()?.functionals().ok_or("the functionals are infinite")?;
    fields(vec![
        ("kl", f.kl.hi()),
        ("kappa2", f.kappa2.hi()),
        ("kappa3", f.kappa3.hi()),
        ("kappa3bar", f.kappa3_bar.hi()),
    ])
}

/// Two steps, the second chosen by the outcome of the first, and what composing each branch as if it had been fixed would
/// say.
fn counterexample(c: &Case) -> Outcome {
    let [first, choice] = c.uses.as_slice() else { return Err("two mechanisms are expected".into()) };
    let branch = |key: &str| {
        let value = choice.value.get(key).ok_or_else(|| format!("{key} is missing"))?;
        let kind = value.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
        Use { kind, value: value.clone(), count: 1 }.loss()
    };
    let (then, otherwise) = (branch("then")?, branch("else")?);
    let (first, epsilon) = (first.loss()?, c.param("eps_target")?);
    // The outcome with the larger loss is the one that is called 1.
    let truth =
        first.then(|outcome| if outcome == 0 { then.clone() } else { otherwise.clone() }).delta(epsilon);
    let fixed = |second: &PrivacyLoss| first.then(|_| second.clone()).delta(epsilon);
    let (of_then, of_otherwise) = (fixed(&then), fixed(&otherwise));
    fields(vec![
        ("natural_pld_delta_branch_rr", of_then),
        ("natural_pld_delta_branch_approx", of_otherwise),
        ("true_adaptive_delta", truth),
        ("ratio", truth / of_otherwise.min(of_then)),
    ])
}

/// Charges against a limit, one after the other: what is refused is not debited.
fn decisions(c: &Case) -> Outcome {
    let part = |key: &str| exact(c.params.get(key).ok_or_else(|| format!("{key} is missing"))?);
    let charges = c.params.get("charges").and_then(Value::as_array).ok_or("charges are missing")?;
    let charges = charges.iter().map(exact).collect::<Result<Vec<_>, _>>()?;
    let square = |r: Ratio| {
        let n = r.numer().checked_mul(*r.numer()).zip(r.denom().checked_mul(*r.denom()));
        n.map(|(n, d)| Ratio::new(n, d)).ok_or("a number has too many digits")
    };
    let (notion, limit, charges) = match c.params.get("filter").and_then(Value::as_str) {
        Some("zcdp") => (Notion::Zcdp, part("budget_rho")?, charges),
        Some("gdp") => {
            let squares = charges.into_iter().map(square).collect::<Result<Vec<_>, _>>()?;
            (Notion::Gdp, square(part("budget_mu")?)?, squares)
        }
        _ => return Err("the filter is unknown".into()),
    };
    let units = |r: &Ratio| {
        let scaled = r.numer().checked_mul(UNITS_PER_ONE).ok_or("a number has too many digits")?;
        Ok::<_, String>((scaled / r.denom(), scaled.div_ceil(*r.denom())))
    };
    let filter = Filter::of_loss(notion, units(&limit)?.0);
    let mut spent = Cost::default();
    let mut answers = vec![];
    for charge in &charges {
        let admitted = filter.admit(spent, Cost::of_loss(units(charge)?.1));
        answers.push(Computed::Flag(admitted.is_ok()));
        spent = admitted.unwrap_or(spent);
    }
    Ok(Computed::List(answers))
}
