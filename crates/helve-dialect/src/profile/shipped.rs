//! The profiles that come with Helve.

use std::sync::LazyLock;

use super::Profile;

/// The default comes first.
pub(super) const FILES: &[&str] = &[
    include_str!("../../profiles/json_strict.toml"),
    include_str!("../../profiles/xml_tag.toml"),
    include_str!("../../profiles/hermes.toml"),
    include_str!("../../profiles/small.toml"),
    include_str!("../../profiles/qwen3_coder.toml"),
    include_str!("../../profiles/pythonic.toml"),
    include_str!("../../profiles/mistral.toml"),
    include_str!("../../profiles/llama3_json.toml"),
    include_str!("../../profiles/react.toml"),
];

pub(super) fn profiles() -> &'static [Profile] {
    static PROFILES: LazyLock<Vec<Profile>> =
        LazyLock::new(|| FILES.iter().filter_map(|text| Profile::parse(text).ok()).collect());
    &PROFILES
}
