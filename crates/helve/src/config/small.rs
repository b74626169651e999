//! Small models: which are, and how they want to be asked.
//!
//! A model of a few hundred million parameters follows examples and little else, and wanders off when sampled freely.
//! Measured with SmolLM2-135M (docs/evidence/small-model.md): with tools described in the prompt and a server that holds
//! the model to the form, its calls are better than those of the server's own function calling; without being held they
//! are worse.

use helve_model::ToolMode;
use helve_model_http::small_params;
use helve_types::{Mode, ModelParams};

/// Below this a model is small.
const PARAMETERS: f64 = 2e9;

/// As few words as possible.
const PROFILE: &str = "small";

/// Whether the name says that a model is small: the largest size in it counts, as in `30b-a3b`.
pub(super) fn is_small(model: &str) -> bool {
    let words = model.split(|c: char| !c.is_ascii_alphanumeric() && c != '.');
    let size = words
        .filter_map(size)
        .fold(None, |largest: Option<f64>, size| Some(largest.map_or(size, |largest| largest.max(size))));
    size.is_some_and(|size| size < PARAMETERS)
}

/// `0.6b` and `135M` are sizes. `1m` is not: it is a context of a million tokens.
fn size(word: &str) -> Option<f64> {
    let (number, unit) = word.split_at_checked(word.len().checked_sub(1)?)?;
    if !number.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let number: f64 = number.parse().ok()?;
    match unit {
        "b" | "B" => Some(number * 1e9),
        "m" | "M" if number >= 10.0 => Some(number * 1e6),
        _ => None,
    }
}

/// How small models are asked by default.
pub(super) fn params(vendor: &str) -> ModelParams {
    let plain = ModelParams { temperature: Some(0.2), max_tokens: Some(1024), ..ModelParams::default() };
    plain.with_defaults(&small_params(vendor))
}

/// How they call tools by default where the server can hold them to it.
pub(super) fn tool_mode() -> ToolMode {
    ToolMode::Fixed(Mode::Prompt(PROFILE.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_model_is_known_by_the_size_in_its_name() {
        let cases = [
            ("smollm2:135m", true),
            ("SmolLM2-135M-Instruct.Q4_1.gguf", true),
            ("qwen3:0.6b", true),
            ("Qwen/Qwen3-0.6B-GGUF", true),
            ("deepseek-r1:1.5b", true),
            ("qwen3:1.7b-q4_K_M", true),
            ("gemma-3-270m-it", true),
            ("llama3.2:1b", true),
            ("llama3.2:3b", false),
            ("qwen3:8b", false),
            ("qwen3-30b-a3b", false),
            ("mixtral-8x7b", false),
            ("Qwen2.5-7B-Instruct-1M", false),
            ("claude-sonnet-4-5-1m", false),
            ("gpt-5-mini", false),
            ("gpt-4.1-nano", false),
            ("smollm2", false),
            ("b", false),
            ("模型:0.6b", true),
            ("", false),
        ];
        for (name, expected) in cases {
            assert_eq!(is_small(name), expected, "{name}");
        }
    }
}
