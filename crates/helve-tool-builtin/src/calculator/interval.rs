//! A number that is known up to an error.
//!
//! Every operation also computes how wrong its result can be at most, so that the digits shown in the end are
//! all true, and a zero that comes from cancellation is not taken for a tiny number.

use num_bigint::{BigInt, BigUint};
use num_rational::BigRational;
use num_traits::{One, Signed, Zero};

use super::fraction::ratio;

/// The bits kept of a number, about 154 digits.
pub(super) const PRECISION: u64 = 512;

/// `(mid ± err) · 2^exp`.
#[derive(Debug, Clone)]
pub(super) struct Interval {
    pub(super) mid: BigInt,
    pub(super) err: BigUint,
    pub(super) exp: i64,
}

impl Interval {
    /// Keeps as many bits as are worth keeping.
    pub(super) fn new(mid: BigInt, err: BigUint, exp: i64) -> Self {
        let excess = mid.bits().max(err.bits()).saturating_sub(PRECISION);
        if excess == 0 {
            return Self { mid, err, exp };
        }
        // Less than one is lost from the middle, and less than one from the error.
        Self { mid: mid >> excess, err: (err >> excess) + 2u32, exp: exp + signed(excess) }
    }

    pub(super) fn from_integer(n: i64) -> Self {
        Self { mid: n.into(), err: BigUint::ZERO, exp: 0 }
    }

    /// As near as the precision allows; for an exact fraction that is within one in the last place.
    pub(super) fn from_fraction(value: &BigRational) -> Self {
        let (num, den) = (value.numer(), value.denom());
        if den.is_one() && num.bits() <= PRECISION {
            return Self { mid: num.clone(), err: BigUint::ZERO, exp: 0 };
        }
        let shift = signed(PRECISION) + signed(den.bits()) - signed(num.bits());
        let mid = if shift >= 0 { (num << shift) / den } else { num / (den << -shift) };
        Self::new(mid, BigUint::one(), -shift)
    }

    /// The middle as a fraction.
    pub(super) fn middle(&self) -> BigRational {
        scaled(self.mid.clone(), self.exp)
    }

    pub(super) fn lower_bound(&self) -> BigRational {
        scaled(&self.mid - BigInt::from(self.err.clone()), self.exp)
    }

    pub(super) fn upper_bound(&self) -> BigRational {
        scaled(&self.mid + BigInt::from(self.err.clone()), self.exp)
    }

    /// The least `n` with `|middle| < 2^n`.
    pub(super) fn magnitude(&self) -> i64 {
        signed(self.mid.bits()) + self.exp
    }

    /// Whether zero is among the values it may have.
    pub(super) fn may_be_zero(&self) -> bool {
        *self.mid.magnitude() <= self.err
    }

    pub(super) fn is_negative(&self) -> bool {
        self.mid.is_negative()
    }

    pub(super) fn neg(&self) -> Self {
        Self { mid: -&self.mid, err: self.err.clone(), exp: self.exp }
    }

    pub(super) fn add(&self, other: &Self) -> Self {
        let exp = self.exp.min(other.exp);
        let (left, right) = (self.exp - exp, other.exp - exp);
        let mid = (&self.mid << left) + (&other.mid << right);
        Self::new(mid, (&self.err << left) + (&other.err << right), exp)
    }

    pub(super) fn sub(&self, other: &Self) -> Self {
        self.add(&other.neg())
    }

    pub(super) fn mul(&self, other: &Self) -> Self {
        let err =
            self.mid.magnitude() * &other.err + other.mid.magnitude() * &self.err + &self.err * &other.err;
        Self::new(&self.mid * &other.mid, err, self.exp + other.exp)
    }

    /// None where the divisor may be zero.
    pub(super) fn div(&self, other: &Self) -> Option<Self> {
        if other.may_be_zero() {
            return None;
        }
        let (a, b) = (self.mid.magnitude(), other.mid.magnitude());
        let shift = (PRECISION + b.bits()).saturating_sub(a.bits());
        let mid = (&self.mid << shift) / &other.mid;
        let err = ((a * &other.err + b * &self.err) << shift) / (b * (b - &other.err)) + 2u32;
        Some(Self::new(mid, err, self.exp - other.exp - signed(shift)))
    }

    /// By repeated squaring, which loses little for small exponents.
    pub(super) fn pow(&self, mut n: u32) -> Self {
        let mut power = Self::from_integer(1);
        let mut square = self.clone();
        while n > 0 {
            if n & 1 == 1 {
                power = power.mul(&square);
            }
            n >>= 1;
            if n > 0 {
                square = square.mul(&square);
            }
        }
        power
    }
}

fn scaled(mid: BigInt, exp: i64) -> BigRational {
    if exp >= 0 {
        return BigRational::from_integer(mid << exp);
    }
    if mid.is_zero() { BigRational::zero() } else { ratio(mid, BigInt::one() << -exp) }
}

/// A count of bits, which is far from the limits of either type.
pub(super) fn signed(bits: u64) -> i64 {
    i64::try_from(bits).unwrap_or(i64::MAX)
}
