//! What a schema says about the type of a value, without ever failing one.
//!
//! All keywords of a schema must hold at once, as JSON Schema 2020-12 has it: unions, negations, conditions and
//! references are followed for all seven kinds of values together. What cannot be known, such as what stands behind a
//! reference that leads nowhere, stays unknown through all of them. Limits of a type, such as a greatest number, are not
//! looked at: a value of the type likely keeps them.

use std::borrow::Cow;

use serde_json::Value;

/// The kinds of values. What is written as a whole number is an integer, also where any number will do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JsonType {
    Null,
    Integer,
    Number,
    Boolean,
    Object,
    Array,
    String,
}

impl JsonType {
    /// In the order in which they are tried.
    pub(super) const LADDER: [Self; 7] =
        [Self::Null, Self::Integer, Self::Number, Self::Boolean, Self::Object, Self::Array, Self::String];

    const fn to_set(self) -> TypeSet {
        1 << self as u8
    }

    fn from_value(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(_) => Self::Boolean,
            Value::Number(number) if number.as_f64().is_some_and(|number| number.fract() != 0.0) => {
                Self::Number
            }
            Value::Number(_) => Self::Integer,
            Value::Array(_) => Self::Array,
            Value::Object(_) => Self::Object,
            Value::String(_) => Self::String,
        }
    }
}

/// A set of kinds, one bit each.
type TypeSet = u8;

const ALL: TypeSet = (1 << JsonType::LADDER.len()) - 1;

const NUMBERS: TypeSet = JsonType::Integer.to_set() | JsonType::Number.to_set();

/// Kinds that tell by their looks what they are: no text is meant that begins and ends like them.
const CONTAINERS: TypeSet = JsonType::Object.to_set() | JsonType::Array.to_set();

/// What a schema says about each kind: surely, likely, unknown, never.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TypeVerdict {
    /// Nothing speaks against these.
    may: TypeSet,
    /// All values of these fit; they are among those that may.
    sure: TypeSet,
    never: TypeSet,
    /// It depends on the value and not on its kind alone.
    pub(super) by_value: bool,
}

impl TypeVerdict {
    const ANYTHING: Self = Self { may: ALL, sure: ALL, never: 0, by_value: false };

    const NEVER: Self = Self { may: 0, sure: 0, never: ALL, by_value: false };

    const UNKNOWN: Self = Self { may: 0, sure: 0, never: 0, by_value: false };

    /// Exactly these.
    const fn exactly(kinds: TypeSet) -> Self {
        Self { may: kinds, sure: kinds, never: ALL & !kinds, by_value: false }
    }

    /// Some values of these kinds do not fit.
    const fn partly(kinds: TypeSet) -> Self {
        Self { may: ALL, sure: ALL & !kinds, never: 0, by_value: false }
    }

    /// Whether it says nothing about the type.
    pub(super) fn is_nothing(self) -> bool {
        self.may == ALL
    }

    pub(super) fn is_text(self) -> bool {
        self.never | JsonType::String.to_set() == ALL
    }

    /// Whether a value of this kind is taken for one. Where it is unknown, only containers are.
    pub(super) fn admits(self, kind: JsonType) -> bool {
        (self.may | CONTAINERS & !self.never) & kind.to_set() != 0
    }

    fn and(self, other: Self) -> Self {
        Self {
            may: self.may & other.may,
            sure: self.sure & other.sure,
            never: self.never | other.never,
            by_value: self.by_value | other.by_value,
        }
    }

    fn or(self, other: Self) -> Self {
        Self {
            may: self.may | other.may,
            sure: self.sure | other.sure,
            never: self.never & other.never,
            by_value: self.by_value | other.by_value,
        }
    }

    fn not(self) -> Self {
        let likely = self.may & !self.sure;
        Self { may: self.never | likely, sure: self.never, never: self.sure, by_value: self.by_value }
    }

    /// Exactly one of them holds.
    fn one_of(members: impl Iterator<Item = Self>) -> Self {
        let (mut one, mut two, mut likely, mut unknown, mut by_value) = (0, 0, 0, 0, false);
        for says in members {
            two |= one & says.sure;
            one |= says.sure;
            likely |= says.may & !says.sure;
            unknown |= ALL & !says.may & !says.never;
            by_value |= says.by_value;
        }
        let may = (one | likely) & !two & !unknown;
        let never = two | ALL & !(one | likely | unknown);
        Self { may, sure: may & !likely, never, by_value }
    }

    /// The one where this holds, and the other where it does not.
    fn choose(self, then: Self, otherwise: Self) -> Self {
        let open = ALL & !self.sure & !self.never;
        let pick = |then: TypeSet, otherwise: TypeSet| {
            then & self.sure | otherwise & self.never | then & otherwise & open
        };
        let likely = (then.may | otherwise.may) & open & self.may;
        Self {
            may: pick(then.may, otherwise.may) | likely,
            sure: pick(then.sure, otherwise.sure),
            never: pick(then.never, otherwise.never),
            by_value: self.by_value | then.by_value | otherwise.by_value,
        }
    }
}

/// References may run in circles.
const REFERENCES_MAX: usize = 16;

/// No schema that people write is deeper.
const DEPTH_MAX: usize = 64;

/// So many schemas are looked at for one answer, however often references lead to the same.
const LOOKS_MAX: usize = 1000;

/// Reads what a schema says, with a bound on how much is read.
pub(super) struct SchemaReader<'s> {
    root: &'s Value,
    looks: usize,
    references: usize,
    depth: usize,
    /// The value that is asked about, if it is one, and its kind.
    value: Option<(JsonType, &'s Value)>,
    /// Only the types that are named count.
    loosely: bool,
    /// What a container may hold tells that it is one, except where the opposite is asked.
    hints: bool,
}

impl<'s> SchemaReader<'s> {
    pub(super) fn new(root: &'s Value) -> Self {
        Self { root, looks: 0, references: 0, depth: 0, value: None, loosely: false, hints: true }
    }

    /// What the schema of a parameter says about each kind; `None` where it is no schema.
    pub(super) fn allowed_types(mut self, schema: &'s Value) -> Option<TypeVerdict> {
        (schema.is_object() || schema.is_boolean()).then(|| self.read_schema(schema, self.root))
    }

    /// The same, where one reading of a value is asked about.
    pub(super) fn judge_value(mut self, schema: &'s Value, kind: JsonType, value: &'s Value) -> TypeVerdict {
        self.value = Some((kind, value));
        self.read_schema(schema, self.root)
    }

    /// The types that are named, whatever else is said about them.
    pub(super) fn named_types(mut self, schema: &'s Value) -> Option<TypeVerdict> {
        self.loosely = true;
        self.allowed_types(schema)
    }

    /// References in the schema lead into the resource that it belongs to.
    fn read_schema(&mut self, schema: &'s Value, resource: &'s Value) -> TypeVerdict {
        let keywords = match schema {
            Value::Bool(true) => return TypeVerdict::ANYTHING,
            Value::Bool(false) => return TypeVerdict::NEVER,
            Value::Object(keywords) => keywords,
            _ => return TypeVerdict::UNKNOWN,
        };
        self.looks += 1;
        if self.looks > LOOKS_MAX || self.depth > DEPTH_MAX {
            return TypeVerdict::UNKNOWN;
        }
        self.depth += 1;
        let resource = if is_resource(schema) { schema } else { resource };
        let mut says = TypeVerdict::ANYTHING;
        let mut hint = None;
        for (keyword, value) in keywords {
            let more = match keyword.as_str() {
                "description" | "title" | "default" | "nullable" => continue,
                "type" => read_type_names(value),
                "enum" => self.any_constant(value),
                "const" => self.read_constant(value),
                "oneOf" if !self.loosely => self.one_of(value, resource),
                "anyOf" | "oneOf" => self.any_of(value, resource),
                "allOf" => self.all_of(value, resource),
                "not" if !self.loosely => self.read_negation(value, resource),
                "if" if !self.loosely => {
                    let condition = self.read_negation(value, resource).not();
                    let mut branch = |name: &str| {
                        keywords
                            .get(name)
                            .map_or(TypeVerdict::ANYTHING, |branch| self.read_schema(branch, resource))
                    };
                    condition.choose(branch("then"), branch("else"))
                }
                "$ref" => self.read_reference(value, resource),
                "$dynamicRef" | "$recursiveRef" => TypeVerdict::UNKNOWN,
                limit => {
                    let limited = limited_types(limit);
                    if matches!(limit, "properties" | "items" | "prefixItems") {
                        hint = hint.or(Some(limited));
                    }
                    TypeVerdict::partly(limited)
                }
            };
            says = says.and(more);
        }
        self.depth -= 1;
        let says = match hint {
            Some(kinds) if self.hints && says.is_nothing() => {
                TypeVerdict { sure: 0, ..TypeVerdict::exactly(kinds) }
            }
            _ => says,
        };
        // OpenAPI's way to admit null.
        match keywords.get("nullable") {
            Some(Value::Bool(true)) => says.or(TypeVerdict::exactly(JsonType::Null.to_set())),
            _ => says,
        }
    }

    fn read_all(
        &mut self,
        list: &'s Value,
        resource: &'s Value,
    ) -> impl Iterator<Item = TypeVerdict> + use<'_, 's> {
        let list = list.as_array().map_or(&[][..], Vec::as_slice);
        list.iter().map(move |member| self.read_schema(member, resource))
    }

    /// A union without members says nothing.
    fn any_of(&mut self, list: &'s Value, resource: &'s Value) -> TypeVerdict {
        self.read_all(list, resource).reduce(TypeVerdict::or).unwrap_or(TypeVerdict::ANYTHING)
    }

    fn one_of(&mut self, list: &'s Value, resource: &'s Value) -> TypeVerdict {
        let mut members = self.read_all(list, resource).peekable();
        if members.peek().is_none() { TypeVerdict::ANYTHING } else { TypeVerdict::one_of(members) }
    }

    fn all_of(&mut self, list: &'s Value, resource: &'s Value) -> TypeVerdict {
        self.read_all(list, resource).fold(TypeVerdict::ANYTHING, TypeVerdict::and)
    }

    fn read_negation(&mut self, schema: &'s Value, resource: &'s Value) -> TypeVerdict {
        let hints = std::mem::replace(&mut self.hints, false);
        let says = self.read_schema(schema, resource).not();
        self.hints = hints;
        says
    }

    fn read_reference(&mut self, reference: &'s Value, resource: &'s Value) -> TypeVerdict {
        let target = reference.as_str().and_then(|reference| resolve(reference, resource, self.root));
        let Some((target, resource)) = target.filter(|_| self.references < REFERENCES_MAX) else {
            return TypeVerdict::UNKNOWN;
        };
        self.references += 1;
        let says = self.read_schema(target, resource);
        self.references -= 1;
        says
    }

    fn any_constant(&mut self, list: &Value) -> TypeVerdict {
        let list = list.as_array().map_or(&[][..], Vec::as_slice);
        self.looks += list.len() / 64;
        list.iter()
            .map(|value| self.read_constant(value))
            .reduce(TypeVerdict::or)
            .unwrap_or(TypeVerdict::UNKNOWN)
    }

    fn read_constant(&self, constant: &Value) -> TypeVerdict {
        let kind = JsonType::from_value(constant);
        match self.value {
            Some((asked, value)) if is_equal(value, constant) => TypeVerdict::exactly(asked.to_set()),
            Some((asked, _)) if asked == kind => TypeVerdict::NEVER,
            _ if kind == JsonType::Null => TypeVerdict::exactly(kind.to_set()),
            _ => TypeVerdict { sure: 0, by_value: true, ..TypeVerdict::exactly(kind.to_set()) },
        }
    }
}

/// Whether two values are the same to a schema, to which `5.0` is `5`.
fn is_equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(x), Value::Number(y)) => x == y || x.as_f64() == y.as_f64(),
        _ => a == b,
    }
}

fn read_type_names(names: &Value) -> TypeVerdict {
    match names {
        Value::Array(names) => {
            names.iter().map(read_type_name).reduce(TypeVerdict::or).unwrap_or(TypeVerdict::UNKNOWN)
        }
        name => read_type_name(name),
    }
}

fn read_type_name(name: &Value) -> TypeVerdict {
    let name = name.as_str().unwrap_or("");
    TypeVerdict::exactly(match name {
        "string" => JsonType::String.to_set(),
        "integer" => JsonType::Integer.to_set(),
        "number" => NUMBERS,
        "boolean" => JsonType::Boolean.to_set(),
        "object" => JsonType::Object.to_set(),
        "array" => JsonType::Array.to_set(),
        "null" => JsonType::Null.to_set(),
        _ => return read_type_alias(&name.to_ascii_lowercase()),
    })
}

/// Besides JSON Schema's own, the names that database and Python people write.
fn read_type_alias(name: &str) -> TypeVerdict {
    TypeVerdict::exactly(match name {
        "null" | "none" => JsonType::Null.to_set(),
        "integer" | "long" | "short" | "unsigned" => JsonType::Integer.to_set(),
        "double" => NUMBERS,
        "boolean" | "bool" => JsonType::Boolean.to_set(),
        "object" | "dict" => JsonType::Object.to_set(),
        "array" | "arr" | "list" | "sequence" => JsonType::Array.to_set(),
        "string" | "str" | "text" | "varchar" | "char" | "enum" => JsonType::String.to_set(),
        "any" => return TypeVerdict::ANYTHING,
        other if other.starts_with("int") || other.starts_with("uint") => JsonType::Integer.to_set(),
        other if other.starts_with("float") || other.starts_with("num") => NUMBERS,
        _ => return TypeVerdict::UNKNOWN,
    })
}

/// The kinds of which this keyword admits not all values.
fn limited_types(keyword: &str) -> TypeSet {
    match keyword {
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => NUMBERS,
        "minLength" | "maxLength" | "pattern" | "format" => JsonType::String.to_set(),
        "items" | "prefixItems" | "contains" | "minItems" | "maxItems" | "uniqueItems" => {
            JsonType::Array.to_set()
        }
        "unevaluatedItems" => JsonType::Array.to_set(),
        "properties" | "patternProperties" | "additionalProperties" | "propertyNames" => {
            JsonType::Object.to_set()
        }
        "required" | "minProperties" | "maxProperties" | "unevaluatedProperties" => JsonType::Object.to_set(),
        "dependentRequired" | "dependentSchemas" | "dependencies" => JsonType::Object.to_set(),
        _ => 0,
    }
}

/// Whether the schema has an address of its own, so that references in it begin there.
fn is_resource(schema: &Value) -> bool {
    schema.get("$id").and_then(Value::as_str).is_some_and(|id| !id.starts_with('#'))
}

/// The schema that a reference names, and the resource it belongs to. Nothing but the schema itself is read: whatever
/// stands elsewhere is unknown.
fn resolve<'s>(reference: &str, resource: &'s Value, root: &'s Value) -> Option<(&'s Value, &'s Value)> {
    let (address, fragment) = reference.split_once('#').unwrap_or((reference, ""));
    let has_address = |schema: &&Value| schema.get("$id").and_then(Value::as_str) == Some(address);
    let resource = match address {
        "" => resource,
        _ => std::iter::once(root).chain(definitions(root)).find(has_address)?,
    };
    if fragment.is_empty() {
        return Some((resource, resource));
    }
    if !fragment.starts_with('/') {
        let is_anchor = |schema: &&Value| schema.get("$anchor").and_then(Value::as_str) == Some(fragment);
        let mut schemas = std::iter::once(resource).chain(definitions(resource));
        return schemas.find(is_anchor).map(|schema| (schema, resource));
    }
    let mut schema = resource;
    for (at, token) in percent_decode(fragment)?.split('/').skip(1).enumerate() {
        // A pointer must not lead through a schema that is a resource of its own.
        if at > 0 && is_resource(schema) {
            return None;
        }
        let token = unescape_pointer(token)?;
        schema = match schema {
            Value::Array(list) => list.get(token.parse::<usize>().ok()?)?,
            _ => schema.get(token.as_ref())?,
        };
    }
    Some((schema, resource))
}

/// What a schema defines for others to refer to.
fn definitions(schema: &Value) -> impl Iterator<Item = &Value> {
    let places = ["$defs", "definitions"].into_iter();
    places.filter_map(|place| schema.get(place)?.as_object()).flat_map(serde_json::Map::values)
}

/// A token of a pointer; `None` where its escapes are none.
fn unescape_pointer(token: &str) -> Option<Cow<'_, str>> {
    if !token.contains('~') {
        return Some(Cow::Borrowed(token));
    }
    let good = token.split('~').skip(1).all(|behind| behind.starts_with(['0', '1']));
    good.then(|| Cow::Owned(token.replace("~1", "/").replace("~0", "~")))
}

fn percent_decode(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains('%') {
        return Some(Cow::Borrowed(text));
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut parts = text.split('%');
    bytes.extend_from_slice(parts.next()?.as_bytes());
    for part in parts {
        let digits = part.get(..2).filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend_from_slice(&part.as_bytes()[2..]);
    }
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

/// What a schema says under this keyword, behind references and in whichever member of a union says it.
pub fn find_keyword<'s>(schema: &'s Value, root: &'s Value, keyword: &str) -> Option<&'s Value> {
    let find = |part: &'s Value| part.get(keyword);
    SchemaSearch { root, unions: &["anyOf", "oneOf", "allOf"], looks: 0 }.find(schema, 0, &find)
}

/// What is first found in a schema, or in one that must hold with it.
pub(super) fn find_anywhere<'s>(
    root: &'s Value,
    find: impl Fn(&'s Value) -> Option<&'s Value>,
) -> Option<&'s Value> {
    SchemaSearch { root, unions: &["allOf"], looks: 0 }.find(root, 0, &find)
}

/// Looks for something in a schema, behind its references and in the members of its unions.
struct SchemaSearch<'s> {
    root: &'s Value,
    unions: &'static [&'static str],
    looks: usize,
}

impl<'s> SchemaSearch<'s> {
    fn find(
        &mut self,
        schema: &'s Value,
        depth: usize,
        find: &dyn Fn(&'s Value) -> Option<&'s Value>,
    ) -> Option<&'s Value> {
        self.looks += 1;
        if depth > 8 || self.looks > LOOKS_MAX {
            return None;
        }
        if let Some(found) = find(schema) {
            return Some(found);
        }
        let unions = self.unions.iter();
        let members = unions.filter_map(|union| schema.get(union)?.as_array()).flatten();
        let target = schema.get("$ref").and_then(Value::as_str);
        let referred = target.and_then(|target| resolve(target, self.root, self.root));
        let mut others = members.chain(referred.map(|(schema, _)| schema));
        others.find_map(|other| self.find(other, depth + 1, find))
    }
}
