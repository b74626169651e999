//! How much work a schema will be, told before anything is made of it.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::{Map, Value};

use super::budget::{
    CHAIN_MAX, EXPANSION_MAX, PATTERNS_MAX, SCHEMA_BYTES_MAX, SCHEMA_DEPTH_MAX, TARGETS_MAX,
};
use super::keywords::{SchemaSubject, schemas_in_keyword, subject_of_keyword};
use super::pattern;
use super::refs::Refs;

/// What was found out about a schema.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SchemaMeasure {
    /// The work of making it ready.
    pub(super) units: u64,
    /// Its patterns and what each of them costs.
    pub(super) patterns: BTreeMap<String, u64>,
}

impl SchemaMeasure {
    /// What all patterns cost together.
    pub(super) fn pattern_units(&self) -> u64 {
        self.patterns.values().fold(0, |sum, units| sum.saturating_add(*units))
    }
}

/// Measures a schema, or says which bound it is beyond.
pub(super) fn measure_schema(schema: &Value, text: &str) -> Result<SchemaMeasure, String> {
    if text.len() > SCHEMA_BYTES_MAX {
        return Err(format!(
            "it has {} bytes; {SCHEMA_BYTES_MAX} are the most that a schema may have",
            text.len()
        ));
    }
    // Before anything else goes down into it.
    if bracket_depth(text) > SCHEMA_DEPTH_MAX {
        return Err(format!("it is nested deeper than {SCHEMA_DEPTH_MAX} levels"));
    }
    let mut scan = Scan { old: text.contains("draft-04") || text.contains("draft-03"), ..Scan::default() };
    scan.scan_value(schema, true)?;
    if scan.patterns.len() > PATTERNS_MAX {
        let found = scan.patterns.len();
        return Err(format!("it has {found} patterns; {PATTERNS_MAX} are the most that a schema may have"));
    }
    let refs = Refs::new(schema);
    Expansion { refs: &refs, known: HashMap::new(), targets: HashSet::new() }.count_all(schema)?;
    // Some of the nodes are looked at for each draft's rules and then made into something.
    let units = scan.patterns.values().fold(scan.nodes * 2, |sum, units| sum.saturating_add(*units));
    Ok(SchemaMeasure { units, patterns: scan.patterns })
}

/// How deeply brackets are nested in text that was written by us.
fn bracket_depth(text: &str) -> usize {
    let (mut depth, mut deepest, mut quoted, mut escaped) = (0_usize, 0, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'{' | b'[' if !quoted => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' if !quoted => depth -= 1,
            _ => {}
        }
    }
    deepest
}

/// Looks at every value, whatever it means.
#[derive(Default)]
struct Scan {
    /// Whether `id` is what `$id` is now.
    old: bool,
    nodes: u64,
    patterns: BTreeMap<String, u64>,
}

impl Scan {
    fn scan_value(&mut self, value: &Value, is_root: bool) -> Result<(), String> {
        self.nodes += 1;
        match value {
            Value::Array(items) => items.iter().try_for_each(|item| self.scan_value(item, false)),
            Value::Object(members) => {
                self.check_ids(members, is_root)?;
                if let Some(pattern) = members.get("pattern").and_then(Value::as_str) {
                    self.scan_pattern(pattern)?;
                }
                let keyed = members.get("patternProperties").and_then(Value::as_object);
                for pattern in keyed.into_iter().flat_map(Map::keys) {
                    self.scan_pattern(pattern)?;
                }
                members.values().try_for_each(|member| self.scan_value(member, false))
            }
            _ => Ok(()),
        }
    }

    /// A schema in a schema that is a document of its own changes what all references in it mean.
    fn check_ids(&self, members: &Map<String, Value>, is_root: bool) -> Result<(), String> {
        let names: &[&str] = if self.old { &["$id", "id"] } else { &["$id"] };
        let named = names.iter().find(|name| {
            members.get(**name).and_then(Value::as_str).is_some_and(|id| !id.starts_with('#') && !is_root)
        });
        match named {
            Some(name) => Err(format!(
                "`{name}` stands inside of it; leave it out there, or name a place with `$anchor`"
            )),
            None => Ok(()),
        }
    }

    fn scan_pattern(&mut self, pattern: &str) -> Result<(), String> {
        if !self.patterns.contains_key(pattern) {
            let units = pattern::pattern_units(pattern)?;
            self.patterns.insert(pattern.to_owned(), units);
        }
        Ok(())
    }
}

/// Counts the schemas that one value is compared with.
struct Expansion<'s, 'r> {
    refs: &'r Refs<'s>,
    /// By address; none while it is being counted.
    known: HashMap<usize, Option<u64>>,
    targets: HashSet<usize>,
}

fn pointer_address(value: &Value) -> usize {
    std::ptr::from_ref(value).addr()
}

impl<'s> Expansion<'s, '_> {
    /// Counts for every schema that can be reached.
    fn count_all(mut self, root: &'s Value) -> Result<(), String> {
        let mut seen = HashSet::new();
        let mut open = vec![root];
        while let Some(schema) = open.pop() {
            if !seen.insert(pointer_address(schema)) {
                continue;
            }
            self.count(schema, 0)?;
            let Value::Object(members) = schema else { continue };
            for (keyword, given) in members {
                if subject_of_keyword(keyword).is_some() {
                    open.extend(schemas_in_keyword(keyword, given));
                }
            }
            for target in self.refs.targets(members)? {
                self.targets.insert(pointer_address(target));
                open.push(target);
            }
            if self.targets.len() > TARGETS_MAX {
                return Err(format!("its references lead to more than {TARGETS_MAX} places"));
            }
        }
        Ok(())
    }

    fn count(&mut self, schema: &'s Value, chain: usize) -> Result<u64, String> {
        let Value::Object(members) = schema else { return Ok(1) };
        match self.known.get(&pointer_address(schema)) {
            Some(Some(count)) => return Ok(*count),
            Some(None) => {
                return Err("a reference leads back to where it stands, so nothing can be checked".into());
            }
            None => {}
        }
        if chain > CHAIN_MAX {
            return Err(format!(
                "more than {CHAIN_MAX} references and combinations that say something about the same value follow each other"
            ));
        }
        self.known.insert(pointer_address(schema), None);
        let mut sum = 1_u64;
        for (keyword, given) in
            members.iter().filter(|(keyword, _)| subject_of_keyword(keyword) == Some(SchemaSubject::Same))
        {
            for inside in schemas_in_keyword(keyword, given) {
                sum = sum.saturating_add(self.count(inside, chain + 1)?);
            }
        }
        for target in self.refs.targets(members)? {
            sum = sum.saturating_add(self.count(target, chain + 1)?);
        }
        if sum > EXPANSION_MAX {
            return Err(format!(
                "with its references followed, one value is compared with more than {EXPANSION_MAX} schemas; use fewer \
                 `anyOf`, `allOf`, `oneOf` and `$ref` in each other"
            ));
        }
        self.known.insert(pointer_address(schema), Some(sum));
        Ok(sum)
    }
}
