//! How many tokens models can read and write at once, as far as we know.
//!
//! What is not here is unknown, which is better than wrong: then only a question that is refused tells that it is too
//! long. Models that users start themselves, with as much memory as they have, are never here.

use super::prices::is_edition_of;

/// By vendor and model; dated editions are meant too, and so are names that go on after a star.
const KNOWN: &[(&str, &str, u64)] = &[
    ("anthropic", "claude-fable-5-1", 1_000_000),
    ("anthropic", "claude-opus-5-5", 1_000_000),
    ("anthropic", "claude-opus-5", 1_000_000),
    ("anthropic", "claude-sonnet-5", 1_000_000),
    // Without the header for more, which Helve does not send.
    ("anthropic", "claude-sonnet-4-5", 200_000),
    ("anthropic", "claude-opus-4-5", 200_000),
    ("anthropic", "claude-haiku-4-5", 200_000),
    ("ark", "doubao-seed-1.6*", 256_000),
    ("ark", "doubao-seed-1-6*", 256_000),
    ("deepseek", "deepseek-v4-flash", 1_000_000),
    ("deepseek", "deepseek-v4-pro", 1_000_000),
    ("gemini", "gemini-2.5*", 1_048_576),
    ("openai", "gpt-4.1*", 1_047_576),
    ("openai", "gpt-4o*", 128_000),
    ("openai", "gpt-5", 400_000),
    ("openai", "gpt-5-mini", 400_000),
    ("openai", "gpt-5-nano", 400_000),
    ("openai", "gpt-5.4", 1_050_000),
];

pub(super) fn of(vendor: &str, model: &str) -> Option<u64> {
    let fits = |name: &str| match name.strip_suffix('*') {
        Some(beginning) => model.starts_with(beginning),
        None => is_edition_of(model, name),
    };
    KNOWN.iter().find(|(of, name, _)| *of == vendor && fits(name)).map(|(_, _, tokens)| *tokens)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_and_its_editions_are_known_and_others_are_not() {
        for (vendor, model, expected) in [
            ("openai", "gpt-5-mini", Some(400_000)),
            ("openai", "gpt-5-mini-2025-08-07", Some(400_000)),
            ("openai", "gpt-5-unheard-of", None),
            ("openai", "gpt-4o-mini", Some(128_000)),
            ("anthropic", "claude-sonnet-4-5-20250929", Some(200_000)),
            ("anthropic", "claude-sonnet-5", Some(1_000_000)),
            ("openai_compatible", "gpt-5-mini", None),
            ("ollama", "qwen3:8b", None),
        ] {
            assert_eq!(of(vendor, model), expected, "{vendor} {model}");
        }
    }
}
