//! The commands that do one thing and end.

use serde_json::{Value, json};

use crate::{err, out, run, scratch};

#[test]
fn parse_prints_the_calls_found_in_a_text() {
    let text = "Let me see.\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"x\": 1}}\n</tool_call>";
    let output = run(&["parse"], text);
    let found: Value = serde_json::from_str(&out(&output)).unwrap();
    assert_eq!(
        found,
        json!({
            "content": "Let me see.\n", "reasoning": "", "dialect": "hermes", "complete": true,
            "calls": [{"name": "f", "arguments": {"x": 1}}]
        })
    );
    let inside: Value =
        serde_json::from_str(&out(&run(&["parse", "--reasoning-open"], "it is</think>Yes."))).unwrap();
    assert_eq!((&inside["reasoning"], &inside["content"]), (&json!("it is"), &json!("Yes.")));
}

#[test]
fn parse_reads_lines_in_order_and_the_size_of_pieces_changes_nothing() {
    let lines = [
        json!({"id": "a", "text": "<think>hm</think>Hello"}),
        json!({"id": 2, "text": "{\"tool\": \"look\", \"q\": \"x\"}", "tools": [{"name": "look"}]}),
        json!({"id": 3, "text": "so it is</think>yes", "reasoning_open": true}),
        json!({"id": 4, "text": "<tool_call>{\"name\": \"f\"}</tool_call>", "dialect": "json_bare"}),
    ];
    let input = lines.map(|line| line.to_string()).join("\n");
    let whole = out(&run(&["parse", "--jsonl"], &input));
    let found: Vec<Value> = whole.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(
        found.iter().map(|line| line["id"].clone()).collect::<Vec<_>>(),
        [json!("a"), json!(2), json!(3), json!(4)]
    );
    assert_eq!((&found[0]["reasoning"], &found[0]["content"]), (&json!("hm"), &json!("Hello")));
    assert_eq!(found[1]["calls"][0]["name"], "look");
    assert_eq!(found[2]["reasoning"], "so it is");
    assert_eq!(found[3]["calls"], json!([]));
    for chunk in ["1", "2", "7"] {
        assert_eq!(out(&run(&["parse", "--jsonl", "--chunk", chunk], &input)), whole, "in pieces of {chunk}");
    }
}

#[test]
fn parse_says_what_is_wrong_with_its_input() {
    let lines = "{\"text\": \"one\"}\nnot json\n{\"id\": 3, \"text\": 3}\n{\"text\": \"four\"}\n";
    let broken = run(&["parse", "--jsonl"], lines);
    let results = out(&broken);
    let results: Vec<&str> = results.lines().collect();
    assert_eq!(results.len(), 4, "every line has a result");
    assert!(results[1].contains(r#""error":"line 2: "#), "{}", results[1]);
    assert!(
        results[2].contains(r#""error":"line 3: "#) && results[2].contains(r#""id":3"#),
        "{}",
        results[2]
    );
    assert!(results[3].contains("four"), "{}", results[3]);
    assert!(!broken.status.success());
    assert!(err(&broken).starts_with("helve: line 2"), "{}", err(&broken));
    let dialect = run(&["parse", "--dialect", "klingon"], "x");
    assert!(err(&dialect).contains("`helve parse --dialect list`"), "{}", err(&dialect));
    let list = run(&["parse", "--dialect", "list"], "");
    assert!(out(&list).lines().any(|line| line == "hermes"), "{}", out(&list));
}

#[test]
fn a_tool_is_called_from_the_command_line_and_the_call_is_on_record() {
    let data = scratch();
    let data = data.to_str().unwrap();
    let called =
        run(&["tools", "call", "calculator", r#"{"expression": "12.5% of 3,480"}"#, "--data", data], "");
    assert_eq!(out(&called), "435\n", "{}", err(&called));
    let wrong = run(&["tools", "call", "calculator", r#"{"expr": "1"}"#, "--data", data], "");
    assert_eq!(wrong.status.code(), Some(1));
    assert!(err(&wrong).starts_with("no server is running"), "{}", err(&wrong));
    assert_eq!(err(&wrong).lines().count(), 2, "{}", err(&wrong));
    let unknown = run(&["tools", "call", "teleport", "{}", "--data", data], "");
    assert!(err(&unknown).contains("there is no tool `teleport`"), "{}", err(&unknown));
    // A name that is nearly right runs nothing.
    for action in [&["call", "calculater", r#"{"expression": "1+1"}"#][..], &["show", "calculater"]] {
        let near = run(&[&["tools"], action, &["--data", data]].concat(), "");
        assert_eq!((near.status.code(), out(&near).as_str()), (Some(1), ""));
        assert!(
            err(&near).contains("there is no tool `calculater`; similar names: calculator"),
            "{}",
            err(&near)
        );
    }
    let listed = out(&run(&["tools", "list", "--data", data], ""));
    for name in ["calculator", "save_note", "search_web", "time"] {
        assert!(listed.contains(name), "{listed}");
    }
    let shown: Value =
        serde_json::from_str(&out(&run(&["tools", "show", "time", "--data", data], ""))).unwrap();
    assert_eq!(shown["effect"], "read");
}

#[test]
fn a_call_from_the_command_line_is_refused_where_a_rule_denies_it_and_runs_where_one_would_ask() {
    let data = scratch();
    let file = data.join("rules.toml");
    let rules = "[[permissions]]\ntool = \"calc*\"\naction = \"deny\"\nbecause = \"sums are forbidden here\"\n\n\
                 [[permissions]]\ntool = \"*\"\naction = \"ask\"\n";
    std::fs::write(&file, rules).unwrap();
    let at = ["--data", data.to_str().unwrap(), "--config", file.to_str().unwrap()];
    let call =
        |tool: &str, arguments: &str| run(&[&["tools", "call", tool, arguments], &at[..]].concat(), "");
    let denied = call("calculator", r#"{"expression": "1 + 1"}"#);
    assert_eq!(denied.status.code(), Some(1), "{}", out(&denied));
    assert!(err(&denied).contains("sums are forbidden here"), "{}", err(&denied));
    let asked = call("time", r#"{"zone": "UTC"}"#);
    assert!(asked.status.success(), "{}", err(&asked));
    let effect = call("save_note", r#"{"text": "milk"}"#);
    assert!(effect.status.success(), "{}", err(&effect));
}

#[test]
fn a_token_is_shown_once_listed_without_its_secret_and_revoked() {
    let data = scratch();
    let data = data.to_str().unwrap();
    let made = run(&["token", "create", "--user", "mei", "--admin", "--note", "laptop", "--data", data], "");
    let token = out(&made).trim().to_owned();
    let (id, secret) = token.split_once('.').unwrap();
    let listed = out(&run(&["token", "list", "--data", data], ""));
    assert!(listed.contains(id) && listed.contains("mei") && listed.contains("admin"), "{listed}");
    assert!(!listed.contains(secret));
    assert!(run(&["token", "revoke", id, "--data", data], "").status.success());
    assert!(out(&run(&["token", "list", "--data", data], "")).contains("revoked"));
    let nothing = run(&["token", "revoke", "hv_nothing", "--data", data], "");
    assert!(err(&nothing).contains("`helve token list` shows the ids"), "{}", err(&nothing));
    // Neither the secret nor the token stands in the database.
    let file = std::fs::read(std::path::Path::new(data).join("helve.db")).unwrap();
    assert!(!file.windows(secret.len()).any(|window| window == secret.as_bytes()));
}

#[test]
fn doctor_says_what_to_do_about_each_problem() {
    let data = scratch();
    let fine = run(&["doctor", "--data", data.to_str().unwrap()], "");
    let text = out(&fine);
    for word in ["database", "model `demo`", "set ARK_API_KEY", "set TAVILY_API_KEY"] {
        assert!(text.contains(word), "{text}");
    }
    let file = data.join("wrong.toml");
    std::fs::write(&file, "[server]\nlisen = 1\n").unwrap();
    let wrong = run(&["doctor", "--config", file.to_str().unwrap()], "");
    assert!(!wrong.status.success());
    assert!(out(&wrong).contains("line 2 at `lisen`"), "{}", out(&wrong));
    assert_eq!(err(&wrong).lines().count(), 1, "{}", err(&wrong));
    assert!(err(&wrong).starts_with("helve: one thing to put right: configuration: "), "{}", err(&wrong));
    std::fs::write(&file, "[[agents]]\nname = \"a\"\ntools = [\"nope\"]\n").unwrap();
    let unknown = run(&["doctor", "--config", file.to_str().unwrap(), "--data", data.to_str().unwrap()], "");
    assert!(out(&unknown).contains("line 3 at `tools`: there is no tool `nope`"), "{}", out(&unknown));
}

#[test]
fn models_are_listed_and_shown_with_price_and_variants_and_without_secrets() {
    let dir = scratch();
    let (file, data) = (dir.join("helve.toml"), dir.join("data"));
    let model = "[[models]]\nname = \"house\"\nvendor = \"openai\"\nmodel = \"gpt-5-mini\"\n\
                 base_url = \"https://me:hidden@gate.example:8443/v1\"\napi_key_env = \"GATE_KEY\"\n\
                 price = { input = 0.27, output = 1.1 }\nvariants = { high = { max_tokens = 9 } }\n";
    std::fs::write(&file, model).unwrap();
    let (file, data) = (file.to_str().unwrap(), data.to_str().unwrap());
    let models = |rest: &[&str]| {
        let args = [&["models"][..], rest, &["--config", file, "--data", data]].concat();
        run(&args, "")
    };
    let table = out(&models(&["list"]));
    let house = table.lines().find(|line| line.contains("house")).unwrap();
    assert!(house.contains("problem") && house.contains("0.27 / 1.1"), "{table}");
    assert!(table.contains("set the environment variable GATE_KEY") && table.contains("demo"), "{table}");

    let list: Value = serde_json::from_str(&out(&models(&["list", "--json"]))).unwrap();
    let of = |name| list["models"].as_array().unwrap().iter().find(|model| model["name"] == name).unwrap();
    assert_eq!(of("house")["host"], "gate.example:8443");
    assert_eq!(of("house")["variants"], json!(["high"]));
    assert_eq!((&list["currency"], &of("demo")["ready"]), (&json!("USD"), &json!(true)));
    assert!(!list.to_string().contains("hidden"), "{list}");

    let sheet = out(&models(&["show", "house"]));
    assert!(sheet.contains("price      0.27 in") && sheet.contains("variants   high"), "{sheet}");
    let unknown = models(&["show", "horse"]);
    assert!(!unknown.status.success());
    let told = err(&unknown);
    assert!(told.starts_with("no server is running; this command checks with its own"), "{told}");
    assert_eq!(told.lines().last(), Some("helve: there is no model `horse`; `helve models list` shows them"));
}

#[test]
fn options_of_all_commands_may_stand_before_the_command() {
    let dir = scratch();
    let (file, data) = (dir.join("helve.toml"), dir.join("data"));
    std::fs::write(&file, "[[agents]]\nname = \"a\"\ntools = [\"nope\"]\n").unwrap();
    let (file, data) = (file.to_str().unwrap(), data.to_str().unwrap());
    let doctor = run(&["--config", file, "--data", data, "doctor"], "");
    assert!(out(&doctor).contains("there is no tool `nope`"), "{}{}", out(&doctor), err(&doctor));
    assert!(out(&doctor).contains(data), "{}", out(&doctor));
    // What stands behind the command is meant.
    let behind = run(&["--config", "/nowhere.toml", "tools", "list", "--config", file, "--data", data], "");
    assert!(out(&behind).contains("calculator"), "{}", err(&behind));
    let server = run(&["--server", "http://127.0.0.1:9", "runs", "list"], "");
    assert!(err(&server).contains("the server at http://127.0.0.1:9 does not answer"), "{}", err(&server));
    let served = run(&["--config", "/nowhere.toml", "serve"], "");
    assert!(err(&served).contains("/nowhere.toml"), "{}", err(&served));
    for (arguments, option) in
        [(["--data", data, "parse"], "--data"), (["--server", "http://x:1", "serve"], "--server")]
    {
        let refused = run(&arguments, "");
        assert!(!refused.status.success());
        assert!(err(&refused).contains(&format!("this command has no option {option}")), "{}", err(&refused));
    }
}

#[test]
fn every_command_has_help() {
    for command in [
        &["--help"][..],
        &["serve", "--help"],
        &["parse", "--help"],
        &["tools", "call", "--help"],
        &["models", "list", "--help"],
        &["models", "show", "--help"],
        &["chat", "--help"],
        &["runs", "list", "--help"],
        &["runs", "resume", "--help"],
        &["approvals", "answer", "--help"],
        &["approvals", "answer", "1234", "approve", "--help"],
        &["token", "create", "--help"],
        &["doctor", "--help"],
    ] {
        let output = run(command, "");
        assert!(output.status.success() && out(&output).contains("Usage:"), "{command:?}");
    }
}
