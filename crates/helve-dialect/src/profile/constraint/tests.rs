//! That grammars let through what profiles write, and stop what is no call of the tools at hand.

use expect_test::expect;
use helve_types::{Effect, ToolChoice, ToolSpec};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::{CallView, Profile};
use super::matcher::Grammar;
use super::shape::Shape;
use crate::{Reading, Tools, read};

fn tool(name: &str, parameters: Value) -> ToolSpec {
    ToolSpec::new(name, "A tool.", parameters, Effect::Read)
}

fn weather() -> ToolSpec {
    tool(
        "get_weather",
        json!({"type": "object", "required": ["city"], "properties": {
            "city": {"type": "string", "minLength": 1},
            "days": {"type": "integer"},
            "unit": {"enum": ["celsius", "fahrenheit"]},
        }}),
    )
}

fn clock() -> ToolSpec {
    tool("clock", json!({"type": "object", "properties": {}, "additionalProperties": false}))
}

fn profile(name: &str) -> &'static Profile {
    Profile::named(name).expect("is shipped")
}

fn grammar(profile: &Profile, tools: &[&ToolSpec], choice: &ToolChoice) -> Grammar {
    Grammar::read(&profile.form(tools, choice).expect("has a form").grammar)
}

fn written(profile: &Profile, calls: &[(&str, Value)]) -> String {
    let arguments: Vec<String> = calls.iter().map(|(_, arguments)| arguments.to_string()).collect();
    let views = calls.iter().zip(&arguments);
    let views: Vec<_> =
        views.map(|((name, _), arguments)| CallView { id: "call_1", name, arguments }).collect();
    profile.call(&views)
}

#[test]
fn every_shipped_profile_is_understood() {
    for name in Profile::names() {
        assert!(profile(name).shape.is_some(), "{name}");
    }
    let shape = |name| format!("{:?}", Shape::from_profile(profile(name)).expect("is understood"));
    expect![[r#"Shape { head: "{\"tool_calls\": [{\"id\": \"", mark: "", lead: [(Id, "\", \"type\": \"function\", \"function\": {\"name\": \""), (Name, "\", \"arguments\": \"")], body: Whole(Quoted), close: "\"}}", between: ", {\"id\": \"", tail: "]}" }"#]]
    .assert_eq(&shape("json_strict"));
    expect![[r#"Shape { head: "<tool_call>\n<function=", mark: "<tool_", lead: [(Name, ">\n<parameter=")], body: Members { assign: ">\n", next: "\n</parameter>\n<parameter=", empty: ">\n</function>\n</tool_call>", notation: Text }, close: "\n</parameter>\n</function>\n</tool_call>", between: "\n<tool_call>\n<function=", tail: "" }"#]]
    .assert_eq(&shape("qwen3_coder"));
    expect![[r#"Shape { head: "[", mark: "", lead: [(Name, "(")], body: Members { assign: "=", next: ", ", empty: "()", notation: Python }, close: ")", between: ", ", tail: "]" }"#]]
    .assert_eq(&shape("pythonic"));
}

#[test]
fn what_a_profile_writes_is_let_through_and_other_calls_are_not() {
    let (weather, clock) = (weather(), clock());
    let tools = [&weather, &clock];
    let good = [
        vec![("get_weather", json!({"city": "Rome"}))],
        vec![("get_weather", json!({"city": "東京", "days": -3, "unit": "celsius"}))],
        vec![
            ("get_weather", json!({"city": "a \"b\" \\ \n\t\u{1}", "unit": "fahrenheit"})),
            ("clock", json!({})),
        ],
        vec![("clock", json!({})); 3],
    ];
    let bad = [
        vec![("get_wether", json!({"city": "Rome"}))],
        vec![("clock", json!({"city": "Rome"}))],
        vec![("get_weather", json!({}))],
        vec![("get_weather", json!({"days": 3}))],
        vec![("get_weather", json!({"city": "Rome", "days": 1.5}))],
        vec![("get_weather", json!({"city": "Rome", "unit": "kelvin"}))],
        vec![("get_weather", json!({"city": "Rome", "country": "Italy"}))],
        vec![("clock", json!({})), ("clok", json!({}))],
        vec![("clock", json!({})); 9],
    ];
    for name in Profile::names() {
        let profile = profile(name);
        let [must, may] =
            [ToolChoice::Required, ToolChoice::Auto].map(|choice| grammar(profile, &tools, &choice));
        for calls in &good {
            let text = written(profile, calls);
            assert!(must.fits(&text) && may.fits(&text), "{name}: {text}");
            assert!(!must.fits(&format!("{text} and more")), "{name}");
        }
        for calls in &bad {
            let text = written(profile, calls);
            assert!(!must.fits(&text), "{name}: {text}");
            // A list of Python that calls no tool by name may be an answer.
            assert!(
                !may.fits(&text) || (name == "pythonic" && text.starts_with("[get_wether")),
                "{name}: {text}"
            );
        }
    }
}

#[test]
fn words_will_do_where_no_call_must_be_made_and_may_come_before_one_that_has_a_mark() {
    let weather = weather();
    let call = [("get_weather", json!({"city": "Rome"}))];
    for name in Profile::names() {
        let profile = profile(name);
        let [must, may] =
            [ToolChoice::Required, ToolChoice::Auto].map(|choice| grammar(profile, &[&weather], &choice));
        for words in [
            "Hello!",
            "你好，有什么可以帮您？",
            "1 < 2, x <too <too <<b>\n\n[1] {\"a\": 2}",
            "{\"a\": 1}",
            "[1] is",
        ] {
            assert!(may.fits(words), "{name}: {words}");
            assert!(!must.fits(words), "{name}: {words}");
        }
        assert!(!may.fits(""), "{name}");
        let both = format!("Let me look.\n{}", written(profile, &call));
        assert!(may.fits(&both) && !must.fits(&both), "{name}");
    }
    let hermes = grammar(profile("hermes"), &[&weather], &ToolChoice::Auto);
    for broken in [
        "<tool_call>",
        "<<tool_call>{}",
        "So: <tool_call>\n{\"name\": \"x\"",
        "<tool_call> get_weather",
        "<tool_response>\n42",
    ] {
        assert!(!hermes.fits(broken), "{broken}");
    }
}

#[test]
fn a_named_tool_is_called_once_and_no_other_is() {
    let (weather, clock) = (weather(), clock());
    for name in Profile::names() {
        let profile = profile(name);
        let grammar = grammar(profile, &[&weather, &clock], &ToolChoice::Named("clock".into()));
        assert!(grammar.fits(&written(profile, &[("clock", json!({}))])), "{name}");
        assert!(!grammar.fits(&written(profile, &[("clock", json!({})), ("clock", json!({}))])), "{name}");
        assert!(!grammar.fits(&written(profile, &[("get_weather", json!({"city": "Rome"}))])), "{name}");
    }
    let hermes = profile("hermes");
    assert_eq!(hermes.form(&[&weather], &ToolChoice::Named("clock".into())), None);
    assert_eq!(hermes.form(&[&weather], &ToolChoice::None), None);
    assert_eq!(hermes.form(&[], &ToolChoice::Auto), None);
    let odd = tool("get \"weather\"", json!({}));
    assert_eq!(hermes.form(&[&odd], &ToolChoice::Required), None);
}

#[test]
fn a_schema_of_the_call_is_for_calls_that_must_be_made() {
    let (weather, clock) = (weather(), clock());
    let schema =
        |name: &str, choice| profile(name).form(&[&weather, &clock], &choice).and_then(|form| form.schema);
    assert_eq!(schema("hermes", ToolChoice::Auto), None);
    let both = schema("hermes", ToolChoice::Required).expect("has a schema");
    assert_eq!(both["anyOf"][1]["properties"]["name"], json!({"const": "clock"}));
    let one = schema("hermes", ToolChoice::Named("get_weather".into())).expect("has a schema");
    assert_eq!(one["properties"]["parameters"], weather.parameters);
    let members: Vec<&String> = one["properties"].as_object().unwrap().keys().collect();
    assert_eq!(
        members,
        ["name", "parameters"],
        "servers hold a model to this order: first the tool is chosen"
    );
    let strict = schema("json_strict", ToolChoice::Required).expect("has a schema");
    assert_eq!(strict["required"], json!(["tool_calls"]));
    // Nobody would find a bare object in what ReAct reads.
    assert_eq!(schema("react", ToolChoice::Required), None);
}

#[test]
fn a_bare_call_is_read_whatever_the_profile() {
    let weather = weather();
    let call = r#"{"name": "get_weather", "parameters": {"city": "Oslo"}}"#;
    for name in Profile::names() {
        let profile = profile(name);
        if profile.form(&[&weather], &ToolChoice::Required).and_then(|form| form.schema).is_none() {
            continue;
        }
        let tools = Tools::new([("get_weather".to_owned(), weather.parameters.clone())]);
        let read = read(call, Reading::expecting(Some(profile.dialect()), tools), None);
        let calls: Vec<_> = read.calls.iter().map(|call| (&*call.name, &*call.arguments)).collect();
        assert_eq!(calls, [("get_weather", r#"{"city": "Oslo"}"#)], "{name}");
    }
}

/// Arguments that fit and that do not, in each way of writing them.
fn check(schema: Value, good: &[Value], bad: &[Value]) {
    let spec = tool("f", json!({"type": "object", "properties": {"x": schema}, "required": ["x"]}));
    for name in ["hermes", "json_strict", "pythonic"] {
        let profile = profile(name);
        let grammar = grammar(profile, &[&spec], &ToolChoice::Required);
        for value in good {
            let text = written(profile, &[("f", json!({"x": value}))]);
            assert!(grammar.fits(&text), "{name}: {text}");
        }
        for value in bad {
            let text = written(profile, &[("f", json!({"x": value}))]);
            assert!(!grammar.fits(&text), "{name}: {text}");
        }
    }
}

#[test]
fn arguments_are_held_to_the_schema() {
    let texts = [json!(""), json!("a"), json!("\"\\/\n é 😀")];
    check(json!({"type": "string"}), &texts, &[json!(1), json!(null), json!(["a"]), json!({})]);
    check(
        json!({"type": "string", "minLength": 1, "maxLength": 3}),
        &[json!("a"), json!("\"\n\\")],
        &[json!(""), json!("abcd")],
    );
    check(
        json!({"type": "integer"}),
        &[json!(0), json!(-12), json!(i64::MAX)],
        &[json!(1.5), json!("1"), json!(true)],
    );
    check(json!({"type": "number"}), &[json!(0.25), json!(-1e300), json!(7)], &[json!("7")]);
    check(json!({"type": "boolean"}), &[json!(true), json!(false)], &[json!("true"), json!(0)]);
    check(json!({"type": ["string", "null"]}), &[json!("a"), json!(null)], &[json!(0)]);
    check(json!({"type": "integer", "nullable": true}), &[json!(1), json!(null)], &[json!("a")]);
    check(
        json!({"enum": ["a\"b", 2, null]}),
        &[json!("a\"b"), json!(2), json!(null)],
        &[json!("a"), json!(3)],
    );
    check(json!({"const": {"k": [true]}}), &[json!({"k": [true]})], &[json!({"k": [false]})]);
    let list = json!({"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 3});
    check(list, &[json!([1]), json!([1, 2, 3])], &[json!([]), json!([1, 2, 3, 4]), json!(["a"])]);
    check(json!({"type": "array"}), &[json!([]), json!([1, "a", {"b": []}])], &[json!({})]);
    let choice = json!({"anyOf": [{"type": "integer"}, {"type": "array", "items": {"type": "boolean"}}]});
    check(choice, &[json!(1), json!([true, false])], &[json!([1]), json!("a")]);
    let nested = json!({"type": "object", "required": ["b", "d"], "properties": {
        "a": {"type": "integer"}, "b": {"type": "string"}, "c": {"type": "integer"}, "d": {"type": "object"}, "e": {}}});
    check(
        nested,
        &[json!({"b": "x", "d": {}}), json!({"a": 1, "b": "x", "c": 2, "d": {"q": [null]}, "e": "any"})],
        &[
            json!({"b": "x"}),
            json!({"a": 1, "d": {}}),
            json!({"b": 1, "d": {}}),
            json!({"b": "x", "d": {}, "z": 1}),
        ],
    );
    let free = json!({"type": "object", "properties": {"a": {}, "b": {}}});
    check(free, &[json!({}), json!({"a": 1}), json!({"b": 1}), json!({"a": 1, "b": 2})], &[json!({"c": 1})]);
    let map = json!({"type": "object", "additionalProperties": {"type": "integer"}});
    check(map, &[json!({}), json!({"p": 1, "q": 2})], &[json!({"p": "a"})]);
}

#[test]
fn what_is_not_understood_is_left_open() {
    let values = [json!(1), json!("a"), json!({"b": [null]})];
    for schema in [
        json!(true),
        json!({}),
        json!({"not": {"type": "string"}}),
        json!({"allOf": [{"minimum": 1}, {"maximum": 2}]}),
        json!({"$ref": "https://example.com/schema"}),
        json!({"$ref": "#/$defs/missing"}),
        json!({"type": "unheard-of"}),
        json!({"anyOf": []}),
        json!({"enum": []}),
    ] {
        check(schema, &values, &[]);
    }
    check(json!({"allOf": [{"type": "integer"}]}), &values[..1], &values[1..]);
}

#[test]
fn references_are_followed_also_in_circles() {
    let spec = tool(
        "f",
        json!({"type": "object", "properties": {"tree": {"$ref": "#/$defs/node"}}, "required": ["tree"],
            "$defs": {"node": {"type": "object", "required": ["v"], "properties": {
                "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}, "v": {"type": "integer"}}}}}),
    );
    let hermes = profile("hermes");
    let held = grammar(hermes, &[&spec], &ToolChoice::Required);
    let call = |tree: Value| written(hermes, &[("f", json!({"tree": tree}))]);
    assert!(held.fits(&call(json!({"children": [{"v": 1}, {"children": [], "v": 2}], "v": 0}))));
    assert!(!held.fits(&call(json!({"children": [{"v": "1"}], "v": 0}))));
    // A circle that says nothing is no rule that a server could follow.
    let circle = tool(
        "f",
        json!({"properties": {"x": {"$ref": "#/$defs/a"}}, "$defs": {
        "a": {"anyOf": [{"$ref": "#/$defs/b"}]}, "b": {"$ref": "#/$defs/a"}}}),
    );
    let held = grammar(hermes, &[&circle], &ToolChoice::Required);
    assert!(held.fits(&written(hermes, &[("f", json!({"x": [1]}))])));
}

#[test]
fn a_schema_that_is_too_much_is_any_object_and_a_grammar_that_is_too_much_is_none() {
    let many: Value = (0..5_000)
        .map(|n| (format!("property_{n}"), json!({"type": "string"})))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let huge = tool("huge", json!({"type": "object", "properties": many}));
    let mut deep = json!({"type": "string"});
    for _ in 0..60 {
        deep = json!({"type": "object", "properties": {"a": deep.clone(), "b": deep}, "required": ["a"]});
        if deep.to_string().len() > 200_000 {
            break;
        }
    }
    let deep = tool("deep", deep);
    for name in Profile::names() {
        let profile = profile(name);
        for spec in [&huge, &deep] {
            let form = profile.form(&[spec], &ToolChoice::Required).expect("has a form");
            assert!(form.grammar.len() < 20_000, "{name} {}: {}", spec.name, form.grammar.len());
            let call = written(profile, &[(&spec.name, json!({"whatever": "it is"}))]);
            assert!(Grammar::read(&form.grammar).fits(&call), "{name}: {call}");
        }
    }
    let tools: Vec<ToolSpec> = (0..2_000).map(|n| tool(&format!("tool_{n}"), weather().parameters)).collect();
    let tools: Vec<&ToolSpec> = tools.iter().collect();
    assert_eq!(profile("hermes").form(&tools, &ToolChoice::Auto), None);
}

proptest! {
    #[test]
    fn any_schema_gives_a_grammar_that_can_be_read(schema in any_schema()) {
        for name in Profile::names() {
            let spec = tool("f", json!({"type": "object", "properties": {"x": schema}}));
            for choice in [ToolChoice::Auto, ToolChoice::Required] {
                grammar(profile(name), &[&spec], &choice);
            }
        }
    }
}

fn any_schema() -> impl Strategy<Value = Value> {
    let leaf = prop::sample::select(vec![
        json!({}),
        json!(7),
        json!({"type": "string", "maxLength": 5}),
        json!({"type": ["integer", "null"]}),
        json!({"enum": ["a", "\"", 1]}),
        json!({"const": "\u{0}\u{7f}"}),
        json!({"$ref": "#"}),
        json!({"$ref": "#/properties/x"}),
        json!({"type": "array", "maxItems": 0}),
        json!({"type": []}),
    ]);
    leaf.prop_recursive(4, 24, 4, |inner| {
        let list = proptest::collection::vec(inner.clone(), 0..3);
        prop_oneof![
            list.clone().prop_map(|schemas| json!({"anyOf": schemas})),
            list.prop_map(|schemas| json!({"oneOf": schemas})),
            inner.clone().prop_map(|items| json!({"type": "array", "items": items, "minItems": 2})),
            (proptest::collection::btree_map(".{0,4}", inner, 0..4), any::<bool>()).prop_map(
                |(members, all)| {
                    let required: Vec<_> = members.keys().filter(|_| all).cloned().collect();
                    json!({"type": "object", "properties": members, "required": required})
                }
            ),
        ]
    })
}
