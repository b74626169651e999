//! Schemas of several parts, and what one part says about the fields of another.

use std::collections::{BTreeSet, HashSet};

use serde_json::{Map, Value};

use super::{LOOK, SchemaPosition, SchemaProblem, SchemaTranslation, merge};

/// Fields that are looked at for being read-only in all parts of an object together.
const LOOKED_AT_MAX: usize = 4000;

impl<'a> SchemaTranslation<'a, '_> {
    /// `oneOf` becomes `anyOf`: in practice the branches overlap, and a call that fits two of them is no mistake.
    pub(super) fn translate_combinations(
        &mut self,
        members: &'a Map<String, Value>,
        place: SchemaPosition<'_>,
        out: &mut Map<String, Value>,
    ) -> Result<(), SchemaProblem> {
        let list = |name: &str| members.get(name).and_then(Value::as_array).filter(|all| !all.is_empty());
        let deeper = SchemaPosition { level: place.level + 1, ..place };
        if let Some(either) = list("anyOf").or_else(|| list("oneOf")) {
            let mut branches = vec![];
            let mut seen = HashSet::new();
            for branch in either {
                let branch = self.translate_any(branch, deeper)?;
                if seen.insert(branch.to_string()) {
                    branches.push(branch);
                }
            }
            merge::set_any_of(out, branches);
        }
        if let Some(parts) = list("allOf") {
            let (mut hidden, mut left) = (place.hidden.clone(), LOOKED_AT_MAX);
            self.read_only_names(members, &mut hidden, &mut left);
            self.schemas.spend((LOOKED_AT_MAX - left) as u64 * LOOK)?;
            let deeper = SchemaPosition { hidden: &hidden, ..deeper };
            let parts: Result<Vec<_>, _> =
                parts.iter().map(|part| self.translate_any(part, deeper)).collect();
            if let Some(needed) = out.get_mut("required").and_then(Value::as_array_mut) {
                needed.retain(|name| name.as_str().is_none_or(|name| !hidden.contains(name)));
            }
            *out = merge::merge_all_of(std::mem::take(out), parts?);
        }
        Ok(())
    }

    pub(super) fn is_read_only(&self, field: &'a Value) -> bool {
        let says = |value: &Value| value.get("readOnly") == Some(&Value::Bool(true));
        says(field) || self.schemas.refs.follow(field).is_ok_and(says)
    }

    /// One part of an object may need what another calls read-only.
    fn read_only_names(
        &self,
        members: &'a Map<String, Value>,
        names: &mut BTreeSet<String>,
        left: &mut usize,
    ) {
        let fields = members.get("properties").and_then(Value::as_object).into_iter().flatten();
        for (name, field) in fields.take(*left) {
            *left -= 1;
            if self.is_read_only(field) {
                names.insert(name.clone());
            }
        }
        for part in members.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            *left = left.saturating_sub(LOOKED_AT_MAX / 64);
            if *left == 0 {
                break;
            }
            if let Ok(Value::Object(part)) = self.schemas.refs.follow(part) {
                self.read_only_names(part, names, left);
            }
        }
    }
}
