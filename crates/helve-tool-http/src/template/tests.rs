//! What templates refuse, what they make, and that no argument leads them elsewhere.

use expect_test::{Expect, expect};
use helve_types::ToolDefinition;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::testing::definition;

fn template(definition: &ToolDefinition) -> Result<Template, DefinitionError> {
    Template::parse(&definition.endpoint, &definition.parameters, Some("key"))
}

/// The request as a few lines.
fn check(changes: Value, arguments: Value, expected: Expect) {
    let written = match template(&definition(changes)).unwrap().fill(&arguments) {
        Err(problem) => format!("no: {problem}"),
        Ok(filled) => {
            let mut written = filled.url.to_string();
            for (name, value) in &filled.headers {
                written.push_str(&format!("\n{name}: {}", String::from_utf8_lossy(value.as_bytes())));
            }
            if let Some(body) = &filled.body {
                written.push_str(&format!("\n\n{}", String::from_utf8_lossy(body)));
            }
            written
        }
    };
    expected.assert_eq(&written);
}

fn check_wrong(changes: Value, expected: Expect) {
    expected.assert_eq(&template(&definition(changes)).unwrap_err().to_string());
}

fn url(template: &str) -> Value {
    json!({"endpoint": {"url_template": template}})
}

#[test]
fn arguments_go_where_their_placeholders_are_and_the_rest_into_the_query() {
    check(
        json!({}),
        json!({"city": "São Paulo", "units": "metric"}),
        expect!["https://api.example.com/v1/S%C3%A3o%20Paulo/now?units=metric"],
    );
    check(
        json!({}),
        json!({"city": "a/b?c#d&e=f%2e"}),
        expect!["https://api.example.com/v1/a%2Fb%3Fc%23d%26e%3Df%252e/now"],
    );
    check(
        url("https://api.example.com/v1/{city}.json?u={units}&fixed=1&flag"),
        json!({"city": "北京", "units": "a b&c"}),
        expect!["https://api.example.com/v1/%E5%8C%97%E4%BA%AC.json?u=a%20b%26c&fixed=1&flag"],
    );
    check(
        url("https://api.example.com/v1/{city}?u={units}"),
        json!({"city": "x"}),
        expect!["https://api.example.com/v1/x"],
    );
    check(
        json!({"endpoint": {"query": {"q": "weather in {city}", "u": "{units}"}, "headers": {"X-City": "{city}", "X-U": "u={units}"}, "url_template": "https://API.example.com:443/find"}}),
        json!({"city": "Köln"}),
        expect![[r#"
            https://api.example.com/find?q=weather%20in%20K%C3%B6ln
            x-city: Köln"#]],
    );
}

#[test]
fn lists_repeat_their_name_and_objects_are_json() {
    let parameters = json!({"type": "object", "properties": {
        "ids": {"type": "array"}, "filter": {"type": "object"}, "n": {"type": "integer"}, "on": {"type": "boolean"}, "none": {}
    }});
    let arguments = json!({"ids": [1, "b c"], "filter": {"a": [1]}, "n": 3.0, "on": true, "none": null});
    let at = |template: &str| json!({"endpoint": {"url_template": template}, "parameters": parameters});
    check(
        at("https://api.example.com/x"),
        arguments.clone(),
        expect!["https://api.example.com/x?filter=%7B%22a%22%3A%5B1%5D%7D&ids=1&ids=b%20c&n=3&on=true"],
    );
    check(
        at("https://api.example.com/x?i={ids}&f={filter}&all=a,{ids}"),
        arguments.clone(),
        expect![
            "https://api.example.com/x?i=1&i=b%20c&f=%7B%22a%22%3A%5B1%5D%7D&all=a,1%2Cb%20c&n=3&on=true"
        ],
    );
}

#[test]
fn what_posts_has_a_body() {
    let post = |changes: Value| {
        let mut all =
            json!({"endpoint": {"url_template": "https://api.example.com/v1/{city}", "method": "POST"}});
        all["endpoint"].as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        all
    };
    let arguments = json!({"city": "Oslo", "units": "metric"});
    check(
        post(json!({})),
        arguments.clone(),
        expect![[r#"
        https://api.example.com/v1/Oslo
        content-type: application/json

        {"units":"metric"}"#]],
    );
    check(
        post(json!({})),
        json!({"city": "Oslo"}),
        expect![[r#"
        https://api.example.com/v1/Oslo
        content-type: application/json

        {}"#]],
    );
    check(
        post(json!({"body_format": "form"})),
        arguments.clone(),
        expect![[r#"
        https://api.example.com/v1/Oslo
        content-type: application/x-www-form-urlencoded

        units=metric"#]],
    );
    check(
        post(
            json!({"body": {"u": "{units}", "note": "for {city}: {{}}", "deep": [{"c": "{city}"}, "{units}"], "k": 1}}),
        ),
        arguments.clone(),
        expect![[r#"
        https://api.example.com/v1/Oslo
        content-type: application/json

        {"deep":[{"c":"Oslo"},"metric"],"k":1,"note":"for Oslo: {}","u":"metric"}"#]],
    );
    check(
        post(
            json!({"body": {"u": "{units}", "text": "in {units}", "deep": [{"c": "{units}"}, "{units}"], "k": null}}),
        ),
        json!({"city": "Oslo"}),
        expect![[r#"
        https://api.example.com/v1/Oslo
        content-type: application/json

        {"deep":[{}],"k":null}"#]],
    );
    check(
        post(json!({"headers": {"Content-Type": "application/vnd.api+json"}})),
        arguments,
        expect![[r#"
        https://api.example.com/v1/Oslo
        content-type: application/vnd.api+json

        {"units":"metric"}"#]],
    );
    let typed = json!({
        "endpoint": {"url_template": "https://api.example.com/x", "method": "PUT", "body": {"list": "{list}", "text": "{list}, {n}", "n": "{n}"}},
        "parameters": {"type": "object", "properties": {"list": {"type": "array"}, "n": {"type": "number"}}}
    });
    check(
        typed,
        json!({"list": [1, {"a": null}], "n": 1.5}),
        expect![[r#"
        https://api.example.com/x
        content-type: application/json

        {"list":[1,{"a":null}],"n":1.5,"text":"1,{\"a\":null}, 1.5"}"#]],
    );
    let nested = json!({
        "endpoint": {"url_template": "https://api.example.com/x", "method": "POST", "body": "{body}"},
        "parameters": {"type": "object", "properties": {"body": {"type": "object"}}}
    });
    check(nested.clone(), json!({}), expect!["https://api.example.com/x"]);
    check(
        nested,
        json!({"body": null}),
        expect![[r#"
        https://api.example.com/x
        content-type: application/json

        null"#]],
    );
    let bare = json!({"endpoint": {"url_template": "https://api.example.com/x", "method": "POST"}, "parameters": {"type": "object"}});
    check(bare, json!({}), expect!["https://api.example.com/x"]);
}

#[test]
fn only_what_the_schema_names_is_sent_unless_it_is_open() {
    check(json!({}), json!({"city": "x", "admin": true}), expect!["https://api.example.com/v1/x/now"]);
    let open = json!({"parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": true}});
    check(
        open.clone(),
        json!({"city": "x", "admin": true}),
        expect!["https://api.example.com/v1/x/now?admin=true"],
    );
    // The credential's own parameter is nobody else's.
    check(
        open,
        json!({"city": "x", "key": "mine"}),
        expect!["no: there is no parameter `key`; leave it out"],
    );
}

#[test]
fn a_default_stands_in_for_what_is_not_given() {
    let changes = json!({"parameters": {"type": "object", "properties": {"city": {"type": "string", "default": "Bern"}}}});
    check(changes, json!({}), expect!["https://api.example.com/v1/Bern/now"]);
}

#[test]
fn arguments_that_lead_elsewhere_are_refused() {
    for value in [
        "",
        ".",
        "..",
        "../admin",
        "../../admin",
        "a/../b",
        "..\\admin",
        "%2e%2e",
        "%2E%2e%2fadmin",
        "%252e%252e",
        "a\u{0}b",
        "a\r\nb",
        "\u{7f}",
        "a\u{85}b",
    ] {
        let template = template(&definition(json!({}))).unwrap();
        assert!(template.fill(&json!({"city": value})).is_err(), "{value:?}");
    }
    check(
        json!({}),
        json!({"city": ".."}),
        expect!["no: `city` is a part of the address and must not lead elsewhere with `.` or `..`"],
    );
    check(
        json!({}),
        json!({"city": ""}),
        expect!["no: `city` is a part of the address: give a text that is not empty"],
    );
    check(
        json!({}),
        json!({}),
        expect!["no: `city` is a part of the address: give a text that is not empty"],
    );
    check(
        json!({}),
        json!({"city": {"a": 1}}),
        expect!["no: `city` is a part of the address: give a text that is not empty"],
    );
    // Two halves of a step up.
    let halves = json!({
        "endpoint": {"url_template": "https://api.example.com/{city}{units}/x"},
        "parameters": {"type": "object", "properties": {"city": {}, "units": {}}, "required": ["city", "units"]}
    });
    check(
        halves.clone(),
        json!({"city": ".", "units": "."}),
        expect!["no: `city` is a part of the address and must not lead elsewhere with `.` or `..`"],
    );
    check(
        halves,
        json!({"city": "a", "units": "."}),
        expect!["no: `units` is a part of the address and must not lead elsewhere with `.` or `..`"],
    );
    check(
        url("https://api.example.com/%2e{city}"),
        json!({"city": "a"}),
        expect!["https://api.example.com/%2ea"],
    );
    check(
        json!({"endpoint": {"headers": {"X-City": "{city}"}, "url_template": "https://api.example.com/"}}),
        json!({"city": "a\r\nX-Evil: 1"}),
        expect![
            "no: the header `x-city` cannot be made of these arguments: a header's value has no line breaks and no control characters"
        ],
    );
}

#[test]
fn what_looks_dangerous_and_is_only_text_stays_text() {
    for (value, path) in [
        ("//evil.com/x", "/v1/%2F%2Fevil.com%2Fx/now"),
        ("https://evil.com", "/v1/https%3A%2F%2Fevil.com/now"),
        ("@evil.com", "/v1/%40evil.com/now"),
        ("a?b=c", "/v1/a%3Fb%3Dc/now"),
        ("a#b", "/v1/a%23b/now"),
        ("a;b:c", "/v1/a%3Bb%3Ac/now"),
        ("...", "/v1/.../now"),
        ("{city}", "/v1/%7Bcity%7D/now"),
        ("owner/name", "/v1/owner%2Fname/now"),
    ] {
        let filled = template(&definition(json!({}))).unwrap().fill(&json!({"city": value})).unwrap();
        assert_eq!(filled.url.as_str(), format!("https://api.example.com{path}"), "{value}");
    }
}

#[test]
fn a_template_that_cannot_be_right_is_refused_with_its_field() {
    for template in [
        "api.example.com/x",
        "https://{city}.example.com/x",
        "https://api.example.com:{city}/x",
        "{city}://api.example.com/x",
        "https://user:{city}@api.example.com/x",
        "https://user@api.example.com/x",
        "https://api.example.com/x#{city}",
        "https://api.example.com/x y",
        "https://api.example.com\\@evil.com/",
        "https://api.example.com/../x",
        "https://api.example.com/%2e%2E/x",
        "https://api.example.com/{town}",
        "https://api.example.com/{units}",
        "https://api.example.com/{city",
        "https://api.example.com/city}",
        "https://api.example.com/{}",
        "https://api.example.com/?{city}=1",
        "https://api.example.com/?q={town}",
        "https:///x",
        "https://[::1/x",
    ] {
        let error = super::tests::template(&definition(url(template))).unwrap_err();
        assert!(
            ["endpoint.url_template", "parameters"].contains(&error.field.as_str()),
            "{template}: {error}"
        );
    }
    check_wrong(
        url("https://{city}.example.com/x"),
        expect![
            "`endpoint.url_template`: scheme, host and port are fixed: placeholders can stand in the path and in the query"
        ],
    );
    check_wrong(
        url("https://api.example.com/{town}"),
        expect![
            "`endpoint.url_template`: `{town}` is no property of `parameters` (it has city, units); write every brace twice that is meant as such"
        ],
    );
    check_wrong(
        url("https://api.example.com/{units}"),
        expect![
            "`parameters`: `{units}` is a part of the path, so `units` must be in `required` or have a `default`"
        ],
    );
    check_wrong(
        url("https://api.example.com/{city"),
        expect![
            "`endpoint.url_template`: `{city` has a brace without its partner; write `{{` for a brace that is meant as such"
        ],
    );
    check_wrong(
        json!({"endpoint": {"query": {"u": "{town}"}}}),
        expect![
            "`endpoint.query.u`: `{town}` is no property of `parameters` (it has city, units); write every brace twice that is meant as such"
        ],
    );
    check_wrong(
        json!({"endpoint": {"headers": {"X-Town": "{town}"}}}),
        expect![
            "`endpoint.headers.X-Town`: `{town}` is no property of `parameters` (it has city, units); write every brace twice that is meant as such"
        ],
    );
    check_wrong(
        json!({"endpoint": {"headers": {"Host": "evil.com"}}}),
        expect!["`endpoint.headers.Host`: this header is not a tool's to set: it follows from the address"],
    );
    check_wrong(
        json!({"endpoint": {"headers": {"Authorization": "Bearer abc"}}}),
        expect![
            "`endpoint.headers.Authorization`: credentials do not belong into a row; name the operator's secret in `endpoint.auth`"
        ],
    );
    check_wrong(
        json!({"endpoint": {"headers": {"X A": "1"}}}),
        expect!["`endpoint.headers.X A`: `X A` is no header name"],
    );
    check_wrong(
        json!({"endpoint": {"headers": {"X-A": "1\r\nX-B: 2"}}}),
        expect!["`endpoint.headers.X-A`: a header's value has no line breaks and no control characters"],
    );
    check_wrong(
        json!({"endpoint": {"body": {"a": 1}}}),
        expect!["`endpoint.body`: a GET or HEAD has no body; use `query`, or another method"],
    );
    check_wrong(
        json!({"endpoint": {"method": "POST", "body": {"a": {"b": ["{town}"]}}}}),
        expect![
            "`endpoint.body`: `{town}` is no property of `parameters` (it has city, units); write every brace twice that is meant as such"
        ],
    );
    check_wrong(
        json!({"endpoint": {"method": "POST", "body": {"a": ["{"]}}}),
        expect![
            "`endpoint.body.a.0`: `{` has a brace without its partner; write `{{` for a brace that is meant as such"
        ],
    );
    check_wrong(
        json!({"endpoint": {"method": "POST", "body": ["{city}"]}}),
        expect![
            "`endpoint.body`: no placeholder uses `units`, and it cannot be added to a body that is no object"
        ],
    );
    check_wrong(
        json!({"endpoint": {"method": "POST", "body": "x", "body_format": "form"}}),
        expect!["`endpoint.body`: a form is an object: names and their values"],
    );
    check_wrong(
        json!({"endpoint": {"query": {"units": "metric"}}}),
        expect![
            "`parameters.properties.units`: no placeholder uses it, and something else is sent under its name; put `{…}` where it belongs"
        ],
    );
    check_wrong(
        json!({"endpoint": {"method": "POST", "body": {"units": "metric"}}}),
        expect![
            "`parameters.properties.units`: no placeholder uses it, and something else is sent under its name; put `{…}` where it belongs"
        ],
    );
}

/// Templates with a placeholder wherever one may stand.
const TEMPLATES: [&str; 6] = [
    "https://api.example.com/v1/{a}/now",
    "https://api.example.com:8443/v1/pre-{a}.json/{b}",
    "http://127.0.0.1/{a}{b}",
    "https://api.example.com/{a}?q={b}&r=x{a}",
    "https://[2001:db8::1]/a%20b/{a}/",
    "https://bücher.example/天气/{a}/{b}?k={{{b}}}",
];

fn value() -> impl Strategy<Value = Value> {
    let pieces = proptest::sample::select(vec![
        "..", ".", "/", "\\", "%2e", "%2f", "%", "@", ":", "?", "#", "//", "evil.com", "{a}", "\r\n", "\t",
        " ", "a", "é", "\u{202e}",
    ]);
    prop_oneof![
        proptest::collection::vec(pieces, 0..6).prop_map(|pieces| json!(pieces.concat())),
        any::<String>().prop_map(|text| json!(text)),
        any::<i64>().prop_map(|number| json!(number)),
        any::<f64>().prop_map(|number| json!(number)),
        proptest::collection::vec(any::<String>(), 0..3).prop_map(|texts| json!(texts)),
        Just(json!(null)),
        Just(json!({"a": "../.."})),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn no_argument_changes_where_a_call_goes(which in 0..TEMPLATES.len(), a in value(), b in value(), more in value()) {
        let written = TEMPLATES[which];
        let template = UrlTemplate::parse(written).unwrap();
        let given: Map<String, Value> = [("a".to_owned(), a), ("b".to_owned(), b)].into_iter().collect();
        let pairs = plain_list(&more).into_iter().map(|text| (text.clone(), text)).collect::<Vec<_>>();
        if let Ok(url) = template.fill(&given, &pairs) {
            let fixed = Url::parse(&written[..written.find('{').unwrap()]).unwrap();
            prop_assert_eq!(url.origin(), fixed.origin());
            prop_assert!(url.path().starts_with(fixed.path()), "{}", url);
            prop_assert!(url.username().is_empty() && url.password().is_none() && url.fragment().is_none());
            let segments = written.split("://").nth(1).unwrap().split('?').next().unwrap().matches('/').count();
            prop_assert_eq!(url.path_segments().unwrap().count(), segments);
            let again = Url::parse(url.as_str()).unwrap();
            prop_assert_eq!(again.as_str(), url.as_str());
            prop_assert!(url.path_segments().unwrap().all(|segment| segment != "." && segment != ".."));
        }
    }

    #[test]
    fn any_text_is_a_template_or_an_error(written in r#"(https://)?[a-z{}/?&=%#@:.\[\]\\ é]{0,40}"#) {
        _ = UrlTemplate::parse(&written);
        _ = Text::parse(&written);
    }

    #[test]
    fn what_is_put_in_comes_out_at_the_other_end(value in "\\PC{1,20}") {
        let template = UrlTemplate::parse("https://api.example.com/{a}?q={a}").unwrap();
        let given: Map<String, Value> = [("a".to_owned(), json!(value))].into_iter().collect();
        if let Ok(url) = template.fill(&given, &[]) {
            let asked: Vec<(String, String)> = url.query_pairs().into_owned().collect();
            prop_assert_eq!(asked, vec![("q".to_owned(), value)]);
        }
    }
}
