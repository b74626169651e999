//! Rows that lead to a tool inside Helve.

use std::time::Duration;

use helve_policy::{Action, Rule, Rules, Verdict};
use helve_types::Example;

use super::*;
use crate::{CacheScope, LimitSettings};

#[tokio::test]
async fn a_row_may_lead_to_a_tool_inside_helve_and_is_as_grave_as_that() {
    let Shop { catalogue, .. } = new_shop().await;
    let definition = json!({
        "name": "remember", "description": "Keeps a note.", "effect": "read", "tags": ["mine"],
        "endpoint": {"url_template": "internal://save_note"}
    });
    let listed = catalogue.create(read_definition(definition.clone()).unwrap(), "mei").await.unwrap();
    let spec = listed.registered.unwrap().spec().clone();
    assert_eq!(
        (spec.effect, &spec.parameters["properties"]["q"]["type"]),
        (Effect::Idempotent, &json!("string"))
    );

    let mut nowhere = read_definition(definition).unwrap();
    nowhere.name = "other".into();
    for (target, shown) in
        [("nothing", "`internal://save_note`, `internal://time`"), ("remember", "`remember`")]
    {
        nowhere.endpoint.url_template = format!("internal://{target}");
        let wrong = catalogue.create(nowhere.clone(), "mei").await.err().unwrap().to_string();
        assert!(wrong.starts_with("`endpoint.url_template`") && wrong.contains(shown), "{wrong}");
    }
}

/// With a tool that comes with an example and a limit.
fn with_double() -> Catalogue {
    let catalogue = shop(&Arc::default()).catalogue;
    let parameters = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let mut spec = ToolSpec::new("double", "Doubles.", parameters, Effect::Read);
    spec.examples = vec![Example {
        question: "2?".into(),
        arguments: json!({"n": 2}),
        result: "4".into(),
        answer: "4".into(),
    }];
    let limit = LimitSettings { concurrent: Some(5), ..LimitSettings::default() };
    let guards =
        Guards { limits: crate::Limits { tool: Some(limit), user: None }, attempts: 3, ..Guards::default() };
    catalogue.registry().register(Arc::new(Echo(spec, "4".into())), guards, catalogue.world()).unwrap();
    catalogue
}

fn twice(changes: Value) -> Result<Arc<Registered>, DefinitionError> {
    let mut row = json!({
        "name": "twice", "description": "Twice as much.", "endpoint": {"url_template": "internal://double"}
    });
    row.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    with_double().build(&read_definition(row)?, &Arc::default())
}

#[test]
fn it_has_the_targets_parameters_examples_and_guards_where_it_has_none_of_its_own() {
    let made = twice(json!({"cache": {"ttl_ms": 1000}, "rate_limit": {"per_minute": 60}})).unwrap();
    let spec = made.spec();
    assert_eq!((spec.name.as_str(), spec.description.as_str()), ("twice", "Twice as much."));
    assert_eq!(spec.parameters["properties"]["n"]["type"], "integer");
    assert_eq!(spec.examples.len(), 1);
    let guards = &made.guarding.settings;
    let limit = guards.limits.tool.unwrap();
    assert_eq!((limit.concurrent, limit.per_window, guards.attempts), (Some(5), Some(60), 3));
    assert!(guards.cache.is_some());

    let own = json!({"type": "object", "properties": {"n": {"type": "integer", "maximum": 9}}});
    let made = twice(json!({"parameters": own, "attempts": 1})).unwrap();
    assert_eq!(made.spec().parameters["properties"]["n"]["maximum"], 9);
    assert!(made.spec().examples.is_empty(), "they are about other parameters");
    assert_eq!(made.guarding.settings.attempts, 1);
}

#[test]
fn it_takes_nothing_that_is_about_http() {
    let at =
        |name: &str, value: Value| json!({"endpoint": {"url_template": "internal://double", name: value}});
    for (changes, field) in [
        (at("method", json!("POST")), "endpoint.method"),
        (at("query", json!({"q": "{n}"})), "endpoint.query"),
        (at("headers", json!({"X-A": "1"})), "endpoint.headers"),
        (at("body", json!({})), "endpoint.body"),
        (at("body_format", json!("form")), "endpoint.body_format"),
        (at("auth", json!({"type": "bearer", "secret": "weather"})), "endpoint.auth"),
        (at("redirects", json!(1)), "endpoint.redirects"),
        (at("idempotency_header", json!("X-Key")), "endpoint.idempotency_header"),
        (at("busy_is_not_done", json!(false)), "endpoint.busy_is_not_done"),
        (at("timeout_ms", json!(5)), "endpoint.timeout_ms"),
        (json!({"endpoint": {"url_template": "internal://double/../x"}}), "endpoint.url_template"),
        (json!({"endpoint": {"url_template": "internal://"}}), "endpoint.url_template"),
        (json!({"endpoint": {"url_template": "INTERNAL://shell"}}), "endpoint.url_template"),
        (json!({"breaker": {"failure_statuses": [404]}}), "breaker.failure_statuses"),
        (json!({"response_transform": {"path": "a"}}), "response_transform"),
        (json!({"type": "streamable"}), "type"),
        (json!({"effect": "non_idempotent", "cache": {"ttl_ms": 1000}}), "cache"),
        (json!({"attempts": 9}), "attempts"),
        (json!({"name": "a b"}), "name"),
    ] {
        let wrong = twice(changes.clone()).err().unwrap();
        assert_eq!(wrong.field, field, "{changes}: {wrong}");
    }
    assert!(twice(at("timeout_ms", json!(500))).is_ok());
    assert!(twice(json!({"endpoint": {"url_template": "Internal://double"}})).is_ok());
}

#[test]
fn what_is_each_users_own_is_not_stored_under_another_name() {
    let catalogue = shop(&Arc::default()).catalogue;
    let spec = ToolSpec::new("mine", "Mine.", json!({"type": "object"}), Effect::Read);
    let cache = crate::CachePolicy { ttl: Duration::from_secs(300), scope: CacheScope::User };
    let guards = Guards { cache: Some(cache), ..Guards::default() };
    catalogue.registry().register(Arc::new(Echo(spec, "4".into())), guards, catalogue.world()).unwrap();
    let row = |cache: Option<Value>| {
        let mut row = json!({
            "name": "ours", "description": "Ours.", "endpoint": {"url_template": "internal://mine"}
        });
        row["cache"] = cache.unwrap_or_default();
        catalogue.build(&read_definition(row).unwrap(), &Arc::default())
    };
    assert!(row(None).unwrap().guarding.cache.is_none());
    let shared = row(Some(json!({"ttl_ms": 1000, "scope": "params"}))).err().unwrap().to_string();
    assert!(shared.starts_with("`cache`: the answers of this tool are each user's own"), "{shared}");
}

#[tokio::test]
async fn a_tool_that_is_switched_off_is_off_under_every_name() {
    let catalogue = with_double();
    let row = json!({
        "name": "twice", "description": "Twice.", "endpoint": {"url_template": "internal://double"}
    });
    let twice = catalogue.build(&read_definition(row).unwrap(), &Arc::default()).unwrap();
    let cx = CallContext::for_tests("mei");
    let call = async || {
        let arguments = json!({"n": 2});
        twice.tool.as_ref().unwrap().call(crate::Request { arguments: &arguments }, &cx).await
    };
    assert!(call().await.is_ok());
    catalogue.registry().set_enabled("double", false).unwrap();
    assert!(call().await.unwrap_err().to_string().contains("`double` is switched off"));
}

#[test]
fn what_a_rule_says_of_a_tool_holds_for_it_under_every_name() {
    let tool = twice(json!({})).unwrap();
    let arguments =
        crate::check::check_now(&crate::check::Expected::undecided(&tool), r#"{"n": 2}"#).unwrap();
    let candidate = crate::gate::Candidate { tool, arguments, changed: false };
    let cx = CallContext::for_tests("mei");
    for (named, verdict) in [("double", Verdict::Deny), ("twice", Verdict::Deny), ("triple", Verdict::Allow)]
    {
        let deny = Rule { tool: Some(named.into()), ..Rule::new(Action::Deny) };
        let rules = Rules::new().with_layer("operator", vec![deny]);
        assert_eq!(crate::gate::judge_call(&rules, &candidate, &cx).verdict, verdict, "{named}");
    }
}

#[test]
fn parameters_that_the_tool_inside_does_not_take_are_refused_when_the_row_is_made() {
    let refused = |parameters: Value, field: &str, problem: &str| {
        let error = twice(json!({"parameters": parameters})).err().unwrap();
        assert_eq!(error.field, field, "{error}");
        assert!(error.problem.english().contains(problem), "{error}");
    };
    let object = |fields: Value| json!({"type": "object", "properties": fields});
    let foreign = object(json!({"a": {"type": "number"}, "b": {"type": "number"}}));
    refused(foreign, "parameters.properties.a", "`double` takes no such argument; it takes `n`");
    let text = object(json!({"n": {"type": "string"}}));
    refused(text, "parameters.properties.n.type", "takes no string here; it takes integer");
    assert!(twice(json!({"parameters": object(json!({"n": {"type": "integer", "maximum": 9}}))})).is_ok());
}

#[test]
fn a_row_must_require_what_the_tool_inside_needs() {
    let catalogue = shop(&Arc::default()).catalogue;
    let parameters = json!({"type": "object", "properties": {"n": {}, "m": {}}, "required": ["n"]});
    let spec = ToolSpec::new("needy", "Needs n.", parameters, Effect::Read);
    catalogue
        .registry()
        .register(Arc::new(Echo(spec, "4".into())), Guards::default(), catalogue.world())
        .unwrap();
    let make = |parameters: Value| {
        let row = json!({"name": "row", "description": "A row.", "parameters": parameters,
            "endpoint": {"url_template": "internal://needy"}});
        catalogue.build(&read_definition(row)?, &Arc::default())
    };
    for fields in [json!({"m": {}}), json!({"n": {}, "m": {}})] {
        let error = make(json!({"type": "object", "properties": fields})).err().unwrap();
        assert_eq!(error.field, "parameters.required");
        assert!(error.problem.english().contains("`needy` needs `n`"), "{error}");
    }
    assert!(make(json!({"type": "object", "properties": {"n": {}}, "required": ["n"]})).is_ok());
}

#[tokio::test]
async fn what_is_required_and_not_described_is_refused_on_every_way_in() {
    let Shop { catalogue, .. } = new_shop().await;
    let row = |required: Value| {
        json!({"name": "row", "description": "A row.", "endpoint": {"url_template": "https://example.com/"},
            "parameters": {"type": "object", "properties": {"a": {"type": "string"}}, "required": required}})
    };
    let says = |error: CatalogueError| {
        let error = error.to_string();
        assert!(error.starts_with("`parameters.required.1`: \"zz\" is not among `properties`"), "{error}");
    };
    let wrong = read_definition(row(json!(["a", "zz"]))).unwrap();
    says(catalogue.check(&wrong).unwrap_err());
    says(catalogue.create(wrong.clone(), "mei").await.err().unwrap());
    catalogue.create(read_definition(row(json!(["a"]))).unwrap(), "mei").await.unwrap();
    says(catalogue.update("row", Change::Whole(wrong.into()), None, "mei").await.err().unwrap());
    let patch = json!({"parameters": {"required": ["a", "zz"]}});
    says(catalogue.update("row", Change::Patch(patch), None, "mei").await.err().unwrap());
}
