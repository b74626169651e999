//! Which keywords hold schemas, and whether those are about the same value or about what is in it.

use serde_json::Value;

/// What a schema inside of another is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SchemaSubject {
    /// The same value.
    Same,
    /// Every item, or every member, of the value.
    Inside,
    /// The member with the keyword's own key.
    Member,
    /// Members whose names fit the keyword's own key.
    Pattern,
    /// The names of members.
    Names,
    /// Nothing, until a reference leads there.
    Nothing,
}

/// What the schemas under a keyword are about, if it holds any.
pub(super) fn subject_of_keyword(keyword: &str) -> Option<SchemaSubject> {
    Some(match keyword {
        "allOf" | "anyOf" | "oneOf" | "not" | "if" | "then" | "else" | "dependentSchemas"
        | "dependencies" | "extends" | "disallow" => SchemaSubject::Same,
        "items"
        | "prefixItems"
        | "additionalItems"
        | "contains"
        | "unevaluatedItems"
        | "additionalProperties"
        | "unevaluatedProperties"
        | "contentSchema" => SchemaSubject::Inside,
        "properties" => SchemaSubject::Member,
        "patternProperties" => SchemaSubject::Pattern,
        "propertyNames" => SchemaSubject::Names,
        "$defs" | "definitions" => SchemaSubject::Nothing,
        _ => return None,
    })
}

/// Whether a keyword holds schemas by names.
pub(super) fn holds_named_schemas(keyword: &str) -> bool {
    matches!(
        keyword,
        "properties" | "patternProperties" | "dependentSchemas" | "dependencies" | "$defs" | "definitions"
    )
}

/// The schemas under a keyword.
pub(super) fn schemas_in_keyword<'s>(
    keyword: &str,
    given: &'s Value,
) -> Box<dyn Iterator<Item = &'s Value> + 's> {
    match given {
        Value::Array(all) => Box::new(all.iter()),
        // A list under a name in `dependencies` is a list of names.
        Value::Object(all) if holds_named_schemas(keyword) => {
            Box::new(all.values().filter(|given| !given.is_array()))
        }
        given => Box::new(std::iter::once(given)),
    }
}

/// References; what they lead to is about the same value.
pub(super) const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];
