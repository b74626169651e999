//! A number as the calculator knows it: an exact fraction as long as it can, and then a ball that says how
//! near it is.
//!
//! Exact results that would be too long (a denominator of more than 1,024 bits) become balls by themselves;
//! numbers beyond 4,096 bits are refused. Together these bound the work that an expression of 1 KB can ask for.

use std::cmp::Ordering;

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Signed, ToPrimitive, Zero};

use super::interval::{Interval, signed};
use super::{fraction, series};

/// The size beyond which numbers are refused.
const BITS_MAX: u64 = 4_096;
/// Fractions with longer denominators are rounded.
const DENOMINATOR_BITS_MAX: u64 = 1_024;
/// Places to which one can round.
const PLACES_MAX: i32 = 300;
/// Powers of rounded numbers up to this are multiplied out.
const POWER_MULTIPLIED_MAX: u32 = 64;

pub(super) const DIVISION_BY_ZERO: &str = "division by zero";

/// What is wrong, for a reader who sees the position elsewhere.
pub(super) type Result<T = Number> = std::result::Result<T, String>;

#[derive(Debug, Clone)]
pub(super) enum Number {
    Exact(BigRational),
    Near(Interval),
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Rounding {
    Down,
    Up,
    /// Towards zero.
    Cut,
    /// To the nearest, a half away from zero.
    Nearest,
}

impl Number {
    pub(super) fn from_integer(n: i64) -> Self {
        Self::Exact(fraction::from_integer(n))
    }

    /// The number, if it is not out of bounds.
    pub(super) fn from_fraction(value: BigRational) -> Result {
        if value.numer().bits() <= BITS_MAX && value.denom().bits() <= DENOMINATOR_BITS_MAX {
            return Ok(Self::Exact(value));
        }
        Self::from_interval(Interval::from_fraction(&value))
    }

    pub(super) fn from_interval(ball: Interval) -> Result {
        let bits_max = signed(BITS_MAX);
        if ball.magnitude().max(signed(ball.err.bits()) + ball.exp) > bits_max {
            return Err(series::TOO_LARGE.into());
        }
        if !ball.mid.is_zero() && ball.magnitude() < -bits_max {
            return Err(series::TOO_SMALL.into());
        }
        Ok(Self::Near(ball))
    }

    pub(super) fn to_interval(&self) -> Interval {
        match self {
            Self::Exact(value) => Interval::from_fraction(value),
            Self::Near(ball) => ball.clone(),
        }
    }

    pub(super) fn is_negative(&self) -> bool {
        match self {
            Self::Exact(value) => value.is_negative(),
            Self::Near(ball) => ball.is_negative(),
        }
    }

    fn is_zero(&self) -> bool {
        matches!(self, Self::Exact(value) if value.is_zero())
    }

    /// The whole number that it exactly is.
    pub(super) fn as_integer(&self) -> Option<&BigInt> {
        match self {
            Self::Exact(value) if value.denom().is_one() => Some(value.numer()),
            _ => None,
        }
    }

    pub(super) fn neg(self) -> Self {
        match self {
            Self::Exact(value) => Self::Exact(-value),
            Self::Near(ball) => Self::Near(ball.neg()),
        }
    }

    pub(super) fn abs(self) -> Self {
        if self.is_negative() { self.neg() } else { self }
    }

    pub(super) fn add(&self, other: &Self) -> Result {
        match (self, other) {
            (Self::Exact(a), Self::Exact(b)) => Self::from_fraction(fraction::add(a, b)),
            _ => Self::from_interval(self.to_interval().add(&other.to_interval())),
        }
    }

    pub(super) fn sub(&self, other: &Self) -> Result {
        self.add(&other.clone().neg())
    }

    pub(super) fn mul(&self, other: &Self) -> Result {
        match (self, other) {
            (Self::Exact(a), Self::Exact(b)) => Self::from_fraction(fraction::mul(a, b)),
            (zero, _) | (_, zero) if zero.is_zero() => Ok(Self::from_integer(0)),
            _ => Self::from_interval(self.to_interval().mul(&other.to_interval())),
        }
    }

    pub(super) fn div(&self, other: &Self) -> Result {
        if other.is_zero() {
            return Err(DIVISION_BY_ZERO.into());
        }
        match (self, other) {
            (Self::Exact(a), Self::Exact(b)) => Self::from_fraction(fraction::mul(a, &fraction::recip(b))),
            (zero, _) if zero.is_zero() => Ok(Self::from_integer(0)),
            _ => {
                let ball = self.to_interval().div(&other.to_interval());
                Self::from_interval(ball.ok_or("division by a number that cannot be told from zero")?)
            }
        }
    }

    /// What is left after whole multiples of `other` are taken away; it has the sign of `other`.
    pub(super) fn modulo(&self, other: &Self) -> Result {
        let times = self.div(other)?.round(Rounding::Down, 0)?;
        self.sub(&other.mul(&times)?)
    }

    pub(super) fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Exact(a), Self::Exact(b)) => fraction::cmp(a, b),
            _ => {
                let difference = self.to_interval().sub(&other.to_interval());
                difference.mid.cmp(&BigInt::zero())
            }
        }
    }

    /// A power with any exponent for which it is real.
    pub(super) fn pow(&self, exponent: &Self) -> Result {
        if let Some(n) = exponent.as_integer() {
            return self.pow_whole(n);
        }
        if self.is_zero() {
            return if exponent.is_negative() {
                Err(ZERO_TO_NEGATIVE.into())
            } else {
                Ok(Self::from_integer(0))
            };
        }
        if let Self::Exact(exponent) = exponent {
            // A root first, which is real for a negative number if it is odd.
            if self.is_negative() {
                if !exponent.denom().bit(0) {
                    return Err("an even root of a negative number is not real".into());
                }
                let size = self.clone().abs().pow(&Self::Exact(exponent.clone()))?;
                return Ok(if exponent.numer().bit(0) { size.neg() } else { size });
            }
            let root = match self {
                Self::Exact(base) => {
                    // So high a root is exact for 0 and 1 only, and for them any is.
                    fraction::exact_root(base, exponent.denom().to_u32().unwrap_or(u32::MAX))
                }
                Self::Near(_) => None,
            };
            if let Some(root) = root {
                return Self::Exact(root).pow_whole(exponent.numer());
            }
            if *exponent.numer() == BigInt::one() && *exponent.denom() == BigInt::from(2) {
                return Self::from_interval(series::sqrt(&self.to_interval())?);
            }
        }
        if self.is_negative() {
            return Err("a negative number can only be raised to an exact power".into());
        }
        let logarithm = series::ln(&self.to_interval())?;
        Self::from_interval(series::exp(&logarithm.mul(&exponent.to_interval()))?)
    }

    fn pow_whole(&self, n: &BigInt) -> Result {
        if n.is_zero() {
            return Ok(Self::from_integer(1));
        }
        if self.is_zero() {
            return if n.is_negative() { Err(ZERO_TO_NEGATIVE.into()) } else { Ok(Self::from_integer(0)) };
        }
        if let Self::Exact(base) = self
            && base.denom().is_one()
            && base.numer().magnitude().is_one()
        {
            return Ok(if n.bit(0) { self.clone() } else { Self::from_integer(1) });
        }
        let times = n.magnitude().to_u32();
        if let (Self::Exact(base), Some(times)) = (self, times) {
            // At least so many bits the power has.
            let bits = |x: &BigInt| (x.bits() - 1).saturating_mul(u64::from(times));
            if bits(base.numer()).max(bits(base.denom())) <= BITS_MAX {
                let power = fraction::pow(base, times);
                return Self::from_fraction(if n.is_negative() { fraction::recip(&power) } else { power });
            }
        }
        let ball = match (self, times) {
            (Self::Near(ball), Some(times)) if times <= POWER_MULTIPLIED_MAX => {
                let power = ball.pow(times);
                if n.is_negative() {
                    Interval::from_integer(1)
                        .div(&power)
                        .ok_or("division by a number that cannot be told from zero")?
                } else {
                    power
                }
            }
            _ => {
                let logarithm = series::ln(&self.clone().abs().to_interval())?;
                let size = series::exp(
                    &logarithm.mul(&Interval::from_fraction(&fraction::from_integer(n.clone()))),
                )?;
                if self.is_negative() && n.bit(0) { size.neg() } else { size }
            }
        };
        Self::from_interval(ball)
    }

    pub(super) fn round(&self, rounding: Rounding, places: i32) -> Result {
        if places.abs() > PLACES_MAX {
            return Err(format!("one can round to -{PLACES_MAX} to {PLACES_MAX} places"));
        }
        let unit = power_of_ten(-places);
        let per_unit = power_of_ten(places);
        let round = |value: &BigRational| {
            let scaled = fraction::mul(value, &per_unit);
            fraction::mul(&fraction::from_integer(rounding.apply(&scaled)), &unit)
        };
        let ball = match self {
            Self::Exact(value) => return Self::from_fraction(round(value)),
            Self::Near(ball) => ball,
        };
        let (low, high) = (round(&ball.lower_bound()), round(&ball.upper_bound()));
        if fraction::cmp(&low, &high) == Ordering::Equal {
            return Self::from_fraction(low);
        }
        // It lies on a border as far as one can see, like floor(sqrt(2)^2): then it is taken to be there.
        let quarter = fraction::mul(&unit, &fraction::ratio(1.into(), 4.into()));
        let width = fraction::add(&ball.upper_bound(), &-ball.lower_bound());
        if fraction::cmp(&width, &quarter) == Ordering::Greater {
            return Err("the number is not known exactly enough to be rounded".into());
        }
        let halves = fraction::mul(&ball.middle(), &fraction::mul(&per_unit, &fraction::from_integer(2)));
        let border = fraction::ratio(Rounding::Nearest.apply(&halves), 2.into());
        Self::from_interval(Interval::from_fraction(&round(&fraction::mul(&border, &unit))))
    }
}

const ZERO_TO_NEGATIVE: &str = "division by zero: 0 has no negative powers";

impl Rounding {
    fn apply(self, value: &BigRational) -> BigInt {
        let floor = fraction::floor(value);
        let is_whole = value.denom().is_one();
        match self {
            Self::Down => floor,
            Self::Up => floor + i32::from(!is_whole),
            Self::Cut => floor + i32::from(!is_whole && value.is_negative()),
            Self::Nearest => {
                let doubled = value.numer().abs() * 2 + value.denom();
                let size = fraction::div_floor(&doubled, &(value.denom() * 2));
                if value.is_negative() { -size } else { size }
            }
        }
    }
}

pub(super) fn power_of_ten(n: i32) -> BigRational {
    let power = fraction::from_integer(BigInt::from(10).pow(n.unsigned_abs()));
    if n < 0 { fraction::recip(&power) } else { power }
}
