//! The functions that have no exact values: roots, exponentials, logarithms, circles.
//!
//! Each reduces its argument to a small one, sums a series over whole numbers scaled by `2^F`, and says how
//! wrong the sum can be. The bounds are generous: 64 more bits are computed than are kept.

use num_bigint::{BigInt, BigUint};
use num_traits::{One, Signed, ToPrimitive, Zero};

use super::fraction::div_floor;
use super::interval::{Interval, PRECISION, signed};

/// The bits after the point in which series are summed.
const F: u64 = PRECISION + 64;

pub(super) const TOO_LARGE: &str =
    "the result has more than 4,096 bits (about 1,233 digits); work with its logarithm instead";
pub(super) const TOO_SMALL: &str = "the result is closer to 0 than 2^-4096; work with its logarithm instead";
const UNCERTAIN: &str = "the argument is not known exactly enough for a meaningful result";

pub(super) fn pi() -> Interval {
    // Some hundred terms, each cut by less than one.
    Interval::new(scaled_pi(F), BigUint::from(1u32) << 12u32, -signed(F))
}

pub(super) fn sqrt(x: &Interval) -> Result<Interval, String> {
    let upper = &x.mid + BigInt::from(x.err.clone());
    if upper.is_negative() {
        return Err("the square root of a negative number is not real".into());
    }
    // As much room below the point as gives all bits of the root, and an even exponent.
    let room = (2 * PRECISION).saturating_sub(x.mid.bits());
    let room = room + u64::from((x.exp - signed(room)) % 2 != 0);
    let exp = (x.exp - signed(room)) / 2;
    if x.may_be_zero() {
        let root = (upper << room).sqrt() + 1u32;
        return Ok(Interval::new(BigInt::zero(), root.magnitude().clone(), exp));
    }
    let root = (&x.mid << room).sqrt();
    let err = (&x.err << room) / root.magnitude() + 2u32;
    Ok(Interval::new(root, err, exp))
}

pub(super) fn exp(x: &Interval) -> Result<Interval, String> {
    if x.magnitude() > 12 {
        return Err(if x.is_negative() { TOO_SMALL } else { TOO_LARGE }.into());
    }
    let (x, err) = to_fixed_point(x);
    if err.bits() >= F {
        return Err(UNCERTAIN.into());
    }
    // e^x = 2^n · e^r with 0 ≤ r < ln 2.
    let ln_2 = ln_2();
    let n = div_floor(&x, &ln_2);
    let r = x - &n * ln_2;
    let mut term = one();
    let mut sum = one();
    let mut k = 0u32;
    while !term.is_zero() {
        k += 1;
        term = ((term * &r) >> F) / k;
        sum += &term;
    }
    let err = (err << 2u32) + (BigUint::one() << 26u32);
    Ok(Interval::new(sum, err, n.to_i64().unwrap_or(0) - signed(F)))
}

pub(super) fn ln(x: &Interval) -> Result<Interval, String> {
    if x.may_be_zero() || x.is_negative() {
        return Err("the logarithm needs a number greater than 0".into());
    }
    // x = f · 2^k with 3/4 ≤ f < 3/2, and ln f = 2 artanh ((f − 1) / (f + 1)).
    let mut k = x.magnitude();
    let mut f = &x.mid << (F - x.mid.bits());
    if &f << 2u32 < BigInt::from(3) << F {
        f <<= 1u32;
        k -= 1;
    }
    let z = ((&f - one()) << F) / (f + one());
    let square = (&z * &z) >> F;
    let mut term = z.abs();
    let mut sum = BigInt::zero();
    let mut n = 1u32;
    while !term.is_zero() {
        sum += &term / n;
        term = (term * &square) >> F;
        n += 2;
    }
    let ln_f = if z.is_negative() { -sum } else { sum } << 1u32;
    let err = (&x.err << F) / (x.mid.magnitude() - &x.err) + (BigUint::one() << 26u32);
    Ok(Interval::new(ln_f + ln_2() * k, err, -signed(F)))
}

/// Sine and cosine of an angle in radians.
pub(super) fn sin_cos(x: &Interval) -> Result<(Interval, Interval), String> {
    // A large angle needs as many more digits of π.
    let more = u64::try_from(x.magnitude()).unwrap_or(0);
    let (x, err) = to_fixed_point_bits(x, F + more);
    if err.bits() > F + more {
        return Err(UNCERTAIN.into());
    }
    let half_pi = scaled_pi(F + more) >> 1u32;
    let quarters = div_floor(&((&x << 1u32) + &half_pi), &(&half_pi << 1u32));
    let r = (x - &quarters * half_pi) >> more;
    let err = (err >> more) + (BigUint::one() << 14u32);

    let square = (&r * &r) >> F;
    let alternating = |first: BigInt, mut k: u32| {
        let mut term = first;
        let (mut sum, mut minus) = (BigInt::zero(), false);
        while !term.is_zero() {
            sum = if minus { sum - &term } else { sum + &term };
            minus = !minus;
            term = ((term * &square) >> F) / (k * (k + 1));
            k += 2;
        }
        sum
    };
    let sin = alternating(r.abs(), 2);
    let sin = if r.is_negative() { -sin } else { sin };
    let cos = alternating(one(), 1);
    let (sin, cos) = match (quarters % 4i32 + 4i32).to_i32().unwrap_or(0) % 4 {
        0 => (sin, cos),
        1 => (cos, -sin),
        2 => (-sin, -cos),
        _ => (-cos, sin),
    };
    let ball = |mid| Interval::new(mid, err.clone(), -signed(F));
    Ok((ball(sin), ball(cos)))
}

pub(super) fn atan(x: &Interval) -> Result<Interval, String> {
    if x.magnitude() > 1 {
        // From 2 on, atan x = ± π/2 − atan 1/x, and 1/x is below 1.
        let inverse = Interval::from_integer(1).div(x).ok_or(UNCERTAIN)?;
        let quarter = half(&pi());
        let quarter = if x.is_negative() { quarter.neg() } else { quarter };
        return Ok(quarter.sub(&atan(&inverse)?));
    }
    let (x, err) = to_fixed_point(x);
    let mut z = x.abs();
    // atan z = 2 atan (z / (1 + √(1 + z²))), three times: then the series is quick.
    for _ in 0..3 {
        let root = ((one() << F) + &z * &z).sqrt();
        z = (z << F) / (one() + root);
    }
    let square = (&z * &z) >> F;
    let (mut term, mut sum, mut n, mut minus) = (z, BigInt::zero(), 1u32, false);
    while !term.is_zero() {
        let part = &term / n;
        sum = if minus { sum - part } else { sum + part };
        minus = !minus;
        term = (term * &square) >> F;
        n += 2;
    }
    let angle = sum << 3u32;
    let angle = if x.is_negative() { -angle } else { angle };
    Ok(Interval::new(angle, err + (BigUint::one() << 16u32), -signed(F)))
}

pub(super) fn asin(x: &Interval) -> Result<Interval, String> {
    let size = if x.is_negative() { x.neg() } else { x.clone() };
    let one = Interval::from_integer(1);
    let angle = if x.magnitude() >= 0 {
        // Near 1 the sine is flat: asin x = π/2 − 2 asin √((1 − x) / 2).
        let rest = sqrt(&half(&one.sub(&size)))
            .map_err(|_| "the arcsine and arccosine need a number from -1 to 1".to_owned())?;
        half(&pi()).sub(&Interval { exp: 1, ..Interval::from_integer(1) }.mul(&asin_small(&rest)?))
    } else {
        asin_small(&size)?
    };
    Ok(if x.is_negative() { angle.neg() } else { angle })
}

/// For numbers up to about 3/4.
fn asin_small(x: &Interval) -> Result<Interval, String> {
    let other = sqrt(&Interval::from_integer(1).sub(&x.mul(x)))?;
    atan(&x.div(&other).ok_or(UNCERTAIN)?)
}

pub(super) fn half(x: &Interval) -> Interval {
    Interval { exp: x.exp - 1, ..x.clone() }
}

fn one() -> BigInt {
    BigInt::one() << F
}

/// The number and its error, scaled by `2^F`.
fn to_fixed_point(x: &Interval) -> (BigInt, BigUint) {
    to_fixed_point_bits(x, F)
}

fn to_fixed_point_bits(x: &Interval, bits: u64) -> (BigInt, BigUint) {
    let shift = x.exp + signed(bits);
    if shift >= 0 {
        (&x.mid << shift, &x.err << shift)
    } else {
        (&x.mid >> -shift, (&x.err >> -shift) + 2u32)
    }
}

/// ln 2 = 2 artanh 1/3, scaled by `2^F`.
fn ln_2() -> BigInt {
    let mut term = (one() << 1u32) / 3u32;
    let mut sum = BigInt::zero();
    let mut n = 1u32;
    while !term.is_zero() {
        sum += &term / n;
        term /= 9u32;
        n += 2;
    }
    sum
}

/// π by Machin's formula, scaled by `2^bits`.
fn scaled_pi(bits: u64) -> BigInt {
    let arctangent_of_inverse = |x: u32| {
        let mut term = (BigInt::one() << bits) / x;
        let (mut sum, mut n, mut minus) = (BigInt::zero(), 1u32, false);
        while !term.is_zero() {
            let part = &term / n;
            sum = if minus { sum - part } else { sum + part };
            minus = !minus;
            term /= x * x;
            n += 2;
        }
        sum
    };
    arctangent_of_inverse(5) * 16u32 - arctangent_of_inverse(239) * 4u32
}
