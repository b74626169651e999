//! Keys that stand twice in an object. JSON allows them and does not say which one counts, so none is chosen silently.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// The first keys that stand twice, with where they are: `filter.lang`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct DuplicateKeys {
    /// With the same value.
    pub(crate) same: Option<String>,
    /// With different values.
    pub(crate) different: Option<String>,
}

/// Reads a JSON text, and says what it says twice.
pub(crate) fn parse_and_find_duplicates(text: &[u8]) -> Result<(Value, DuplicateKeys), serde_json::Error> {
    let (mut path, mut twice) = (String::new(), DuplicateKeys::default());
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    let reading = KeyReader { path: &mut path, twice: &mut twice };
    let value = reading.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok((value, twice))
}

/// The first key that stands twice in a JSON text.
pub fn find_duplicate_key(text: &[u8]) -> Option<String> {
    let (_, twice) = parse_and_find_duplicates(text).ok()?;
    twice.different.or(twice.same)
}

struct KeyReader<'r> {
    path: &'r mut String,
    twice: &'r mut DuplicateKeys,
}

impl KeyReader<'_> {
    /// What stands in this member or item.
    fn read_inside<T>(&mut self, step: &str, read: impl FnOnce(KeyReader<'_>) -> T) -> T {
        let length = self.path.len();
        if length > 0 {
            self.path.push('.');
        }
        self.path.push_str(step);
        let read = read(KeyReader { path: self.path, twice: self.twice });
        self.path.truncate(length);
        read
    }

    fn record_duplicate(&mut self, key: &str, is_same: bool) {
        let path = self.read_inside(key, |reading| reading.path.clone());
        let place = if is_same { &mut self.twice.same } else { &mut self.twice.different };
        place.get_or_insert(path);
    }
}

impl<'de> DeserializeSeed<'de> for KeyReader<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for KeyReader<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<Value, A::Error> {
        let mut all = vec![];
        loop {
            let place = all.len().to_string();
            match self.read_inside(&place, |reading| items.next_element_seed(reading))? {
                Some(item) => all.push(item),
                None => return Ok(Value::Array(all)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<Value, A::Error> {
        let mut all = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            let value = self.read_inside(&key, |reading| members.next_value_seed(reading))?;
            if let Some(before) = all.get(&key) {
                self.record_duplicate(&key, *before == value);
            }
            all.insert(key, value);
        }
        Ok(Value::Object(all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_stand_twice_are_found_at_any_depth() {
        let twice = |text: &str| {
            let (value, twice) = parse_and_find_duplicates(text.as_bytes()).unwrap();
            assert_eq!(value, serde_json::from_str::<Value>(text).unwrap(), "{text}");
            (twice.same, twice.different)
        };
        let at = |path: &str| Some(path.to_owned());
        assert_eq!(twice(r#"{"a": 1, "b": [1, {"a": null}], "c": -1.5e3}"#), (None, None));
        assert_eq!(twice(r#"{"a": [1], "a": [1]}"#), (at("a"), None));
        assert_eq!(twice(r#"{"a": 1, "a": 1.0}"#), (None, at("a")));
        assert_eq!(twice(r#"{"x": [0, {"y": {"a": 1, "a": 2}}]}"#), (None, at("x.1.y.a")));
        assert_eq!(twice(r#"{"a": 1, "a": 1, "b": 1, "b": 2}"#), (at("a"), at("b")));
        assert_eq!(find_duplicate_key(br#"{"a": 1, "a": 1}"#), at("a"));
        assert!(parse_and_find_duplicates(b"{} {}").is_err());
        assert!(parse_and_find_duplicates(b"1e999").is_err());
    }
}
