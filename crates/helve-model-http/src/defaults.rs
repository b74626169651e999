//! What vendors are asked with unless somebody says otherwise: the lowest layer of parameters, as data.
//!
//! What a protocol cannot do without is its own business: its `encode` sees to it.

use helve_types::ModelParams;

/// A vendor's row; most vendors need none.
struct Defaults {
    vendor: &'static str,
    max_tokens: Option<u32>,
    /// What small models are asked with besides, as it is sent.
    small: &'static [(&'static str, f64)],
}

const DEFAULTS: &[Defaults] = &[
    // It knows no bound of its own: a model that repeats itself goes on until the context is full. And its penalty on
    // repetition spoils arguments that are copied from the question.
    Defaults { vendor: "ollama", max_tokens: Some(8192), small: &[("repeat_penalty", 1.0)] },
];

/// The parameters that hold for a vendor's models unless the configuration says otherwise.
pub fn vendor_params(vendor: &str) -> ModelParams {
    ModelParams { max_tokens: row(vendor).and_then(|row| row.max_tokens), ..ModelParams::default() }
}

/// What a vendor's small models want besides, in the vendor's own words.
pub fn small_params(vendor: &str) -> ModelParams {
    let words = row(vendor).map_or(&[][..], |row| row.small);
    let extra = words.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect();
    ModelParams { extra, ..ModelParams::default() }
}

fn row(vendor: &str) -> Option<&'static Defaults> {
    DEFAULTS.iter().find(|row| row.vendor == vendor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vendor_without_a_row_is_left_to_itself() {
        assert_eq!(vendor_params("openai"), ModelParams::default());
        assert_eq!(small_params("openai"), ModelParams::default());
    }

    #[test]
    fn an_ollama_is_held_back_from_endless_answers_and_from_spoiling_copies() {
        assert_eq!(vendor_params("ollama").max_tokens, Some(8192));
        assert_eq!(small_params("ollama").extra["repeat_penalty"], 1.0);
    }
}
