//! `helve audit`: who did what, and a log that was tampered with is found out.

use std::path::Path;

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::people::Home;
use crate::{err, out};

/// The exit code, and what was said on either stream.
fn audit(home: &Home, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = home.helve(&[&["audit"], arguments].concat());
    (output.status.code(), out(&output), err(&output))
}

/// As somebody does who may write to the file: the triggers are in nobody's way.
fn tamper(data: &Path, sql: &str) {
    let connection = Connection::open(data.join("helve.db")).unwrap();
    let triggers =
        "DROP TRIGGER IF EXISTS audit_is_not_changed; DROP TRIGGER IF EXISTS audit_is_not_deleted;";
    connection.execute_batch(triggers).unwrap();
    connection.execute_batch(sql).unwrap();
}

#[test]
fn the_audit_log_is_read_and_checked_beside_a_server_and_without_one() {
    let home = Home::new();
    let served = home.serve(&[]);
    for name in ["one", "two", "three"] {
        let tool =
            json!({"name": name, "description": "d", "endpoint": {"url_template": "https://example.com/"}});
        let made = served.ask("POST", "/api/tools", "", &tool.to_string());
        assert!(made.starts_with("HTTP/1.1 201"), "{made}");
    }
    let listed = served.ask("GET", "/api/audit?action=tool&limit=2", "", "");
    let listed: Value = serde_json::from_str(listed.split_once("\r\n\r\n").unwrap().1).unwrap();
    assert_eq!(listed["entries"].as_array().unwrap().len(), 2);
    assert_eq!((&listed["entries"][0]["by"], &listed["next"]), (&json!("local"), &json!(2)));
    let (code, head, _) = audit(&home, &["head"]);
    assert_eq!((code, head.trim()), (Some(0), listed["head"].as_str().unwrap()));
    let (code, said, told) = audit(&home, &["verify", "--expect", head.trim()]);
    assert_eq!(code, Some(0), "{said}{told}");
    assert!(said.contains("is whole: 3 entries"), "{said}");
    let refused = served.ask("GET", "/api/audit?acton=x", "", "");
    assert!(refused.starts_with("HTTP/1.1 400"), "{refused}");
    assert!(served.stop());

    let (_, lines, _) = audit(&home, &["list", "--user", "local", "--json"]);
    let seqs: Vec<u64> = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["seq"].as_u64().unwrap())
        .collect();
    assert_eq!(seqs, [3, 2, 1]);
    let token = home.helve(&["token", "create", "--user", "mei"]);
    assert!(token.status.success());
    let (_, lines, _) = audit(&home, &["list", "--limit", "1"]);
    assert!(lines.contains("token.created") && lines.contains("command line (mei)"), "{lines}");
    // The head of before is still a part of it.
    assert_eq!(audit(&home, &["verify", "--expect", head.trim()]).0, Some(0));
}

#[test]
fn what_was_done_to_the_audit_log_is_named() {
    let cases = [
        ("UPDATE audit SET detail = 'nothing' WHERE seq = 3", "entry 3 was changed"),
        ("DELETE FROM audit WHERE seq = 3", "entries 3 to 3 were removed"),
        (
            "DELETE FROM audit WHERE seq = 2; UPDATE audit SET seq = seq - 1 WHERE seq > 2",
            "entries 2 to 2 were removed",
        ),
        (
            "UPDATE audit SET seq = 99 WHERE seq = 2; UPDATE audit SET seq = 2 WHERE seq = 4;
             UPDATE audit SET seq = 4 WHERE seq = 99",
            "entry 2 is not in its place: it was written as entry 4",
        ),
        (
            "UPDATE audit SET seq = -seq WHERE seq > 2; UPDATE audit SET seq = 1 - seq WHERE seq < 0;
             INSERT INTO audit SELECT 3, at, by, about, action, detail, previous, hash FROM audit WHERE seq = 1",
            "entry 3 is not in its place: it was written as entry 1",
        ),
        ("DELETE FROM audit WHERE seq > 3", "the end was cut off: the last entry is 3, and entry 5"),
    ];
    for (sql, finding) in cases {
        let home = Home::new();
        for _ in 0..5 {
            assert!(home.helve(&["token", "create"]).status.success());
        }
        let (_, head, _) = audit(&home, &["head"]);
        tamper(&home.data, sql);
        let (code, said, told) = audit(&home, &["verify", "--expect", head.trim()]);
        assert_eq!(code, Some(3), "{sql}: {said}{told}");
        assert!(told.contains("NOT whole") && told.contains(finding), "{sql}: {told}");
        let (code, said, _) = audit(&home, &["verify", "--expect", head.trim(), "--json"]);
        let said: Value = serde_json::from_str(&said).unwrap();
        assert_eq!((code, &said["whole"]), (Some(3), &json!(false)));
    }
}
