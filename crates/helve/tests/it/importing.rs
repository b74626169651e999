//! `helve import rows`: the source system's tables from a dump, from JSON and from the database itself.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use tokio_postgres::NoTls;

use crate::on_postgres::database;
use crate::serving::Served;
use crate::{err, out, run, scratch};

const AGENT: &str = "5f0c2a34-8f6b-4a52-9a0e-6f2f6b1f9d11";

/// The source system's own tables and rows.
const TABLES: &str = r#"
CREATE TABLE tools (
    id varchar(100) PRIMARY KEY, name varchar(100) NOT NULL UNIQUE, type varchar(50) DEFAULT 'invokable', display_name text,
    description text, category varchar(50) DEFAULT 'custom', endpoint jsonb, parameters jsonb, response_transform jsonb,
    rate_limit jsonb, enabled boolean DEFAULT true, version varchar(20) DEFAULT '1.0.0', tags text[],
    created_at timestamptz DEFAULT now(), updated_at timestamptz DEFAULT now());
CREATE TABLE agents (
    id varchar(36) PRIMARY KEY, name varchar(100), description text, model varchar(100), system_prompt text,
    parameters jsonb, permissions jsonb, max_steps integer DEFAULT 10, created_at timestamptz DEFAULT now());
CREATE TABLE agent_tools (
    id varchar(36) PRIMARY KEY, agent_id varchar(36) REFERENCES agents (id), tool_id varchar(100) REFERENCES tools (id),
    enabled boolean DEFAULT true, config jsonb, created_at timestamptz DEFAULT now());
CREATE TABLE tool_executions (id serial, note text);
INSERT INTO tools (id, name, display_name, description, endpoint, parameters, tags) VALUES
    ('weather', 'get_weather', '天气', E'It''s the weather\nof a city; \\N, {"a"}.',
     '{"url_template": "https://api.example.com/w/{city}", "method": "GET", "headers": null,
       "auth": {"type": "bearer", "token_env": "WEATHER"}, "timeout": 30}',
     '{"type": "object", "properties": {"city": {"type": "string", "description": "…"}}, "required": ["city"]}',
     '{weather,"two words"}'),
    ('sum', 'sum_up', '', 'Adds numbers.', '{"url_template": "internal://calculator", "method": "POST", "auth": null, "timeout": 0}',
     '{"type": "object", "properties": {"expression": {"type": "string"}}, "required": ["expression"]}', NULL);
INSERT INTO agents (id, name, model, system_prompt, parameters) VALUES
    ('5f0c2a34-8f6b-4a52-9a0e-6f2f6b1f9d11', '小助手', 'demo', '你是一个助手。', '{"temperature": 0.5}'),
    ('6f0c2a34-8f6b-4a52-9a0e-6f2f6b1f9d12', 'Second agent', 'gone-model', '', NULL);
INSERT INTO agent_tools (id, agent_id, tool_id, enabled, config) VALUES
    ('l-2', '5f0c2a34-8f6b-4a52-9a0e-6f2f6b1f9d11', 'sum', true, NULL),
    ('l-1', '5f0c2a34-8f6b-4a52-9a0e-6f2f6b1f9d11', 'weather', false, '{"arguments": {"city": "北京"}}');
INSERT INTO tool_executions (note) VALUES ('INSERT INTO tools VALUES (1);'), (E'a\n\\.\nb');
"#;

fn import(data: &Path, source: &str, more: &[&str]) -> std::process::Output {
    run(&[&["import", "rows", source, "--data", data.to_str().unwrap()], more].concat(), "")
}

fn done(output: &std::process::Output) -> String {
    assert!(output.status.success(), "{}{}", out(output), err(output));
    out(output)
}

/// What there is: the definitions of the rows, as they are exported.
fn state(data: &Path) -> (Value, Value) {
    let told = |arguments: &[&str]| {
        let output = run(&[arguments, &["--data", data.to_str().unwrap()]].concat(), "");
        serde_json::from_str(&done(&output)).unwrap()
    };
    (told(&["tools", "export"]), told(&["agents", "export"]))
}

#[test]
fn a_real_dump_in_each_form_and_the_live_database_give_the_same_tools_agents_and_links() {
    let Some(url) = database() else { return };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let (client, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
        tokio::spawn(connection);
        client.batch_execute(TABLES).await.unwrap();
    });
    let folder = scratch();
    let mut sources = vec![url.clone()];
    for (name, form) in
        [("copy", &[][..]), ("inserts", &["--inserts"]), ("columns", &["--column-inserts", "--data-only"])]
    {
        let file = folder.join(name);
        let dumped = Command::new("pg_dump").args(form).arg("--file").arg(&file).arg(&url).output().unwrap();
        assert!(dumped.status.success(), "{}", err(&dumped));
        sources.push(file.to_str().unwrap().to_owned());
    }
    let mut states = vec![];
    for source in &sources {
        let data = scratch();
        let shown = done(&import(&data, source, &["--dry-run"]));
        for part in [
            "tool get_weather (weather)",
            "agent 小助手 (5f0c2a34-",
            "get_weather (off)",
            "`gone-model` is not one of this server",
            "secret WEATHER_TOKEN stays unbound",
            "2 tools, 2 agents, 2 links",
        ] {
            assert!(shown.contains(part), "{source}: {part}: {shown}");
        }
        let empty = state(&data);
        assert_eq!(
            empty.1["agents"].as_array().map_or(0, Vec::len),
            0,
            "a dry run makes nothing: {}",
            empty.1
        );
        let refused = import(&data, source, &[]);
        assert_eq!(refused.status.code(), Some(1));
        assert!(err(&refused).contains("nobody can be asked here"), "{}", err(&refused));
        let made = done(&import(&data, source, &["--yes"]));
        assert!(made.contains("imported: 2 tools, 2 agents, 2 links"), "{made}");
        let again = import(&data, source, &["--yes"]);
        assert_eq!(again.status.code(), Some(1), "{}", out(&again));
        assert!(
            err(&again).contains("tools, row ") && err(&again).contains("nothing was changed"),
            "{}",
            err(&again)
        );
        done(&import(&data, source, &["--yes", "--replace"]));
        states.push(state(&data));
        if source == &sources[1] {
            // The source system's own request, unchanged.
            let served = Served::start(&data, &[]);
            let headers = format!("X-Agent-ID: {AGENT}\r\n");
            let answer = served.ask("POST", "/api/agent", &headers, r#"{"message": "请计算 25 乘以 4"}"#);
            assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("data: [DONE]"), "{answer}");
            let runs = served.ask("GET", "/api/runs", "", "");
            assert!(runs.contains("\"agent\":\"小助手\""), "{runs}");
        }
    }
    for (source, other) in sources.iter().zip(&states).skip(1) {
        assert_eq!(*other, states[0], "{source}");
    }
}

#[test]
fn one_wrong_row_leaves_everything_as_it_was_and_is_told_with_its_number() {
    let data = scratch();
    let file = scratch().join("rows.json");
    let tool = |name: &str, url: &str| {
        json!({"id": name, "name": name, "description": "x", "endpoint": {"url_template": url, "method": "GET"},
            "parameters": {"type": "object", "properties": {}}})
    };
    let good = tool("good", "https://api.example.com/a");
    let write = |document: Value| std::fs::write(&file, document.to_string()).unwrap();
    let at = file.to_str().unwrap();
    write(json!({"tools": [good, tool("bad", "nonsense")], "agents": [{"id": "a", "name": "a"}]}));
    let refused = import(&data, at, &["--yes"]);
    assert_eq!(refused.status.code(), Some(1));
    let told = err(&refused);
    assert!(told.contains("tools, row 2 (`bad`)") && told.contains("nothing was changed"), "{told}");
    write(json!({"tools": [good, good]}));
    assert!(err(&import(&data, at, &["--yes"])).contains("row 1 has the same name"));
    write(json!({"tools": [good], "agents": [{"id": "same", "name": "a"}, {"id": "same", "name": "b"}]}));
    let told = err(&import(&data, at, &["--yes"]));
    assert!(told.contains("agents, row 2 (`b`)"), "{told}");
    let listed = out(&run(&["tools", "list", "--data", data.to_str().unwrap()], ""));
    assert!(!listed.contains("good"), "{listed}");
    write(
        json!({"tools": [good], "agents": [{"id": "a", "name": "a"}], "agent_tools": [{"agent_id": "a", "tool_id": "good"}]}),
    );
    let told: Value = serde_json::from_str(&done(&import(&data, at, &["--yes", "--json"]))).unwrap();
    assert_eq!((&told["made"], &told["links"]), (&json!(true), &json!(1)), "{told}");
}
