//! Which models there are without a configuration file, and which is the default.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::model_server::ModelServer;
use crate::scratch;
use crate::serving::Served;

fn models(served: &Served) -> Value {
    let answer = served.ask("GET", "/api/models", "", "");
    serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
}

fn names(list: &Value) -> Vec<&str> {
    list["models"].as_array().unwrap().iter().map(|model| model["name"].as_str().unwrap()).collect()
}

fn vendor_model<'a>(list: &'a Value, name: &str) -> &'a str {
    let models = list["models"].as_array().unwrap();
    models.iter().find(|model| model["name"] == name).unwrap()["model"].as_str().unwrap()
}

/// Looks until the server offers what is waited for.
fn wait_for(served: &Served, is_there: impl Fn(&Value) -> bool) -> Value {
    for _ in 0..600 {
        let list = models(served);
        if is_there(&list) {
            return list;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("{}", models(served));
}

fn ask(served: &Served, more: &str) -> String {
    let body = format!(r#"{{"message": "what is 12.5% of 3,480?", "stream": false{more}}}"#);
    served.ask("POST", "/api/agent", "", &body)
}

#[test]
fn all_models_of_an_ollama_are_offered_and_one_of_them_beats_demo() {
    let ollama = ModelServer::start(&["qwen3:8b", "llama3.2:latest", "nomic-embed-text:latest"]);
    let served = Served::start(&scratch(), &[("OLLAMA_API_URL", &ollama.url())]);
    let list = models(&served);
    assert_eq!(names(&list), ["demo", "llama3.2:latest", "local", "qwen3:8b", "volcano"]);
    assert_eq!((list["default"].as_str(), vendor_model(&list, "local")), (Some("local"), "qwen3:8b"));
    let answer = ask(&served, "");
    assert!(answer.contains("The tool says: 435"), "{answer}");
    let answer = ask(&served, r#", "model": "llama3.2:latest""#);
    assert!(answer.contains("The tool says: 435"), "{answer}");
    let asked = ollama.asked_models();
    assert_eq!(
        (asked.first().unwrap().as_str(), asked.last().unwrap().as_str()),
        ("qwen3:8b", "llama3.2:latest")
    );
}

#[test]
fn a_model_server_that_starts_later_and_what_it_pulls_and_removes_are_noticed() {
    let ollama = ModelServer::start(&[]);
    let served = Served::start(&scratch(), &[("OLLAMA_API_URL", &ollama.url())]);
    let list = models(&served);
    assert_eq!(list["default"], "demo");
    let local = list["models"].as_array().unwrap().iter().find(|model| model["name"] == "local").unwrap();
    assert!(local["problem"].as_str().unwrap().contains("ollama pull"), "{local}");
    assert_eq!(local["notice"]["code"], "model_server_empty", "{local}");

    ollama.set_models(&["qwen3:8b"]);
    let list = wait_for(&served, |list| list["default"] == "local");
    assert!(names(&list).contains(&"qwen3:8b"), "{list}");
    assert!(ask(&served, "").contains("The tool says: 435"));
    ollama.set_models(&["llama3.2:latest"]);
    let list = wait_for(&served, |list| !names(list).contains(&"qwen3:8b"));
    assert_eq!(vendor_model(&list, "local"), "llama3.2:latest");
}

#[test]
fn the_model_used_last_is_the_default_after_a_restart_too_unless_the_operator_names_one() {
    let ollama = ModelServer::start(&["a:1b", "b:1b"]);
    let data = scratch();
    let environment = [("OLLAMA_API_URL", ollama.url())];
    let environment: Vec<(&str, &str)> =
        environment.iter().map(|(name, url)| (*name, url.as_str())).collect();
    let start = |data: &Path, more: &[(&str, &str)]| Served::start(data, &[&environment[..], more].concat());
    let served = start(&data, &[]);
    assert_eq!(models(&served)["default"], "local");
    assert!(ask(&served, r#", "model": "b:1b""#).contains("The tool says: 435"));
    assert_eq!(models(&served)["default"], "b:1b");
    assert!(ask(&served, "").contains("The tool says: 435"));
    assert_eq!(ollama.asked_models().last().unwrap(), "b:1b");
    assert!(served.stop());

    let served = start(&data, &[]);
    assert_eq!(models(&served)["default"], "b:1b");
    // Another user has chosen nothing yet.
    let other =
        served.ask("POST", "/api/agent", "", r#"{"message": "hi", "stream": false, "userId": "mei"}"#);
    assert!(other.contains("model of a test"), "{other}");
    assert_eq!(ollama.asked_models().last().unwrap(), "a:1b");
    // So is `demo`, once somebody asks for it by its name.
    assert!(ask(&served, r#", "model": "demo""#).contains("435"));
    assert_eq!(models(&served)["default"], "demo");
    assert!(served.stop());
    let served = start(&data, &[]);
    assert_eq!(models(&served)["default"], "demo");
    assert!(ask(&served, r#", "model": "b:1b""#).contains("The tool says: 435"));
    assert_eq!(models(&served)["default"], "b:1b");
    // What is gone cannot be the default.
    ollama.set_models(&["a:1b"]);
    wait_for(&served, |list| list["default"] == "local");
    assert!(served.stop());

    ollama.set_models(&["a:1b", "b:1b"]);
    let served = start(&data, &[("HELVE_DEFAULT_MODEL", "demo")]);
    assert_eq!(models(&served)["default"], "demo");
}

#[test]
fn the_operator_may_name_a_default_that_only_a_server_lists_and_that_comes_later() {
    let ollama = ModelServer::start(&["a:1b"]);
    let environment = [("OLLAMA_API_URL", ollama.url()), ("HELVE_DEFAULT_MODEL", "b:1b".into())];
    let environment = environment.each_ref().map(|(name, value)| (*name, value.as_str()));
    let served = Served::start(&scratch(), &environment);
    assert_eq!(models(&served)["default"], "local", "until it is there");
    ollama.set_models(&["a:1b", "b:1b"]);
    wait_for(&served, |list| list["default"] == "b:1b");
    // Whatever somebody uses, the operator's word holds.
    assert!(ask(&served, r#", "model": "a:1b""#).contains("The tool says: 435"));
    assert!(ask(&served, "").contains("The tool says: 435"));
    assert_eq!(ollama.asked_models().last().unwrap(), "b:1b");
    ollama.set_models(&["a:1b"]);
    wait_for(&served, |list| list["default"] == "local");
}

#[test]
fn an_openai_like_server_needs_its_address_and_nothing_else() {
    let server = ModelServer::start(&["text-embedding-3-small", "house-model", "house-model-mini"]);
    let url = format!("{}/v1", server.url());
    let served = Served::start(&scratch(), &[("OPENAI_BASE_URL", &url)]);
    let list = models(&served);
    assert_eq!(names(&list), ["demo", "house-model", "house-model-mini", "local", "openai", "volcano"]);
    assert_eq!((list["default"].as_str(), vendor_model(&list, "openai")), (Some("openai"), "house-model"));
    assert!(ask(&served, "").contains("The tool says: 435"));
}

#[test]
fn with_a_key_all_models_of_the_vendor_are_offered_and_the_key_is_sent() {
    let server = ModelServer::start(&["gpt-5", "gpt-5-mini"]);
    let url = format!("{}/v1", server.url());
    let served = Served::start(&scratch(), &[("OPENAI_BASE_URL", &url), ("OPENAI_API_KEY", "sk-test")]);
    let list = wait_for(&served, |list| names(list).contains(&"gpt-5"));
    assert_eq!((list["default"].as_str(), vendor_model(&list, "openai")), (Some("openai"), "gpt-5-mini"));
    assert!(ask(&served, r#", "model": "gpt-5""#).contains("The tool says: 435"));
}

#[test]
fn two_servers_with_a_model_of_one_name_are_told_apart() {
    let (ollama, other) = (ModelServer::start(&["m"]), ModelServer::start(&["m", "own"]));
    let url = format!("{}/v1", other.url());
    let environment = [("OLLAMA_API_URL", ollama.url()), ("OPENAI_BASE_URL", url)];
    let environment = environment.each_ref().map(|(name, url)| (*name, url.as_str()));
    let served = Served::start(&scratch(), &environment);
    let list = models(&served);
    assert_eq!(names(&list), ["demo", "local", "local/m", "m", "openai", "own", "volcano"]);
    assert!(ask(&served, r#", "model": "local/m""#).contains("The tool says: 435"));
    assert_eq!((ollama.asked_models().len() > 1, other.asked_models().len()), (true, 0));
}

#[test]
fn doctor_says_which_models_there_are_and_gives_the_command_for_what_is_missing() {
    let ollama = ModelServer::start(&[]);
    let home = scratch();
    let doctor = |more: &[(&str, &str)], arguments: &[&str]| {
        let mut command = crate::helve();
        command.env("HOME", &home).env("OLLAMA_API_URL", ollama.url()).envs(more.iter().copied());
        command.env("HELVE_LISTEN", "127.0.0.1:0");
        command.arg("doctor").args(arguments).output().unwrap()
    };
    let report = |output: &std::process::Output| -> Value { serde_json::from_slice(&output.stdout).unwrap() };
    let run_of = |report: &Value, words: &str| -> (String, String) {
        let findings = report["findings"].as_array().unwrap();
        let found = findings.iter().find(|finding| finding["text"].as_str().unwrap().contains(words));
        let found = found.unwrap_or_else(|| panic!("{words}: {report:#}"));
        (found["level"].as_str().unwrap().into(), found["run"].as_str().unwrap_or_default().into())
    };

    let empty = doctor(&[], &["--json"]);
    assert!(empty.status.success(), "{}", crate::err(&empty));
    let empty = report(&empty);
    assert_eq!((&empty["ok"], empty.get("server")), (&Value::Bool(true), None));
    // The same model as in the first steps.
    for readme in ["README.md", "README.zh-CN.md"] {
        let text = std::fs::read_to_string(format!("{}/../../{readme}", env!("CARGO_MANIFEST_DIR"))).unwrap();
        assert!(text.contains("ollama pull qwen3:8b"), "{readme}");
    }
    assert_eq!(run_of(&empty, "has no model yet"), ("note".into(), "ollama pull qwen3:8b".into()));
    assert_eq!(run_of(&empty, "default model: `demo`"), ("note".into(), "ollama pull qwen3:8b".into()));
    // Pasted into a shell, the command asks for the key and does not set it to nothing.
    let (level, command) = run_of(&empty, "set ARK_API_KEY");
    assert_eq!(level, "note");
    let pasted = format!("{command}; env | grep ARK_API_KEY");
    let mut shell = std::process::Command::new("bash");
    shell.args(["-c", &pasted]).stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut shell = shell.spawn().unwrap();
    std::io::Write::write_all(&mut shell.stdin.take().unwrap(), b"the-key\n").unwrap();
    let said = crate::out(&shell.wait_with_output().unwrap());
    assert_eq!(said, "ARK_API_KEY: ARK_API_KEY=the-key\n");

    ollama.set_models(&["qwen3:8b"]);
    let full = report(&doctor(&[], &["--json"]));
    assert_eq!(run_of(&full, "default model: `local`").0, "ok");
    assert_eq!(run_of(&full, "under their own names: qwen3:8b").0, "ok");

    // What the operator named and is not there must be put right.
    let named = [("OLLAMA_MODEL", "llama3.2"), ("HELVE_DEFAULT_MODEL", "local")];
    let missing = doctor(&named, &["--json"]);
    assert_eq!(missing.status.code(), Some(1));
    assert_eq!(report(&missing)["ok"], false);
    assert_eq!(run_of(&report(&missing), "has no `llama3.2`"), ("bad".into(), "ollama pull llama3.2".into()));
    let text = crate::out(&doctor(&named, &[]));
    assert!(text.contains("\n        ollama pull llama3.2\n"), "{text}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // A server closes its directory when it starts; somebody opened this one since.
        let data = home.join(".local/share/helve");
        let _served = Served::start(&data, &[]);
        std::fs::set_permissions(&data, std::fs::Permissions::from_mode(0o755)).unwrap();
        let open = run_of(&report(&doctor(&[], &["--json"])), "other users of this machine");
        assert_eq!(open, ("note".into(), format!("chmod 700 {}", data.display())));
    }
}
