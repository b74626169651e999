//! What a rule says about one argument.

use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value, json};

use crate::rule::matches_wildcard;

/// A condition on a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pattern {
    /// A text; `*` stands for any run of characters.
    Text(String),
    /// A number, a truth value or null, as it stands.
    Exactly(Value),
    /// A number between two others, both included.
    Between {
        min: Option<Value>,
        max: Option<Value>,
    },
    Not(Box<Pattern>),
    Any(Vec<Pattern>),
}

/// Which values of a list count: one that fits is enough to be careful, all must fit to be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListMode {
    All,
    Any,
}

impl Pattern {
    /// Whether the value fits. A list fits by its items, and an empty one never does.
    pub(crate) fn fits(&self, value: &Value, of: ListMode) -> bool {
        match (value, of) {
            (Value::Array(items), ListMode::All) => {
                !items.is_empty() && items.iter().all(|item| self.fits(item, of))
            }
            (Value::Array(items), ListMode::Any) => items.iter().any(|item| self.fits(item, of)),
            _ => self.fits_one(value),
        }
    }

    fn fits_one(&self, value: &Value) -> bool {
        match self {
            Self::Text(pattern) => value.as_str().is_some_and(|text| matches_wildcard(pattern, text)),
            Self::Exactly(wanted) => match (wanted.as_f64(), value.as_f64()) {
                (Some(wanted), Some(value)) => wanted == value,
                _ => wanted == value,
            },
            Self::Between { min, max } => value.as_f64().is_some_and(|value| {
                let bound = |bound: &Option<Value>| bound.as_ref().and_then(Value::as_f64);
                bound(min).is_none_or(|min| value >= min) && bound(max).is_none_or(|max| value <= max)
            }),
            Self::Not(pattern) => !pattern.fits_one(value),
            Self::Any(patterns) => patterns.iter().any(|pattern| pattern.fits_one(value)),
        }
    }

    fn parse(value: Value) -> Result<Self, String> {
        match value {
            Value::String(text) => Ok(Self::Text(text)),
            Value::Null | Value::Bool(_) | Value::Number(_) => Ok(Self::Exactly(value)),
            Value::Array(items) if items.is_empty() => Err("an empty list fits nothing".into()),
            Value::Array(items) => {
                items.into_iter().map(Self::parse).collect::<Result<_, _>>().map(Self::Any)
            }
            Value::Object(members) => Self::parse_table(members),
        }
    }

    fn parse_table(mut members: Map<String, Value>) -> Result<Self, String> {
        if members.len() == 1
            && let Some(inner) = members.remove("not")
        {
            return Ok(Self::Not(Box::new(Self::parse(inner)?)));
        }
        let mut bound = |name: &str| match members.remove(name) {
            Some(value) if value.is_number() => Ok(Some(value)),
            Some(other) => Err(format!("`{name}` is {other}, and must be a number")),
            None => Ok(None),
        };
        let (min, max) = (bound("min")?, bound("max")?);
        if !members.is_empty() || (min.is_none() && max.is_none()) {
            return Err("a table says either `not`, or `min` and `max`".into());
        }
        Ok(Self::Between { min, max })
    }

    fn to_json(&self) -> Value {
        match self {
            Self::Text(text) => json!(text),
            Self::Exactly(value) => value.clone(),
            Self::Between { min, max } => {
                let bounds = [("min", min), ("max", max)];
                let given =
                    bounds.into_iter().filter_map(|(name, bound)| Some((name.to_owned(), bound.clone()?)));
                Value::Object(given.collect())
            }
            Self::Not(pattern) => json!({"not": pattern.to_json()}),
            Self::Any(patterns) => patterns.iter().map(Self::to_json).collect(),
        }
    }
}

/// The values at a path such as `options.urgent`; a step into a list goes into each of its items, and where there
/// is nothing, that is said.
pub(crate) fn list_values_at<'a>(value: &'a Value, path: &str) -> Vec<Option<&'a Value>> {
    path.split('.').fold(vec![Some(value)], |found, step| {
        let into = |value: Option<&'a Value>| -> Vec<Option<&'a Value>> {
            match value {
                Some(Value::Array(items)) => items.iter().map(|item| item.get(step)).collect(),
                Some(value) => vec![value.get(step)],
                None => vec![None],
            }
        };
        found.into_iter().flat_map(into).collect()
    })
}

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(Value::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl Serialize for Pattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_json().serialize(serializer)
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_json().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(given: Value) -> Pattern {
        serde_json::from_value(given).unwrap()
    }

    #[test]
    fn a_pattern_fits_what_it_says() {
        let cases = [
            (json!("*@example.com"), json!("mei@example.com"), true),
            (json!("*@example.com"), json!("mei@example.com.evil.test"), false),
            (json!("5"), json!(5), false),
            (json!(5), json!(5.0), true),
            (json!(true), json!(true), true),
            (json!(true), json!("true"), false),
            (json!(null), json!(null), true),
            (json!({"min": 1, "max": 10}), json!(10), true),
            (json!({"max": 10}), json!(10.5), false),
            (json!({"min": 1}), json!("5"), false),
            (json!({"not": "*.exe"}), json!("a.txt"), true),
            (json!({"not": "*.exe"}), json!("a.exe"), false),
            (json!(["GET", "HEAD"]), json!("HEAD"), true),
            (json!(["GET", "HEAD"]), json!("POST"), false),
            (json!({"not": ["a", "b"]}), json!("b"), false),
        ];
        for (given, value, fits) in cases {
            assert_eq!(pattern(given.clone()).fits(&value, ListMode::All), fits, "{given} {value}");
        }
    }

    #[test]
    fn a_list_is_trusted_by_all_its_items_and_feared_for_any() {
        let ours = pattern(json!("*@example.com"));
        let mixed = json!(["mei@example.com", "eve@evil.test"]);
        assert!(!ours.fits(&mixed, ListMode::All));
        assert!(ours.fits(&mixed, ListMode::Any));
        assert!(!ours.fits(&json!([]), ListMode::All) && !ours.fits(&json!([]), ListMode::Any));
        assert!(ours.fits(&json!([["mei@example.com"]]), ListMode::All));
    }

    #[test]
    fn a_path_goes_through_tables_and_lists() {
        let value = json!({"to": [{"mail": "a"}, {"mail": "b"}, {}], "o": {"urgent": true}});
        assert_eq!(list_values_at(&value, "to.mail"), [Some(&json!("a")), Some(&json!("b")), None]);
        assert_eq!(list_values_at(&value, "o.urgent"), [Some(&json!(true))]);
        assert_eq!(
            [list_values_at(&value, "o.missing"), list_values_at(&value, "o.urgent.deeper")],
            [[None], [None]]
        );
    }

    #[test]
    fn what_is_no_pattern_is_told_so() {
        let wrong = |given: Value| serde_json::from_value::<Pattern>(given).unwrap_err().to_string();
        assert_eq!(wrong(json!([])), "an empty list fits nothing");
        assert_eq!(wrong(json!({"min": "a"})), "`min` is \"a\", and must be a number");
        assert_eq!(wrong(json!({"max": 1, "not": 2})), "a table says either `not`, or `min` and `max`");
        assert_eq!(wrong(json!({})), "a table says either `not`, or `min` and `max`");
    }

    #[test]
    fn a_pattern_is_written_as_it_was_read() {
        for given in [json!("*"), json!(1), json!({"min": 1}), json!({"not": ["a", {"max": 2}]})] {
            assert_eq!(json!(pattern(given.clone())), given);
        }
    }
}
