//! What a definition becomes, and what is said about one that is wrong.

use expect_test::{Expect, expect};
use helve_tool::CacheScope;
use serde_json::{Value, json};

use super::*;
use crate::testing::{definition, make, tools};

fn check_wrong(changes: Value, expected: Expect) {
    expected.assert_eq(&make(changes).err().map_or("made".into(), |error| error.to_string()));
}

#[test]
fn a_row_of_few_lines_gets_every_guard() {
    let (tool, guards) = make(json!({"display_name": "Weather", "tags": ["sky"]})).unwrap();
    let spec = tool.spec();
    assert_eq!((spec.name.as_str(), spec.title.as_deref()), ("weather", Some("Weather")));
    assert_eq!((spec.effect, &spec.tags[..]), (Effect::Read, &["sky".to_owned()][..]));
    assert_eq!((guards.timeout, guards.attempts), (Duration::from_secs(30), 2));
    assert_eq!(guards.breaker.unwrap().failures_in_row, 5);
    assert!(guards.cache.is_none() && guards.fallback.is_none());
    assert!(guards.limits.tool.is_none() && guards.limits.user.is_none());
}

#[test]
fn guards_are_what_the_row_says() {
    let wishes = json!({"endpoint": {"timeout_ms": 1500}, "cache": {"ttl_ms": 60000, "scope": "params"}});
    let (_, guards) = make(wishes).unwrap();
    assert_eq!(guards.timeout, Duration::from_millis(1500));
    assert_eq!(guards.cache.unwrap().scope, CacheScope::Everyone);
    assert!(guards.breaker.is_some());
}

#[test]
fn what_is_wrong_is_said_with_its_field() {
    check_wrong(json!({"name": "my tool"}), expect!["`name`: must have 1 to 64 letters, digits, `_` or `-`"]);
    check_wrong(
        json!({"description": " "}),
        expect!["`description`: it is empty; say what the tool does and when to use it"],
    );
    check_wrong(
        json!({"parameters": {"type": "string"}}),
        expect![[r#"`parameters`: must be a JSON Schema with `"type": "object"`"#]],
    );
    check_wrong(
        json!({"parameters": {"type": "object", "properties": {"city": {"type": "wat"}}}}),
        expect![[
            r#"`parameters`: is not a valid JSON Schema: "wat" is not valid under any of the schemas listed in the 'anyOf' keyword"#
        ]],
    );
    check_wrong(
        json!({"endpoint": {"url_template": "ftp://api.example.com/{city}"}}),
        expect!["`endpoint.url_template`: `ftp:` is no scheme that is sent to; use https"],
    );
    check_wrong(
        json!({"endpoint": {"url_template": "http://api.example.com/{city}"}}),
        expect![[
            r#"`endpoint.url_template`: `api.example.com` is asked for over plain HTTP, which others on the network can read; use https. Operator: if it is meant to be reached, set `allow = ["api.example.com"]` in `[egress]`"#
        ]],
    );
    check_wrong(
        json!({"endpoint": {"url_template": "https://169.254.169.254/{city}"}}),
        expect![[
            r#"`endpoint.url_template`: `169.254.169.254` is not on the public internet, and only public places are reached; do not try other spellings of it. Operator: if it is meant to be reached, set `allow = ["169.254.169.254"]` in `[egress]`"#
        ]],
    );
    check_wrong(
        json!({"endpoint": {"redirects": 4}}),
        expect!["`endpoint.redirects`: 3 is the most that are followed"],
    );
    check_wrong(
        json!({"endpoint": {"timeout_ms": 50}}),
        expect!["`endpoint.timeout_ms`: 50 is not between 100 and 600000"],
    );
    check_wrong(
        json!({"endpoint": {"auth": {"type": "bearer", "secret": "unknown"}}}),
        expect![
            "`endpoint.auth.secret`: the operator's configuration has no secret `unknown` (known: weather); it is set in `[secrets]`"
        ],
    );
    check_wrong(
        json!({"endpoint": {"url_template": "https://evil.example.com/{city}", "auth": {"type": "bearer", "secret": "weather"}}}),
        expect![
            "`endpoint.auth.secret`: the secret `weather` may not be sent to `evil.example.com`; the operator allows hosts in `[secrets]`"
        ],
    );
    check_wrong(
        json!({"endpoint": {"auth": {"type": "api_key", "secret": "weather", "name": "Host"}}}),
        expect!["`endpoint.auth.name`: `Host` is no header that a key can be sent in"],
    );
    check_wrong(
        json!({"endpoint": {"headers": {"X-Api-Key": "1"}, "auth": {"type": "api_key", "secret": "weather"}}}),
        expect!["`endpoint.auth.name`: `headers` has this one already; leave it out there"],
    );
    check_wrong(
        json!({"endpoint": {"auth": {"type": "basic", "username": "a:b", "secret": "weather"}}}),
        expect!["`endpoint.auth.username`: a username has no colon and no control characters"],
    );
    check_wrong(
        json!({"effect": "idempotent", "endpoint": {"method": "POST"}}),
        expect![
            "`effect`: a POST or PATCH can be repeated only if the other side knows it again; name the header that it takes the key from in `endpoint.idempotency_header`"
        ],
    );
    check_wrong(
        json!({"effect": "read", "endpoint": {"method": "DELETE"}}),
        expect!["`effect`: a PUT, PATCH or DELETE changes something; say `idempotent` or `non_idempotent`"],
    );
    check_wrong(
        json!({"endpoint": {"idempotency_header": "X-Key"}}),
        expect!["`endpoint.idempotency_header`: a call that only reads needs no key; leave it out"],
    );
    check_wrong(
        json!({"endpoint": {"method": "POST", "idempotency_header": "Host"}}),
        expect![
            "`endpoint.idempotency_header`: this header is not a tool's to set: it follows from the address"
        ],
    );
    check_wrong(
        json!({"response_transform": {"path": "a", "jq": ".a"}}),
        expect!["`response_transform.jq`: there is a `path` as well; keep one of them"],
    );
    check_wrong(
        json!({"response_transform": {"path": "a..b"}}),
        expect![
            "`response_transform.path`: the path cannot be read at `..b`; write it like `data.items.0.title`"
        ],
    );
    check_wrong(
        json!({"response_transform": {"jq": ".a | foo"}}),
        expect!["`response_transform.jq`: at character 6: there is no function `foo` (`foo`)"],
    );
    check_wrong(
        json!({"response_transform": {"jq": ".a", "bytes_max": 5000000}}),
        expect!["`response_transform.bytes_max`: 1048576 is the most that can be asked for"],
    );
    check_wrong(
        json!({"endpoint": {"method": "POST"}, "cache": {"ttl_ms": 1000}}),
        expect![[
            r#"`cache`: only a tool that reads can be answered from memory; say `"effect": "read"` if this one does"#
        ]],
    );
    check_wrong(
        json!({"type": "streamable", "endpoint": {"method": "HEAD"}}),
        expect!["`type`: the answer to a HEAD has no body, so there is nothing to stream"],
    );
}

#[test]
fn what_is_unusual_and_can_be_true_is_taken() {
    for (changes, effect) in [
        (json!({"effect": "non_idempotent"}), Effect::NonIdempotent),
        (json!({"effect": "idempotent", "endpoint": {"method": "DELETE"}}), Effect::Idempotent),
        (
            json!({"effect": "idempotent", "endpoint": {"method": "POST", "idempotency_header": "X-Key"}}),
            Effect::Idempotent,
        ),
        (json!({"effect": "read", "endpoint": {"method": "POST"}, "cache": {"ttl_ms": 1000}}), Effect::Read),
        (json!({"endpoint": {"method": "PUT"}}), Effect::NonIdempotent),
    ] {
        let (tool, _) = make(changes.clone()).unwrap();
        assert_eq!(tool.spec().effect, effect, "{changes}");
    }
}

/// The registry takes whatever `make` lets pass.
#[test]
fn what_is_made_can_be_registered() {
    let (tool, guards) = make(json!({})).unwrap();
    let registry = helve_tool::Registry::new();
    registry.register(tool, guards, &helve_types::World::deterministic()).unwrap();
    assert!(registry.get(&definition(json!({})).name).is_some());
}

/// Whoever copies from the guide gets a tool.
#[test]
fn the_definitions_of_the_guide_are_right() {
    let guide = include_str!("../../../../docs/guide/tools.md");
    let (_, rest) = guide.split_once("-d '").unwrap();
    let weather: ToolDefinition = serde_json::from_str(rest.split_once("'\n").unwrap().0).unwrap();
    assert_eq!(tools().build_tool(&weather, &Arc::default()).unwrap().0.spec().name, "weather");
    let (_, rest) = guide.rsplit_once("```json\n").unwrap();
    let time: ToolDefinition = serde_json::from_str(rest.split_once("```").unwrap().0).unwrap();
    assert_eq!(time.endpoint.url_template, "internal://time");
}

#[test]
fn what_a_tool_brings_in_and_carries_out_goes_by_its_key_its_host_and_its_own_word() {
    let flow = |changes: Value| {
        let (tool, _) = make(changes).unwrap();
        let spec = tool.spec();
        spec.flow.clone().with_terms(&spec.labels)
    };
    let at = |url: &str| json!({"endpoint": {"url_template": url}});
    let public = flow(at("https://api.example.com/{city}"));
    assert!(!public.private && public.untrusted && public.outward);
    assert_eq!(public.place.as_deref(), Some("api.example.com"));
    let keyed = json!({"endpoint": {"auth": {"type": "bearer", "secret": "weather"}}});
    assert!(flow(keyed).private);
    let near = flow(at("http://127.0.0.1:8080/{city}"));
    assert!(near.private && near.outward);
    assert_eq!(near.place.as_deref(), Some("127.0.0.1:8080"));
    let own = flow(json!({"labels": {"untrusted": false, "outward": false, "private": true}}));
    assert!(own.private && !own.untrusted && !own.outward);
    let led_on = flow(json!({"endpoint": {"redirects": 1}}));
    assert_eq!(led_on.place, None, "nobody can say where it ends");
}

#[test]
fn a_host_that_only_a_network_knows_is_near() {
    let cases = [
        ("http://10.1.2.3/", true),
        ("http://192.168.0.9/", true),
        ("http://169.254.1.1/", true),
        ("http://[::1]/", true),
        ("http://[fd00::1]/", true),
        ("http://wiki/", true),
        ("http://wiki.internal/", true),
        ("http://nas.local./", true),
        ("https://api.example.com/", false),
        ("https://8.8.8.8/", false),
        ("https://internal.example.com/", false),
        ("https://[2001:4860:4860::8888]/", false),
    ];
    for (url, near) in cases {
        assert_eq!(super::is_local_host(&url.parse().unwrap()), near, "{url}");
    }
}
