//! Pointers inside of the document. Nothing outside of it is ever fetched.

use serde_json::Value;

/// Pointers to pointers to pointers end somewhere, or lead in a circle.
const HOPS_MAX: usize = 16;

/// The document as a place that pointers lead into.
#[derive(Debug, Clone, Copy)]
pub(super) struct Refs<'a> {
    root: &'a Value,
}

impl<'a> Refs<'a> {
    pub(super) fn new(root: &'a Value) -> Self {
        Self { root }
    }

    /// What a pointer leads to; or why it leads nowhere.
    pub(super) fn find_target(&self, pointer: &str) -> Result<&'a Value, String> {
        let Some(inside) = pointer.strip_prefix('#') else {
            return Err(format!(
                "it refers to `{}`, outside of the document; bundle everything into one file first, for example with `npx @redocly/cli bundle`",
                shorten_pointer(pointer)
            ));
        };
        let found = if inside.contains('%') {
            self.root.pointer(&percent_decoded(inside))
        } else {
            self.root.pointer(inside)
        };
        found.ok_or_else(|| {
            format!("it refers to `{}`, which is not in the document", shorten_pointer(pointer))
        })
    }

    /// The value itself, or what it points to.
    pub(super) fn follow(&self, mut value: &'a Value) -> Result<&'a Value, String> {
        for _ in 0..HOPS_MAX {
            match pointer(value) {
                Some(pointer) => value = self.find_target(pointer)?,
                None => return Ok(value),
            }
        }
        Err(format!("`{}` refers to itself", pointer(value).map(shorten_pointer).unwrap_or_default()))
    }
}

/// The `$ref` of a value that is one.
pub(super) fn pointer(value: &Value) -> Option<&str> {
    value.get("$ref")?.as_str()
}

fn shorten_pointer(pointer: &str) -> String {
    super::words::clean_line(pointer, 200)
}

/// Pointers in fragments are percent-encoded: `#/paths/~1pets~1%7Bid%7D`.
fn percent_decoded(text: &str) -> String {
    let mut bytes = vec![];
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let hex = |byte: u8| char::from(byte).to_digit(16);
        rest = after;
        match (first, after) {
            (b'%', [high, low, after @ ..]) => match (hex(*high), hex(*low)) {
                (Some(high), Some(low)) => {
                    bytes.push(u8::try_from(high * 16 + low).unwrap_or(b'?'));
                    rest = after;
                }
                _ => bytes.push(b'%'),
            },
            _ => bytes.push(*first),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pointers_lead_into_the_document_only() {
        let root = json!({
            "paths": {"/pets/{id}": {"get": 1}},
            "a": {"$ref": "#/b"}, "b": {"$ref": "#/c"}, "c": {"x": 1},
            "round": {"$ref": "#/about"}, "about": {"$ref": "#/round"}
        });
        let refs = Refs::new(&root);
        assert_eq!(refs.find_target("#/paths/~1pets~1%7Bid%7D/get").unwrap(), 1);
        assert_eq!(refs.find_target("#/paths/~1pets~1{id}/get").unwrap(), 1);
        assert_eq!(refs.follow(&root["a"]).unwrap(), &json!({"x": 1}));
        assert!(refs.follow(&root["round"]).unwrap_err().contains("refers to itself"));
        assert!(
            refs.find_target("#/nowhere").unwrap_err().contains("`#/nowhere`, which is not in the document")
        );
        for outside in ["other.yaml#/Pet", "http://169.254.169.254/x", "file:///etc/passwd", "Pet"] {
            let error = refs.find_target(outside).unwrap_err();
            assert!(error.contains(outside) && error.contains("outside of the document"), "{error}");
        }
    }

    #[test]
    fn broken_percent_signs_stay_as_they_are() {
        assert_eq!(percent_decoded("100%"), "100%");
        assert_eq!(percent_decoded("%7b%zz%E4%BD%A0"), "{%zz你");
    }
}
