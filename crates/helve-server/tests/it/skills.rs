//! Skills over HTTP: brought as JSON and as archives, looked at, agreed to, and refused.

use helve_skill::{SkillFiles, SkillPackage};
use helve_store::TokenRights;
use helve_types::SkillSource;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::test_server::TestServer;

fn minutes(text: &str) -> Value {
    json!({
        "name": "minutes",
        "description": "How minutes are written.",
        "instructions": text,
        "metadata": {"author": "office"},
        "files": [
            {"path": "template.md", "text": "## Decisions\n"},
            {"path": "logo.png", "base64": "iVBORwA="}
        ]
    })
}

async fn send(server: &TestServer, method: Method, path: &str, body: Value) -> (StatusCode, Value) {
    let response = server.request(method, path).json(&body).send().await.unwrap();
    let status = response.status();
    (status, response.json().await.unwrap_or_default())
}

async fn upload(server: &TestServer, kind: &str, bytes: Vec<u8>) -> (StatusCode, Value) {
    let request = server.request(Method::POST, "/api/skills").header("content-type", kind).body(bytes);
    let response = request.send().await.unwrap();
    let status = response.status();
    (status, response.json().await.unwrap_or_default())
}

async fn bytes(server: &TestServer, path: &str) -> Vec<u8> {
    let response = server.request(Method::GET, path).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK, "{path}");
    assert_eq!(response.headers()["x-content-type-options"], "nosniff");
    response.bytes().await.unwrap().to_vec()
}

#[tokio::test]
async fn a_skill_is_made_changed_offered_and_agreed_to() {
    let server = TestServer::new([]).await;
    let response = server.post("/api/skills", minutes("Decisions first.")).await;
    assert_eq!(
        (response.status(), &response.headers()["location"]),
        (StatusCode::CREATED, &"/api/skills/minutes".parse().unwrap())
    );
    assert_eq!(response.headers()["etag"], "\"1\"");
    let made: Value = response.json().await.unwrap();
    assert_eq!(
        (&made["outcome"], &made["trusted"], &made["state"]),
        (&json!("created"), &json!(false), &json!("enabled"))
    );
    let files: Vec<_> =
        made["files"].as_array().unwrap().iter().map(|file| (&file["path"], &file["text"])).collect();
    assert_eq!(
        files,
        [
            (&json!("SKILL.md"), &json!(true)),
            (&json!("logo.png"), &json!(false)),
            (&json!("template.md"), &json!(true))
        ]
    );
    let (status, same) = send(&server, Method::POST, "/api/skills", minutes("Decisions first.")).await;
    assert_eq!((status, &same["outcome"]), (StatusCode::OK, &json!("unchanged")));
    let (status, offered) = send(&server, Method::POST, "/api/skills", minutes("Tasks first.")).await;
    assert_eq!(
        (status, &offered["outcome"], &offered["state"]),
        (StatusCode::OK, &json!("quarantined"), &json!("quarantined"))
    );
    assert_eq!(offered["instructions"], "Decisions first.");

    let diff = server.get_json("/api/skills/minutes/diff").await;
    assert_eq!((&diff["from"], &diff["to"]), (&json!(1), &json!("offer")));
    assert!(diff["changes"][0]["now"].as_str().unwrap().contains("Tasks first."), "{diff}");
    let text = bytes(&server, "/api/skills/minutes/file?version=offer").await;
    assert!(String::from_utf8(text).unwrap().ends_with("Tasks first.\n"));
    let (status, refused) =
        send(&server, Method::POST, "/api/skills/minutes/agree", json!({"hash": "0"})).await;
    assert_eq!((status, &refused["code"]), (StatusCode::CONFLICT, &json!("skill_offer_changed")));
    let seen = json!({"hash": offered["offer"]["hash"]});
    let (status, agreed) = send(&server, Method::POST, "/api/skills/minutes/agree", seen).await;
    assert_eq!((status, &agreed["trusted"], &agreed["version"]), (StatusCode::OK, &json!(true), &json!(2)));
    let refused = server.request(Method::POST, "/api/skills/minutes/reject").send().await.unwrap();
    assert_eq!(refused.status(), StatusCode::CONFLICT);
    assert_eq!(refused.json::<Value>().await.unwrap()["code"], "skill_without_offer");
}

#[tokio::test]
async fn an_archive_is_read_exported_and_refused_by_what_it_is() {
    let server = TestServer::new([]).await;
    let mut files = SkillFiles::default();
    let document = "---\nname: 报销\ndescription: 审核报销。\ncolour: red\n---\n先写结论。";
    files.add("报销/SKILL.md", document.into()).unwrap();
    files.add("报销/参考/标准.md", "上限 600".into()).unwrap();
    let zip = SkillPackage::new(files, SkillSource::Import).unwrap().to_zip();
    let (status, made) = upload(&server, "application/zip", zip.clone()).await;
    assert_eq!((status, &made["ignored"]), (StatusCode::CREATED, &json!(["colour"])), "{made}");
    assert_eq!(bytes(&server, "/api/skills/报销/export").await, zip);
    assert_eq!(bytes(&server, "/api/skills/报销/file?path=参考/标准.md").await, "上限 600".as_bytes());
    let (status, changed) = send(&server, Method::PATCH, "/api/skills/报销", json!({"enabled": false})).await;
    assert_eq!(
        (status, &changed["state"], &changed["version"]),
        (StatusCode::OK, &json!("disabled"), &json!(2))
    );
    assert_eq!(server.get_json("/api/skills/报销/versions").await["versions"].as_array().unwrap().len(), 2);

    let (status, refused) = upload(&server, "application/zip", b"no archive".to_vec()).await;
    assert_eq!(
        (status, &refused["code"], &refused["field"]),
        (StatusCode::BAD_REQUEST, &json!("bad_definition"), &json!("archive"))
    );
    assert_eq!(upload(&server, "text/plain", zip.clone()).await.1["code"], "not_json_or_archive");
    assert_eq!(
        upload(&server, "application/gzip", vec![0; (8 << 20) + 1]).await.0,
        StatusCode::PAYLOAD_TOO_LARGE
    );
    assert_eq!(
        server.request(Method::DELETE, "/api/skills/报销").send().await.unwrap().status(),
        StatusCode::NO_CONTENT
    );
    assert_eq!(server.get_json("/api/skills").await["skills"], json!([]));
}

#[tokio::test]
async fn what_is_wrong_with_a_skill_is_told_with_its_place() {
    let server = TestServer::new([]).await;
    let with = |member: &str, value: Value| {
        let mut body = minutes("x");
        body[member] = value;
        body
    };
    for (body, field, code) in [
        (with("name", json!("Minutes")), "name", "definition_skill_name_unfit"),
        (with("description", json!("")), "description", "definition_description_empty"),
        (with("files", json!([{"path": "../x", "text": ""}])), "files", "definition_path_unfit"),
        (with("files", json!([{"path": "x"}])), "files.0", "definition_file_in_one_form"),
        (with("files", json!([{"path": "x", "base64": "?"}])), "files.0", "definition_base64_wrong"),
        (
            with("files", json!([{"path": "x", "text": ""}, {"path": "x", "text": ""}])),
            "x",
            "definition_path_twice",
        ),
        (with("files", json!([{"path": "SKILL.md", "text": ""}])), "files", "definition_skill_both_forms"),
        (json!({"files": []}), "files", "definition_skill_both_forms"),
        (
            json!({"files": [{"path": "SKILL.md", "text": "x"}]}),
            "SKILL.md",
            "definition_front_matter_missing",
        ),
    ] {
        let (status, told) = send(&server, Method::POST, "/api/skills", body).await;
        assert_eq!(
            (status, &told["code"], &told["field"]),
            (StatusCode::BAD_REQUEST, &json!("bad_definition"), &json!(field)),
            "{told}"
        );
        assert_eq!(told["params"]["problem"]["params"]["problem"]["code"], code, "{told}");
    }
    let (status, told) = send(&server, Method::POST, "/api/skills", json!({"nme": "x"})).await;
    assert_eq!((status, &told["code"]), (StatusCode::BAD_REQUEST, &json!("unknown_field")));
}

#[tokio::test]
async fn who_may_only_chat_sees_names_and_descriptions() {
    let server = TestServer::new([]).await;
    send(&server, Method::POST, "/api/skills", minutes("secret instructions")).await;
    let token = server.token("mei", TokenRights::Chat).await;
    let get = async |path: &str| {
        let response = server.request(Method::GET, path).bearer_auth(&token).send().await.unwrap();
        (response.status(), response.text().await.unwrap())
    };
    for path in ["/api/skills", "/api/skills/minutes"] {
        let (status, text) = get(path).await;
        assert_eq!(status, StatusCode::OK);
        assert!(text.contains("How minutes are written.") && !text.contains("secret"), "{text}");
        assert!(!text.contains("template.md"), "{text}");
    }
    for path in ["/versions", "/versions/1", "/diff", "/file", "/export"] {
        assert_eq!(get(&format!("/api/skills/minutes{path}")).await.0, StatusCode::FORBIDDEN, "{path}");
    }
}
