//! A: a chat turn that searches the web.

use std::io::Read;
use std::net::TcpStream;

use super::*;
use crate::{out, run};

const REQUEST: &str = r#"{"message": "今天北京的天气怎么样?", "modelType": "volcano", "userId": "xxx"}"#;
const CALL: &str = r#"<tool_call>{"tool": "search_web", "query": "今天北京天气预报"}</tool_call>"#;
const ANSWER: &str = "北京今天晴，最高 18 度。";

/// The search service, which answers what Tavily answers.
fn search() -> Outside {
    Outside::new(|_| {
        let results = json!([{"title": "北京天气", "url": "https://weather.example/bj", "content": "晴，18 度", "score": 0.9}]);
        let answer =
            json!({"query": "q", "answer": "今天北京晴。", "results": results, "response_time": 0.1});
        Reply::new(200, "application/json", &answer.to_string())
    })
}

/// The server with both models, which are told in the prompt how to call tools, and the system's own environment.
fn served(model: &Outside, search: &Outside) -> Served {
    let at = model.address;
    let config = format!(
        "[[models]]\nname = \"volcano\"\nvendor = \"ark\"\nmodel = \"doubao\"\nbase_url = \"http://{at}/api/v3\"\n\
         tools = \"prompt\"\n\n[[models]]\nname = \"local\"\nvendor = \"ollama\"\nmodel = \"qwen2.5:7b\"\n\
         base_url = \"http://{at}\"\ntools = \"prompt\"\n"
    );
    let tavily = format!("http://{}", search.address);
    let environment = [
        ("TAVILY_API_KEY", "tvly-1"),
        ("TAVILY_API_URL", &tavily),
        ("ARK_API_KEY", "ark-1"),
        ("MONGODB_URI", "mongodb://localhost:27017"),
    ];
    serve(&config, &environment)
}

/// What the search service was asked last.
fn searched(search: &Outside) -> Option<Value> {
    search.asked().last().map(|asked| serde_json::from_slice(&asked.body).unwrap())
}

#[test]
fn a_question_is_answered_with_a_search() {
    for (request, path) in
        [(REQUEST.to_owned(), "/api/v3/chat/completions"), (REQUEST.replace("volcano", "local"), "/api/chat")]
    {
        let model = model(vec![text(CALL), Say::Thought("搜索结果里有。".into(), ANSWER.into())]);
        let search = search();
        let served = served(&model, &search);
        let events = events(&served, "/api/chat", "", &request);
        assert_eq!(so_far(&events), (ANSWER, "搜索结果里有。"), "{events:?}");
        assert!(model.asked().iter().any(|asked| asked.path == path), "{path}");
        let asked = searched(&search).unwrap();
        assert_eq!(asked["query"], "今天北京天气预报");
        // Its options, where the call says nothing else; without `include_raw_content` the service sends no pages.
        assert_eq!(
            (&asked["max_results"], &asked["search_depth"]),
            (&json!(10), &json!("advanced")),
            "{asked}"
        );
        assert_eq!((&asked["include_answer"], &asked["include_raw_content"]), (&json!(true), &Value::Null));
    }
}

#[test]
fn each_form_of_a_call_that_its_models_write_is_a_call() {
    for (form, query) in [
        (CALL, "今天北京天气预报"),
        (r#"<tool_call>{"tool": "search_web", "query": "今天北京天气预报"}"#, "今天北京天气预报"),
        (r#"{"tool": "search_web", "query": "今天北京天气"}"#, "今天北京天气"),
        (r#"{"query": "今天北京天气", "tool": "search_web"}"#, "今天北京天气"),
    ] {
        for request in [REQUEST.to_owned(), REQUEST.replace("volcano", "local")] {
            let model = model(vec![text(form), text(ANSWER)]);
            let search = search();
            let served = served(&model, &search);
            let events = events(&served, "/api/chat", "", &request);
            assert_eq!(so_far(&events).0, ANSWER, "{form}: {events:?}");
            assert_eq!(searched(&search).unwrap()["query"], query, "{form}");
        }
    }
}

/// What the model read last.
fn read_last(model: &Outside) -> Value {
    questions(model).pop().unwrap()["messages"].as_array().unwrap().last().unwrap().clone()
}

#[test]
fn the_model_reads_the_results_between_their_marks_in_a_message_of_the_user() {
    let model = model(vec![text(CALL), text(ANSWER)]);
    let served = served(&model, &search());
    events(&served, "/api/chat", "", REQUEST);
    let last = read_last(&model);
    assert_eq!(last["role"], "user", "{last}");
    let content = last["content"].as_str().unwrap();
    let (sentence, frame) = content.split_once("<search_results>\n").unwrap();
    assert!(sentence.contains("搜索") && sentence.contains("结果"), "{content}");
    let (frame, _) = frame.split_once("\n</search_results>").unwrap();
    let expected = "AI 摘要：今天北京晴。\n\n搜索结果：\n1. 北京天气\n   来源：https://weather.example/bj\n   内容：晴，18 度";
    assert_eq!(frame, expected);
}

#[test]
fn long_results_are_cut_and_the_last_line_says_how_many_there_were() {
    let model = model(vec![text(CALL), text(ANSWER)]);
    let search = Outside::new(|_| {
        let result = |n: usize| json!({"title": format!("第 {n} 页"), "url": format!("https://w.example/{n}"), "content": "晴".repeat(900), "score": 0.9});
        let results: Vec<Value> = (1..=10).map(result).collect();
        let answer = json!({"query": "q", "answer": "晴。", "results": results, "response_time": 0.1});
        Reply::new(200, "application/json", &answer.to_string())
    });
    let served = served(&model, &search);
    events(&served, "/api/chat", "", REQUEST);
    let last = read_last(&model);
    let (_, frame) = last["content"].as_str().unwrap().split_once("<search_results>\n").unwrap();
    let (frame, _) = frame.split_once("\n</search_results>").unwrap();
    assert!(frame.ends_with("（结果已截断，共 10 条结果）"), "{frame}");
    assert!((7_000..=8_000).contains(&frame.chars().count()), "{}", frame.chars().count());
}

#[test]
fn a_search_that_fails_is_told_between_its_own_marks() {
    let model = model(vec![text(CALL), text("现在查不到。")]);
    let search =
        Outside::new(|_| Reply::new(401, "application/json", r#"{"detail": {"error": "invalid key"}}"#));
    let served = served(&model, &search);
    let events = events(&served, "/api/chat", "", REQUEST);
    assert_eq!(so_far(&events).0, "现在查不到。");
    let last = read_last(&model);
    let (sentence, frame) = last["content"].as_str().unwrap().split_once("<search_error>").unwrap();
    assert!(sentence.contains("失败") && !sentence.contains("<search_results>"), "{last}");
    let (error, _) = frame.split_once("</search_error>").unwrap();
    assert!(!error.trim().is_empty() && !error.contains('<'), "{last}");
}

#[test]
fn the_question_is_stored_before_the_model_is_asked_and_the_answer_with_its_thinking_and_model_type() {
    let model = model(vec![text(CALL), Say::Thought("搜索结果里有。".into(), ANSWER.into())]);
    let served = served(&model, &search());
    let events = events(&served, "/api/chat", "", REQUEST);
    let id = events[0]["conversationId"].as_str().unwrap();
    let conversation = get(&served, &format!("/api/conversations/{id}?user=xxx"));
    assert_eq!(conversation["messages"], 2, "{conversation}");
    let messages = get(&served, &format!("/api/conversations/{id}/messages?user=xxx"))["messages"].take();
    assert_eq!(messages[0]["role"], "user");
    assert!(messages[0]["parts"].to_string().contains("今天北京的天气怎么样?"), "{messages}");
    assert_eq!((&messages[1]["role"], &messages[1]["model"]), (&json!("assistant"), &json!("volcano")));
    let parts = messages[1]["parts"].to_string();
    assert!(parts.contains(ANSWER) && parts.contains("搜索结果里有。"), "{parts}");
}

#[test]
fn a_question_is_kept_even_if_the_model_never_answers() {
    let model = Outside::new(|asked| match asked.path.ends_with("/chat/completions") {
        true => Reply::new(400, "application/json", r#"{"error": {"message": "no"}}"#),
        false => Reply::new(404, "application/json", "{}"),
    });
    let served = served(&model, &search());
    let events = events(&served, "/api/chat", "", REQUEST);
    assert!(events.last().unwrap()["error"]["message"].is_string(), "{events:?}");
    let id = events[0]["conversationId"].as_str().unwrap();
    let messages = get(&served, &format!("/api/conversations/{id}/messages?user=xxx"))["messages"].take();
    assert!(messages[0]["parts"].to_string().contains("今天北京的天气怎么样?"), "{messages}");
}

#[test]
fn forty_users_of_one_back_end_chat_at_the_same_time() {
    for with_token in [false, true] {
        let gate = Arc::new(Gate::default());
        let held = gate.clone();
        let model = Outside::new(move |asked| {
            if asked.path.ends_with("/chat/completions") {
                held.pass();
            }
            as_openai(&text(ANSWER))
        });
        let data = scratch();
        let file = data.join("helve.toml");
        std::fs::write(&file, one_model("volcano", &model, "tools = \"native\"")).unwrap();
        let at = data.to_str().unwrap();
        let mut headers = String::new();
        if with_token {
            let made = run(&["token", "create", "--user", "back", "--act-for", "*", "--data", at], "");
            let made = out(&made);
            let token = made.trim();
            assert!(!token.is_empty());
            headers = format!("Authorization: Bearer {token}\r\n");
        }
        let served = Served::start(&data, &[("HELVE_CONFIG", file.to_str().unwrap())]);
        let open: Vec<(String, TcpStream)> = (0..40)
            .map(|number| {
                let request = REQUEST.replace("xxx", &format!("user{number}"));
                begin(&served, "POST", "/api/chat", &headers, &request)
            })
            .collect();
        // All of them are open before the first one is answered.
        for (head, _) in &open {
            assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        }
        gate.open();
        for (_, mut stream) in open {
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            assert!(answer.contains(ANSWER) && answer.contains("[DONE]"), "{answer}");
        }
    }
}
