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

/// Names that another system gave to the same formats, and ours.
const OTHER_NAMES: &[(&str, &str)] = &[("JSON_Strict", "json_strict"), ("XML_Tag", "xml_tag")];

/// Our name of the profile that is called so.
pub(super) fn canonical_name(name: &str) -> &str {
    OTHER_NAMES.iter().find(|(other, _)| *other == name).map_or(name, |(_, own)| own)
}

pub(super) fn profiles() -> &'static [Profile] {
    static PROFILES: LazyLock<Vec<Profile>> =
        LazyLock::new(|| FILES.iter().filter_map(|text| Profile::parse(text).ok()).collect());
    &PROFILES
}
