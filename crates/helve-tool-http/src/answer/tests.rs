//! Bodies and what is made of them.

use expect_test::{Expect, expect};
use helve_egress::Url;
use helve_egress::header::HeaderValue;
use tokio::time::Instant;

use super::*;

fn head(content_type: &str) -> Head {
    let mut headers = HeaderMap::new();
    if !content_type.is_empty() {
        headers.insert(CONTENT_TYPE, HeaderValue::from_str(content_type).unwrap());
    }
    let (kind, media_type) = Kind::of(&headers);
    let url = Url::parse("https://api.example.com/v1/report").unwrap();
    Head { status: 200, kind, media_type, url, began: Instant::now() }
}

fn check(content_type: &str, body: &[u8], expected: Expect) {
    let read = read("tool", &head(content_type), body.to_vec(), false);
    expected.assert_eq(&read.map_or_else(|problem| format!("no: {problem}"), |answer| format!("{answer:?}")));
}

#[test]
fn a_body_is_what_its_server_calls_it() {
    check(
        "application/json; charset=utf-8",
        b"\xef\xbb\xbf{\"a\": 1}",
        expect![[r#"Value(Object {"a": Number(1)})"#]],
    );
    check("application/vnd.api+json", b"[1]", expect!["Value(Array [Number(1)])"]);
    check("application/json", b" \n", expect!["Empty"]);
    check(
        "application/json",
        b"<html>",
        expect!["no: the answer cannot be used: this is no valid JSON (expected value at line 1 column 1)"],
    );
    check(
        "application/x-ndjson",
        b"{\"a\":1}\n\n{\"a\":2}\n",
        expect![[r#"Value(Array [Object {"a": Number(1)}, Object {"a": Number(2)}])"#]],
    );
    check("application/x-ndjson", b"{\"a\":1}\nnot json", expect![[r#"Text("{\"a\":1}\nnot json")"#]]);
    check("text/csv", b"a,b\n1,2", expect![[r#"Text("a,b\n1,2")"#]]);
    check("text/plain", b"{\"a\": 1}", expect![[r#"Value(Object {"a": Number(1)})"#]]);
    check("text/plain", b"{braces}", expect![[r#"Text("{braces}")"#]]);
    check("text/plain; charset=iso-8859-1", b"K\xf6ln", expect![[r#"Text("Köln")"#]]);
    check(
        "text/plain; charset=\"gb18030\"",
        b"\xb1\xb1\xbe\xa9",
        expect![[r#"Text("[the answer is written in gb18030; what could not be read shows as �]\n����")"#]],
    );
    check("", b"plain", expect![[r#"Text("plain")"#]]);
    check("application/octet-stream", b"plain", expect![[r#"Text("plain")"#]]);
    check("application/octet-stream", b"{\"a\": 1}", expect![[r#"Value(Object {"a": Number(1)})"#]]);
    check(
        "application/octet-stream",
        b"a\0b",
        expect![[
            r#"File(OutputFile { name: "tool.bin", media_type: "application/octet-stream", bytes: [97, 0, 98] })"#
        ]],
    );
    check(
        "",
        b"\xff\xfe\x00",
        expect![[
            r#"File(OutputFile { name: "tool.bin", media_type: "application/octet-stream", bytes: [255, 254, 0] })"#
        ]],
    );
    check(
        "application/pdf",
        b"%PDF",
        expect![[
            r#"File(OutputFile { name: "tool.pdf", media_type: "application/pdf", bytes: [37, 80, 68, 70] })"#
        ]],
    );
    check(
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        b"PK",
        expect![[
            r#"File(OutputFile { name: "tool.document", media_type: "application/vnd.openxmlformats-officedocument.wordprocessingml.document", bytes: [80, 75] })"#
        ]],
    );
    check(
        "image/svg+xml",
        b"<svg/>",
        expect![[
            r#"File(OutputFile { name: "tool.svg", media_type: "image/svg+xml", bytes: [60, 115, 118, 103, 47, 62] })"#
        ]],
    );
}

fn check_reason(content_type: &str, body: &str, expected: Expect) {
    expected.assert_eq(&reason(&head(content_type).kind, body.as_bytes()));
}

#[test]
fn the_reason_is_found_in_every_usual_shape() {
    let json = "application/json";
    check_reason(json, r#"{"error": {"code": 7, "message": "No such city."}}"#, expect!["No such city"]);
    check_reason(
        json,
        r#"{"detail": [{"msg": "field required", "loc": ["city"]}]}"#,
        expect![[r#"[{"loc":["city"],"msg":"field required"}]"#]],
    );
    check_reason(json, r#"{"errors": ["a", "b"]}"#, expect![[r#"{"errors":["a","b"]}"#]]);
    check_reason(
        json,
        r#"{"message": "bad", "errors": {"city": ["unknown"]}}"#,
        expect![[r#"bad {"city":["unknown"]}"#]],
    );
    check_reason(json, r#"{"error": "invalid_grant", "error_description": "Expired."}"#, expect!["Expired"]);
    check_reason(json, r#"{"message": null, "error": "Forbidden", "status": 403}"#, expect!["Forbidden"]);
    check_reason(json, r#""just text""#, expect!["just text"]);
    check_reason("text/plain", "line one\r\n\tline\u{1b}[31m two", expect!["line one line[31m two"]);
    check_reason("text/html", "<HTML><Title>502 Bad Gateway</Title><body>", expect!["502 Bad Gateway"]);
    check_reason("text/html", "<p>oops", expect!["the body is a web page"]);
    check_reason("image/png", "PNG", expect![]);
}
