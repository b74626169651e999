//! The schemas that the document's bodies and answers point to.
//!
//! A type has one schema for reading and one for writing: a field that may be missing from a body may always be present
//! in an answer, and the other way round. Where the two differ, the one for answers has a name of its own.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Map, Value};

/// Where the schemas are in the finished document.
const SCHEMAS: &str = "/components/schemas";
/// Where those of answers are until the document is finished.
const ANSWERS: &str = "/components/answers";

/// Makes the schema of one type.
pub(super) type SchemaOf = fn(&mut SchemaGenerator) -> Value;

pub(super) fn schema_of_type<T: JsonSchema>(schemas: &mut SchemaGenerator) -> Value {
    schemas.subschema_for::<T>().to_value()
}

/// For parameters, whose schemas cannot point to others.
pub(super) fn inline_schemas() -> SchemaGenerator {
    SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true).into_generator()
}

pub(super) struct Schemas {
    bodies: SchemaGenerator,
    answers: SchemaGenerator,
}

impl Default for Schemas {
    fn default() -> Self {
        let settings = |path: &str| {
            SchemaSettings::draft2020_12().with(|settings| settings.definitions_path = path.to_owned().into())
        };
        Self {
            bodies: settings(SCHEMAS).into_generator(),
            answers: settings(ANSWERS).for_serialize().into_generator(),
        }
    }
}

impl Schemas {
    pub(super) fn request_schemas(&mut self) -> &mut SchemaGenerator {
        &mut self.bodies
    }

    pub(super) fn response_schemas(&mut self) -> &mut SchemaGenerator {
        &mut self.answers
    }

    /// Writes the schemas into the document, and directs what it says about answers to them.
    pub(super) fn write_into(mut self, document: &mut Value) {
        let mut schemas = self.bodies.take_definitions(true);
        let answers = self.answers.take_definitions(true);
        let renamed = find_differing_names(&schemas, &answers);
        let rename = |name: &str| match renamed.contains(name) {
            true => format!("{name}Answer"),
            false => name.to_owned(),
        };
        for (name, mut schema) in answers {
            redirect_refs(&mut schema, &rename);
            schemas.insert(rename(&name), schema);
        }
        redirect_refs(document, &rename);
        document["components"]["schemas"] = Value::Object(schemas);
    }
}

/// The names of schemas that are not the same for bodies and for answers, themselves or in what they point to.
fn find_differing_names(bodies: &Map<String, Value>, answers: &Map<String, Value>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    loop {
        let rename = |name: &str| match found.contains(name) {
            true => format!("{name}Answer"),
            false => name.to_owned(),
        };
        let more: Vec<String> = answers
            .iter()
            .filter(|(name, _)| !found.contains(*name))
            .filter(|(name, schema)| {
                let mut schema = (*schema).clone();
                redirect_refs(&mut schema, &rename);
                bodies.get(*name).is_some_and(|body| *body != schema)
            })
            .map(|(name, _)| name.clone())
            .collect();
        if more.is_empty() {
            return found;
        }
        found.extend(more);
    }
}

/// Renames the schemas of answers wherever something points to them.
fn redirect_refs(value: &mut Value, rename: &impl Fn(&str) -> String) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let answer = (name == "$ref")
                    .then(|| member.as_str()?.strip_prefix('#')?.strip_prefix(ANSWERS)?.strip_prefix('/'))
                    .flatten();
                match answer.map(rename) {
                    Some(name) => *member = Value::String(format!("#{SCHEMAS}/{name}")),
                    None => redirect_refs(member, rename),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| redirect_refs(item, rename)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};
    use serde_json::json;

    use super::*;

    #[derive(Serialize, Deserialize, JsonSchema)]
    struct Outer {
        inner: Inner,
        plain: Plain,
    }

    #[derive(Serialize, Deserialize, JsonSchema)]
    struct Inner {
        #[serde(default)]
        always_answered: u32,
    }

    #[derive(Serialize, Deserialize, JsonSchema)]
    struct Plain {
        text: String,
    }

    #[test]
    fn a_type_whose_answer_differs_from_its_body_has_two_schemas_and_so_has_what_points_to_it() {
        let mut schemas = Schemas::default();
        let body = schema_of_type::<Outer>(schemas.request_schemas());
        let answer = schema_of_type::<Outer>(schemas.response_schemas());
        let mut document = json!({"body": body, "answer": answer});
        schemas.write_into(&mut document);
        assert_eq!(document["body"]["$ref"], "#/components/schemas/Outer");
        assert_eq!(document["answer"]["$ref"], "#/components/schemas/OuterAnswer");
        let schemas = &document["components"]["schemas"];
        assert_eq!(schemas["OuterAnswer"]["properties"]["inner"]["$ref"], "#/components/schemas/InnerAnswer");
        assert_eq!(schemas["OuterAnswer"]["properties"]["plain"]["$ref"], "#/components/schemas/Plain");
        assert!(schemas["Inner"].get("required").is_none());
        assert_eq!(schemas["InnerAnswer"]["required"], json!(["always_answered"]));
        assert!(schemas.get("PlainAnswer").is_none());
    }
}
