//! The functions and constants that an expression can name.

use num_bigint::BigInt;
use num_traits::{One, Signed, ToPrimitive, Zero};

use super::interval::Interval;
use super::number::{Number, Result, Rounding};
use super::{fraction, series};

/// A name, how many arguments it takes, and what it does with them.
pub(super) struct Function {
    pub(super) name: &'static str,
    pub(super) least: usize,
    pub(super) most: usize,
    pub(super) apply: fn(&[Number]) -> Result,
}

const MANY: usize = usize::MAX;

const fn function(name: &'static str, least: usize, most: usize, apply: fn(&[Number]) -> Result) -> Function {
    Function { name, least, most, apply }
}

pub(super) const FUNCTIONS: &[Function] = &[
    function("sqrt", 1, 1, |x| x[0].pow(&half())),
    function("cbrt", 1, 1, |x| root(&x[0], &Number::from_integer(3))),
    function("root", 2, 2, |x| root(&x[0], &x[1])),
    function("pow", 2, 2, |x| x[0].pow(&x[1])),
    function("abs", 1, 1, |x| Ok(x[0].clone().abs())),
    function("round", 1, 2, |x| x[0].round(Rounding::Nearest, places(x.get(1))?)),
    function("floor", 1, 2, |x| x[0].round(Rounding::Down, places(x.get(1))?)),
    function("ceil", 1, 2, |x| x[0].round(Rounding::Up, places(x.get(1))?)),
    function("trunc", 1, 2, |x| x[0].round(Rounding::Cut, places(x.get(1))?)),
    function("min", 1, MANY, |x| Ok(min(x.iter()))),
    function("max", 1, MANY, |x| Ok(max(x.iter()))),
    function("sum", 1, MANY, sum),
    function("avg", 1, MANY, average),
    function("mean", 1, MANY, average),
    function("mod", 2, 2, |x| x[0].modulo(&x[1])),
    function("gcd", 1, MANY, |x| fold_whole(x, |a, b| Some(greatest_divisor(a, b)))),
    function("lcm", 1, MANY, |x| fold_whole(x, least_multiple)),
    function("factorial", 1, 1, |x| factorial(&x[0])),
    function("exp", 1, 1, |x| exp(&x[0])),
    function("ln", 1, 1, |x| ln(&x[0])),
    function("log", 1, 2, |x| logarithm(&x[0], x.get(1).unwrap_or(&Number::from_integer(10)))),
    function("log10", 1, 1, |x| logarithm(&x[0], &Number::from_integer(10))),
    function("log2", 1, 1, |x| logarithm(&x[0], &Number::from_integer(2))),
    function("sin", 1, 1, |x| sin(&x[0])),
    function("cos", 1, 1, |x| cos(&x[0])),
    function("tan", 1, 1, |x| sin(&x[0])?.div(&cos(&x[0])?)),
    function("asin", 1, 1, |x| asin(&x[0])),
    function("acos", 1, 1, |x| acos(&x[0])),
    function("atan", 1, 1, |x| atan(&x[0])),
    function("deg", 1, 1, |x| x[0].mul(&Number::from_integer(180))?.div(&pi()?)),
    function("rad", 1, 1, |x| radians(&x[0])),
];

pub(super) fn find_function(name: &str) -> Option<&'static Function> {
    FUNCTIONS.iter().find(|function| function.name == name)
}

pub(super) fn constant(name: &str) -> Option<Result> {
    match name {
        "pi" => Some(pi()),
        "e" => Some(exp(&Number::from_integer(1))),
        _ => None,
    }
}

pub(super) fn factorial(n: &Number) -> Result {
    let n =
        n.as_integer().filter(|n| !n.is_negative()).ok_or("a factorial needs a whole number from 0 on")?;
    // 600! has 4,700 bits; the check of the result refuses what is too large below that.
    let n =
        n.to_u32().filter(|n| *n <= 600).ok_or("the factorial is too large; the largest possible is 536!")?;
    let product = (2..=n).fold(BigInt::one(), |product, k| product * k);
    Number::from_fraction(fraction::from_integer(product))
}

pub(super) fn radians(degrees: &Number) -> Result {
    degrees.mul(&pi()?)?.div(&Number::from_integer(180))
}

fn half() -> Number {
    Number::Exact(fraction::ratio(1.into(), 2.into()))
}

fn pi() -> Result {
    Number::from_interval(series::pi())
}

fn root(x: &Number, n: &Number) -> Result {
    if n.as_integer().is_none_or(Zero::is_zero) {
        return Err("a root needs a whole number other than 0 as its degree".into());
    }
    x.pow(&Number::from_integer(1).div(n)?)
}

fn places(argument: Option<&Number>) -> Result<i32> {
    let Some(number) = argument else { return Ok(0) };
    number.as_integer().and_then(ToPrimitive::to_i32).ok_or("the number of places must be whole".into())
}

fn min<'a>(numbers: impl Iterator<Item = &'a Number>) -> Number {
    numbers.min_by(|a, b| a.cmp(b)).cloned().unwrap_or_else(|| Number::from_integer(0))
}

fn max<'a>(numbers: impl Iterator<Item = &'a Number>) -> Number {
    numbers.max_by(|a, b| a.cmp(b)).cloned().unwrap_or_else(|| Number::from_integer(0))
}

fn sum(numbers: &[Number]) -> Result {
    numbers.iter().try_fold(Number::from_integer(0), |sum, x| sum.add(x))
}

fn average(numbers: &[Number]) -> Result {
    let count = i64::try_from(numbers.len()).unwrap_or(i64::MAX);
    sum(numbers)?.div(&Number::from_integer(count))
}

fn fold_whole(numbers: &[Number], join: fn(&BigInt, &BigInt) -> Option<BigInt>) -> Result {
    let mut whole = numbers.iter().map(|x| x.as_integer().ok_or("gcd and lcm need whole numbers"));
    let first = whole.next().transpose()?.map_or_else(BigInt::zero, Signed::abs);
    let mut joined = Number::from_fraction(fraction::from_integer(first))?;
    for next in whole {
        let next = next?;
        let both = joined.as_integer().and_then(|joined| join(joined, next));
        joined = Number::from_fraction(fraction::from_integer(both.unwrap_or_default()))?;
    }
    Ok(joined)
}

fn greatest_divisor(a: &BigInt, b: &BigInt) -> BigInt {
    if a.is_zero() && b.is_zero() { BigInt::zero() } else { fraction::gcd(a, b) }
}

fn least_multiple(a: &BigInt, b: &BigInt) -> Option<BigInt> {
    if a.is_zero() || b.is_zero() { None } else { Some((a / fraction::gcd(a, b) * b).abs()) }
}

/// Where a function has an exact value that people know, it is given; everywhere else the ball of the series.
fn exact_at(
    x: &Number,
    at: i64,
    value: i64,
    series: fn(&Interval) -> std::result::Result<Interval, String>,
) -> Result {
    if x.as_integer().is_some_and(|x| *x == BigInt::from(at)) {
        return Ok(Number::from_integer(value));
    }
    Number::from_interval(series(&x.to_interval())?)
}

fn exp(x: &Number) -> Result {
    exact_at(x, 0, 1, series::exp)
}

fn ln(x: &Number) -> Result {
    exact_at(x, 1, 0, series::ln)
}

fn sin(x: &Number) -> Result {
    exact_at(x, 0, 0, |x| Ok(series::sin_cos(x)?.0))
}

fn cos(x: &Number) -> Result {
    exact_at(x, 0, 1, |x| Ok(series::sin_cos(x)?.1))
}

fn asin(x: &Number) -> Result {
    exact_at(x, 0, 0, series::asin)
}

fn acos(x: &Number) -> Result {
    exact_at(x, 1, 0, |x| Ok(series::half(&series::pi()).sub(&series::asin(x)?)))
}

fn atan(x: &Number) -> Result {
    exact_at(x, 0, 0, series::atan)
}

/// Exact where the number is a whole power of the base.
fn logarithm(x: &Number, base: &Number) -> Result {
    let quotient = ln(x)?.div(&ln(base)?)?;
    let Number::Near(ball) = &quotient else { return Ok(quotient) };
    let whole = Number::Near(ball.clone()).round(Rounding::Nearest, 0)?;
    if let (Number::Exact(x), Number::Exact(_), Some(_)) = (x, base, whole.as_integer())
        && let Ok(Number::Exact(power)) = base.pow(&whole)
        && power.numer() == x.numer()
        && power.denom() == x.denom()
    {
        return Ok(whole);
    }
    Ok(quotient)
}
