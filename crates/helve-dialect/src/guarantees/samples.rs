//! One call in every dialect, as the dialects themselves show it, and forms that some have besides. `¤` is the city.

/// Other forms of dialects, besides their samples.
const OTHER_FORMS: &[(&str, &str)] = &[(
    "gigachat3",
    "<|message_sep|>\n\nfunction call<|role_sep|>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"¤\"}}",
)];

/// Calls that are found wherever they stand, by the names of their dialects.
pub(super) fn forms() -> impl Iterator<Item = (&'static str, &'static str)> {
    samples(false).chain(OTHER_FORMS.iter().copied())
}

/// Calls in channels; a head is markup wherever it stands.
pub(super) fn channels() -> impl Iterator<Item = (&'static str, &'static str)> {
    samples(true)
}

pub(super) fn all_forms() -> impl Iterator<Item = (&'static str, &'static str)> {
    forms().chain(channels())
}

fn samples(with_head: bool) -> impl Iterator<Item = (&'static str, &'static str)> {
    let found =
        crate::dialects().iter().filter(|dialect| dialect.is_found_by_marks() && dialect.begins_with_mark());
    let of_kind = found.filter(move |dialect| dialect.begins_with_head() == with_head);
    of_kind.map(|dialect| (dialect.name, dialect.sample))
}
