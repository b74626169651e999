//! From a number to what people and models read.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Signed, ToPrimitive, Zero};

use super::fraction;
use super::interval::{Interval, signed};
use super::number::{Number, power_of_ten};

/// Digits of a rounded result.
const DIGITS: usize = 20;
/// A decimal fraction longer than this is rounded too.
const DECIMALS_MAX: u64 = 60;
/// A longer fraction is not readable.
const FRACTION_CHARS_MAX: usize = 200;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ShownNumber {
    pub(super) digits: String,
    /// Whether `digits` is the number and not near it.
    pub(super) exact: bool,
    /// The exact value of a rounded fraction.
    pub(super) fraction: Option<String>,
    /// How little is known, where that is less than usual.
    pub(super) doubt: Option<String>,
}

pub(super) fn render_number(number: &Number) -> ShownNumber {
    match number {
        Number::Exact(value) => match exact_decimal(value) {
            Some(digits) => ShownNumber { digits, exact: true, fraction: None, doubt: None },
            None => {
                let fraction = format!("{}/{}", value.numer(), value.denom());
                ShownNumber {
                    digits: round_digits(value, DIGITS),
                    exact: false,
                    fraction: (fraction.len() <= FRACTION_CHARS_MAX).then_some(fraction),
                    doubt: None,
                }
            }
        },
        Number::Near(ball) => render_interval(ball),
    }
}

/// All digits of a whole number or of a decimal fraction that ends.
fn exact_decimal(value: &BigRational) -> Option<String> {
    if value.denom().is_one() {
        return Some(value.numer().to_string());
    }
    // It ends if the denominator has no factors but 2 and 5, after as many places as the more frequent of them.
    let twos = value.denom().trailing_zeros().unwrap_or(0);
    let mut rest = value.denom() >> twos;
    let mut fives = 0;
    while !rest.is_one() {
        if !(&rest % 5u32).is_zero() {
            return None;
        }
        rest /= 5u32;
        fives += 1;
    }
    let places = twos.max(fives);
    if places > DECIMALS_MAX {
        return None;
    }
    let shift = power_of_ten(i32::try_from(places).ok()?);
    let digits = fraction::mul(value, &shift).numer().abs().to_string();
    let digits = plain_notation(&digits, signed(digits.len() as u64) - signed(places) - 1);
    Some(if value.is_negative() { format!("-{digits}") } else { digits })
}

fn render_interval(ball: &Interval) -> ShownNumber {
    let digits = if ball.err.is_zero() {
        DIGITS
    } else {
        // A bit is 0.30103 digits; one digit is left for the rounding.
        let bits = signed(ball.mid.bits()) - signed(ball.err.bits()) - 1;
        usize::try_from(bits * 30_103 / 100_000 - 1).unwrap_or(0).min(DIGITS)
    };
    let shown = |digits, doubt| ShownNumber { digits, exact: false, fraction: None, doubt };
    if digits == 0 {
        let bits = signed(ball.mid.bits().max(ball.err.bits())) + 1 + ball.exp;
        let exponent = (bits * 30_103).div_euclid(100_000) + 1;
        let doubt = (!ball.err.is_zero())
            .then(|| format!("it cannot be told from 0; its size is less than 1e{exponent}"));
        return shown("0".into(), doubt);
    }
    let doubt = (digits < DIGITS).then(|| format!("only {digits} digits of it are certain"));
    shown(round_digits(&ball.middle(), digits), doubt)
}

/// So many significant digits, without zeros at the end.
pub(super) fn round_digits(value: &BigRational, digits: usize) -> String {
    if value.is_zero() {
        return "0".into();
    }
    let bits = signed(value.numer().bits()) - signed(value.denom().bits());
    let mut exponent = bits * 30_103 / 100_000;
    let wanted = signed(digits as u64);
    // The estimate is off by one at most, and so is a rounding up to the next power of ten.
    let written = loop {
        let shift = power_of_ten((wanted - 1 - exponent).to_i32().unwrap_or(0));
        let scaled = fraction::mul(value, &shift);
        let doubled: BigInt = scaled.numer().abs() * 2u32 + scaled.denom();
        let written = (doubled / (scaled.denom() * 2u32)).to_string();
        match signed(written.trim_start_matches('0').len() as u64) - wanted {
            0 => break written,
            1 if written.trim_end_matches('0') == "1" => {
                exponent += 1;
                break written;
            }
            off => exponent += off.signum(),
        }
    };
    let written = written.trim_end_matches('0');
    let text = if (-7..21).contains(&exponent) {
        plain_notation(written, exponent)
    } else {
        scientific_notation(written, exponent)
    };
    if value.is_negative() { format!("-{text}") } else { text }
}

/// `exponent` is that of the first digit: `plain("435", 1)` is `43.5`.
fn plain_notation(digits: &str, exponent: i64) -> String {
    let Ok(before) = usize::try_from(exponent + 1) else {
        let zeros = usize::try_from(-exponent - 1).unwrap_or(0);
        return format!("0.{}{digits}", "0".repeat(zeros));
    };
    match before {
        0 => format!("0.{digits}"),
        before if before >= digits.len() => format!("{digits}{}", "0".repeat(before - digits.len())),
        before => format!("{}.{}", &digits[..before], &digits[before..]),
    }
}

fn scientific_notation(digits: &str, exponent: i64) -> String {
    let (first, rest) = digits.split_at(1);
    if rest.is_empty() { format!("{first}e{exponent}") } else { format!("{first}.{rest}e{exponent}") }
}
