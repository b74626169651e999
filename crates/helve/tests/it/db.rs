//! `helve db`: the layout is looked at and changed, and a database moves to PostgreSQL and back.

use serde_json::{Value, json};
use tokio_postgres::NoTls;

use crate::on_postgres::database;
use crate::people::{Home, ask};
use crate::serving::Served;
use crate::{err, helve, out, run, scratch};

fn execute(url: &str, sql: &str) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
        tokio::spawn(connection);
        client.batch_execute(sql).await.unwrap();
    });
}

/// The exit code, and what was said on either stream.
fn db(arguments: &[&str], variables: &[(&str, &str)]) -> (Option<i32>, String, String) {
    let output = helve().arg("db").args(arguments).envs(variables.iter().copied()).output().unwrap();
    (output.status.code(), out(&output), err(&output))
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn the_layout_of_sqlite_is_checked_beside_a_server_and_changed_without_one() {
    let home = Home::new();
    let at = home.at();
    let with = |arguments: &[&str]| {
        let output = run(&[&["db", "migrate"], arguments, &at].concat(), "");
        (output.status.code(), out(&output), err(&output))
    };
    let (code, said, _) = with(&["--check"]);
    assert_eq!(code, Some(3));
    assert!(said.contains("no database yet"), "{said}");
    assert!(!home.data.join("helve.db").exists(), "a check makes nothing");
    let (code, said, _) = with(&[]);
    assert_eq!(code, Some(0));
    assert!(said.contains("made with layout"), "{said}");
    let (code, said, _) = with(&[]);
    assert_eq!(code, Some(0));
    assert!(said.contains("nothing changed"), "{said}");

    let served = home.serve(&[]);
    let (code, said, told) = with(&["--check", "--json"]);
    assert_eq!(code, Some(0), "{told}");
    let said = parsed(&said);
    assert_eq!((&said["pending"], &said["applied"]), (&json!([]), &json!([])));
    assert_eq!(said["layout"], said["newest"]);
    let (code, _, told) = with(&[]);
    assert_eq!(code, Some(1));
    assert!(told.contains("is in use by helve, process"), "{told}");
    let target = scratch();
    let copied = home.helve(&["db", "copy", "--to", target.to_str().unwrap()]);
    assert_eq!(copied.status.code(), Some(1));
    assert!(err(&copied).contains("is in use by helve, process"), "{}", err(&copied));
    assert!(served.stop());
}

#[test]
fn the_layout_of_postgresql_is_checked_and_changed() {
    let Some(url) = database() else { return };
    let english = [("HELVE_DATABASE_URL", url.as_str())];
    let chinese = [english[0], ("LANG", "zh_CN.UTF-8")];
    let (code, said, told) = db(&["migrate", "--check"], &english);
    assert_eq!(code, Some(3), "{told}");
    assert!(said.starts_with("PostgreSQL 127.0.0.1:") && said.contains("no database yet"), "{said}");
    let (code, said, told) = db(&["migrate", "--json"], &english);
    assert_eq!(code, Some(0), "{told}");
    let made = parsed(&said);
    assert_eq!(made["layout"], made["newest"]);
    assert_eq!(made["applied"][0], json!({"number": 1, "name": "layout"}));
    assert_eq!(db(&["migrate", "--check"], &english).0, Some(0));

    // As an older version left it: the last step is applied again.
    let older = "DELETE FROM migrations WHERE number = 19; DROP TABLE user_bytes;
                 ALTER TABLE runs DROP COLUMN bytes;
                 CREATE TABLE run_bytes (user_id TEXT, run UUID, bytes BIGINT)";
    execute(&url, older);
    let (code, said, _) = db(&["migrate", "--check"], &english);
    assert_eq!(code, Some(3));
    assert!(said.contains("missing: 19 user_bytes. Back up, then run: helve db migrate"), "{said}");
    let (code, said, _) = db(&["migrate", "--check"], &chinese);
    assert_eq!(code, Some(3));
    assert!(said.contains("不是最新的；缺少：19 user_bytes"), "{said}");
    let (code, said, told) = db(&["migrate"], &english);
    assert_eq!(code, Some(0), "{told}");
    assert!(said.contains("19 user_bytes"), "{said}");

    execute(&url, "INSERT INTO migrations VALUES (9999, 'later', 'x', 1)");
    for arguments in [&["migrate", "--check"][..], &["migrate"]] {
        let (code, _, told) = db(arguments, &english);
        assert_eq!(code, Some(1));
        assert!(told.contains("was written by a newer Helve (layout 9999)"), "{told}");
        assert!(!told.contains("hush"), "{told}");
    }
    let (_, _, told) = db(&["migrate", "--check"], &chinese);
    assert!(told.contains("由更新的 Helve 写入（布局 9999）"), "{told}");
}

#[test]
fn a_database_moves_to_postgresql_and_back_and_its_server_goes_on() {
    let Some(url) = database() else { return };
    let home = Home::new();
    let served = home.serve(&[]);
    let (run, question) = ask(&served, "", "milk");
    assert!(served.stop());

    let copied = home.helve(&["db", "copy", "--to", &url, "--json"]);
    assert_eq!(copied.status.code(), Some(0), "{}", err(&copied));
    let report = parsed(&out(&copied));
    let events = report["tables"].as_array().unwrap().iter().find(|table| table["table"] == "run_events");
    assert!(events.unwrap()["rows"].as_u64().unwrap() > 2, "{report}");
    assert!(!out(&copied).contains("hush"), "{report}");

    let on_postgres = [("HELVE_DATABASE_URL", url.as_str())];
    let served = home.serve(&on_postgres);
    let path = format!("/api/approvals/{question}");
    let answered = served.ask("POST", &path, "", r#"{"decision": "approve"}"#);
    assert!(answered.starts_with("HTTP/1.1 20"), "{answered}");
    let began = std::time::Instant::now();
    while !served.ask("GET", &format!("/api/runs/{run}"), "", "").contains(r#""state":"completed""#) {
        assert!(began.elapsed().as_secs() < 30, "the run goes on");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert!(served.stop());
    assert_eq!(home.notes().matches("milk").count(), 1, "{}", home.notes());

    let back = scratch();
    let arguments = ["copy", "--to", back.to_str().unwrap()];
    let (code, said, told) = db(&arguments, &on_postgres);
    assert_eq!(code, Some(0), "{told}");
    assert!(said.contains("copied ") && said.contains("compared every column"), "{said}");
    assert!(told.contains("run_events: ") && told.contains(" rows compared"), "{told}");
    assert!(!said.contains("hush") && !told.contains("hush"), "{said}{told}");
    let (code, _, told) = db(&arguments, &[on_postgres[0], ("LANG", "zh_CN.UTF-8")]);
    assert_eq!(code, Some(1));
    assert!(told.contains("不是空的：表 `users` 中有数据"), "{told}");
    let (code, _, told) = db(&["copy"], &on_postgres);
    assert_eq!(code, Some(2), "{told}");

    let served = Served::start(&back, &[("HELVE_CONFIG", home.config.to_str().unwrap())]);
    let found = served.ask("GET", &format!("/api/runs/{run}"), "", "");
    assert!(found.contains(r#""state":"completed""#), "{found}");
    assert!(served.stop());
}
