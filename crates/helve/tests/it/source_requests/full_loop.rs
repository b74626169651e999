//! C: the full loop: what one request may set, and what becomes of calls that name no tool.

use super::*;

fn served(model: &Outside) -> Served {
    serve(&one_model("m", model, "tools = \"native\"\n[models.variants.careful]\ntemperature = 0.1"), &[])
}

fn names(question: &Value) -> Vec<String> {
    let tools = question["tools"].as_array().cloned().unwrap_or_default();
    tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect()
}

/// The same settings on each of the routes that start a run.
fn requests(settings: &Value, params: &Value) -> [(&'static str, Value); 3] {
    let with = |mut body: Value, params_at: &str| {
        *body.pointer_mut(params_at).unwrap() = params.clone();
        for (name, value) in settings.as_object().unwrap() {
            body[name] = value.clone();
        }
        body
    };
    [
        ("/api/chat", with(json!({"message": "hi", "config": {"params": {}}}), "/config/params")),
        ("/api/agent", with(json!({"message": "hi", "params": {}}), "/params")),
        ("/api/runs", with(json!({"message": "hi", "params": {}}), "/params")),
    ]
}

/// Sends it and waits until the run is over.
fn sent(served: &Served, path: &str, body: &Value) -> Value {
    let (status, head, answer) = send(served, "POST", path, "", &body.to_string());
    assert!(status < 300, "{path}: {answer}");
    let run = head.lines().find_map(|line| line.strip_prefix("x-helve-run: ")).unwrap().to_owned();
    loop {
        let view = get(served, &format!("/api/runs/{run}"));
        if view["state"] != "running" {
            return view;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

#[test]
fn a_request_carries_its_own_system_prompt_and_parameters_and_switches_tools_off() {
    let settings = json!({"system": "Answer as a pirate.", "tools": {"search_web": false, "time": true}});
    let params = json!({"temperature": 0.3, "top_p": 0.8, "top_k": 40, "max_tokens": 77});
    let model = model(vec![text("Arr.")]);
    let at = model.address;
    let config = format!(
        "[[models]]\nname = \"m\"\nvendor = \"qwen\"\nmodel = \"qwen-max\"\nbase_url = \"http://{at}/v1\"\ntools = \"native\"\n\
         [[agents]]\nname = \"default\"\nsystem = \"You are Helve.\"\n"
    );
    let served = serve(&config, &[("DASHSCOPE_API_KEY", "sk-1")]);
    for (path, body) in requests(&settings, &params) {
        assert_eq!(sent(&served, path, &body)["state"], "completed", "{path}");
        let asked = questions(&model).pop().unwrap();
        let system = asked["messages"][0]["content"].as_str().unwrap();
        assert!(system.starts_with("You are Helve.\n\nAnswer as a pirate."), "{path}: {system}");
        for (name, value) in params.as_object().unwrap() {
            assert_eq!(asked[name], *value, "{path}: {name}");
        }
        let tools = names(&asked);
        assert!(!tools.contains(&"search_web".into()) && tools.contains(&"time".into()), "{path}: {tools:?}");
    }
    // Another request is as the agent is.
    sent(&served, "/api/agent", &json!({"message": "hi"}));
    let asked = questions(&model).pop().unwrap();
    assert_eq!(asked["messages"][0]["content"], "You are Helve.");
    assert!(names(&asked).contains(&"search_web".into()) && asked.get("top_k").is_none());
}

#[test]
fn the_names_of_other_clients_for_the_parameters_are_understood() {
    let model = model(vec![text("Hi.")]);
    let served = served(&model);
    for (path, body) in requests(&json!({}), &json!({"topP": 0.5, "maxOutputTokens": 9})) {
        sent(&served, path, &body);
        let asked = questions(&model).pop().unwrap();
        assert_eq!((&asked["top_p"], &asked["max_tokens"]), (&json!(0.5), &json!(9)), "{path}: {asked}");
    }
    sent(&served, "/api/agent", &json!({"message": "hi", "variant": "careful"}));
    assert_eq!(questions(&model).pop().unwrap()["temperature"], 0.1);
}

#[test]
fn what_is_out_of_bounds_is_refused_with_its_field() {
    let served = served(&model(vec![text("-")]));
    let long = "x".repeat((64 << 10) + 1);
    for (settings, params, field) in [
        (json!({}), json!({"temperature": 2.1}), "temperature"),
        (json!({}), json!({"temperature": -0.1}), "temperature"),
        (json!({}), json!({"top_p": 1.01}), "top_p"),
        (json!({}), json!({"top_k": 0}), "top_k"),
        (json!({}), json!({"top_k": 1001}), "top_k"),
        (json!({}), json!({"max_tokens": 0}), "max_tokens"),
        (json!({}), json!({"max_tokens": 1_000_001}), "max_tokens"),
        (json!({}), json!({"retries": 11}), "retries"),
        (json!({}), json!({"stop": vec!["x"; 17]}), "stop"),
        (json!({"system": long}), json!({}), "system"),
        (
            json!({"tools": (0..257).map(|n| (format!("t{n}"), json!(false))).collect::<serde_json::Map<_, _>>()}),
            json!({}),
            "tools",
        ),
    ] {
        for (path, body) in requests(&settings, &params) {
            let (status, _, answer) = send(&served, "POST", path, "", &body.to_string());
            let problem: Value = serde_json::from_str(&answer).unwrap();
            assert_eq!((status, &problem["field"]), (400, &json!(field)), "{path}: {answer}");
        }
    }
}

#[test]
fn a_tool_that_is_not_there_cannot_be_switched_off_unnoticed() {
    let served = served(&model(vec![text("Hi.")]));
    for (path, body) in requests(&json!({"tools": {"bash": false}}), &json!({})) {
        let (status, head, answer) = send(&served, "POST", path, "", &body.to_string());
        match path {
            "/api/runs" => assert!(status == 400 && answer.contains("`bash`"), "{answer}"),
            _ => assert!(head.contains("x-helve-unknown-fields: tools.bash"), "{path}: {head}"),
        }
    }
}

#[test]
fn retries_are_as_many_as_the_request_says() {
    for (retries, asked) in [(0, 1), (1, 2)] {
        let model =
            Outside::new(|_| Reply::new(503, "application/json", r#"{"error": {"message": "busy"}}"#));
        let served = served(&model);
        for (path, body) in requests(&json!({}), &json!({"retries": retries})) {
            let before = questions(&model).len();
            assert_eq!(sent(&served, path, &body)["state"], "failed", "{path}");
            assert_eq!(questions(&model).len() - before, asked, "{path}");
        }
    }
}

#[test]
fn a_name_in_another_case_is_repaired_and_an_unknown_one_becomes_an_invalid_call_that_the_model_hears_of() {
    let model = model(vec![
        Say::Call("Calculator", json!({"expression": "6 * 7"})),
        Say::Call("no_such_tool", json!({"x": 1})),
        text("Done."),
    ]);
    let served = served(&model);
    let events = events(&served, "/api/chat", "", r#"{"message": "compute"}"#);
    assert_eq!(so_far(&events).0, "Done.");
    let asked = questions(&model);
    let result =
        |question: &Value| question["messages"].as_array().unwrap().last().unwrap()["content"].to_string();
    assert!(result(&asked[1]).contains("42"), "{}", result(&asked[1]));
    assert!(result(&asked[2]).contains("no_such_tool"), "{}", result(&asked[2]));
    let failed = &events.iter().find(|event| event["tool"]["state"] == "failed").unwrap()["tool"];
    let error = failed["error"].as_str().unwrap();
    assert!(error.starts_with("there is no tool `no_such_tool`; the tools are: "), "{failed}");
    let input = json!({"tool": "no_such_tool", "error": error});
    assert_eq!((&failed["name"], &failed["input"]), (&json!("invalid"), &input));
}
