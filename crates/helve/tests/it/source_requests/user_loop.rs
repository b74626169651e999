//! B: the loop that goes through the user.

use super::*;

const REQUEST: &str = r#"{"messages": [{"role": "user", "content": "计算 1000 以内的所有素数之和。"}], "config": {"mode": "chat", "model": "ling-1t"}}"#;
/// What its model writes: prose, then a call that is not fenced.
const WRITTEN: &str = r#"我将使用浏览器执行工具来计算。
{"tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "browser_js_eval", "arguments": "{\"code\": \"(function sumPrimes(limit) { let s = 0; for (let n = 2; n < limit; n++) { let p = true; for (let d = 2; d * d <= n; d++) if (n % d === 0) p = false; if (p) s += n; } return s; })(1000);\"}"}}]}"#;
/// The second request as the client wrote it down.
const SECOND: &str = r#"{"messages": [
  {"role": "user", "content": "计算 1000 以内的所有素数之和。"},
  {"role": "assistant", "content": "我将使用浏览器执行工具... { \"tool_calls\": [...] }"},
  {"role": "user", "content": "{\n   \"tool_call_result\": {\n      \"toolCallId\": \"call_1\",\n      \"result\": 76127\n   }\n}"}]}"#;
const ANSWER: &str = "1000 以内的所有素数之和是 76127。";

fn served(model: &Outside, tools: &str) -> Served {
    serve(&one_model("ling-1t", model, &format!("tools = \"{tools}\"")), &[])
}

/// Its client's way of finding a call: the JSON in the text of the answer.
fn call_in(content: &str) -> Value {
    let call: Value = serde_json::from_str(&content[content.find('{').unwrap()..]).unwrap();
    call["tool_calls"][0].clone()
}

#[test]
fn the_request_ends_with_the_call_of_the_clients_tool() {
    let model = model(vec![text(WRITTEN)]);
    let served = served(&model, "prompt:JSON_Strict");
    let events = events(&served, "/api/chat", "", REQUEST);
    assert_eq!(so_far(&events).0.trim_end(), "我将使用浏览器执行工具来计算。");
    let last = events.last().unwrap();
    let function = &last["tool_calls"][0]["function"];
    assert_eq!(
        (&last["ending"], &function["name"]),
        (&json!("client_tools"), &json!("browser_js_eval")),
        "{last}"
    );
    let arguments: Value = serde_json::from_str(function["arguments"].as_str().unwrap()).unwrap();
    assert!(arguments["code"].as_str().unwrap().starts_with("(function sumPrimes(limit) {"), "{arguments}");
    assert_eq!(questions(&model).len(), 1);
}

#[test]
fn a_client_that_looks_in_the_content_finds_the_call_there_and_comes_back_with_its_result() {
    for tools in ["prompt:JSON_Strict", "prompt:XML_Tag", "native"] {
        let code = json!({"code": "6 * 7"});
        let first = match tools {
            "native" => Say::Call("browser_js_eval", code),
            "prompt:XML_Tag" => text(r#"<tool_code>browser_js_eval(code="6 * 7")</tool_code>"#),
            _ => text(WRITTEN),
        };
        let model = model(vec![first, text(ANSWER)]);
        let served = served(&model, tools);
        let request = REQUEST.replace(r#""mode": "chat""#, r#""mode": "chat", "calls": "content""#);
        let first = events(&served, "/api/chat", "", &request);
        let content = so_far(&first).0.to_owned();
        let call = call_in(&content);
        assert_eq!(call["function"]["name"], "browser_js_eval", "{tools}: {content}");
        assert_eq!(call, first.last().unwrap()["tool_calls"][0], "{tools}");
        let mut history: Value = serde_json::from_str(&request).unwrap();
        let result = json!({"tool_call_result": {"toolCallId": call["id"], "result": 76127}});
        let messages = history["messages"].as_array_mut().unwrap();
        messages.push(json!({"role": "assistant", "content": content}));
        messages.push(json!({"role": "user", "content": result.to_string()}));
        let second = events(&served, "/api/chat", "", &history.to_string());
        assert_eq!(so_far(&second).0, ANSWER, "{tools}");
        assert!(second.iter().all(|event| event.get("tool_calls").is_none()), "{tools}: {second:?}");
        assert!(questions(&model)[1].to_string().contains("76127"), "{tools}");
    }
}

#[test]
fn its_second_request_is_answered_from_the_result_that_it_brings() {
    let model = model(vec![text(ANSWER)]);
    let served = served(&model, "prompt:JSON_Strict");
    let events = events(&served, "/api/chat", "", SECOND);
    assert_eq!(so_far(&events).0, ANSWER);
    let asked = questions(&model).remove(0);
    let messages = asked["messages"].as_array().unwrap();
    assert!(messages.last().unwrap()["content"].as_str().unwrap().contains("76127"), "{asked}");
    // The conversation is one of people who write Chinese, whatever the last message is made of.
    assert!(messages[0]["content"].as_str().unwrap().contains("工具"), "{asked}");
}

/// Both profiles, each with its own names.
#[test]
fn both_profiles_have_the_introduction_the_call_and_the_result_of_its_own() {
    let call = r#"{"tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "calculator", "arguments": "{\"expression\": \"6 * 7\"}"}}]}"#;
    for (profile, written, result) in [
        ("JSON_Strict", call, r#""tool_call_result""#),
        ("json_strict", call, r#""tool_call_result""#),
        ("XML_Tag", r#"<tool_code>calculator(expression="6 * 7")</tool_code>"#, "<id>calculator_result</id>"),
        (
            "xml_tag",
            r#"<tool_code>{"name": "calculator", "arguments": {"expression": "6 * 7"}}</tool_code>"#,
            "<tool_result>",
        ),
    ] {
        let model = model(vec![text(written), text("42。")]);
        let served = served(&model, "auto");
        let request = REQUEST.replace(r#""mode": "chat""#, &format!(r#""mode": "prompt:{profile}""#));
        let events = events(&served, "/api/chat", "", &request);
        assert_eq!(so_far(&events).0, "42。", "{profile}: {events:?}");
        let asked = questions(&model);
        let mark = if profile.to_lowercase() == "xml_tag" { "<tool_code>" } else { r#"{"tool_calls""# };
        assert!(asked[0]["messages"][0]["content"].as_str().unwrap().contains(mark), "{profile}");
        let last = asked[1]["messages"].as_array().unwrap().last().unwrap().clone();
        assert_eq!(last["role"], "user", "{profile}");
        assert!(last["content"].as_str().unwrap().contains(result), "{profile}: {last}");
    }
}

#[test]
fn another_mode_is_refused_with_the_words_there_are() {
    let served = served(&model(vec![text("-")]), "auto");
    let (status, _, body) =
        send(&served, "POST", "/api/chat", "", &REQUEST.replace(r#""mode": "chat""#, r#""mode": "agent""#));
    assert_eq!(status, 400, "{body}");
    for word in ["`chat`", "`native`", "`prompt`", "`prompt:`", "`agent`"] {
        assert!(body.contains(word), "{word}: {body}");
    }
}
