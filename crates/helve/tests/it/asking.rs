//! Commands beside a server that has other keys, models and tools than the shell: the server's are those that count.

use std::path::PathBuf;
use std::process::Output;

use serde_json::{Value, json};

use crate::serving::Served;
use crate::{err, helve, out, scratch};

const CONFIG: &str = r#"
default_model = "demo"

[[models]]
name = "house"
vendor = "openai"
model = "gpt-5-mini"
base_url = "http://127.0.0.1:9/v1"
api_key_env = "GATE_KEY"

[[permissions]]
tool = "calc*"
action = "deny"
because = "sums are forbidden here"
"#;

/// A server with a configuration, a key and a tools folder that the shell has not.
struct World {
    data: PathBuf,
    served: Served,
}

impl World {
    fn start() -> Self {
        let data = scratch();
        let (file, tools) = (data.join("server.toml"), data.join("scripts"));
        std::fs::write(&file, CONFIG).unwrap();
        std::fs::create_dir(&tools).unwrap();
        let script =
            "# helve: {\"description\": \"Greets.\", \"effect\": \"read\"}\necho hello from the server\n";
        std::fs::write(tools.join("greet.sh"), script).unwrap();
        let path = std::env::var("PATH").unwrap();
        let environment = [
            ("PATH", path.as_str()),
            ("HELVE_CONFIG", file.to_str().unwrap()),
            ("HELVE_SERVER__TOOLS_DIR", tools.to_str().unwrap()),
            ("GATE_KEY", "gate-key-of-the-server"),
            ("TAVILY_API_KEY", "tvly-of-the-server"),
            ("HELVE_NOTHING", "of that name"),
        ];
        let served = Served::start(&data, &environment);
        Self { data, served }
    }

    fn run(&self, arguments: &[&str], more: &[(&str, &str)]) -> Output {
        let mut command = helve();
        command.args(arguments).args(["--data", self.data.to_str().unwrap()]);
        command.envs(more.iter().copied()).output().unwrap()
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let output = self.run(arguments, &[]);
        assert!(output.status.success(), "{}", err(&output));
        serde_json::from_str(&out(&output)).unwrap()
    }

    fn said(&self) -> String {
        format!("using the server at http://{}\n", self.served.address())
    }
}

#[test]
fn models_are_those_of_the_server_with_its_keys() {
    let world = World::start();
    let shown = world.run(&["models", "show", "house"], &[]);
    assert_eq!(err(&shown), world.said());
    assert!(!out(&shown).contains("GATE_KEY"), "the server has the key: {}", out(&shown));
    let listed = world.json(&["models", "list", "--json"]);
    let names: Vec<&str> =
        listed["models"].as_array().unwrap().iter().filter_map(|model| model["name"].as_str()).collect();
    assert!(names.contains(&"house") && names.contains(&"demo"), "{names:?}");
    let unknown = world.run(&["models", "show", "horse"], &[]);
    assert!(err(&unknown).contains("there is no model `horse`"), "{}", err(&unknown));

    // Without the server, the shell's configuration and keys are all there is, and the command says so.
    let World { data, served } = world;
    drop(served);
    let alone = helve().args(["models", "show", "house", "--data", data.to_str().unwrap()]).output().unwrap();
    assert!(err(&alone).starts_with("no server is running"), "{}", err(&alone));
    assert!(err(&alone).contains("there is no model `house`"), "{}", err(&alone));
}

#[test]
fn a_tool_is_called_by_the_server_under_its_rules_and_with_its_folder() {
    let world = World::start();
    let greeted = world.run(&["tools", "call", "greet"], &[]);
    assert_eq!((out(&greeted).as_str(), err(&greeted)), ("hello from the server\n", world.said()));
    let denied = world.run(&["tools", "call", "calculator", r#"{"expression": "1 + 1"}"#], &[]);
    assert_eq!((denied.status.code(), out(&denied).as_str()), (Some(1), ""));
    assert!(err(&denied).contains("sums are forbidden here"), "{}", err(&denied));
    let near = world.run(&["tools", "call", "gret"], &[]);
    assert!(err(&near).contains("there is no tool `gret`; similar names: greet"), "{}", err(&near));
    let misfit = world.run(&["tools", "call", "time", r#"{"zone": 7}"#], &[]);
    assert!(err(&misfit).contains("zone") && !misfit.status.success(), "{}", err(&misfit));
    let wrong = world.run(&["tools", "call", "time", "[]"], &[]);
    assert!(err(&wrong).contains("the arguments must be a JSON object"), "{}", err(&wrong));
    let executions = world.served.ask("GET", "/api/executions", "", "");
    assert!(executions.contains("greet"), "{executions}");

    let chinese = [("LANG", "zh_CN.UTF-8")];
    let denied = world.run(&["tools", "call", "calculator", r#"{"expression": "1 + 1"}"#], &chinese);
    assert!(err(&denied).contains("有规则禁止") || err(&denied).contains("规则"), "{}", err(&denied));
    assert!(!err(&denied).contains("permission"), "{}", err(&denied));
}

#[test]
fn the_server_examines_itself_in_the_language_of_whoever_asks() {
    let world = World::start();
    let fine = world.run(&["doctor"], &[]);
    let told = out(&fine);
    assert_eq!(err(&fine), world.said());
    assert!(told.contains("tool `search_web`: it has its key"), "{told}");
    assert!(told.contains(&format!("this server answers on {}", world.served.address())), "{told}");
    assert!(told.contains("server.toml"), "the server's configuration: {told}");
    assert!(!told.contains("set GATE_KEY"), "{told}");
    let report = world.json(&["doctor", "--json"]);
    assert_eq!((&report["asked"], &report["ok"]), (&json!("server"), &json!(true)), "{report}");
    let chinese = out(&world.run(&["doctor"], &[("LANG", "zh_CN.UTF-8")]));
    assert!(chinese.contains("工具 `search_web`：已有密钥"), "{chinese}");
    // Also what was found odd when the server read its configuration, in its own language.
    assert!(told.contains("the environment variable HELVE_NOTHING is set"), "{told}");
    assert!(chinese.contains("设置了环境变量 HELVE_NOTHING，但"), "{chinese}");

    // The same command alone has none of that.
    let World { data, served } = world;
    drop(served);
    let alone = helve().args(["doctor", "--json", "--data", data.to_str().unwrap()]).output().unwrap();
    let report: Value = serde_json::from_str(&out(&alone)).unwrap();
    assert_eq!((&report["asked"], &report["server"]), (&json!("command"), &Value::Null), "{report}");
    assert!(report.to_string().contains("set TAVILY_API_KEY"), "{report}");
}

#[test]
fn a_server_that_does_not_answer_the_doctor_is_named_and_the_command_looks_itself() {
    let data = scratch();
    let served =
        Served::start(&data, &[("HELVE_TOKEN", "a-token-of-the-server"), ("TAVILY_API_KEY", "tvly-x")]);
    let at = ["doctor", "--data", data.to_str().unwrap()];
    let alone = helve().args(at).output().unwrap();
    let told = out(&alone);
    assert!(
        told.contains(&format!("the server at http://{} did not examine itself", served.address())),
        "{told}"
    );
    assert!(told.contains("HELVE_TOKEN") && told.contains("set TAVILY_API_KEY"), "{told}");
    let admitted = helve().args(at).env("HELVE_TOKEN", "a-token-of-the-server").output().unwrap();
    assert!(out(&admitted).contains("tool `search_web`: it has its key"), "{}", out(&admitted));
}
