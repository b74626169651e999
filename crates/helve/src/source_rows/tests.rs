//! Dumps as `pg_dump` writes them, and dumps that somebody made up.

use serde_json::{Value, json};

use super::*;

fn read(text: &str) -> anyhow::Result<SourceRows> {
    read_source(std::io::BufReader::with_capacity(7, text.as_bytes()))
}

fn wrong(text: &str) -> String {
    format!("{:#}", read(text).unwrap_err())
}

const CREATE: &str = "CREATE TABLE public.tools (\n    id character varying(100) NOT NULL,\n    name text,\n    \
    parameters jsonb DEFAULT '{}'::jsonb,\n    enabled boolean,\n    tags text[],\n    \
    CONSTRAINT x CHECK ((name <> ''::text))\n);\n";

fn expected() -> Value {
    json!([{"id": "w", "name": "it's \"天气\"\n", "parameters": {"type": "object"}, "enabled": true, "tags": ["a", "b c"]},
        {"id": "n", "name": null, "parameters": null, "enabled": false, "tags": []}])
}

#[test]
fn copy_and_both_forms_of_insert_give_the_same_rows() {
    let copy = "COPY public.tools (id, name, parameters, enabled, tags) FROM stdin;\n\
        w\tit's \"天气\"\\n\t{\"type\": \"object\"}\tt\t{a,\"b c\"}\nn\t\\N\t\\N\tf\t{}\n\\.\n\n";
    let values = "('w', 'it''s \"天气\"\n', '{\"type\": \"object\"}', true, '{a,\"b c\"}')";
    let escaped = "('w', E'it\\'s \"天气\"\\n', '{\"type\": \"object\"}'::jsonb, true, ARRAY['a', 'b c'])";
    let other = "('n', NULL, NULL, false, '{}')";
    let dumps = [
        format!("\\restrict abc\n-- a comment; with a mark\n{copy}"),
        format!("{CREATE}{}", copy.replace(" (id, name, parameters, enabled, tags)", "")),
        format!(
            "{CREATE}INSERT INTO public.tools VALUES {values};\nINSERT INTO public.tools VALUES {other};\n"
        ),
        format!(
            "INSERT INTO tools (id, name, parameters, enabled, tags) VALUES {escaped},\n{other} ON CONFLICT DO NOTHING;"
        ),
    ];
    for dump in dumps {
        let rows = read(&dump).unwrap();
        assert_eq!(json!(rows.of(TOOLS)), expected(), "{dump}");
    }
}

#[test]
fn other_statements_and_tables_are_passed_over_and_nothing_in_them_is_taken_for_a_row() {
    let dump = "SET x = 1; DROP TABLE tools; SELECT pg_sleep(100);\n\
        CREATE FUNCTION f() RETURNS void AS $body$ BEGIN; INSERT INTO tools VALUES ('evil'); END $body$ LANGUAGE sql;\n\
        COPY public.tool_executions (id, note) FROM stdin;\nINSERT INTO tools VALUES\t('evil');\nCOPY tools\tx\n\\.\n\
        /* INSERT INTO tools VALUES ('evil'); /* nested */ */\n\
        INSERT INTO notes VALUES ('; INSERT INTO tools VALUES (''evil'');');\n\
        DO 'INSERT INTO tools VALUES (1)';\n\
        COPY public.tools (id) FROM stdin;\nw\n\\.\nCOPY other.tools (id) FROM stdin;\nevil\n\\.\n";
    let rows = read(dump).unwrap();
    assert_eq!(json!(rows.of(TOOLS)), json!([{"id": "w"}]));
    assert_eq!(rows.notes.len(), 1, "{:?}", rows.notes);
    assert!(rows.notes[0].contains("`other` is left out"), "{:?}", rows.notes);
}

#[test]
fn what_cannot_be_read_is_told_with_its_line() {
    for (dump, part) in [
        ("", "no table `tools`"),
        ("SELECT 1;", "no table `tools`"),
        ("PGDMP\u{1}", "pg_dump --format=plain"),
        ("\u{1f}\u{8b}", "no table"),
        ("COPY tools (id, name) FROM stdin;\na\n\\.\n", "line 2: the row has 1 fields, and the table has 2"),
        ("COPY tools (id) FROM stdin;\na\n", "ends in the middle of the table `tools`"),
        ("COPY tools FROM stdin;\na\n\\.\n", "line 1: the columns of the table `tools` are not known"),
        ("\n\nINSERT INTO tools (id) VALUES (now());", "line 3: its values cannot be read"),
        ("INSERT INTO tools (id) VALUES ('a', 'b');", "has 2 values, and the table has 1 columns"),
        ("INSERT INTO tools (id) VALUES ('a", "ends in the middle of a statement"),
        ("COPY tools (id) FROM stdin WITH (FORMAT csv);\na\n\\.\n", "only the usual form of COPY"),
        ("[1]", "must be an object with the lists"),
        ("{\"tools\": 1}", "`tools` must be a list"),
        ("{\"agents\": [1]}", "`agents`, row 1: it must be an object"),
    ] {
        let told = wrong(dump);
        assert!(told.contains(part), "{dump:?}: {told}");
    }
}

#[test]
fn what_is_longer_than_the_bounds_is_refused_and_what_is_not_read_may_be_of_any_length() {
    let long = "x".repeat(KEPT_BYTES_MAX + 1);
    let told = wrong(&format!("COPY tools (id) FROM stdin;\n{long}\n\\.\n"));
    assert!(told.contains("the row has more than 16 MiB"), "{told}");
    let told = wrong(&format!("INSERT INTO tools (id) VALUES ('{long}');"));
    assert!(told.contains("the statement has more than 16 MiB"), "{told}");
    let rows = "a\n".repeat(ROWS_MAX + 1);
    let told = wrong(&format!("COPY tools (id) FROM stdin;\n{rows}\\.\n"));
    assert!(told.contains("more than 10000 rows"), "{told}");
    let skipped =
        format!("INSERT INTO logs VALUES ('{long}');\nCOPY logs (x) FROM stdin;\n{long}\n\\.\n{CREATE}");
    assert!(read(&skipped).unwrap().of(TOOLS).is_empty());
}

fn planned(document: Value) -> Plan {
    let rows = read(&document.to_string()).unwrap();
    let find_tool = |id: &str| (id == "calculator").then(|| id.to_owned());
    make_plan(rows, &KnownNames { has_model: &|name| name == "volcano", find_tool: &find_tool })
}

#[test]
fn agents_keep_their_ids_and_links_and_what_does_not_fit_is_told() {
    let plan = planned(json!({
        "tools": [{"id": "weather", "name": "get_weather", "owner": "mei"}],
        "agents": [
            {"id": "u-1", "name": "客服 助手", "model": "volcano", "system_prompt": "回答要短。", "max_steps": null,
             "parameters": {"temperature": 0.3, "frequency_penalty": 1}, "permissions": null, "created_at": "x"},
            {"id": "u-2", "name": "客服-助手", "model": "gpt-9", "max_steps": 5000, "team": "a",
             "permissions": {"deny": ["get_weather"]}}
        ],
        "agent_tools": [
            {"id": "3", "agent_id": "u-1", "tool_id": "calculator", "enabled": true, "config": {"timeout": 3}},
            {"id": "1", "agent_id": "u-1", "tool_id": "weather", "enabled": false,
             "config": {"arguments": {"city": "北京"}, "timeout_ms": null}},
            {"id": "2", "agent_id": "u-1", "tool_id": "gone", "enabled": true, "config": null},
            {"id": "4", "agent_id": "nobody", "tool_id": "weather", "enabled": true, "config": null}
        ]
    }));
    let first = &plan.agents[0];
    assert_eq!(
        first.definition,
        json!({"id": "u-1", "name": "客服-助手", "display_name": "客服 助手", "model": "volcano",
            "system_prompt": "回答要短。", "params": {"temperature": 0.3}, "enabled": true,
            "tools": [{"name": "get_weather", "enabled": false, "config": {"arguments": {"city": "北京"}}},
                {"name": "calculator", "enabled": true, "config": {}}]})
    );
    assert_eq!(plan.links, 2);
    let told = first.notes.join("\n");
    for part in ["`frequency_penalty`", "`gone` is left out", "`calculator`: of its config `timeout`"] {
        assert!(told.contains(part), "{part}: {told}");
    }
    let second = &plan.agents[1];
    assert_eq!(second.definition["name"], "客服-助手-2");
    assert_eq!(second.definition["enabled"], false, "what was forbidden must not become allowed");
    let told = second.notes.join("\n");
    for part in ["`gpt-9` is not one of this server", "max_steps 5000", "`team`", "helve agents enable"] {
        assert!(told.contains(part), "{part}: {told}");
    }
    let told = plan.notes.join("\n");
    assert!(told.contains("`owner`") && told.contains("1 links of the agent `nobody`"), "{told}");
}
