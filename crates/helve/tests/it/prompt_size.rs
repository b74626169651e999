//! What a model in prompt mode is sent by the default agent, as its server receives it.

use serde_json::{Value, json};

use crate::outside::{Outside, Reply};
use crate::scratch;
use crate::serving::Served;

/// More than this, and small models lose the thread.
const SYSTEM_CHARS_MAX: usize = 4_000;

struct SentPrompt {
    system: String,
    turns: Vec<Value>,
}

/// Asks the default agent in this profile with the client's tools; what the model's server received.
fn ask(profile: &str, question: &str, tools: &Value) -> SentPrompt {
    let model = Outside::new(|_| {
        let choice = json!({"index": 0, "delta": {"content": "Yes."}, "finish_reason": "stop"});
        let body = format!("data: {}\n\ndata: [DONE]\n\n", json!({"choices": [choice]}));
        Reply::new(200, "text/event-stream", &body)
    });
    let data = scratch();
    let config = data.join("helve.toml");
    std::fs::write(
        &config,
        format!(
            "[[models]]\nname = \"m\"\nprotocol = \"openai_chat\"\nbase_url = \"http://{}/v1\"\nmodel = \"m\"\n\
             tools = \"prompt:{profile}\"\nprobe = false\n",
            model.address
        ),
    )
    .unwrap();
    let key = ("TAVILY_API_KEY", "tvly-none");
    let served = Served::start(&data, &[("HELVE_CONFIG", config.to_str().unwrap()), key]);
    let body = json!({"message": question, "modelType": "m", "tools": tools}).to_string();
    let answer = served.ask("POST", "/api/chat", "", &body);
    assert!(answer.contains("[DONE]"), "{answer}");
    let asked = model.asked().pop().unwrap();
    let request: Value = serde_json::from_slice(&asked.body).unwrap();
    let mut turns = request["messages"].as_array().unwrap().clone();
    let system = turns.remove(0);
    assert_eq!(system["role"], "system", "{system}");
    SentPrompt { system: system["content"].as_str().unwrap().to_owned(), turns }
}

fn client_tools(count: usize) -> Value {
    let tool = |n: usize| {
        let parameters = json!({"type": "object", "required": ["place"], "properties":
            {"place": {"type": "string", "description": "The place that is meant, such as Bern or a street in it."}}});
        let name = format!("client_tool_number_{n}");
        let description =
            "Does one of many things that a client can do. Call it where that is wanted, and only there.";
        json!({"type": "function", "function": {"name": name, "description": description, "parameters": parameters}})
    };
    (0..count).map(tool).collect()
}

#[test]
fn the_default_agents_prompt_has_a_bound_in_every_profile_and_lists_every_tool() {
    for profile in ["json_strict", "xml_tag", "hermes", "small"] {
        for (question, extra) in [("今天北京的天气怎么样?", 0), ("今天北京的天气怎么样?", 40), ("hello", 40)]
        {
            let asked = ask(profile, question, &client_tools(extra));
            let length = asked.system.chars().count();
            assert!(length < SYSTEM_CHARS_MAX, "{profile}, {extra} more tools: {length}\n{}", asked.system);
            for n in 0..extra {
                assert!(
                    asked.system.contains(&format!("client_tool_number_{n}")),
                    "{profile}: {}",
                    asked.system
                );
            }
            for tool in ["search_web", "time", "calculator", "save_note", "create_plan"] {
                assert!(asked.system.contains(tool), "{profile}: {tool} in {}", asked.system);
            }
        }
    }
}

#[test]
fn examples_are_of_the_tools_that_the_question_is_about() {
    for (question, tools) in [
        ("今天北京的天气怎么样?", vec!["search_web", "time"]),
        ("What time is it in Oslo?", vec!["time"]),
        ("hello", vec!["search_web", "time", "client_tool_number_0"]),
    ] {
        let asked = ask("json_strict", question, &client_tools(3));
        let written: Vec<&Value> = asked.turns.iter().filter(|turn| turn["role"] == "assistant").collect();
        for tool in tools {
            let shown =
                |turn: &&&Value| turn["content"].as_str().unwrap().contains(&format!("\"name\": \"{tool}\""));
            assert!(written.iter().any(|turn| shown(&turn)), "{question}: no turn of {tool}: {written:?}");
        }
        assert_eq!(asked.turns.last().unwrap()["content"], question);
    }
}
