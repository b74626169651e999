//! What tokens cost.
//!
//! Prices are whole billionths of a currency's unit for a million tokens, and costs are whole billionths, so nothing
//! is lost to rounding before the last division. Which model has which price is the operator's configuration.

use helve_types::Usage;

/// The price of a model's tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Price {
    pub input: PerMillion,
    /// For input that the vendor had in its cache.
    pub cached: PerMillion,
    /// For input that the vendor put into its cache.
    pub cache_write: PerMillion,
    pub output: PerMillion,
    pub from: PriceSource,
}

/// Who says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PriceSource {
    /// The operator.
    Configured,
    /// The list that comes with Helve, as it was read on a day.
    Shipped { as_of: String },
}

/// Billionths of the unit for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PerMillion(u64);

impl PerMillion {
    /// No vendor asks for more; a price above it is a typo.
    pub const UNITS_MAX: f64 = 1_000_000.0;

    /// A price as people write it: units for a million tokens. None if it cannot be one.
    pub fn from_units(units: f64) -> Option<Self> {
        if !(0.0..=Self::UNITS_MAX).contains(&units) {
            return None;
        }
        Some(Self((units * 1e9).round() as u64))
    }

    pub fn as_units(self) -> f64 {
        self.0 as f64 / 1e9
    }

    fn cost_of_tokens(self, tokens: u64) -> u128 {
        u128::from(self.0) * u128::from(tokens)
    }
}

impl Price {
    /// What the usage costs, in billionths of the unit. Tokens read from and written to the vendor's cache are part
    /// of the input and have prices of their own.
    pub fn cost_nanos(&self, usage: &Usage) -> u64 {
        let cached = usage.cached_tokens.min(usage.input_tokens);
        let written = usage.cache_write_tokens.min(usage.input_tokens - cached);
        let plain = usage.input_tokens - cached - written;
        let million = self
            .input
            .cost_of_tokens(plain)
            .saturating_add(self.cached.cost_of_tokens(cached))
            .saturating_add(self.cache_write.cost_of_tokens(written))
            .saturating_add(self.output.cost_of_tokens(usage.output_tokens));
        let nanos = million.saturating_add(500_000) / 1_000_000;
        u64::try_from(nanos).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn price(input: f64, cached: f64, cache_write: f64, output: f64) -> Price {
        let per_million = |units| PerMillion::from_units(units).unwrap();
        Price {
            input: per_million(input),
            cached: per_million(cached),
            cache_write: per_million(cache_write),
            output: per_million(output),
            from: PriceSource::Configured,
        }
    }

    fn usage(input_tokens: u64, cached_tokens: u64, cache_write_tokens: u64, output_tokens: u64) -> Usage {
        Usage { input_tokens, cached_tokens, cache_write_tokens, output_tokens, reasoning_tokens: 0 }
    }

    #[test]
    fn every_token_is_paid_once_at_its_own_price() {
        let sonnet = price(3.0, 0.3, 3.75, 15.0);
        let cases = [
            (usage(0, 0, 0, 0), 0),
            (usage(1_000_000, 0, 0, 0), 3_000_000_000),
            (usage(0, 0, 0, 1_000_000), 15_000_000_000),
            // All of the input from the cache, all of it into the cache, and some of each.
            (usage(1_000, 1_000, 0, 0), 300_000),
            (usage(1_000, 0, 1_000, 0), 3_750_000),
            (usage(1_000, 600, 100, 10), 300 * 3_000 + 600 * 300 + 100 * 3_750 + 10 * 15_000),
            // More from the cache than came in, as a confused vendor might say.
            (usage(10, 25, 25, 0), 10 * 300),
        ];
        for (usage, expected) in cases {
            assert_eq!(sonnet.cost_nanos(&usage), expected, "{usage:?}");
        }
    }

    #[test]
    fn a_price_below_a_billionth_a_token_is_still_counted() {
        let flash = price(0.14, 0.0028, 0.14, 0.28);
        assert_eq!(flash.cost_nanos(&usage(7, 7, 0, 0)), 20);
        assert_eq!(flash.cost_nanos(&usage(1_000_000, 1_000_000, 0, 0)), 2_800_000);
    }

    #[test]
    fn what_cannot_be_counted_any_more_stops_at_the_largest_number() {
        let dear = price(1_000_000.0, 0.0, 0.0, 1_000_000.0);
        assert_eq!(dear.cost_nanos(&usage(u64::MAX, 0, 0, u64::MAX)), u64::MAX);
    }

    #[test]
    fn only_a_sane_number_is_a_price() {
        for wrong in [-0.01, f64::NAN, f64::INFINITY, 1_000_001.0] {
            assert_eq!(PerMillion::from_units(wrong), None, "{wrong}");
        }
        for right in [0.0, 0.003_625, 0.27, 75.0] {
            assert_eq!(
                PerMillion::from_units(right).unwrap().as_units().to_bits(),
                right.to_bits(),
                "{right}"
            );
        }
    }
}
