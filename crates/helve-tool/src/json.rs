//! How deep and how wide JSON from outside may be, measured before anything is made of it; and what it says twice.

mod duplicate_keys;

pub use duplicate_keys::find_duplicate_key;
pub(crate) use duplicate_keys::parse_and_find_duplicates;

/// What is deeper or wider is an attack or an accident.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JsonBounds {
    pub depth_max: usize,
    pub values_max: usize,
}

impl Default for JsonBounds {
    fn default() -> Self {
        Self { depth_max: 64, values_max: 100_000 }
    }
}

impl JsonBounds {
    /// Whether the text keeps to the bounds, or what it does instead.
    pub fn check(&self, text: &[u8]) -> Result<(), String> {
        let (depth, values) = measure_text(text);
        if depth > self.depth_max {
            return Err(format!("is nested deeper than {} levels", self.depth_max));
        }
        if values > self.values_max {
            return Err(format!("has more than {} values", self.values_max));
        }
        Ok(())
    }
}

/// How deeply brackets are nested outside of strings, and how many values there can be.
fn measure_text(text: &[u8]) -> (usize, usize) {
    let (mut depth, mut deepest, mut values) = (0usize, 0, 1);
    let (mut quoted, mut escaped) = (false, false);
    for byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'{' | b'[' if !quoted => {
                depth += 1;
                deepest = deepest.max(depth);
                values += 1;
            }
            b'}' | b']' if !quoted => depth = depth.saturating_sub(1),
            b',' if !quoted => values += 1,
            _ => {}
        }
    }
    (deepest, values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_and_commas_count_outside_of_strings_only() {
        assert_eq!(measure_text(br#"{"a": "[[[[,,,", "b": ["\"["]}"#), (2, 4));
        assert_eq!(measure_text(b"7"), (0, 1));
        assert_eq!(measure_text(b"]]]"), (0, 1));
    }

    #[test]
    fn bombs_are_told_by_what_they_are() {
        let check = |text: &str| JsonBounds::default().check(text.as_bytes());
        assert_eq!(check(&"[".repeat(64)), Ok(()));
        assert_eq!(check(&"[".repeat(65)), Err("is nested deeper than 64 levels".into()));
        let wide = |count: usize| format!("[{}0]", "0,".repeat(count));
        assert_eq!(check(&wide(99_998)), Ok(()));
        assert_eq!(check(&wide(100_000)), Err("has more than 100000 values".into()));
    }
}
