//! How much there may be at a time: who waits, who is refused, and who is not starved.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use helve_model::Reply;
use helve_runtime::{AdmissionSettings, ShareSettings};
use helve_server::ServerLimits;
use helve_store::{Disk, DiskSpace, FreeMin, Page, RunFilter, Scope, Views};
use reqwest::{Method, Response, StatusCode};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use crate::test_server::{ServerOptions, TestServer, reply};

fn hangs() -> Reply {
    Reply::new().text("Once").hangs()
}

fn runs(all: usize, each: usize, queue_max: usize, wait: Duration) -> ServerOptions {
    ServerOptions { runs: AdmissionSettings { all, each, queue_max, wait }, ..ServerOptions::default() }
}

const LONG: Duration = Duration::from_secs(120);

async fn start_for(server: &TestServer, user: &str) -> Response {
    server.post("/api/runs", json!({"message": "go", "user": user})).await
}

async fn id_of(response: Response) -> String {
    assert_eq!(response.status(), StatusCode::CREATED);
    response.json::<Value>().await.unwrap()["run"].as_str().unwrap().to_owned()
}

async fn status(server: &TestServer, key: &str) -> Value {
    server.get_json("/api/tool-system/status").await[key].clone()
}

/// Waits until a figure of the status is this.
async fn reaches(server: &TestServer, key: &str, figure: u64) {
    while status(server, key).await != json!(figure) {
        tokio::task::yield_now().await;
    }
}

async fn cancel(server: &TestServer, run: &str) {
    let stopped = server.post(&format!("/api/runs/{run}/cancel"), json!({})).await;
    assert_eq!(stopped.status(), StatusCode::ACCEPTED);
}

/// Status, code and whether it is said when to come again.
async fn refusal(response: Response) -> (u16, String, u64) {
    let after = response.headers().get("retry-after").map(|value| value.to_str().unwrap().parse().unwrap());
    let status = response.status().as_u16();
    assert_eq!(response.headers()["content-type"], "application/problem+json");
    let problem: Value = response.json().await.unwrap();
    (status, problem["code"].as_str().unwrap().to_owned(), after.unwrap_or(0))
}

async fn on_record(server: &TestServer) -> Vec<String> {
    let all = server.store.runs(Scope::Everyone, RunFilter::default(), Page::first(99)).await.unwrap();
    let mut all: Vec<_> = all.into_iter().map(|record| (record.run, record.user.0)).collect();
    all.sort();
    all.into_iter().map(|(_, user)| user).collect()
}

#[tokio::test]
async fn a_flood_of_one_user_delays_another_by_one_turn() {
    let replies = std::iter::once(hangs()).chain((0..7).map(|_| reply("say Done.")));
    let server = Arc::new(TestServer::with_options(runs(1, 1, 99, LONG), replies).await);
    let first = id_of(start_for(&server, "a").await).await;
    let mut waiting = vec![];
    for (queued, user) in (1..).zip(["a", "a", "a", "a", "a", "b", "a"]) {
        let server = server.clone();
        waiting.push(tokio::spawn({
            let server = server.clone();
            async move { id_of(start_for(&server, user).await).await }
        }));
        reaches(&server, "queued_runs", queued).await;
    }
    assert_eq!(status(&server, "active_runs").await, json!(1));
    assert_eq!(on_record(&server).await, ["a"], "what waits to begin is not on record");
    cancel(&server, &first).await;
    for run in waiting {
        assert_eq!(server.settled(&run.await.unwrap()).await, "completed");
    }
    assert_eq!(on_record(&server).await, ["a", "a", "b", "a", "a", "a", "a", "a"]);
    assert_eq!(status(&server, "refused_runs").await, json!(0));
}

#[tokio::test]
async fn whoever_is_refused_learns_by_whose_bound_and_nothing_of_it_is_on_record() {
    let server = TestServer::with_options(runs(2, 1, 1, Duration::from_millis(20)), [hangs(), hangs()]).await;
    id_of(start_for(&server, "a").await).await;
    assert_eq!(refusal(start_for(&server, "a").await).await, (429, "too_many_runs".into(), 1));
    id_of(start_for(&server, "b").await).await;
    assert_eq!(refusal(start_for(&server, "c").await).await, (503, "too_many_runs".into(), 1));
    let call = server.post("/api/tools/look/call", json!({"arguments": {"q": "x"}})).await;
    assert_eq!(refusal(call).await, (503, "too_many_runs".into(), 1));
    assert_eq!(on_record(&server).await, ["a", "b"]);
    let page = server.get("/metrics").await.text().await.unwrap();
    for line in [
        "helve_runs_active 2",
        "helve_runs_queued 0",
        "helve_runs_refused_total{bound=\"user\"} 1",
        "helve_runs_refused_total{bound=\"all\"} 2",
    ] {
        assert!(page.lines().any(|held| held == line), "{line} is not in\n{page}");
    }
}

#[tokio::test]
async fn a_request_that_comes_again_finds_its_run_or_call_however_full_it_is() {
    let server = TestServer::with_options(runs(1, 1, 0, Duration::ZERO), [hangs()]).await;
    let post = |path: &str, body: Value| {
        server.request(reqwest::Method::POST, path).header("Idempotency-Key", "k1").json(&body).send()
    };
    let call = || post("/api/tools/look/call", json!({"arguments": {"q": "x"}}));
    let called: Value = call().await.unwrap().json().await.unwrap();
    let start = || post("/api/runs", json!({"message": "go"}));
    let run = id_of(start().await.unwrap()).await;
    assert_eq!(refusal(start_for(&server, "local").await).await.1, "too_many_runs");
    let again: Value = start().await.unwrap().json().await.unwrap();
    assert_eq!(again["run"], json!(run));
    let again: Value = call().await.unwrap().json().await.unwrap();
    assert_eq!((&again["run"], again["run"].is_string()), (&called["run"], true), "{again}");
    assert_eq!(status(&server, "refused_runs").await, json!(1));
}

#[tokio::test]
async fn a_run_that_waits_for_a_person_gives_its_turn_away_and_waits_for_another_when_answered() {
    let replies = [reply(r#"call send {"q": "x"}"#), hangs(), reply("say Sent.")];
    let server = TestServer::with_options(runs(1, 1, 1, LONG), replies).await;
    let asks = id_of(start_for(&server, "local").await).await;
    assert_eq!(server.settled(&asks).await, "waiting_approval");
    let works = id_of(start_for(&server, "local").await).await;
    let listed = server.get_json("/api/approvals").await;
    let approval = listed["approvals"][0]["approval"].as_str().unwrap().to_owned();
    // The answer is taken at once, whatever else is at work.
    let answered = server.post(&format!("/api/approvals/{approval}"), json!({"decision": "approve"})).await;
    assert_eq!(answered.status(), StatusCode::OK);
    reaches(&server, "queued_runs", 1).await;
    assert_eq!(server.get_json(&format!("/api/runs/{asks}")).await["state"], "running");
    cancel(&server, &works).await;
    assert_eq!(server.settled(&asks).await, "completed");
}

#[tokio::test]
async fn a_run_that_waits_for_its_turn_can_be_stopped() {
    let replies = [reply(r#"call send {"q": "x"}"#), hangs()];
    let server = TestServer::with_options(runs(1, 1, 1, LONG), replies).await;
    let asks = id_of(start_for(&server, "local").await).await;
    server.settled(&asks).await;
    id_of(start_for(&server, "local").await).await;
    let listed = server.get_json("/api/approvals").await;
    let approval = listed["approvals"][0]["approval"].as_str().unwrap().to_owned();
    server.post(&format!("/api/approvals/{approval}"), json!({"decision": "approve"})).await;
    reaches(&server, "queued_runs", 1).await;
    cancel(&server, &asks).await;
    assert_eq!(server.settled(&asks).await, "cancelled");
    reaches(&server, "queued_runs", 0).await;
}

#[tokio::test]
async fn streams_have_a_bound_for_each_user_and_one_for_all() {
    for (all, each, status, bound) in [(5, 1, 429, "user"), (1, 5, 503, "all")] {
        let limits = ServerLimits { streams_max: all, streams_per_user_max: each, ..ServerLimits::default() };
        let server = TestServer::with_options(
            ServerOptions { limits, ..ServerOptions::default() },
            [hangs(), reply("say Hi.")],
        )
        .await;
        let (run, _) = server.start("tell me").await;
        let path = format!("/api/runs/{run}/events");
        let mut open = server.get(&path).await.bytes_stream();
        open.next().await.unwrap().unwrap();
        assert_eq!(refusal(server.get(&path).await).await, (status, "too_many_streams".into(), 5));
        let chat = server.post("/api/chat", json!({"message": "hello"})).await;
        assert_eq!(refusal(chat).await, (status, "too_many_streams".into(), 5));
        assert_eq!(on_record(&server).await.len(), 1, "nothing runs for somebody who cannot hear of it");
        let page = server.get("/metrics").await.text().await.unwrap();
        let refused = format!("helve_streams_refused_total{{bound=\"{bound}\"}} 2");
        assert!(page.contains("helve_streams_open 1\n") && page.contains(&refused), "{page}");
        drop(open);
        reaches(&server, "open_streams", 0).await;
        let chat = server.post_text("/api/chat", json!({"message": "hello"})).await;
        assert!(chat.contains("Hi."), "{chat}");
    }
}

#[tokio::test]
async fn with_little_room_on_the_disk_nothing_is_begun_and_what_was_begun_goes_on() {
    let disk = Arc::new(Disk::new(FreeMin::Bytes(100)));
    let plan = ServerOptions { disk: disk.clone(), ..ServerOptions::default() };
    let replies = [reply(r#"call send {"q": "x"}"#), reply("say Sent."), reply("say Hi.")];
    let server = TestServer::with_options(plan, replies).await;
    let (run, _) = server.start("send x").await;
    assert_eq!(server.settled(&run).await, "waiting_approval");
    assert_eq!(server.get("/readyz").await.status(), StatusCode::OK);

    disk.record_space(DiskSpace { free: 99, total: 1_000 });
    assert_eq!(refusal(start_for(&server, "local").await).await, (503, "storage_full".into(), 30));
    let call = server.post("/api/tools/look/call", json!({"arguments": {"q": "x"}})).await;
    assert_eq!(refusal(call).await, (503, "storage_full".into(), 30));
    let ready = server.get("/readyz").await;
    assert_eq!(ready.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(ready.json::<Value>().await.unwrap()["problem"], "storage full");
    let told = json!({"free_bytes": 99, "total_bytes": 1_000, "free_min_bytes": 100, "low": true});
    assert_eq!(status(&server, "disk").await, told);
    let listed = server.get_json("/api/approvals").await;
    let approval = listed["approvals"][0]["approval"].as_str().unwrap().to_owned();
    server.post(&format!("/api/approvals/{approval}"), json!({"decision": "approve"})).await;
    assert_eq!(server.settled(&run).await, "completed");

    disk.record_space(DiskSpace { free: 100, total: 1_000 });
    id_of(start_for(&server, "local").await).await;
    assert_eq!(server.get("/readyz").await.status(), StatusCode::OK);
}

/// Everything the server says until it closes the connection.
async fn until_closed(mut stream: TcpStream) -> String {
    let mut heard = vec![];
    // A reset is an end too.
    _ = stream.read_to_end(&mut heard).await;
    String::from_utf8_lossy(&heard).into_owned()
}

#[tokio::test]
async fn requests_that_are_sent_by_halves_are_not_waited_for() {
    let time = Duration::from_millis(200);
    let limits = ServerLimits { head_time: time, body_time: time, ..ServerLimits::default() };
    let server = TestServer::with_options(ServerOptions { limits, ..ServerOptions::default() }, []).await;
    let address = server.url.strip_prefix("http://").unwrap().to_owned();
    let body = format!(
        "POST /api/runs HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{{"
    );
    let mut open = vec![];
    for half in ["GET /api/runs HTTP/1.1\r\nhost: x", &body, ""].repeat(60) {
        let mut stream = TcpStream::connect(&address).await.unwrap();
        stream.write_all(half.as_bytes()).await.unwrap();
        open.push((half.len() == body.len(), stream));
    }
    for (has_body, stream) in open {
        let heard = until_closed(stream).await;
        assert_eq!(heard.contains("408 Request Timeout"), has_body, "{heard}");
        assert_eq!(heard.contains("body_too_slow"), has_body, "{heard}");
    }
}

#[tokio::test]
async fn a_body_that_is_too_deep_or_too_wide_is_refused_before_it_is_read() {
    let server = TestServer::new([]).await;
    let deep = format!("{{\"message\": {}{}}}", "[".repeat(64), "]".repeat(64));
    let wide = format!("{{\"message\": [{}0]}}", "0,".repeat(100_000));
    for (body, told) in
        [(deep, "the body is nested deeper than 64 levels"), (wide, "the body has more than 100000 values")]
    {
        let request = server.request(reqwest::Method::POST, "/api/runs");
        let refused = request.header("content-type", "application/json").body(body).send().await.unwrap();
        assert_eq!(refused.status(), StatusCode::BAD_REQUEST);
        let problem: Value = refused.json().await.unwrap();
        assert_eq!((&problem["code"], &problem["detail"]), (&json!("body_too_complex"), &json!(told)));
    }
}

#[tokio::test]
async fn a_reader_that_does_not_read_is_given_up_and_its_run_is_not() {
    let limits = ServerLimits { stall: Duration::from_millis(200), ..ServerLimits::default() };
    // More than the system takes in for a reader.
    let long = Reply::new().text(&"x".repeat(10 << 20)).done();
    let server = TestServer::with_options(ServerOptions { limits, ..ServerOptions::default() }, [long]).await;
    let (run, _) = server.start("go on").await;
    assert_eq!(server.settled(&run).await, "completed");
    let address = server.url.strip_prefix("http://").unwrap();
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4 << 10).unwrap();
    let mut stalled = socket.connect(address.parse().unwrap()).await.unwrap();
    let asked = format!("GET /api/runs/{run}/events HTTP/1.1\r\nhost: {address}\r\n\r\n");
    stalled.write_all(asked.as_bytes()).await.unwrap();
    reaches(&server, "open_streams", 1).await;
    reaches(&server, "open_streams", 0).await;
    let whole = server.get(&format!("/api/runs/{run}/events")).await.bytes().await.unwrap();
    assert!(whole.len() > 10 << 20, "whoever reads gets all of it");
}

#[tokio::test]
async fn a_user_with_as_many_waiting_runs_as_one_may_have_begins_no_other_until_one_is_settled() {
    let call = || reply("call eval {\"code\": \"1\"}");
    let share = ShareSettings { waiting_runs_max: 2, ..ShareSettings::default() };
    let server = TestServer::with_options(
        ServerOptions { share, ..ServerOptions::default() },
        [call(), call(), call(), call()],
    )
    .await;
    let start = async |user: &str| {
        let tools = json!([{"name": "eval", "parameters": {"type": "object"}}]);
        server.post("/api/runs", json!({"message": "go", "user": user, "tools": tools})).await
    };
    let mut waiting = vec![];
    for _ in 0..2 {
        let run = id_of(start("mei").await).await;
        assert_eq!(server.settled(&run).await, "waiting_client");
        waiting.push(run);
    }
    let refused = start("mei").await;
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    let problem: Value = refused.json().await.unwrap();
    assert_eq!(problem["code"], "too_many_waiting_runs");
    let detail = problem["detail"].as_str().unwrap();
    assert!(
        detail.contains("answer or stop some") && detail.contains("waiting_runs_per_user_max"),
        "{detail}"
    );
    assert_eq!(
        server.settled(&id_of(start("li").await).await).await,
        "waiting_client",
        "others have their own"
    );
    cancel(&server, &waiting[0]).await;
    while server.settled(&waiting[0]).await != "cancelled" {}
    id_of(start("mei").await).await;
}

#[tokio::test]
async fn a_user_who_keeps_as_much_as_one_may_begins_nothing_until_a_conversation_is_deleted() {
    let share = ShareSettings { bytes_max: 50_000, ..ShareSettings::default() };
    let server = TestServer::with_options(
        ServerOptions { share, ..ServerOptions::default() },
        [reply("say Much."), reply("say Again.")],
    )
    .await;
    let say = async |user: &str, words: usize| {
        server.post("/api/runs", json!({"message": "word ".repeat(words), "user": user})).await
    };
    let begun: Value = say("mei", 12_000).await.json().await.unwrap();
    assert_eq!(server.settled(begun["run"].as_str().unwrap()).await, "completed");
    let refused = say("mei", 1).await;
    assert_eq!(refused.status(), StatusCode::INSUFFICIENT_STORAGE);
    let problem: Value = refused.json().await.unwrap();
    assert_eq!((&problem["code"], &problem["bytes_max"]), (&"user_storage_full".into(), &50_000.into()));
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains("DELETE /api/conversations/{conversation}"), "{detail}");
    assert!(problem["bytes"].as_u64().unwrap() > 60_000, "{problem}");
    let path = format!("/api/conversations/{}", begun["conversation"].as_str().unwrap());
    let deleted = server.request(Method::DELETE, &path).send().await.unwrap();
    assert!(deleted.status().is_success(), "{}", deleted.status());
    id_of(say("mei", 1).await).await;
}
