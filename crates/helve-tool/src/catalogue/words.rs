//! What the library for reading JSON says, in the words of the API.

/// A reason why a value could not be read, without the names of types.
pub(super) fn plain_reason(reason: &str) -> String {
    let quoted = |names: &str| names.trim_start_matches("one of ").to_owned();
    if let Some((kind, rest)) = reason.split_once(": ")
        && matches!(kind, "invalid type" | "invalid value")
        && let Some((given, wanted)) = rest.rsplit_once(", expected ")
    {
        return format!("it must be {}, not {}", wanted_kind(wanted), given_kind(given));
    }
    if reason.starts_with("invalid length") {
        return "it must be an object, not an array".into();
    }
    if let Some((given, wanted)) =
        reason.strip_prefix("unknown variant ").and_then(|rest| rest.split_once(", expected "))
    {
        return format!("it must be one of {}, not {given}", quoted(wanted));
    }
    if let Some(rest) = reason.strip_prefix("unknown field ") {
        return match rest.split_once(", expected ") {
            Some((given, known)) => format!("there is no field {given}; there is {}", quoted(known)),
            None => format!("there is no field {}", rest.split(',').next().unwrap_or(rest)),
        };
    }
    if let Some(name) = reason.strip_prefix("duplicate field ") {
        return format!("the field {name} is given twice; give it once");
    }
    if reason.starts_with("data did not match any variant") {
        return "it has none of the forms that are allowed; see /openapi.json".into();
    }
    reason.to_owned()
}

fn wanted_kind(wanted: &str) -> &str {
    match wanted {
        "a map" | "a JSON object" => "an object",
        "a sequence" => "an array",
        "a boolean" => "true or false",
        "a string" | "a borrowed string" | "string or map" => "a string",
        "unit" => "null",
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number, 0 or more",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        _ if wanted.contains("nonzero") => "a whole number, 1 or more",
        _ if wanted.contains("enum") && !wanted.contains("tagged") => "a string",
        _ if ["struct", "enum", "variant", "map", "tuple"].iter().any(|word| wanted.contains(word)) => {
            "an object"
        }
        _ => wanted,
    }
}

fn given_kind(given: &str) -> String {
    match given {
        "map" => "an object".into(),
        "sequence" => "an array".into(),
        "unit value" | "null" | "Option value" => "null".into(),
        _ => match given.split_once(' ') {
            Some(("integer" | "boolean" | "floating point", value)) => value.trim_matches('`').to_owned(),
            Some(("floating", value)) => value.trim_start_matches("point ").trim_matches('`').to_owned(),
            Some(("string", value)) => format!("the string {}", shorten(value)),
            _ => given.to_owned(),
        },
    }
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(80) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_told_in_words_of_json() {
        for (reason, expected) in [
            ("invalid type: map, expected a string", "it must be a string, not an object"),
            ("invalid type: integer `5`, expected struct Endpoint", "it must be an object, not 5"),
            (
                "invalid value: integer `0`, expected a nonzero u64",
                "it must be a whole number, 1 or more, not 0",
            ),
            ("invalid type: null, expected a map", "it must be an object, not null"),
            (
                "invalid type: string \"x\", expected u32",
                "it must be a whole number, 0 or more, not the string \"x\"",
            ),
            (
                "invalid length 0, expected struct Endpoint with 11 elements",
                "it must be an object, not an array",
            ),
            ("unknown variant `x`, expected `a` or `b`", "it must be one of `a` or `b`, not `x`"),
            ("unknown field `x`, expected one of `a`, `b`", "there is no field `x`; there is `a`, `b`"),
            (
                "data did not match any variant of untagged enum Declared",
                "it has none of the forms that are allowed; see /openapi.json",
            ),
            ("a name is at most 64 letters", "a name is at most 64 letters"),
        ] {
            assert_eq!(plain_reason(reason), expected, "{reason}");
        }
    }
}
