//! What models cost: the list that comes with Helve, and what the operator says instead.

use anyhow::Context;
use helve_runtime::{PerMillion, Price, PriceSource};
use serde::Deserialize;

use super::places::Places;
use crate::i18n::tr;

const SHIPPED: &str = include_str!("prices.toml");

/// What the file says about prices in general.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(super) struct PricesTable {
    /// What the operator's prices are in. Another one than ours switches our list off.
    currency: Option<String>,
}

/// Units of the currency for a million tokens.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with `input` and `output`")]
pub(super) struct PriceTable {
    input: f64,
    cached: Option<f64>,
    cache_write: Option<f64>,
    output: f64,
}

/// Our list: the rows of `prices.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    currency: String,
    price: Vec<Row>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    vendor: String,
    model: String,
    as_of: String,
    price: PriceTable,
}

/// The prices that hold where the operator says none for a model.
#[derive(Debug, Clone)]
pub struct Prices {
    pub currency: String,
    rows: Vec<Row>,
}

impl Prices {
    pub(super) fn read(table: PricesTable, places: &Places) -> anyhow::Result<Self> {
        let List { currency: ours, price } = toml::from_str(SHIPPED)
            .with_context(|| tr!("the list of prices that comes with Helve is broken"))?;
        let currency = table.currency.unwrap_or_else(|| ours.clone());
        if currency.len() != 3 || !currency.bytes().all(|b| b.is_ascii_uppercase()) {
            let what = tr!(
                "`{currency}` is no currency; use three capital letters, as in USD or CNY",
                currency = currency
            );
            return Err(places.wrong(&["prices", "currency"], what));
        }
        let rows = if currency == ours { price } else { vec![] };
        Ok(Self { currency, rows })
    }

    /// What a vendor asks for a model, if our list has it.
    pub fn of(&self, vendor: &str, model: &str) -> Option<Price> {
        let row = self.rows.iter().find(|row| row.vendor == vendor && is_edition_of(model, &row.model))?;
        row.price.price(PriceSource::Shipped { as_of: row.as_of.clone() }).ok()
    }
}

impl PriceTable {
    /// What the operator says, or what is wrong with it.
    pub(super) fn configured(&self) -> Result<Price, String> {
        self.price(PriceSource::Configured)
    }

    fn price(&self, from: PriceSource) -> Result<Price, String> {
        let units = |units: f64| {
            let max = PerMillion::UNITS_MAX;
            PerMillion::from_units(units).ok_or_else(|| {
                tr!("`{units}` is no price for a million tokens; use 0 to {max}", units = units, max = max)
            })
        };
        Ok(Price {
            input: units(self.input)?,
            cached: units(self.cached.unwrap_or(self.input))?,
            cache_write: units(self.cache_write.unwrap_or(self.input))?,
            output: units(self.output)?,
            from,
        })
    }
}

/// Whether a name is a model's own or that of a dated edition of it.
pub(super) fn is_edition_of(name: &str, model: &str) -> bool {
    let Some(rest) = name.strip_prefix(model) else { return false };
    let Some(edition) = rest.strip_prefix('-') else { return rest.is_empty() };
    let digits = edition.chars().filter(char::is_ascii_digit).count();
    let is_date = digits == 8 && edition.chars().all(|c| c.is_ascii_digit() || c == '-');
    edition == "latest" || is_date
}

#[cfg(test)]
mod tests {
    use helve_types::Usage;

    use super::*;

    fn prices(currency: &str) -> Prices {
        let table = PricesTable { currency: Some(currency.into()) };
        Prices::read(table, &Places::default()).unwrap()
    }

    #[test]
    fn every_row_of_our_list_is_a_sane_price_with_a_day_and_its_model_stands_there_once() {
        let rows = prices("USD").rows;
        assert!(rows.len() > 20);
        for (at, row) in rows.iter().enumerate() {
            let price = row.price.price(PriceSource::Configured).unwrap();
            assert!(price.cached.as_units() <= price.input.as_units(), "{row:?}");
            assert!(price.output.as_units() > price.input.as_units(), "{row:?}");
            assert!(jiff::civil::Date::strptime("%Y-%m-%d", &row.as_of).is_ok(), "{row:?}");
            let same = |other: &Row| (&other.vendor, &other.model) == (&row.vendor, &row.model);
            assert!(!rows[..at].iter().any(same), "{row:?}");
        }
    }

    #[test]
    fn a_model_and_its_dated_editions_have_its_price_and_relatives_do_not() {
        let cases = [
            ("gpt-5-mini", true),
            ("gpt-5-mini-2025-08-07", true),
            ("gpt-5-mini-20250807", true),
            ("gpt-5-mini-latest", true),
            ("gpt-5-mini-high", false),
            ("gpt-5-mini2", false),
            ("gpt-5", false),
            ("gpt-5-mini-1", false),
        ];
        for (name, expected) in cases {
            assert_eq!(is_edition_of(name, "gpt-5-mini"), expected, "{name}");
        }
        let usage = Usage { input_tokens: 1_000_000, ..Usage::default() };
        let mini = prices("USD").of("openai", "gpt-5-mini-2025-08-07").unwrap();
        assert_eq!(mini.cost_nanos(&usage), 250_000_000);
        assert_eq!(prices("USD").of("openai", "gpt-unheard-of"), None);
        assert_eq!(prices("USD").of("openai_compatible", "gpt-5-mini"), None);
    }

    #[test]
    fn another_currency_switches_our_list_off() {
        assert_eq!(prices("CNY").of("openai", "gpt-5-mini"), None);
    }
}
