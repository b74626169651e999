//! What a person is shown is what is sent.

use super::*;

/// Shows the request, sends it, and gives what was shown and what the other side heard.
async fn shown_and_heard(changes: Value, arguments: Value) -> (String, String) {
    let server = TestHttpServer::json(json!({})).await;
    let mut definition = definition(changes);
    definition.endpoint.url_template = format!("{}{}", server.url, "/v1/{city}?fixed=1");
    let (tool, _) = tools().build_tool(&definition, &Arc::default()).unwrap();
    let (cx, request) = (context(), Request { arguments: &arguments });
    let shown = tool.preview(request, &cx).unwrap();
    tool.call(request, &cx).await.unwrap();
    let shown = shown.replacen(&server.url, "", 1);
    (shown, server.heard().remove(0))
}

fn odd() -> Value {
    let note = "\n".repeat(300) + "\u{202e}txt.exe <script>alert(1)</script> \"'& \u{200b}";
    json!({"city": "São Paulo?y=1#z", "note": note, "units": "a b&c=d"})
}

fn writes(more: Value) -> Value {
    let mut changes = json!({
        "effect": "non_idempotent",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "note": {"type": "string"}, "units": {"type": "string"}},
            "required": ["city"]
        },
        "endpoint": {"method": "POST", "headers": {"X-Units": "u {units}"}, "idempotency_header": "X-Request-Key"}
    });
    for (name, value) in more.as_object().unwrap() {
        changes["endpoint"][name] = value.clone();
    }
    changes
}

#[tokio::test]
async fn the_request_that_is_shown_is_the_one_that_is_sent_to_the_last_byte() {
    for (more, secret_sent) in [
        (json!({}), ""),
        (json!({"body_format": "form"}), ""),
        (json!({"auth": {"type": "bearer", "secret": "weather"}}), SECRET),
        (json!({"auth": {"type": "api_key", "secret": "weather", "name": "X-Key"}}), SECRET),
        (json!({"auth": {"type": "api_key", "secret": "weather", "name": "appid", "in": "query"}}), SECRET),
    ] {
        let (shown, heard) = shown_and_heard(writes(more.clone()), odd()).await;
        assert!(!shown.contains(SECRET), "{shown}");
        assert_eq!(shown.contains("[secret weather]"), !secret_sent.is_empty(), "{shown}");
        let sent = shown.replace("[secret weather]", secret_sent);
        let (head, body) = sent.split_once("\n\n").unwrap();
        let (heard_head, heard_body) = heard.split_once("\r\n\r\n").unwrap();
        assert_eq!(body, heard_body, "{more}");
        let mut heard_lines = heard_head.split("\r\n");
        let mut lines = head.lines();
        assert_eq!(format!("{} HTTP/1.1", lines.next().unwrap()), heard_lines.next().unwrap());
        // Nothing that is shown is missing, and what is not shown is the same for every request.
        let mut lines: Vec<&str> = lines.collect();
        let mut heard_lines: Vec<&str> = heard_lines.collect();
        let usual = ["host:", "user-agent:", "accept-encoding:", "content-length:"];
        heard_lines.retain(|line| !usual.iter().any(|name| line.starts_with(name)));
        lines.sort_unstable();
        heard_lines.sort_unstable();
        assert_eq!(lines, heard_lines, "{more}");
    }
}

#[tokio::test]
async fn a_secret_that_a_model_has_somehow_learnt_is_not_shown_either() {
    let (tool, _) = tools().build_tool(&definition(json!({})), &Arc::default()).unwrap();
    let arguments = json!({"city": "Oslo", "units": SECRET});
    let shown = tool.preview(Request { arguments: &arguments }, &context()).unwrap();
    assert!(!shown.contains(SECRET) && shown.contains("[secret]"), "{shown}");
}

#[tokio::test]
async fn what_cannot_be_sent_is_not_shown() {
    let (tool, _) = tools().build_tool(&definition(json!({})), &Arc::default()).unwrap();
    assert_eq!(tool.preview(Request { arguments: &json!({"city": ".."}) }, &context()), None);
}
