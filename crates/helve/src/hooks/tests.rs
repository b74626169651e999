//! Hooks behind real HTTP and real processes.

use std::time::{Duration, Instant};

use helve_process::ResourceLimits;
use helve_tool::OnFailure;
use helve_types::{CallId, OutputFile, UserId, World};

use super::*;
use crate::testing::HttpStub;

fn settings(timeout: Duration) -> HookSettings {
    HookSettings {
        name: "house".into(),
        points: vec![HookPoint::BeforeCall],
        tools: vec![],
        agents: vec![],
        timeout,
        on_failure: OnFailure::Refuse,
    }
}

fn over_http(url: &str) -> Foreign {
    let http = HttpHook { url: url.parse().unwrap(), secret: None };
    let ready = http.ready(&EgressSettings::default(), settings(Duration::from_secs(5)).timeout).unwrap();
    Foreign { name: "house".into(), carrier: Carrier::Http(ready) }
}

fn shell(script: &str) -> Program {
    Program {
        path: "/bin/sh".into(),
        arguments: vec!["-c".into(), script.into()],
        environment: vec![("GREETING".into(), "hello".into())],
        directory: None,
        limits: ResourceLimits::default(),
    }
}

fn by_command(script: &str) -> Foreign {
    Foreign { name: "house".into(), carrier: Carrier::Command(shell(script)) }
}

/// What a hook says before a call.
async fn before(hook: &Foreign) -> Result<HookReply<Value>, HookError> {
    let run = World::deterministic().run_id();
    let (call, user, arguments) = (CallId::new(run, 1, 0), UserId("mei".into()), json!({"q": "x"}));
    let about = HookCall {
        call: &call,
        tool: "look",
        instead: None,
        arguments: &arguments,
        run,
        conversation: None,
        agent: "default",
        user: &user,
    };
    hook.before_call(&about).await
}

#[tokio::test]
async fn an_endpoint_is_told_the_call_and_may_change_it() {
    let mut stub = HttpStub::start([(200, r#"{"arguments": {"q": "y"}}"#)]).await;
    let said = before(&over_http(&stub.url("/hook"))).await;
    assert_eq!(said, Ok(HookReply::Change(json!({"q": "y"}))));
    let seen = stub.request().await;
    assert_eq!(seen.line, "POST /hook HTTP/1.1");
    let mut told: Value = serde_json::from_str(&seen.body).unwrap();
    for changing in ["run", "call"] {
        assert!(told.as_object_mut().unwrap().remove(changing).is_some());
    }
    let expected = json!({
        "hook": "house", "point": "before_call", "tool": "look", "arguments": {"q": "x"},
        "agent": "default", "user": "mei",
    });
    assert_eq!(told, expected);
}

#[tokio::test]
async fn an_endpoint_may_refuse_say_nothing_or_fail() {
    let answers = [
        (200, r#"{"refuse": "not on Sundays"}"#),
        (204, ""),
        (200, "{}"),
        (500, "{}"),
        (200, "<html>"),
        (200, r#"{"argument": {"q": "y"}}"#),
        (200, r#"{"refuse": true}"#),
    ];
    let stub = HttpStub::start(answers).await;
    let hook = over_http(&stub.url("/hook"));
    assert_eq!(before(&hook).await, Ok(HookReply::Refuse("not on Sundays".into())));
    assert_eq!(before(&hook).await, Ok(HookReply::Nothing));
    assert_eq!(before(&hook).await, Ok(HookReply::Nothing));
    for problem in ["it answered 500", "no JSON", "unknown field `argument`", "`refuse` in its answer"] {
        let error = before(&hook).await.unwrap_err();
        assert!(error.0.contains(problem), "{error}");
    }
}

#[tokio::test]
async fn a_command_reads_the_question_and_writes_the_answer() {
    let script = r#"read -r question; case "$question" in *'"tool":"look"'*) printf '{"arguments":{"q":"%s"}}' "$GREETING";; esac"#;
    assert_eq!(before(&by_command(script)).await, Ok(HookReply::Change(json!({"q": "hello"}))));
}

#[tokio::test]
async fn a_command_gets_no_variable_that_is_not_listed() {
    let said = before(&by_command(r#"printf '{"refuse":"%s%s"}' "$HOME" "$CARGO_MANIFEST_DIR""#)).await;
    assert_eq!(said, Ok(HookReply::Refuse(String::new())));
}

#[tokio::test]
async fn an_answer_that_is_too_deep_too_wide_or_too_large_is_not_read() {
    let cases = [
        (
            "printf '{\"arguments\":'; head -c 100000 /dev/zero | tr '\\0' '['",
            "its answer is nested deeper than 64 levels",
        ),
        (
            "printf '{\"arguments\":[0'; head -c 200000 /dev/zero | sed 's/\\x00/,0/g'; printf ']}'",
            "its answer has more than 100000 values",
        ),
        ("head -c 5000000 /dev/zero | tr '\\0' ' '", "its answer is larger than 4194304 bytes"),
    ];
    for (script, expected) in cases {
        let HookError(problem) = before(&by_command(script)).await.unwrap_err();
        assert_eq!(problem, expected, "{script}");
    }
}

#[tokio::test]
async fn a_command_that_fails_says_why() {
    let error = before(&by_command("echo out of paper >&2; exit 3")).await.unwrap_err();
    assert_eq!(error.0, "it ended with exit status: 3: out of paper");
    let missing = Program { path: "/nonexistent/hook".into(), ..shell("") };
    let missing = Foreign { name: "house".into(), carrier: Carrier::Command(missing) };
    assert!(before(&missing).await.unwrap_err().0.contains("`/nonexistent/hook` cannot be started"));
    let endless =
        before(&by_command("while :; do echo 0123456789012345678901234567890123456789; done")).await;
    assert!(endless.unwrap_err().0.contains("larger than"));
}

#[tokio::test]
async fn a_command_that_does_not_read_what_it_is_told_is_fine() {
    assert_eq!(before(&by_command("exec <&-; printf '{}'")).await, Ok(HookReply::Nothing));
}

#[tokio::test]
async fn a_command_that_is_given_up_is_killed_with_its_children() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("pid");
    let script = format!("sleep 600 & echo $! > {}; wait", file.display());
    let (hook, began) = (by_command(&script), Instant::now());
    let child = {
        let asking = std::pin::pin!(before(&hook));
        let started = async {
            loop {
                if let Ok(text) = std::fs::read_to_string(&file)
                    && text.ends_with('\n')
                {
                    return text.trim().to_owned();
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::select! {
            said = asking => panic!("it cannot have answered: {said:?}"),
            child = started => child,
        }
    };
    // Dead, or dead and not yet buried.
    let gone = || {
        let status = std::fs::read_to_string(format!("/proc/{child}/stat"));
        status.map_or(true, |stat| stat.rsplit(')').next().is_some_and(|rest| rest.trim().starts_with('Z')))
    };
    while !gone() {
        assert!(began.elapsed() < Duration::from_secs(60), "the child goes on");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// What a hook says after the second step of a run.
async fn after_step(hook: &Foreign) -> Result<HookReply<SnapshotId>, HookError> {
    let (run, user) = (World::deterministic().run_id(), UserId("mei".into()));
    hook.after_step(&HookQuestion {
        run,
        conversation: None,
        agent: "default",
        user: &user,
        model: "m",
        step: 2,
    })
    .await
}

#[tokio::test]
async fn an_endpoint_names_a_snapshot_of_a_step() {
    let answers = [
        (200, r#"{"snapshot": "volume/7@2"}"#),
        (204, ""),
        (200, r#"{"snapshot": "--exec=x"}"#),
        (200, r#"{"snapshot": 7}"#),
        (200, r#"{"id": "7"}"#),
    ];
    let mut stub = HttpStub::start(answers).await;
    let hook = over_http(&stub.url("/hook"));
    let id = SnapshotId::try_from("volume/7@2".to_owned()).unwrap();
    assert_eq!(after_step(&hook).await, Ok(HookReply::Change(id)));
    let mut told: Value = serde_json::from_str(&stub.request().await.body).unwrap();
    assert!(told.as_object_mut().unwrap().remove("run").is_some());
    let expected = json!({
        "hook": "house", "point": "after_step", "agent": "default", "user": "mei", "model": "m", "step": 2,
    });
    assert_eq!(told, expected);
    assert_eq!(after_step(&hook).await, Ok(HookReply::Nothing));
    for problem in ["a snapshot id has 1 to 200 of", "invalid type: integer", "unknown field `id`"] {
        let error = after_step(&hook).await.unwrap_err();
        assert!(error.0.contains(problem), "{error}");
    }
}

#[tokio::test]
async fn a_command_names_a_snapshot_of_a_step_of_bounded_length() {
    let script = r#"read -r question; case "$question" in *'"step":2'*) printf '{"snapshot":"s-%s"}' "$GREETING";; esac"#;
    let id = SnapshotId::try_from("s-hello".to_owned()).unwrap();
    assert_eq!(after_step(&by_command(script)).await, Ok(HookReply::Change(id)));
    let long = r#"printf '{"snapshot":"'; head -c 201 /dev/zero | tr '\0' 'a'; printf '"}'"#;
    let huge = r#"printf '{"snapshot":"'; head -c 5000000 /dev/zero | tr '\0' 'a'; printf '"}'"#;
    for (script, problem) in
        [(long, "a snapshot id has 1 to 200 of"), (huge, "its answer is larger than 4194304 bytes")]
    {
        let error = after_step(&by_command(script)).await.unwrap_err();
        assert!(error.0.contains(problem), "{error}");
    }
}

#[test]
fn answers_at_every_point_are_read() {
    let system = |answer| wire::system(answer, "Be brief.");
    assert_eq!(system(json!({"add": "Be kind."})), Ok(HookReply::Change("Be brief.\n\nBe kind.".into())));
    assert_eq!(system(json!({"system": "Be long."})), Ok(HookReply::Change("Be long.".into())));
    assert_eq!(system(json!({})), Ok(HookReply::Nothing));
    let params = wire::params(json!({"params": {"temperature": 0.5}}));
    assert_eq!(
        params,
        Ok(HookReply::Change(ModelParams { temperature: Some(0.5), ..ModelParams::default() }))
    );
    let output = wire::output(json!({"text": "****"}));
    let changed = ChangedOutput { text: Some("****".into()), ..ChangedOutput::default() };
    assert_eq!(output, Ok(HookReply::Change(changed)));
    assert_eq!(wire::output(json!({})), Ok(HookReply::Nothing));
    let fewer = ChangedOutput { title: Some("x".into()), files: Some(vec![]), ..ChangedOutput::default() };
    assert_eq!(wire::output(json!({"title": "x", "files": []})), Ok(HookReply::Change(fewer)));
}

#[test]
fn files_are_shown_by_name_type_and_size() {
    let file = OutputFile { name: "a.png".into(), media_type: "image/png".into(), bytes: vec![1, 2, 3] };
    let shown = wire::shown(&ToolOutput { files: vec![file], ..ToolOutput::text("drawn") });
    assert_eq!(shown["files"], json!([{"name": "a.png", "media_type": "image/png", "bytes": 3}]));
    assert!(wire::shown(&ToolOutput::text("x")).get("files").is_none());
}
