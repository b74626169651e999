//! Default parameters by vendor: the lowest layer, which the configuration and requests override.
//!
//! Parameters that a protocol requires are set by its `encode`, not here.

use helve_types::ModelParams;

/// The defaults of a vendor; most vendors need none.
struct Defaults {
    vendor: &'static str,
    max_tokens: Option<u32>,
    /// Further parameters for small models, as they are sent.
    small: &'static [(&'static str, f64)],
}

const DEFAULTS: &[Defaults] = &[
    // Ollama has no limit of its own: a model that repeats itself fills its context. Its penalty on repetition corrupts
    // arguments that are copied from the user's message.
    Defaults { vendor: "ollama", max_tokens: Some(8192), small: &[("repeat_penalty", 1.0)] },
];

/// The default parameters of a vendor's models.
pub fn vendor_params(vendor: &str) -> ModelParams {
    ModelParams { max_tokens: find_defaults(vendor).and_then(|row| row.max_tokens), ..ModelParams::default() }
}

/// Further default parameters of a vendor's small models, under the vendor's names.
pub fn small_params(vendor: &str) -> ModelParams {
    let named = find_defaults(vendor).map_or(&[][..], |row| row.small);
    let extra = named.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect();
    ModelParams { extra, ..ModelParams::default() }
}

fn find_defaults(vendor: &str) -> Option<&'static Defaults> {
    DEFAULTS.iter().find(|row| row.vendor == vendor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vendor_without_a_row_has_no_defaults() {
        assert_eq!(vendor_params("openai"), ModelParams::default());
        assert_eq!(small_params("openai"), ModelParams::default());
    }

    #[test]
    fn ollama_has_a_length_limit_and_no_repetition_penalty_for_small_models() {
        assert_eq!(vendor_params("ollama").max_tokens, Some(8192));
        assert_eq!(small_params("ollama").extra["repeat_penalty"], 1.0);
    }
}
