//! What the library for reading JSON says, in the words of the API.

use helve_types::Notice;

/// A reason why a value could not be read, without the names of types.
pub(super) fn plain_reason(reason: &str) -> Notice {
    // A list in every language.
    let quoted = |names: &str| names.trim_start_matches("one of ").replace("` or `", "`, `");
    if let Some((kind, rest)) = reason.split_once(": ")
        && matches!(kind, "invalid type" | "invalid value")
        && let Some((given, wanted)) = rest.rsplit_once(", expected ")
    {
        let wanted = wanted_kind(wanted);
        return match given_kind(given) {
            Ok(kind) => Notice::definition_wrong_kind(wanted, kind),
            Err(value) => Notice::definition_wrong_value(wanted, &value),
        };
    }
    if reason.starts_with("invalid length") {
        return Notice::definition_array_given();
    }
    if let Some((given, wanted)) =
        reason.strip_prefix("unknown variant ").and_then(|rest| rest.split_once(", expected "))
    {
        return Notice::definition_wrong_option(&quoted(wanted), given);
    }
    if let Some(rest) = reason.strip_prefix("unknown field ") {
        return match rest.split_once(", expected ") {
            Some((given, known)) => Notice::definition_unknown_field(given, &quoted(known)),
            None => Notice::definition_unknown_field_here(rest.split(',').next().unwrap_or(rest)),
        };
    }
    if let Some(name) = reason.strip_prefix("duplicate field ") {
        return Notice::definition_field_twice(name);
    }
    if reason.starts_with("data did not match any variant") {
        return Notice::definition_no_form();
    }
    Notice::definition_other(reason)
}

fn wanted_kind(wanted: &str) -> Notice {
    match wanted {
        "a map" | "a JSON object" => Notice::definition_kind_object(),
        "a sequence" => Notice::definition_kind_array(),
        "a boolean" => Notice::definition_kind_boolean(),
        "a string" | "a borrowed string" | "string or map" => Notice::definition_kind_string(),
        "unit" => Notice::definition_kind_null(),
        "u8" | "u16" | "u32" | "u64" | "usize" => Notice::definition_kind_natural(),
        "i8" | "i16" | "i32" | "i64" | "isize" => Notice::definition_kind_integer(),
        "f32" | "f64" => Notice::definition_kind_number(),
        _ if wanted.contains("nonzero") => Notice::definition_kind_positive(),
        _ if wanted.contains("enum") && !wanted.contains("tagged") => Notice::definition_kind_string(),
        _ if ["struct", "enum", "variant", "map", "tuple"].iter().any(|word| wanted.contains(word)) => {
            Notice::definition_kind_object()
        }
        _ => Notice::definition_other(wanted),
    }
}

/// The kind that was given, or the value where that says more.
fn given_kind(given: &str) -> Result<Notice, String> {
    Err(match given {
        "map" => return Ok(Notice::definition_kind_object()),
        "sequence" => return Ok(Notice::definition_kind_array()),
        "unit value" | "null" | "Option value" => return Ok(Notice::definition_kind_null()),
        _ => match given.split_once(' ') {
            Some(("integer" | "boolean" | "floating point", value)) => value.trim_matches('`').to_owned(),
            Some(("floating", value)) => value.trim_start_matches("point ").trim_matches('`').to_owned(),
            Some(("string", value)) => shorten(value),
            _ => given.to_owned(),
        },
    })
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
            ("invalid type: string \"x\", expected u32", "it must be a whole number, 0 or more, not \"x\""),
            (
                "invalid length 0, expected struct Endpoint with 11 elements",
                "it must be an object, not an array",
            ),
            ("unknown variant `x`, expected `a` or `b`", "it must be one of `a`, `b`, not `x`"),
            ("unknown field `x`, expected one of `a`, `b`", "there is no field `x`; there is `a`, `b`"),
            (
                "data did not match any variant of untagged enum Declared",
                "it has none of the forms that are allowed; see /openapi.json",
            ),
            ("a name is at most 64 letters", "a name is at most 64 letters"),
        ] {
            assert_eq!(plain_reason(reason).english(), expected, "{reason}");
        }
    }
}
