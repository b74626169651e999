//! Two users: whatever belongs to the one does not exist for the other, on every route of the document.
//!
//! Each operation has its row here. A new route without one fails the test: decide whose data it shows.

use std::sync::Arc;

use helve_store::TokenRights;
use helve_tool::{CallContext, Request, Tool, ToolFuture};
use helve_types::{Effect, OutputFile, ToolOutput, ToolSpec};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::test_server::{ServerOptions, TestServer, reply, spec};

/// Stands in everything that mei says.
const SECRET: &str = "ZEBRA-4711";
const PRIVATE_AGENT: &str = "meis-clerk";

/// Makes a file and a text that is cut.
struct Draw(ToolSpec);

impl Tool for Draw {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call<'a>(&'a self, _: Request<'a>, _: &'a CallContext) -> ToolFuture<'a> {
        let file = OutputFile { name: "a.png".into(), media_type: "image/png".into(), bytes: b"x".to_vec() };
        Box::pin(async move { Ok(ToolOutput { files: vec![file], ..ToolOutput::text("y".repeat(90_000)) }) })
    }
}

/// What another user's token may do on a route.
enum RouteRule {
    /// The route is about things of one user: with these ids of mei's in the address, each as (name, id).
    Theirs(&'static [&'static str]),
    /// It starts or shows something by an id of mei's in this body.
    Named(Value),
    /// It lists or counts, and what it says holds nothing of mei's.
    Open,
    /// It needs the right `admin`.
    Admin,
    /// Nothing is there, since this server has no identity provider.
    Missing,
}

/// The row of an operation.
fn row(operation: &str, mei: &Belongings) -> Option<RouteRule> {
    use RouteRule::{Admin, Missing, Named, Open, Theirs};
    Some(match operation {
        "GET /api/runs/{run}"
        | "GET /api/runs/{run}/events"
        | "POST /api/runs/{run}/cancel"
        | "POST /api/runs/{run}/resume"
        | "POST /api/runs/{run}/messages" => Theirs(&["run"]),
        "GET /api/runs/{run}/calls/{call}/output"
        | "POST /api/runs/{run}/calls/{call}/claim"
        | "POST /api/runs/{run}/calls/{call}/result" => Theirs(&["run", "call"]),
        "GET /api/runs/{run}/files/{file}" => Theirs(&["run", "file"]),
        "GET /api/executions/{call}" => Theirs(&["call"]),
        "GET /api/conversations/{conversation}"
        | "PATCH /api/conversations/{conversation}"
        | "DELETE /api/conversations/{conversation}"
        | "GET /api/conversations/{conversation}/messages" => Theirs(&["conversation"]),
        "GET /api/approvals/{approval}" | "POST /api/approvals/{approval}" => Theirs(&["approval"]),
        "DELETE /api/allowances/{allowance}" => Theirs(&["allowance"]),
        "DELETE /api/tokens/{token}" => Theirs(&["token"]),
        // An agent that only mei may use.
        "GET /api/agents/{agent}" | "GET /api/agents/{agent}/tools" => Theirs(&["agent"]),
        "GET /api/agents/{agent}/tools/{tool}" => Theirs(&["agent", "tool"]),
        "POST /api/runs" => Named(json!([
            {"message": "hi", "conversation": mei.conversation},
            {"message": "hi", "agent": PRIVATE_AGENT}
        ])),
        "POST /api/chat" => Named(json!([
            {"message": "hi", "conversationId": mei.conversation},
            {"message": "hi", "agent": PRIVATE_AGENT}
        ])),
        "POST /api/agent" => Named(json!([{"message": "hi", "conversationId": mei.conversation}])),
        "GET /api/agents"
        | "GET /api/allowances"
        | "GET /api/approvals"
        | "GET /api/budgets"
        | "GET /api/conversations"
        | "GET /api/executions"
        | "GET /api/me"
        | "GET /api/models"
        | "GET /api/runs"
        | "GET /api/session"
        | "GET /api/skills"
        | "GET /api/tokens"
        | "GET /api/tool-system/status"
        | "GET /api/tools"
        | "GET /api/tools/export"
        | "GET /healthz"
        | "GET /metrics"
        | "GET /openapi.json"
        | "GET /readyz" => Open,
        // Tools, their counts and skills belong to the server, and a session to whoever signs in.
        "GET /api/tools/{tool}"
        | "GET /api/tool-system/metrics/{tool}"
        | "GET /api/skills/{skill}"
        | "POST /api/tools/{name}/call"
        | "POST /api/tools/execute"
        | "POST /api/session"
        | "POST /api/tokens"
        | "PUT /api/me/password"
        | "GET /sign-in/done"
        | "DELETE /api/session" => Open,
        "POST /api/agents"
        | "PUT /api/agents/{agent}"
        | "PATCH /api/agents/{agent}"
        | "DELETE /api/agents/{agent}"
        | "GET /api/agents/{agent}/draft"
        | "PUT /api/agents/{agent}/draft"
        | "PATCH /api/agents/{agent}/draft"
        | "DELETE /api/agents/{agent}/draft"
        | "POST /api/agents/{agent}/draft/publish"
        | "POST /api/agents/{agent}/tools"
        | "PUT /api/agents/{agent}/tools/{tool}"
        | "PATCH /api/agents/{agent}/tools/{tool}"
        | "DELETE /api/agents/{agent}/tools/{tool}"
        | "GET /api/agents/export"
        | "POST /api/agents/import"
        | "GET /api/agents/{agent}/versions"
        | "GET /api/agents/{agent}/versions/{version}"
        | "GET /api/audit"
        | "GET /api/agents/{agent}/diff"
        | "POST /api/agents/{agent}/rollback"
        | "GET /api/doctor"
        | "POST /api/tools/import-openapi"
        | "POST /api/models/{name}/probe"
        | "POST /api/tool-system/reset"
        | "POST /api/skills"
        | "PATCH /api/skills/{skill}"
        | "DELETE /api/skills/{skill}"
        | "POST /api/skills/{skill}/agree"
        | "POST /api/skills/{skill}/reject"
        | "GET /api/skills/{skill}/versions"
        | "GET /api/skills/{skill}/versions/{version}"
        | "GET /api/skills/{skill}/diff"
        | "GET /api/skills/{skill}/file"
        | "GET /api/skills/{skill}/export"
        | "POST /api/tools"
        | "PUT /api/tools/{tool}"
        | "PATCH /api/tools/{tool}"
        | "DELETE /api/tools/{tool}"
        | "GET /api/tools/{tool}/versions"
        | "POST /api/tools/{tool}/agree"
        | "POST /api/tools/{tool}/reject"
        | "GET /api/tools/{tool}/grants"
        | "DELETE /api/tools/{tool}/grants"
        | "GET /api/users"
        | "POST /api/users"
        | "GET /api/users/{user}"
        | "PATCH /api/users/{user}"
        | "DELETE /api/users/{user}"
        | "PUT /api/users/{user}/password"
        | "GET /api/groups"
        | "POST /api/groups"
        | "GET /api/groups/{group}"
        | "PATCH /api/groups/{group}"
        | "DELETE /api/groups/{group}"
        | "PUT /api/groups/{group}/members/{user}"
        | "DELETE /api/groups/{group}/members/{user}" => Admin,
        "GET /sign-in/start" | "GET /sign-in/callback" | "POST /sign-in/back-channel" => Missing,
        // The signed link is the right; whoever has it may follow it.
        link if link.contains(" /approvals/") => Open,
        _ => return None,
    })
}

/// What mei has: one run of each kind, and what came of it.
struct Belongings {
    token: String,
    /// A run that waits for an answer, one that waits for a client, and one with a file.
    runs: [String; 3],
    conversation: String,
    file: String,
    approval: String,
    allowance: String,
}

impl Belongings {
    /// The ids that stand for a name in an address, in combinations that exist.
    fn fill(&self, path: &str, names: &[&str]) -> Vec<String> {
        let fill = |run: &String| {
            let mut filled = path.to_owned();
            for name in names {
                let id = match *name {
                    "run" => run.clone(),
                    "call" => format!("{run}:1:0"),
                    "file" => self.file.clone(),
                    "conversation" => self.conversation.clone(),
                    "approval" => self.approval.clone(),
                    "allowance" => self.allowance.clone(),
                    "token" => self.token.split('.').next().unwrap().to_owned(),
                    "agent" => PRIVATE_AGENT.into(),
                    "tool" => "look".into(),
                    other => panic!("mei has no {other}"),
                };
                filled = filled.replace(&format!("{{{name}}}"), &id);
            }
            assert!(!filled.contains('{'), "{filled}");
            filled
        };
        self.runs.iter().map(fill).collect()
    }

    fn ids(&self) -> Vec<&str> {
        let others = [&self.conversation, &self.file, &self.approval, &self.allowance];
        self.runs.iter().chain(others).map(String::as_str).chain([SECRET, PRIVATE_AGENT]).collect()
    }
}

async fn ask(
    server: &TestServer,
    token: &str,
    method: Method,
    path: &str,
    body: Option<&Value>,
) -> (StatusCode, String) {
    let mut request = server.request(method, path).bearer_auth(token);
    if let Some(body) = body {
        request = request.json(body);
    }
    let response = request.send().await.unwrap();
    (response.status(), response.text().await.unwrap())
}

async fn get(server: &TestServer, token: &str, path: &str) -> Value {
    let (status, text) = ask(server, token, Method::GET, path, None).await;
    assert_eq!(status, StatusCode::OK, "{path}: {text}");
    serde_json::from_str(&text).unwrap()
}

async fn start(server: &TestServer, token: &str, body: Value, wanted: &str) -> Value {
    let (status, text) = ask(server, token, Method::POST, "/api/runs", Some(&body)).await;
    assert_eq!(status, StatusCode::CREATED, "{text}");
    let started: Value = serde_json::from_str(&text).unwrap();
    let run = started["run"].as_str().unwrap();
    loop {
        let state = get(server, token, &format!("/api/runs/{run}")).await["state"].clone();
        if state != "running" {
            assert_eq!(state, wanted);
            return started;
        }
        tokio::task::yield_now().await;
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value}")).to_owned()
}

async fn belongings(server: &TestServer) -> Belongings {
    let agent = json!({"name": PRIVATE_AGENT, "tools": ["look"], "users": ["mei"]});
    assert_eq!(server.post("/api/agents", agent).await.status(), StatusCode::CREATED);
    let skill = json!({"name": "minutes", "description": "How minutes are written.", "instructions": "x"});
    assert_eq!(server.post("/api/skills", skill).await.status(), StatusCode::CREATED);
    let token = server.token("mei", TokenRights::Chat).await;
    let says = |more: Value| {
        let mut body = json!({"message": SECRET});
        helve_tool::merge_patch(&mut body, &more);
        body
    };
    let drawn = start(server, &token, says(json!({})), "completed").await;
    let allowed = start(server, &token, says(json!({})), "waiting_approval").await;
    let asked = get(server, &token, "/api/approvals").await;
    let path = format!("/api/approvals/{}", text(&asked["approvals"][0]["approval"]));
    let always =
        json!({"decision": "approve", "always": {"within": "agent", "arguments": {"q": "a*"}, "days": 3}});
    assert_eq!(ask(server, &token, Method::POST, &path, Some(&always)).await.0, StatusCode::OK);
    let run = text(&allowed["run"]);
    while get(server, &token, &format!("/api/runs/{run}")).await["state"] != "completed" {
        tokio::task::yield_now().await;
    }
    let waiting = start(server, &token, says(json!({})), "waiting_approval").await;
    let tools = json!({"tools": [{"name": "eval", "parameters": {"type": "object"}}]});
    let client = start(server, &token, says(tools), "waiting_client").await;
    let drawn = text(&drawn["run"]);
    let (_, log) = ask(server, &token, Method::GET, &format!("/api/runs/{drawn}/events"), None).await;
    let file = log.split(&format!("/api/runs/{drawn}/files/")).nth(1).unwrap();
    Belongings {
        runs: [text(&waiting["run"]), text(&client["run"]), drawn],
        conversation: text(&waiting["conversation"]),
        file: file.split('"').next().unwrap().to_owned(),
        approval: text(&get(server, &token, "/api/approvals").await["approvals"][0]["approval"]),
        allowance: text(&get(server, &token, "/api/allowances").await["allowances"][0]["id"]),
        token,
    }
}

/// Everything that mei can list.
async fn all_of(server: &TestServer, mei: &Belongings) -> Vec<Value> {
    let mut all = vec![];
    for path in
        ["/api/runs", "/api/conversations", "/api/approvals?state=all", "/api/allowances", "/api/executions"]
    {
        all.push(get(server, &mei.token, path).await);
    }
    all
}

async fn server() -> TestServer {
    let tools: Vec<Arc<dyn Tool>> = vec![Arc::new(Draw(spec("draw", Effect::Read)))];
    let plan = ServerOptions { tools, ..ServerOptions::default() };
    let script = [
        reply(r#"call draw {"q": "x"}"#),
        reply("say There."),
        reply(r#"call send {"q": "a"}"#),
        reply("say Sent."),
        reply(r#"call send {"q": "b"}"#),
        reply("call eval {}"),
    ];
    TestServer::with_options(plan, script).await
}

#[tokio::test]
async fn whatever_belongs_to_one_user_does_not_exist_for_another_on_every_route() {
    let server = server().await;
    let mei = belongings(&server).await;
    let li = server.token("li", TokenRights::Chat).await;
    let before = all_of(&server, &mei).await;
    let (_, document) = ask(&server, &li, Method::GET, "/openapi.json", None).await;
    let document: Value = serde_json::from_str(&document).unwrap();
    let (mut without_row, mut wrong, mut tried) = (vec![], vec![], 0);
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let name = format!("{} {path}", method.to_uppercase());
            let Some(row) = row(&name, &mei) else {
                without_row.push(name);
                continue;
            };
            let method = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
            let example = operation["requestBody"]["content"]["application/json"].get("example");
            let right = operation["x-helve-right"].as_str();
            let plain = path.split('/').map(|part| if part.starts_with('{') { "x" } else { part });
            let plain = plain.collect::<Vec<_>>().join("/");
            let mut expect = async |path: String, body: Option<&Value>, status: StatusCode| {
                tried += 1;
                let asked = format!("{path} {}", body.cloned().unwrap_or_default());
                let (got, text) = ask(&server, &li, method.clone(), &path, body).await;
                if got != status || mei.ids().iter().any(|id| text.contains(id) && !asked.contains(id)) {
                    wrong.push(format!("{method} {path}: {got} {}", &text[..text.floor_char_boundary(200)]));
                }
            };
            match row {
                RouteRule::Theirs(names) => {
                    assert_eq!(right, Some("chat"), "{name}");
                    for filled in mei.fill(path, names) {
                        expect(filled, example, StatusCode::NOT_FOUND).await;
                    }
                }
                RouteRule::Named(bodies) => {
                    for body in bodies.as_array().unwrap() {
                        expect(plain.clone(), Some(body), StatusCode::NOT_FOUND).await;
                    }
                }
                RouteRule::Admin => {
                    assert_eq!(right, Some("admin"), "{name}");
                    expect(plain.clone(), example, StatusCode::FORBIDDEN).await;
                }
                RouteRule::Missing => expect(plain.clone(), None, StatusCode::NOT_FOUND).await,
                RouteRule::Open if method == Method::GET && !path.contains('{') => {
                    // This server knows no vendor's format.
                    let status = match path.as_str() {
                        "/api/tools/export" => StatusCode::BAD_REQUEST,
                        _ => StatusCode::OK,
                    };
                    expect(plain.clone(), None, status).await;
                }
                RouteRule::Open => assert_ne!(right, Some("admin"), "{name}"),
            }
            // Nobody acts for mei who may not.
            let parameters = operation["parameters"].as_array().unwrap();
            if parameters.iter().any(|parameter| parameter["name"] == "user") && right == Some("chat") {
                expect(format!("{plain}?user=mei"), example, StatusCode::FORBIDDEN).await;
            }
        }
    }
    let named = server.request(Method::POST, "/api/agent").header("x-agent-id", PRIVATE_AGENT);
    let named = named.bearer_auth(&li).json(&json!({"message": "hi"})).send().await.unwrap();
    assert_eq!(named.status(), StatusCode::NOT_FOUND);
    assert_eq!(without_row, [""; 0], "routes without a row in this test");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(tried > 100, "{tried}");
    assert_eq!(all_of(&server, &mei).await, before, "nothing of mei's was changed");
}
