//! The tools a model may call, as far as reading its text needs them: names and parameter schemas.

use std::collections::{BTreeSet, HashMap};
use std::ops::Bound;
use std::sync::{Arc, OnceLock};

use serde_json::Value;

use helve_json::coerce;
use helve_json::work::count_bytes;

/// The declared tools; cheap to clone. They decide what may pass for a call where no markup says so, and how
/// untyped values are typed.
#[derive(Debug, Clone, Default)]
pub struct Tools(Option<Arc<Declared>>);

#[derive(Debug)]
struct Declared {
    /// Names and schemas, by name.
    schemas: Vec<(String, Value)>,
    /// Names without case and separators; only where a model misspells one are they asked for.
    folded: OnceLock<HashMap<String, Nearest>>,
    names: Vec<String>,
    /// The names of all their parameters; asked for only where an object without markup begins with none of a call's
    /// own members.
    parameters: OnceLock<BTreeSet<String>>,
}

impl Declared {
    fn parameters(&self) -> &BTreeSet<String> {
        self.parameters.get_or_init(|| {
            let properties = |schema: &Value| schema.get("properties")?.as_object().cloned();
            let schemas = self.schemas.iter().filter_map(|(_, schema)| properties(schema));
            schemas.flat_map(|properties| properties.into_iter().map(|(name, _)| name)).collect()
        })
    }

    fn find(&self, name: &str) -> Option<&(String, Value)> {
        let at = self.schemas.binary_search_by(|(known, _)| known.as_str().cmp(name)).ok()?;
        self.schemas.get(at)
    }

    fn find_nearest(&self, name: &str) -> Option<&(String, Value)> {
        // Asked for every value of a call; what is longer is no name, and not worth folding again and again.
        if name.len() > NAME_LONGEST {
            return None;
        }
        count_bytes(name.len());
        let nearest = self.folded.get_or_init(|| {
            let mut nearest = HashMap::new();
            for (at, name) in self.names.iter().enumerate() {
                nearest
                    .entry(fold_name(name))
                    .and_modify(|one| *one = Nearest::Several)
                    .or_insert(Nearest::One(at));
            }
            nearest
        });
        match nearest.get(&fold_name(name)) {
            Some(Nearest::One(at)) => self.find(&self.names[*at]),
            _ => None,
        }
    }
}

const NAME_LONGEST: usize = 512;

#[derive(Debug)]
enum Nearest {
    One(usize),
    Several,
}

/// Why a list of declarations could not be read.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ToolsError {
    #[error("tools must be a list of function declarations")]
    NotAList,
    #[error("tool {index} has no name")]
    NoName { index: usize },
}

impl Tools {
    /// Nothing is known about the tools: any name may be one, and shape alone decides.
    pub fn unknown() -> Self {
        Self(None)
    }

    /// Exactly these tools exist. With none at all, nothing unmarked is ever a call.
    pub fn new(specs: impl IntoIterator<Item = (String, Value)>) -> Self {
        let mut declared = Declared {
            schemas: Vec::new(),
            folded: OnceLock::new(),
            names: Vec::new(),
            parameters: OnceLock::new(),
        };
        for (name, schema) in specs {
            match declared.schemas.binary_search_by(|(known, _)| known.cmp(&name)) {
                Ok(at) => declared.schemas[at].1 = schema,
                Err(at) => {
                    declared.names.push(name.clone());
                    declared.schemas.insert(at, (name, schema));
                }
            }
        }
        Self(Some(Arc::new(declared)))
    }

    /// Reads OpenAI function declarations, wrapped in `{"type": "function", "function": …}` or plain. `null` and
    /// an empty list say nothing about the tools.
    pub fn from_openai(declarations: &Value) -> Result<Self, ToolsError> {
        let list = match declarations {
            Value::Null => return Ok(Self::unknown()),
            Value::Array(list) if list.is_empty() => return Ok(Self::unknown()),
            Value::Array(list) => list,
            _ => return Err(ToolsError::NotAList),
        };
        let mut specs = Vec::with_capacity(list.len());
        for (index, declaration) in list.iter().enumerate() {
            let function = declaration.get("function").unwrap_or(declaration);
            let name = function.get("name").and_then(Value::as_str);
            let name = name.ok_or(ToolsError::NoName { index })?;
            let schema = function.get("parameters").or_else(|| function.get("input_schema"));
            specs.push((name.to_owned(), schema.cloned().unwrap_or(Value::Null)));
        }
        Ok(Self::new(specs))
    }

    /// Whether nothing is known about them.
    pub fn is_unknown(&self) -> bool {
        self.0.is_none()
    }

    /// The declared names, in the order given.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().flat_map(|d| &d.names).map(String::as_str)
    }

    /// The declared tool that is meant: the same name, or the only one that differs in case and separators.
    pub fn resolve(&self, name: &str) -> Option<&str> {
        self.find_by_loose_name(name).map(|(name, _)| name.as_str())
    }

    /// Whether a declared name may begin so, or the `print` around its call.
    pub(crate) fn begins_name(&self, beginning: &str) -> bool {
        let beginning = fold_name(beginning.get(..NAME_LONGEST).unwrap_or(beginning));
        let begins = |name: &str| {
            let mut name = name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase);
            beginning.chars().all(|c| name.next() == Some(c))
        };
        self.names().chain(["print"]).any(begins)
    }

    fn find_by_loose_name(&self, name: &str) -> Option<&(String, Value)> {
        let declared = self.0.as_deref()?;
        declared.find(name).or_else(|| declared.find_nearest(name))
    }

    /// The JSON Schema of the tool's parameters.
    pub fn schema(&self, name: &str) -> Option<&Value> {
        self.find_by_loose_name(name).map(|(_, schema)| schema)
    }

    /// Whether the tool declares a parameter of this name.
    pub fn has_parameter(&self, tool: &str, parameter: &str) -> bool {
        self.schema(tool).is_some_and(|schema| coerce::find_parameter(schema, parameter).is_some())
    }

    /// Whether some declared tool has a parameter of this name.
    pub(crate) fn any_has_parameter(&self, parameter: &str) -> bool {
        self.0.as_deref().is_some_and(|declared| declared.parameters().contains(parameter))
    }

    /// Whether the name of some declared tool's parameter begins so.
    pub(crate) fn begins_parameter(&self, begun: &str) -> bool {
        let Some(declared) = self.0.as_deref() else { return false };
        let from = (Bound::Included(begun), Bound::Unbounded);
        declared.parameters().range::<str, _>(from).next().is_some_and(|name| name.starts_with(begun))
    }

    /// The only tool whose parameters these arguments fit: all declared, none missing.
    pub(crate) fn find_by_arguments(&self, arguments: &str) -> Option<&str> {
        let declared = self.0.as_deref()?;
        count_bytes(arguments.len());
        let arguments: serde_json::Map<String, Value> = serde_json::from_str(arguments).ok()?;
        let fits = |schema: &Value| {
            let known = |key: &String| schema.get("properties").is_some_and(|p| p.get(key).is_some());
            let required = schema.get("required").and_then(Value::as_array);
            let mut required = required.into_iter().flatten().filter_map(Value::as_str);
            arguments.keys().all(known) && required.all(|name| arguments.contains_key(name))
        };
        let mut fitting = declared.schemas.iter().filter(|(_, schema)| fits(schema));
        let (first, _) = fitting.next()?;
        fitting.next().is_none().then_some(first)
    }

    /// The parameters that the tool must be given.
    pub(crate) fn required_parameters(&self, tool: &str) -> impl Iterator<Item = &str> + Clone {
        let required = self.schema(tool).and_then(|schema| schema.get("required")?.as_array());
        required.into_iter().flatten().filter_map(Value::as_str)
    }

    /// The names that arguments without names fill, in their order: the required ones, or the only one. Asked for every
    /// such argument, so nothing is copied.
    pub(crate) fn positional_names(&self, tool: &str) -> impl Iterator<Item = &str> {
        let required = self.required_parameters(tool);
        let properties = self.schema(tool).and_then(|schema| schema.get("properties")?.as_object());
        let only = properties.filter(|all| all.len() == 1 && required.clone().next().is_none());
        required.chain(only.into_iter().flat_map(|only| only.keys().map(String::as_str)))
    }

    /// The name that an argument without one fills, if it can fill no other.
    pub(crate) fn only_positional_name(&self, tool: &str) -> Option<&str> {
        let mut positions = self.positional_names(tool);
        positions.next().filter(|_| positions.next().is_none())
    }

    /// Whether the parameter's schema allows nothing but text; `None` where it says nothing about the type.
    pub(crate) fn is_text_parameter(&self, tool: &str, parameter: &str) -> Option<bool> {
        let schema = self.schema(tool)?;
        coerce::is_text_only(coerce::find_parameter(schema, parameter)?, schema)
    }

    /// Whether some tool has the parameter, and every tool that has it allows nothing but text.
    pub(crate) fn is_text_parameter_of_all(&self, parameter: &str) -> bool {
        let schemas = self.0.iter().flat_map(|declared| &declared.schemas);
        let mut having = schemas
            .filter_map(|(_, schema)| Some((coerce::find_parameter(schema, parameter)?, schema)))
            .peekable();
        having.peek().is_some() && having.all(|(one, schema)| coerce::is_text_only(one, schema) == Some(true))
    }

    /// The JSON text of a value that was written without a type, typed by the tool's schema. What fits no declared
    /// type stays the string it is; where nothing is known about its type, JSON is read as JSON.
    pub fn type_value(&self, tool: &str, parameter: &str, written: &str) -> String {
        let typed = self.schema(tool).and_then(|schema| {
            coerce::coerce_typed(written, coerce::find_parameter(schema, parameter)?, schema)
        });
        typed.unwrap_or_else(|| coerce::coerce_untyped(written))
    }
}

/// Names that differ only in case and separators fold to the same text.
fn fold_name(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_name_is_resolved_when_only_case_and_separators_differ() {
        let tools = Tools::new(["search_web", "get-time", "getTime"].map(|n| (n.to_owned(), json!({}))));
        assert_eq!(tools.resolve("search_web"), Some("search_web"));
        assert_eq!(tools.resolve("SearchWeb"), Some("search_web"));
        assert_eq!(tools.resolve("search.web"), Some("search_web"));
        assert_eq!(tools.resolve("search"), None);
        assert_eq!(tools.resolve("get-time"), Some("get-time"));
        assert_eq!(tools.resolve("get_time"), None);
        assert_eq!(Tools::unknown().resolve("search_web"), None);
    }

    #[test]
    fn declarations_are_read_wrapped_and_plain() {
        let tools = Tools::from_openai(&json!([
            {"type": "function", "function": {"name": "a", "parameters": {"properties": {"x": {}}}}},
            {"name": "b", "input_schema": {}},
        ]))
        .expect("is a list of tools");
        assert_eq!(tools.names().collect::<Vec<_>>(), ["a", "b"]);
        assert!(tools.has_parameter("a", "x"));
        assert!(Tools::from_openai(&json!([])).expect("says nothing").is_unknown());
        assert_eq!(Tools::from_openai(&json!({})).map(|_| ()), Err(ToolsError::NotAList));
        assert_eq!(
            Tools::from_openai(&json!([{"type": "function"}])).map(|_| ()),
            Err(ToolsError::NoName { index: 0 })
        );
    }

    #[test]
    fn arguments_without_names_fill_the_required_parameters() {
        let schema = json!({"properties": {"a": {}, "b": {}}, "required": ["b", "a"]});
        let only = json!({"properties": {"q": {}}});
        let tools = Tools::new([("f".to_owned(), schema), ("g".to_owned(), only)]);
        let positions = |tool| tools.positional_names(tool).collect::<Vec<_>>();
        assert_eq!(positions("f"), ["b", "a"]);
        assert_eq!(positions("g"), ["q"]);
        assert_eq!(positions("h"), [""; 0]);
        assert_eq!((tools.only_positional_name("f"), tools.only_positional_name("g")), (None, Some("q")));
    }
}
