//! All tools together: what models are told, and how calls pass the pipeline.

use expect_test::expect;
use helve_policy::Rules;
use helve_store::{MemoryStore, RunJournal};
use helve_store_contract::Actor;
use helve_tool::{CacheScope, CallContext, Outcome, Pipeline, Registry, Toolbox};
use helve_types::{CallId, Effect, Fact, FailureKind, ToolCall, World};
use serde_json::{Value, json};

use super::*;

/// Runs one call through the pipeline, as a run would.
async fn execute(settings: &Settings, tool: &str, arguments: &Value) -> Outcome {
    let world = World::deterministic();
    let registry = Registry::new();
    for (tool, guards) in builtin_tools(settings) {
        registry.register(tool, guards, &world).unwrap();
    }
    let store = Arc::new(MemoryStore::new());
    let actor = Actor { world: world.clone(), ..Actor::new(store.clone(), "mei") };
    let started = actor.start(actor.new_conversation(), "go").await;
    let journal = RunJournal::new(store, world.clone(), started.run, started.epoch, 1, Arc::new(|_| {}));
    let call = ToolCall {
        id: CallId::new(started.run, 1, 0),
        provider_id: None,
        name: tool.into(),
        arguments: arguments.to_string(),
        repairs: vec![],
    };
    let requested = Fact::ToolRequested {
        step: 1,
        call: call.id.clone(),
        provider_id: None,
        tool: tool.into(),
        arguments: call.arguments.clone(),
        part: None,
        replaces: None,
        repairs: vec![],
    };
    journal.record(requested).await.unwrap();
    let toolbox = Arc::new(Toolbox::new(registry.list()));
    let cx = CallContext {
        run: started.run,
        call: call.id.clone(),
        toolbox,
        journal,
        world,
        ..testing::context("mei")
    };
    let rules = Rules::new().with_layer("operator", default_rules());
    Pipeline::new(rules).execute_call(&call, &cx).await.unwrap()
}

#[test]
fn the_tools_are_these() {
    let tools = builtin_tools(&Settings::for_tests());
    let names: Vec<_> =
        tools.iter().map(|(tool, _)| (tool.spec().name.as_str(), tool.spec().effect)).collect();
    let expected = [
        ("calculator", Effect::Read),
        ("time", Effect::Read),
        ("search_web", Effect::Read),
        ("save_note", Effect::NonIdempotent),
        ("read_output", Effect::Read),
        ("create_plan", Effect::Idempotent),
        ("update_plan", Effect::Idempotent),
        ("get_plan", Effect::Read),
        ("list_plans", Effect::Read),
        ("ask_user", Effect::Read),
        ("load_skill", Effect::Read),
        ("read_skill_file", Effect::Read),
    ];
    assert_eq!(names, expected);
}

/// With everything that an operator can configure.
fn full() -> Settings {
    let database = Database::new("shop", &"sqlite:shop.db".to_owned().into()).unwrap();
    let images = Images {
        base_url: helve_egress::Url::parse("https://images.example.com/v1").unwrap(),
        model: "painter".into(),
        has_key: false,
        response_format: None,
    };
    Settings { databases: vec![database], images: Some(images), ..Settings::for_tests() }
}

#[test]
fn every_tool_is_told_in_full() {
    let tools = builtin_tools(&full());
    assert_eq!(tools.len(), builtin_tools(&Settings::for_tests()).len() + 2);
    for (tool, _) in tools {
        let spec = tool.spec();
        assert!((2..=3).contains(&spec.examples.len()), "{}", spec.name);
        assert!(spec.examples.iter().any(|example| !example.question.is_ascii()), "{} in Chinese", spec.name);
        assert!(spec.description.len() < 2_000 && !spec.description.ends_with('\n'), "{}", spec.name);
        assert_eq!(spec.parameters["additionalProperties"], false, "{}", spec.name);
        for (field, schema) in spec.parameters["properties"].as_object().unwrap() {
            assert!(schema["description"].is_string(), "{}.{field}", spec.name);
        }
    }
}

#[test]
fn the_schemas_are_small_and_have_no_references() {
    let tools = builtin_tools(&Settings::for_tests());
    let schemas: Vec<String> = tools
        .iter()
        .map(|(tool, _)| serde_json::to_string_pretty(&tool.spec().parameters).unwrap())
        .collect();
    expect![[r#"
        {
          "additionalProperties": false,
          "properties": {
            "expression": {
              "description": "What to calculate, as on paper: `12.5% of 3,480`, `200 + 10%`, `sqrt(2) * (3 + 4)^2`, `round(5/3, 2)`,\n`mod(17, 5)`, `sin(30°)`. Numbers only: no variables, units or equations.",
              "maxLength": 1024,
              "minLength": 1,
              "type": "string"
            }
          },
          "required": [
            "expression"
          ],
          "type": "object"
        }
        {
          "additionalProperties": false,
          "properties": {
            "at": {
              "description": "`now`, or a moment in ISO 8601, such as `2026-03-29T15:30`; now if left out.",
              "maxLength": 64,
              "type": "string"
            },
            "to": {
              "description": "Zones to show the same moment in.",
              "items": {
                "type": "string"
              },
              "maxItems": 10,
              "type": "array"
            },
            "zone": {
              "description": "IANA name, city, offset such as `UTC+8`, or `local`; the server's zone if left out.",
              "maxLength": 64,
              "type": "string"
            }
          },
          "type": "object"
        }
        {
          "additionalProperties": false,
          "properties": {
            "include_answer": {
              "description": "Whether to begin with a summary of the results; yes if left out.",
              "type": "boolean"
            },
            "include_raw_content": {
              "description": "Whether to give the text of whole pages, cut, in the place of excerpts; no if left out.",
              "type": "boolean"
            },
            "max_results": {
              "description": "How many results, 1 to 20; 10 if left out.",
              "format": "uint8",
              "maximum": 20,
              "minimum": 1,
              "type": "integer"
            },
            "preset": {
              "description": "Fills what is left out. `quick`: 3 results, basic, no summary. `deep`: 10 results and the summary.",
              "enum": [
                "quick",
                "deep"
              ],
              "type": "string"
            },
            "query": {
              "description": "What to search for.",
              "maxLength": 400,
              "minLength": 1,
              "type": "string"
            },
            "search_depth": {
              "description": "`advanced` reads the pages, `basic` is faster; `advanced` if left out.",
              "enum": [
                "basic",
                "advanced"
              ],
              "type": "string"
            }
          },
          "required": [
            "query"
          ],
          "type": "object"
        }
        {
          "additionalProperties": false,
          "properties": {
            "text": {
              "description": "The note, in Markdown; at most 4,000 characters.",
              "maxLength": 4000,
              "minLength": 1,
              "type": "string"
            },
            "title": {
              "description": "A heading of a few words.",
              "maxLength": 200,
              "type": "string"
            }
          },
          "required": [
            "text"
          ],
          "type": "object"
        }
        {
          "additionalProperties": false,
          "properties": {
            "call": {
              "description": "The id of the call whose output was cut or left out, exactly as it is said there.",
              "maxLength": 128,
              "minLength": 1,
              "type": "string"
            },
            "from_line": {
              "description": "The first line to read, counted from 1; instead of `offset`.",
              "format": "uint64",
              "minimum": 1,
              "type": "integer"
            },
            "limit": {
              "description": "How many bytes at most; 16,000 if left out, 32,000 at most.",
              "format": "uint32",
              "maximum": 32000,
              "minimum": 1,
              "type": "integer"
            },
            "offset": {
              "description": "The byte to begin at; 0 if nothing else says where.",
              "format": "uint64",
              "minimum": 0,
              "type": "integer"
            },
            "search": {
              "description": "Words to look for, instead of reading: gives the places where they stand.",
              "maxLength": 200,
              "minLength": 1,
              "type": "string"
            },
            "to_line": {
              "description": "The last line to read; with `from_line`.",
              "format": "uint64",
              "minimum": 1,
              "type": "integer"
            }
          },
          "required": [
            "call"
          ],
          "type": "object"
        }
        {
          "additionalProperties": false,
          "properties": {
            "content": {
              "description": "Anything that is no step: a goal, a budget, dates.",
              "maxLength": 8000,
              "type": "string"
            },
            "steps": {
              "description": "What is to be done, in order, one step each.",
              "items": {
                "type": "string"
              },
              "maxItems": 100,
              "type": "array"
            },
            "title": {
              "description": "What the plan is for, in a few words.",
              "maxLength": 200,
              "minLength": 1,
              "type": "string"
            }
          },
          "required": [
            "title"
          ],
          "type": "object"
        }
        {
          "additionalProperties": false,
          "properties": {
            "add_steps": {
              "description": "Steps to add at the end.",
              "items": {
                "type": "string"
              },
              "maxItems": 100,
              "type": "array"
            },
            "content": {
              "description": "A new text in place of the old one.",
              "maxLength": 8000,
              "type": "string"
            },
            "done": {
              "description": "The numbers of steps that are done now.",
              "items": {
                "format": "uint32",
                "minimum": 0,
                "type": "integer"
              },
              "maxItems": 100,
              "type": "array"
            },
            "not_done": {
              "description": "The numbers of steps that are not done after all.",
              "items": {
                "format": "uint32",
                "minimum": 0,
                "type": "integer"
              },
              "maxItems": 100,
              "type": "array"
            },
            "plan_id": {
              "description": "The plan's number.",
              "format": "uint32",
              "minimum": 1,
              "type": "integer"
            },
            "status": {
              "description": "`active`, `done`, or `dropped`.",
              "enum": [
                "active",
                "done",
                "dropped"
              ],
              "type": "string"
            },
            "steps": {
              "description": "All steps, in place of the old ones; steps with the same words stay done.",
              "items": {
                "type": "string"
              },
              "maxItems": 100,
              "type": "array"
            },
            "title": {
              "description": "A new title.",
              "maxLength": 200,
              "type": "string"
            },
            "version": {
              "description": "The version that the change is for, so that it fails if the plan was changed since you looked.",
              "format": "uint32",
              "minimum": 1,
              "type": "integer"
            }
          },
          "required": [
            "plan_id"
          ],
          "type": "object"
        }
        {
          "additionalProperties": false,
          "properties": {
            "plan_id": {
              "description": "The plan's number.",
              "format": "uint32",
              "minimum": 1,
              "type": "integer"
            }
          },
          "required": [
            "plan_id"
          ],
          "type": "object"
        }
        {
          "additionalProperties": false,
          "properties": {
            "status": {
              "description": "Only plans that are `active`, `done` or `dropped`; all if left out.",
              "enum": [
                "active",
                "done",
                "dropped"
              ],
              "type": "string"
            }
          },
          "type": "object"
        }
        {
          "additionalProperties": false,
          "properties": {
            "form": {
              "additionalProperties": true,
              "description": "A form, as a JSON Schema of an object, in place of `options`. Fields are shown in the order of `required`. Types:\nstring (with enum, format email, uri, date, time or date-time, minLength, maxLength, multiline), number and\ninteger (with minimum, maximum), boolean, array of strings with an enum, one level of object. Each may have\ntitle, description and default.",
              "type": "object"
            },
            "options": {
              "description": "2 to 20 short answers to choose from.",
              "items": {
                "type": "string"
              },
              "maxItems": 20,
              "type": "array"
            },
            "question": {
              "description": "What you want to know, as the user will read it.",
              "maxLength": 2000,
              "minLength": 1,
              "type": "string"
            },
            "several": {
              "description": "Whether the user may choose several of the options; one if left out.",
              "type": "boolean"
            }
          },
          "required": [
            "question"
          ],
          "type": "object"
        }
        {
          "additionalProperties": false,
          "properties": {
            "name": {
              "description": "The name of the skill, as the list of skills has it.",
              "maxLength": 64,
              "minLength": 1,
              "type": "string"
            }
          },
          "required": [
            "name"
          ],
          "type": "object"
        }
        {
          "additionalProperties": false,
          "properties": {
            "offset": {
              "description": "The byte to begin at; 0 if left out.",
              "format": "uint64",
              "minimum": 0,
              "type": "integer"
            },
            "path": {
              "description": "The path of the file in the skill, such as `references/forms.md`.",
              "maxLength": 200,
              "minLength": 1,
              "type": "string"
            },
            "skill": {
              "description": "The name of the skill.",
              "maxLength": 64,
              "minLength": 1,
              "type": "string"
            }
          },
          "required": [
            "skill",
            "path"
          ],
          "type": "object"
        }"#]].assert_eq(&schemas.join("\n"));
}

#[test]
fn search_is_guarded_as_a_shared_paid_service() {
    let (_, guards) = search_web::tool(&Settings::for_tests());
    let limit = guards.limits.tool.unwrap();
    assert_eq!((limit.concurrent, limit.per_window), (Some(50), Some(100)));
    assert_eq!((limit.window.as_secs(), limit.wait.as_secs()), (60, 5));
    let cache = guards.cache.unwrap();
    assert_eq!((cache.ttl.as_secs(), cache.scope), (300, CacheScope::Everyone));
    assert_eq!(guards.breaker.unwrap().failures_in_row, 5);
    assert_eq!((guards.timeout.as_secs(), guards.attempts), (20, 3));
    let fallback = guards.fallback.unwrap();
    assert_eq!((fallback.last_good_ms.unwrap().get(), fallback.when_limited), (3_600_000, true));
}

#[tokio::test]
async fn every_example_fits_its_schema() {
    let settings = full();
    for (tool, _) in builtin_tools(&settings) {
        let spec = tool.spec();
        for example in &spec.examples {
            let outcome = execute(&settings, &spec.name, &example.arguments).await;
            match (spec.name.as_str(), outcome) {
                ("save_note" | "image_gen" | "ask_user", Outcome::Asked(_)) => {}
                // What they need is not there: a key, an output, a plan, a file, a skill.
                (
                    "search_web" | "read_output" | "update_plan" | "get_plan" | "query_database"
                    | "load_skill" | "read_skill_file",
                    Outcome::Failed(failure),
                ) => assert_eq!(failure.kind, FailureKind::Failed),
                ("list_plans", Outcome::Finished(_)) => {}
                (_, Outcome::Finished(output)) => assert_eq!(output.text, example.result),
                (name, outcome) => panic!("{name}: {outcome:?}"),
            }
        }
    }
}

#[tokio::test]
async fn arguments_that_do_not_fit_never_reach_a_tool() {
    let settings = Settings::for_tests();
    for (tool, arguments) in [
        ("calculator", json!({})),
        ("calculator", json!({"expression": ""})),
        ("time", json!({"timezone": "UTC"})),
        ("search_web", json!({"query": "q", "max_results": 21})),
        ("search_web", json!({"query": "q", "search_depth": "deep"})),
        ("save_note", json!({"text": "字".repeat(4_001)})),
    ] {
        let outcome = execute(&settings, tool, &arguments).await;
        let Outcome::Refused(failure) = outcome else { panic!("{tool}: {outcome:?}") };
        assert_eq!(failure.kind, FailureKind::BadArguments, "{tool}");
    }
    for arguments in [json!({"zone": null, "at": null, "to": null}), json!({"zone": "UTC"})] {
        let outcome = execute(&settings, "time", &arguments).await;
        assert!(matches!(outcome, Outcome::Finished(_)), "{outcome:?}");
    }
}
