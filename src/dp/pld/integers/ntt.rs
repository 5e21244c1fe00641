//! Convolution of integers by number-theoretic transforms modulo two primes: exact, where a floating-point transform
//! would lose what lies sixteen digits below the largest entry.

/// 29·2^57 + 1.
const FIRST: u64 = 29 * (1 << 57) + 1;
/// 27·2^56 + 1.
const SECOND: u64 = 27 * (1 << 56) + 1;

/// Arithmetic modulo `P` < 2^63 in Montgomery's form: x stands for x·2^-64.
struct Field<const P: u64>;

impl<const P: u64> Field<P> {
    /// -1/P modulo 2^64, by Newton's iteration.
    const INVERSE: u64 = {
        let mut x = 1u64;
        let mut i = 0;
        while i < 6 {
            x = x.wrapping_mul(2u64.wrapping_sub(P.wrapping_mul(x)));
            i += 1;
        }
        x.wrapping_neg()
    };
    /// 2^128 modulo P.
    const SQUARE: u64 = ((u128::MAX % P as u128 + 1) % P as u128) as u64;

    /// x·y·2^-64.
    fn mul(x: u64, y: u64) -> u64 {
        let t = u128::from(x) * u128::from(y);
        let m = (t as u64).wrapping_mul(Self::INVERSE);
        let u = ((t + u128::from(m) * u128::from(P)) >> 64) as u64;
        if u >= P { u - P } else { u }
    }

    fn enter(x: u64) -> u64 {
        Self::mul(x % P, Self::SQUARE)
    }

    fn leave(x: u64) -> u64 {
        Self::mul(x, 1)
    }

    fn add(x: u64, y: u64) -> u64 {
        let s = x + y;
        if s >= P { s - P } else { s }
    }

    fn sub(x: u64, y: u64) -> u64 {
        if x >= y { x - y } else { x + P - y }
    }

    fn power(x: u64, mut exponent: u64) -> u64 {
        let (mut power, mut base) = (Self::enter(1), x);
        while exponent > 0 {
            if exponent % 2 == 1 {
                power = Self::mul(power, base);
            }
            base = Self::mul(base, base);
            exponent /= 2;
        }
        power
    }

    /// 1, w, w², … for w of order 2·`half`, or of its inverse.
    fn roots(half: usize, generator: u64, inverse: bool) -> Vec<u64> {
        let mut w = Self::power(Self::enter(generator), (P - 1) / (2 * half as u64));
        if inverse {
            w = Self::power(w, P - 2);
        }
        std::iter::successors(Some(Self::enter(1)), |&x| Some(Self::mul(x, w))).take(half).collect()
    }

    /// In bit-reversed order.
    fn forward(data: &mut [u64], generator: u64) {
        let mut half = data.len() / 2;
        while half > 0 {
            let roots = Self::roots(half, generator, false);
            for block in data.chunks_exact_mut(2 * half) {
                let (low, high) = block.split_at_mut(half);
                for ((a, b), w) in low.iter_mut().zip(high).zip(&roots) {
                    let (x, y) = (*a, *b);
                    *a = Self::add(x, y);
                    *b = Self::mul(Self::sub(x, y), *w);
                }
            }
            half /= 2;
        }
    }

    /// From bit-reversed order.
    fn backward(data: &mut [u64], generator: u64) {
        let mut half = 1;
        while half < data.len() {
            let roots = Self::roots(half, generator, true);
            for block in data.chunks_exact_mut(2 * half) {
                let (low, high) = block.split_at_mut(half);
                for ((a, b), w) in low.iter_mut().zip(high).zip(&roots) {
                    let (x, y) = (*a, Self::mul(*b, *w));
                    *a = Self::add(x, y);
                    *b = Self::sub(x, y);
                }
            }
            half *= 2;
        }
        let scale = Self::power(Self::enter(data.len() as u64), P - 2);
        for x in data {
            *x = Self::leave(Self::mul(*x, scale));
        }
    }

    /// The cyclic convolution of length `length`, a power of two.
    fn convolve(a: &[u64], b: &[u64], length: usize, generator: u64) -> Vec<u64> {
        let transformed = |x: &[u64]| {
            let mut data: Vec<u64> = x.iter().map(|&x| Self::enter(x)).collect();
            data.resize(length, 0);
            Self::forward(&mut data, generator);
            data
        };
        let mut product = transformed(a);
        if std::ptr::eq(a, b) {
            for x in &mut product {
                *x = Self::mul(*x, *x);
            }
        } else {
            for (x, y) in product.iter_mut().zip(transformed(b)) {
                *x = Self::mul(*x, y);
            }
        }
        Self::backward(&mut product, generator);
        product
    }
}

/// Σ_i a_i·b_(n-i) for every n. None if the sums of both, multiplied, reach the product of the primes, 2^122.
pub(super) fn convolve(a: &[u64], b: &[u64]) -> Option<Vec<u128>> {
    if a.is_empty() || b.is_empty() {
        return Some(vec![]);
    }
    let sum = |x: &[u64]| x.iter().map(|&x| u128::from(x)).sum::<u128>();
    let modulus = u128::from(FIRST) * u128::from(SECOND);
    if sum(a).checked_mul(sum(b)).is_none_or(|product| product >= modulus) {
        return None;
    }
    let length = a.len() + b.len() - 1;
    if a.len().min(b.len()) <= 16 {
        return Some(plainly(a, b, length));
    }
    let padded = length.next_power_of_two();
    let first = Field::<FIRST>::convolve(a, b, padded, 3);
    let second = Field::<SECOND>::convolve(a, b, padded, 5);
    // x = r₁ + P₁·((r₂ - r₁)/P₁ mod P₂).
    let invert = Field::<SECOND>::power(Field::<SECOND>::enter(FIRST), SECOND - 2);
    let joined = first.into_iter().zip(second).take(length).map(|(r1, r2)| {
        let difference = Field::<SECOND>::sub(r2, r1 % SECOND);
        let quotient = Field::<SECOND>::mul(difference, invert);
        u128::from(r1) + u128::from(FIRST) * u128::from(quotient)
    });
    Some(joined.collect())
}

/// The definition: for short vectors.
fn plainly(a: &[u64], b: &[u64], length: usize) -> Vec<u128> {
    let mut sums = vec![0u128; length];
    let (short, long) = if a.len() < b.len() { (a, b) } else { (b, a) };
    for (shift, &x) in short.iter().enumerate() {
        for (sum, &y) in sums.iter_mut().skip(shift).zip(long) {
            *sum += u128::from(x) * u128::from(y);
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use super::*;

    fn numbers(n: usize, limit: u64, seed: u64) -> Vec<u64> {
        let mut x = seed;
        let next = || {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (x >> 1) % limit
        };
        std::iter::repeat_with(next).take(n).collect()
    }

    #[test]
    fn transforms_agree_with_the_definition() {
        for (n, m) in [(17, 17), (20, 300), (64, 64), (257, 513), (1000, 1)] {
            let (a, b) = (numbers(n, 1 << 50, 1), numbers(m, 1 << 50, 2));
            assert_eq!(convolve(&a, &b).unwrap(), plainly(&a, &b, n + m - 1), "{n} and {m}");
            assert_eq!(convolve(&a, &a).unwrap(), plainly(&a, &a, 2 * n - 1), "{n} squared");
        }
        assert_eq!(convolve(&[], &[1]).unwrap(), Vec::<u128>::new());
    }

    /// Entries near the modulus come back whole; beyond it there is no answer.
    #[test]
    fn the_largest_entries_are_exact() {
        let mut a = vec![0; 40];
        a[39] = 1 << 61;
        a[0] = 1;
        let product = convolve(&a, &a).unwrap();
        assert_eq!((product[78], product[39], product[0]), (1 << 122, 1 << 62, 1));
        assert_eq!(convolve(&[1 << 62], &[1 << 62]), None);
        assert_eq!(convolve(&numbers(100, u64::MAX, 3), &[u64::MAX]), None);
    }

    /// The moduli are prime (by Fermat's little theorem to several bases) and the generators have full order.
    #[test]
    fn primes_and_roots() {
        for base in [2u64, 3, 5, 7, 11, 13, 17] {
            assert_eq!(
                Field::<FIRST>::leave(Field::<FIRST>::power(Field::<FIRST>::enter(base), FIRST - 1)),
                1
            );
            assert_eq!(
                Field::<SECOND>::leave(Field::<SECOND>::power(Field::<SECOND>::enter(base), SECOND - 1)),
                1
            );
        }
        assert_eq!(
            Field::<FIRST>::leave(Field::<FIRST>::power(Field::<FIRST>::enter(3), (FIRST - 1) / 2)),
            FIRST - 1
        );
        assert_eq!(
            Field::<SECOND>::leave(Field::<SECOND>::power(Field::<SECOND>::enter(5), (SECOND - 1) / 2)),
            SECOND - 1
        );
    }
}
