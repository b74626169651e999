//! The patterns of parameter names, as far as they are plain. What cannot be read is taken to fit if nothing else is there.

use serde_json::Value;

/// The schema behind the first pattern that the name fits.
pub(super) fn find_matching<'s>(patterns: &'s Value, name: &str) -> Option<&'s Value> {
    let patterns = patterns.as_object()?;
    let sure = patterns.iter().find(|(pattern, _)| matches_pattern(pattern, name) == Some(true));
    let only = || {
        patterns
            .iter()
            .next()
            .filter(|(pattern, _)| patterns.len() == 1 && matches_pattern(pattern, name).is_none())
    };
    sure.or_else(only).map(|(_, schema)| schema)
}

/// Whether the name fits; `None` where the pattern is more than text and its ends.
fn matches_pattern(pattern: &str, name: &str) -> Option<bool> {
    let from_start = pattern.strip_prefix('^');
    let rest = from_start.unwrap_or(pattern);
    let to_end = rest.strip_suffix('$');
    let text = to_end.unwrap_or(rest);
    if matches!(text, ".*" | ".+") {
        return Some(true);
    }
    if text.contains(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '-' | ' ' | '/')) {
        return None;
    }
    Some(match (from_start, to_end) {
        (Some(_), Some(_)) => name == text,
        (Some(_), None) => name.starts_with(text),
        (None, Some(_)) => name.ends_with(text),
        (None, None) => name.contains(text),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_patterns_are_read() {
        let cases = [
            ("", "a", Some(true)),
            (".*", "a", Some(true)),
            ("^x-", "x-a", Some(true)),
            ("^x-", "a", Some(false)),
            ("_id$", "user_id", Some(true)),
            ("^a$", "ab", Some(false)),
            ("b", "abc", Some(true)),
            ("^[a-z]+$", "abc", None),
        ];
        for (pattern, name, expected) in cases {
            assert_eq!(matches_pattern(pattern, name), expected, "{pattern} {name}");
        }
    }
}
