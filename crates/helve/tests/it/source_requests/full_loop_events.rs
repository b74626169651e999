//! C: what its clients see of a run, and what a person decides in it.

use super::*;

/// A message of a model in several pieces.
fn pieces(deltas: &[Value], finish: &str) -> Reply {
    let chunk = |delta: &Value, finish: Option<&str>| {
        format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}))
    };
    let usage = json!({"choices": [], "usage": {"prompt_tokens": 20, "completion_tokens": 5}});
    let mut frames: Vec<String> = deltas.iter().map(|delta| chunk(delta, None)).collect();
    frames.push(chunk(&json!({}), Some(finish)));
    frames.push(format!("data: {usage}\n\ndata: [DONE]\n\n"));
    Reply::Slowly(frames)
}

fn call_in_pieces(expression: &str) -> Vec<Value> {
    let function = |function: Value| json!({"tool_calls": [{"index": 0, "function": function}]});
    let named = json!({"index": 0, "id": "call_1", "type": "function", "function": {"name": "calculator", "arguments": ""}});
    vec![
        json!({"tool_calls": [named]}),
        function(json!({"arguments": "{\"expression\": "})),
        function(json!({"arguments": json!(expression).to_string()})),
        function(json!({"arguments": "}"})),
    ]
}

/// Thinks and calls, calls in vain, and answers; and fails where it is asked to.
fn model_in_pieces(gate: &Arc<Gate>) -> Outside {
    let (gate, asked) = (gate.clone(), AtomicUsize::new(0));
    Outside::new(move |question| {
        if !question.path.ends_with("/chat/completions") {
            return Reply::new(404, "application/json", "{}");
        }
        gate.pass();
        if String::from_utf8_lossy(&question.body).contains("fail now") {
            return Reply::new(400, "application/json", r#"{"error": {"message": "no"}}"#);
        }
        match asked.fetch_add(1, Ordering::SeqCst) {
            0 => {
                let thoughts = ["Let me ", "compute."].map(|thought| json!({"reasoning_content": thought}));
                pieces(&[&thoughts[..], &call_in_pieces("6 * 7")].concat(), "tool_calls")
            }
            1 => pieces(&call_in_pieces("6 / 0"), "tool_calls"),
            _ => pieces(&["It is ", "42."].map(|text| json!({"content": text})), "stop"),
        }
    })
}

/// Everything that is told of a run to whoever follows it from its beginning. Nothing happens before they do.
fn followed(served: &Served, gate: &Gate, message: &str) -> Vec<Value> {
    let (status, _, body) = send(served, "POST", "/api/runs", "", &json!({"message": message}).to_string());
    assert!(status < 300, "{body}");
    let run: Value = serde_json::from_str(&body).unwrap();
    let path = format!("/api/runs/{}/events", run["run"].as_str().unwrap());
    let (head, mut stream) = begin(served, "GET", &path, "", "");
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    gate.open();
    let mut body = String::new();
    stream.read_to_string(&mut body).unwrap();
    let body = joined(&body);
    body.lines()
        .filter_map(|line| Some(serde_json::from_str(line.strip_prefix("data: ")?).unwrap()))
        .collect()
}

#[test]
fn each_name_of_its_list_has_a_counterpart_with_the_same_content() {
    let gate = Arc::new(Gate::default());
    let model = model_in_pieces(&gate);
    let more = "tools = \"native\"\nprice = { input = 1.0, output = 2.0 }";
    let served = serve(&one_model("m", &model, more), &[]);
    let seen = followed(&served, &gate, "compute");
    let failed = followed(&served, &gate, "fail now");
    let first_of = |kind: &str, has: &dyn Fn(&Value) -> bool| {
        let found = seen.iter().chain(&failed).find(|event| event["type"] == kind && has(event));
        found.unwrap_or_else(|| panic!("no {kind}: {seen:#?} {failed:#?}")).clone()
    };
    let any = |_: &Value| true;
    let started = |kind: &'static str| first_of("part.started", &|event| event["kind"] == kind);
    let delta_of = |kind: &'static str| {
        let part = started(kind)["part"].clone();
        first_of("part.delta", &|event| event["part"] == part)
    };
    for (theirs, ours, content) in [
        ("start", first_of("run.started", &any), "compute"),
        ("start-step", first_of("step.started", &any), "\"step\":1"),
        ("reasoning-start", started("reasoning"), "Let me "),
        ("reasoning-delta", delta_of("reasoning"), "compute."),
        ("reasoning-end", first_of("reasoning.finished", &any), "Let me compute."),
        ("tool-input-start", started("input"), "calculator"),
        ("tool-input-delta", delta_of("input"), "expression"),
        ("tool-input-end", first_of("tool.requested", &any), "6 * 7"),
        ("tool-call", first_of("tool.started", &any), "calculator"),
        ("tool-result", first_of("tool.finished", &any), "42"),
        ("tool-error", first_of("tool.failed", &any), "zero"),
        ("finish-step: reason", first_of("step.finished", &any), "\"reason\":\"tool_calls\""),
        ("finish-step: tokens", first_of("step.finished", &any), "\"input_tokens\":20"),
        ("finish-step: cost", first_of("step.finished", &any), "\"cost_nanos\":"),
        ("text-start", started("text"), "It is "),
        ("text-delta", delta_of("text"), "42."),
        ("text-end", first_of("text.finished", &any), "It is 42."),
        ("finish", first_of("run.finished", &any), "answered"),
        ("error", first_of("run.failed", &any), "message"),
    ] {
        assert!(ours.to_string().contains(content), "{theirs}: {ours}");
    }
}

fn started(served: &Served, message: &str) -> String {
    let (_, _, body) = send(served, "POST", "/api/runs", "", &json!({"message": message}).to_string());
    serde_json::from_str::<Value>(&body).unwrap()["run"].as_str().unwrap().to_owned()
}

/// The state that the run comes to, by itself or until a person is asked.
fn settled(served: &Served, run: &str, but: &str) -> String {
    loop {
        let view = get(served, &format!("/api/runs/{run}"));
        let state = view["state"].as_str().unwrap();
        if state != "running" && state != but {
            return state.to_owned();
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

/// Says no to the one question that is open, and gives what was asked.
fn refuse(served: &Served) -> Value {
    let question = get(served, "/api/approvals")["approvals"][0].take();
    let path = format!("/api/approvals/{}", question["approval"].as_str().unwrap());
    let (status, _, body) = send(served, "POST", &path, "", r#"{"decision": "reject"}"#);
    assert_eq!(status, 200, "{body}");
    question
}

fn ending(served: &Served, run: &str) -> Value {
    let (_, _, body) = send(served, "GET", &format!("/api/runs/{run}/events"), "", "");
    let last = body.lines().filter_map(|line| line.strip_prefix("data: ")).next_back().unwrap();
    serde_json::from_str::<Value>(last).unwrap()["ending"].clone()
}

#[test]
fn the_third_of_three_identical_calls_asks() {
    let model = model(vec![
        Say::Call("calculator", json!({"expression": "1 + 1"})),
        Say::Call("calculator", json!({"expression": "1 + 1"})),
        Say::Call("calculator", json!({"expression": "1 + 1"})),
        text("I give up."),
    ]);
    let served = serve(&one_model("m", &model, "tools = \"native\""), &[]);
    let run = started(&served, "compute");
    assert_eq!(settled(&served, &run, ""), "waiting_approval");
    assert_eq!(questions(&model).len(), 3);
    let question = refuse(&served);
    assert_eq!(
        question["because"], "`calculator` is called 3 times in a row with the same arguments",
        "{question}"
    );
    assert_eq!(settled(&served, &run, "waiting_approval"), "completed");
    assert_eq!(ending(&served, &run), "repeating");
}

#[test]
fn a_refused_permission_ends_the_loop_if_the_agent_is_configured_so() {
    const RULES: &str = "[[permissions]]\ntool = \"calculator\"\naction = \"ask\"\n";
    for (agent, asked, told) in
        [("[[agents]]\nname = \"default\"\nend_when_refused = true\n", 1, "refused"), ("", 2, "answered")]
    {
        let model =
            model(vec![Say::Call("calculator", json!({"expression": "1 + 1"})), text("As you wish.")]);
        let served = serve(&one_model("m", &model, &format!("tools = \"native\"\n{agent}{RULES}")), &[]);
        let run = started(&served, "compute");
        assert_eq!(settled(&served, &run, ""), "waiting_approval");
        refuse(&served);
        assert_eq!(settled(&served, &run, "waiting_approval"), "completed");
        assert_eq!((questions(&model).len(), ending(&served, &run)), (asked, json!(told)));
    }
}

#[test]
fn a_tool_over_http_sets_title_metadata_and_attachments() {
    const TYPE: &str = "application/vnd.helve.result+json";
    let service = Outside::new(|_| {
        let file = json!({"name": "chart.svg", "media_type": "image/svg+xml", "base64": "PHN2Zy8+"});
        let result = json!({"text": "Drawn.", "title": "A chart", "metadata": {"rows": 3}, "files": [file]});
        Reply::new(200, TYPE, &result.to_string())
    });
    let model = model(vec![Say::Call("draw", json!({})), text("There it is.")]);
    let served = serve(&one_model("m", &model, "tools = \"native\""), &[]);
    let tool = json!({
        "name": "draw", "description": "Draws a chart.", "allow_host": true,
        "endpoint": {"url_template": format!("http://{}/draw", service.address)},
    });
    let (status, _, made) = send(&served, "POST", "/api/tools", "", &tool.to_string());
    assert_eq!(status, 201, "{made}");
    let events = events(&served, "/api/chat", "", r#"{"message": "draw"}"#);
    let done = &events.iter().find(|event| event["tool"]["state"] == "done").unwrap()["tool"];
    assert_eq!((&done["output"], &done["title"]), (&json!("Drawn."), &json!("A chart")), "{done}");
    assert_eq!((&done["metadata"]["rows"], &done["metadata"]["status"]), (&json!(3), &json!(200)));
    let attachment = &done["attachments"][0];
    assert_eq!(
        (&attachment["name"], &attachment["media_type"], &attachment["bytes"]),
        (&json!("chart.svg"), &json!("image/svg+xml"), &json!(6))
    );
    let (status, _, kept) = send(&served, "GET", attachment["url"].as_str().unwrap(), "", "");
    assert_eq!((status, kept.as_str()), (200, "<svg/>"));
}
