//! Schemas and patterns that were written to do harm, made up to the limits. They are kept here, and more is added where
//! more is found.
//!
//! Two tests have the same set: one counts the work that each makes (`helve-tool`), one sends each to a server (`helve`).

use serde_json::{Map, Value, json};

/// What it is, and the schema.
pub(crate) type Case = (String, Value);

fn object(fields: Value) -> Value {
    json!({"type": "object", "properties": fields})
}

/// Patterns that are dear, long, nested, broken or odd.
fn patterns() -> Vec<Case> {
    let mut all = vec![];
    let atoms = [
        r"\p{L}",
        r"\P{L}",
        r"\pL",
        r"[\p{L}\p{N}]",
        r"\w",
        r"[^a]",
        ".",
        r"(?i:\p{Lu})",
        r"(a|b|\p{Han})",
        r"[\p{L}[a]]",
        r"[[]\p{L}",
        "中",
    ];
    for atom in atoms {
        for times in ["{50}", "{300}", "{150}", "{1000}", "{0,1000}", "{100}{100}", "{1,}{999}"] {
            all.push(format!("{atom}{times}N"));
        }
    }
    all.push(r"(?i)\p{L}{900}".into());
    all.push(r"(?x)\p{L} {1000}".into());
    all.push("(a+)+$".into());
    all.push("(?=a)b".into());
    all.push(r"(\1)".into());
    all.push("(".repeat(900));
    all.push("[".repeat(900));
    all.push(format!("{}a{}", "(".repeat(450), ")".repeat(450)));
    all.push("a{99999999999999999999}".into());
    all.push(r"\p{L}".repeat(190));
    all.push("a|".repeat(490));
    all.push("x".repeat(60_000));
    all.push("((((a{1,100}){1,100}){1,100}){1,100})".into());
    let named = |n: usize, pattern: String| {
        (format!("pattern {n}"), object(json!({"x": {"type": "string", "pattern": pattern}})))
    };
    let mut cases: Vec<Case> = all.into_iter().enumerate().map(|(n, pattern)| named(n, pattern)).collect();
    for count in [10, 50, 100, 101, 2000] {
        let fields: Map<_, _> = (0..count)
            .map(|n| (format!("f{n}"), json!({"pattern": format!(r"\p{{L}}{{150}}{n}")})))
            .collect();
        cases.push((format!("{count} dear patterns"), object(fields.into())));
        let keys: Map<_, _> = (0..count).map(|n| (format!(r"\w{{20}}{n}"), json!({}))).collect();
        cases.push((
            format!("{count} patterns of names"),
            json!({"type": "object", "patternProperties": keys}),
        ));
    }
    cases
}

/// References and combinations that are in each other.
fn combinations() -> Vec<Case> {
    let mut cases = vec![];
    for keyword in ["anyOf", "allOf", "oneOf"] {
        for (levels, width) in [(22, 2), (60, 2), (14, 3), (8, 8), (4, 50), (2, 500), (200, 2)] {
            let mut defs = Map::new();
            for level in 0..levels {
                let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
                defs.insert(format!("d{level}"), json!({keyword: vec![next; width]}));
            }
            defs.insert(format!("d{levels}"), json!({"type": "integer"}));
            let schema =
                json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/d0"}}, "$defs": defs});
            cases.push((format!("{keyword} {levels} levels of {width}"), schema));
        }
        let mut nested = json!({"type": "integer"});
        for _ in 0..12 {
            nested = json!({keyword: [nested, nested.clone()]});
            if nested.to_string().len() > 60_000 {
                break;
            }
        }
        cases.push((format!("{keyword} written out"), object(json!({"x": nested}))));
        let branches: Vec<_> = (0..2_000).map(|n| json!({"const": n})).collect();
        cases.push((
            format!("{keyword} of many"),
            object(json!({"x": {"type": "array", "items": {keyword: branches}}})),
        ));
        for unevaluated in ["unevaluatedProperties", "unevaluatedItems"] {
            let mut schema = json!({"properties": {"x": {}}});
            for _ in 0..14 {
                schema = json!({keyword: [schema], unevaluated: false});
            }
            cases.push((format!("{unevaluated} in {keyword}"), json!({"type": "object", keyword: [schema]})));
        }
    }
    for keyword in [
        "not",
        "if",
        "then",
        "additionalProperties",
        "items",
        "contains",
        "propertyNames",
        "dependentSchemas",
    ] {
        let inner = match keyword {
            "dependentSchemas" => json!({keyword: {"x": {"$ref": "#"}}}),
            _ => json!({keyword: {"$ref": "#"}, "if": true}),
        };
        let mut schema = json!({"type": "object"});
        schema.as_object_mut().unwrap().extend(inner.as_object().unwrap().clone());
        cases.push((format!("{keyword} of itself"), schema));
    }
    let two = json!({"anyOf": [{"properties": {"x": {"$ref": "#/$defs/a"}}}, {"properties": {"x": {"$ref": "#/$defs/a"}}}]});
    cases.push((
        "doubling down".into(),
        json!({"type": "object", "allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": two}}),
    ));
    cases
}

/// References to odd places, odd keywords, sizes.
fn odd() -> Vec<Case> {
    let mut cases = vec![];
    let places = [
        "#",
        "",
        "#/",
        "#/properties/x",
        "#/$defs/a",
        "#a",
        "http://169.254.169.254/",
        "file:///etc/passwd",
        "a.json",
        "urn:x",
        "https://json-schema.org/draft/2020-12/schema",
        "http://json-schema.org/draft-07/schema#",
        "#/$defs/%zz",
        "#/%24defs/a",
    ];
    for place in places {
        for keyword in ["$ref", "$dynamicRef", "$recursiveRef"] {
            let schema = json!({"type": "object", "properties": {"x": {keyword: place}}, "$defs": {"a": {"$anchor": "a", keyword: place}}});
            cases.push((format!("{keyword} {place}"), schema));
        }
    }
    for draft in ["draft-03", "draft-04", "draft-06", "draft-07"] {
        let schema = json!({"$schema": format!("http://json-schema.org/{draft}/schema#"), "type": "object",
            "properties": {"x": {"id": "http://x/", "$id": "http://y/", "$ref": "#/definitions/a", "extends": {"$ref": "#"}}},
            "definitions": {"a": {"$ref": "#/definitions/b"}, "b": {"$ref": "#/definitions/a"}}});
        cases.push((draft.into(), schema));
    }
    for depth in [31, 33, 60, 120] {
        let mut deep = json!({});
        for _ in 0..depth {
            deep = json!([deep]);
        }
        cases.push((format!("{depth} deep"), json!({"type": "object", "default": deep})));
    }
    let chain: Map<_, _> = (0..1200)
        .map(|n| (format!("c{n}"), json!({"properties": {"x": {"$ref": format!("#/$defs/c{}", n + 1)}}})))
        .collect();
    cases.push((
        "a chain".into(),
        json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/c0"}}, "$defs": chain}),
    ));
    let chain: Map<_, _> = (0..900)
        .map(|n| (format!("c{n}"), json!({"$ref": format!("#/$defs/c{}", (n + 1).min(899))})))
        .collect();
    cases.push((
        "a chain beside".into(),
        json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/c0"}}, "$defs": chain}),
    ));
    for (name, schema) in [
        ("unique items", json!({"type": "array", "uniqueItems": true})),
        ("many values", json!({"enum": (0..9000).collect::<Vec<_>>()})),
        ("a large value", json!({"const": "x".repeat(60_000)})),
        ("huge numbers", json!({"minLength": 1e300, "maximum": 1e308, "multipleOf": 1e-300})),
        (
            "formats",
            json!({"format": "regex", "contentMediaType": "application/json", "contentEncoding": "base64"}),
        ),
        ("too large", json!({"description": "x".repeat(70_000)})),
        ("wrong types", json!({"type": "wat", "properties": [], "required": 3, "anyOf": {}, "pattern": 7})),
        ("many required", json!({"required": (0..4000).map(|n| format!("r{n}")).collect::<Vec<_>>()})),
        (
            "dependencies",
            json!({"dependencies": (0..500).map(|n| (format!("d{n}"), json!({"$ref": "#"}))).collect::<Map<_, _>>()}),
        ),
        (
            "contains",
            json!({"contains": {"anyOf": (0..1000).map(|n| json!({"const": n})).collect::<Vec<_>>()}, "minContains": 5}),
        ),
    ] {
        cases.push((name.into(), object(json!({"x": schema}))));
    }
    cases
}

/// All of them.
pub(crate) fn all() -> Vec<Case> {
    [patterns(), combinations(), odd()].concat()
}
