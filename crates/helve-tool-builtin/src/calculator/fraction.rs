//! Fractions in lowest terms.
//!
//! `BigRational` holds them; the operations are our own, since those of the library search for a common factor
//! where there can be none, which takes long for large numbers, and compare by recursion.

use std::cmp::Ordering;

use num_bigint::{BigInt, Sign};
use num_rational::BigRational;
use num_traits::{One, Signed, ToPrimitive, Zero};

pub(super) fn from_integer(n: impl Into<BigInt>) -> BigRational {
    BigRational::from_integer(n.into())
}

/// `num / den`; the denominator is not zero.
pub(super) fn ratio(num: BigInt, den: BigInt) -> BigRational {
    let (num, den) = if den.sign() == Sign::Minus { (-num, -den) } else { (num, den) };
    let common = gcd(&num, &den);
    BigRational::new_raw(num / &common, den / common)
}

pub(super) fn add(a: &BigRational, b: &BigRational) -> BigRational {
    let common = gcd(a.denom(), b.denom());
    let b_rest = b.denom() / &common;
    let num = a.numer() * &b_rest + b.numer() * (a.denom() / &common);
    // Only what the denominators share can be shared by the sum.
    let shared = gcd(&num, &common);
    BigRational::new_raw(num / &shared, a.denom() / shared * b_rest)
}

pub(super) fn mul(a: &BigRational, b: &BigRational) -> BigRational {
    let left = gcd(a.numer(), b.denom());
    let right = gcd(b.numer(), a.denom());
    let num = (a.numer() / &left) * (b.numer() / &right);
    BigRational::new_raw(num, (a.denom() / right) * (b.denom() / left))
}

/// `1 / a`; it is not zero.
pub(super) fn recip(a: &BigRational) -> BigRational {
    let (num, den) = (a.denom().clone(), a.numer().clone());
    if den.is_negative() { BigRational::new_raw(-num, -den) } else { BigRational::new_raw(num, den) }
}

pub(super) fn pow(a: &BigRational, n: u32) -> BigRational {
    BigRational::new_raw(a.numer().pow(n), a.denom().pow(n))
}

pub(super) fn cmp(a: &BigRational, b: &BigRational) -> Ordering {
    (a.numer() * b.denom()).cmp(&(b.numer() * a.denom()))
}

pub(super) fn floor(a: &BigRational) -> BigInt {
    div_floor(a.numer(), a.denom())
}

/// The greatest whole number not above `a / b`, for a positive `b`.
pub(super) fn div_floor(a: &BigInt, b: &BigInt) -> BigInt {
    let quotient = a / b;
    if a.is_negative() && &quotient * b != *a { quotient - 1 } else { quotient }
}

/// Positive, also where both are zero, so that one can divide by it.
///
/// Lehmer's way: the leading 62 bits foretell many steps of Euclid's at once, and the long numbers are only
/// touched when those are used up.
pub(super) fn gcd(a: &BigInt, b: &BigInt) -> BigInt {
    let (mut a, mut b) = (a.abs(), b.abs());
    if a < b {
        (a, b) = (b, a);
    }
    while !b.is_zero() {
        if b.is_one() {
            return b;
        }
        let [[p, q], [r, s]] = steps(&a, &b);
        (a, b) = if q == 0 { (b.clone(), a % b) } else { (&a * p + &b * q, a * r + b * s) };
    }
    if a.is_zero() { BigInt::one() } else { a }
}

/// The steps of Euclid's that are certain from the leading bits, as what they make of `a ≥ b`.
fn steps(a: &BigInt, b: &BigInt) -> [[i64; 2]; 2] {
    const LEADING: u64 = 62;
    const FACTOR_MAX: i128 = 1 << 30;
    let shift = a.bits().saturating_sub(LEADING);
    let leading = |n: &BigInt| (n >> shift).to_i128().unwrap_or(0);
    let (mut x, mut y) = (leading(a), leading(b));
    let [mut p, mut q, mut r, mut s] = [1i128, 0, 0, 1];
    while y + r > 0 && y + s > 0 {
        // The true quotient lies between these two.
        let quotient = (x + p) / (y + r);
        if quotient != (x + q) / (y + s) || r.abs().max(s.abs()) * quotient > FACTOR_MAX {
            break;
        }
        (x, y) = (y, x - quotient * y);
        (p, r) = (r, p - quotient * r);
        (q, s) = (s, q - quotient * s);
    }
    let short = |n: i128| i64::try_from(n).unwrap_or(0);
    [[short(p), short(q)], [short(r), short(s)]]
}

/// The root of an exact power, such as 2/3 for the third root of 8/27; the number is not negative.
pub(super) fn exact_root(a: &BigRational, n: u32) -> Option<BigRational> {
    let exact = |x: &BigInt| {
        // No number but 0 and 1 is so high a power and fits.
        if u64::from(n) > x.bits() && !(x.is_zero() || x.is_one()) {
            return None;
        }
        let root = x.nth_root(n);
        (root.pow(n) == *x).then_some(root)
    };
    Some(BigRational::new_raw(exact(a.numer())?, exact(a.denom())?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn euclid(a: &BigInt, b: &BigInt) -> BigInt {
        let (mut a, mut b) = (a.abs(), b.abs());
        while !b.is_zero() {
            (a, b) = (b.clone(), a % b);
        }
        a
    }

    proptest! {
        #[test]
        fn the_common_factor_is_that_of_euclid(
            a in proptest::collection::vec(any::<u32>(), 0..40),
            b in proptest::collection::vec(any::<u32>(), 0..40),
            c in proptest::collection::vec(any::<u32>(), 1..20),
        ) {
            let [a, b, c] = [a, b, c].map(|digits| BigInt::new(Sign::Plus, digits));
            let (a, b) = (a * &c, -b * c);
            prop_assume!(!a.is_zero() || !b.is_zero());
            prop_assert_eq!(gcd(&a, &b), euclid(&a, &b));
            prop_assert_eq!(gcd(&b, &a), euclid(&a, &b));
        }

        #[test]
        fn sums_and_products_are_those_of_the_library(a: i32, b in 1i32.., c: i32, d in 1i32..) {
            let of = |n: i32| BigInt::from(n);
            let (x, y) = (ratio(of(a), of(b)), ratio(of(c), of(d)));
            prop_assert_eq!(add(&x, &y), &x + &y);
            prop_assert_eq!(mul(&x, &y), &x * &y);
            prop_assert_eq!(cmp(&x, &y), x.cmp(&y));
            prop_assert_eq!(floor(&x), x.floor().to_integer());
        }
    }
}
