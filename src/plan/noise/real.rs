//! Numbers that are known when a text is printed, or that it computes.

/// A factor: known, or the text of a float8.
#[derive(Clone, Debug, PartialEq)]
pub enum Real {
    /// A number.
    Known(f64),
    /// Text that computes the number.
    Text(String),
}

impl Real {
    /// The number that a text computes, as a float8.
    pub fn of(text: &str) -> Self {
        Self::Text(format!("({text})::pg_catalog.float8"))
    }

    /// The product.
    pub fn times(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Known(a), Self::Known(b)) => Self::Known(a * b),
            (Self::Known(a), _) | (_, Self::Known(a)) if a.is_nan() => Self::Known(f64::NAN),
            (Self::Known(0.0), _) | (_, Self::Known(0.0)) => Self::Known(0.0),
            (Self::Known(1.0), x) | (x, Self::Known(1.0)) => x.clone(),
            (a, b) => Self::Text(format!("({} * {})", a.text(), b.text())),
        }
    }

    /// The sum.
    pub fn plus(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Known(a), Self::Known(b)) => Self::Known(a + b),
            (Self::Known(0.0), x) | (x, Self::Known(0.0)) => x.clone(),
            // A sum with what nobody knows is unknown.
            (Self::Known(a), _) | (_, Self::Known(a)) if a.is_nan() => Self::Known(f64::NAN),
            (a, b) => Self::Text(format!("({} + {})", a.text(), b.text())),
        }
    }

    /// The number of the other sign.
    pub fn negated(&self) -> Self {
        self.times(&Self::Known(-1.0))
    }

    /// The quotient; NULL where the divisor is 0.
    pub fn divided_by(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Known(0.0), _) => Self::Known(0.0),
            (Self::Known(a), Self::Known(b)) if *b != 0.0 => Self::Known(a / b),
            (a, b) => Self::Text(format!("({} / NULLIF({}, 0))", a.text(), b.text())),
        }
    }

    /// The number without its sign.
    pub fn magnitude(&self) -> Self {
        match self {
            Self::Known(a) => Self::Known(a.abs()),
            Self::Text(t) => Self::Text(format!("pg_catalog.abs({t})")),
        }
    }

    /// The root of what is not below 0 but for rounding; NULL of NULL.
    pub fn root(&self) -> Self {
        match self {
            Self::Known(a) => Self::Known(a.max(0.0).sqrt()),
            Self::Text(t) => Self::Text(format!("pg_catalog.sqrt(pg_catalog.abs({t}))")),
        }
    }

    /// The sum of all.
    pub fn sum(all: impl Iterator<Item = Self>) -> Self {
        all.fold(Self::Known(0.0), |sum, x| sum.plus(&x))
    }

    /// Nobody knows it.
    pub fn is_unknown(&self) -> bool {
        matches!(self, Self::Known(a) if a.is_nan())
    }

    /// The number, or 0 where it is below.
    pub fn positive(&self) -> Self {
        match self {
            Self::Known(a) if a.is_nan() => self.clone(),
            Self::Known(a) => Self::Known(a.max(0.0)),
            Self::Text(t) => Self::Text(format!("(CASE WHEN {t} > 0 THEN {t} WHEN {t} <= 0 THEN 0 END)")),
        }
    }

    /// As SQL, of type float8.
    pub fn text(&self) -> String {
        match self {
            Self::Text(t) => t.clone(),
            // Digits that read back as the same number; never one that float8 lacks.
            Self::Known(a) if a.is_finite() && *a < 0.0 => format!("(-'{}'::pg_catalog.float8)", -a),
            Self::Known(a) if a.is_finite() => format!("'{a}'::pg_catalog.float8"),
            Self::Known(_) => "NULL::pg_catalog.float8".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_numbers_are_folded() {
        let x = Real::Text("x".into());
        assert_eq!(Real::Known(2.0).times(&Real::Known(-0.5)).plus(&Real::Known(3.0)), Real::Known(2.0));
        assert_eq!(x.times(&Real::Known(1.0)).plus(&Real::Known(0.0)), x);
        assert_eq!(x.times(&Real::Known(0.0)), Real::Known(0.0));
        assert_eq!(x.negated().text(), "(x * (-'1'::pg_catalog.float8))");
        assert_eq!(Real::Known(4.0).root().divided_by(&Real::Known(2.0)), Real::Known(1.0));
        let of_nothing = Real::Known(1.0).divided_by(&Real::Known(0.0)).text();
        assert_eq!(of_nothing, "('1'::pg_catalog.float8 / NULLIF('0'::pg_catalog.float8, 0))");
    }
}
