//! Bodies and what is made of them.

use expect_test::{Expect, expect};
use helve_egress::Url;
use helve_egress::header::HeaderValue;
use tokio::time::Instant;

use super::*;

fn head(content_type: &str) -> AnswerHead {
    let mut headers = HeaderMap::new();
    if !content_type.is_empty() {
        headers.insert(CONTENT_TYPE, HeaderValue::from_str(content_type).unwrap());
    }
    let (kind, media_type) = ContentKind::from_headers(&headers);
    let url = Url::parse("https://api.example.com/v1/report").unwrap();
    let charset = Charset::from_headers(&headers);
    AnswerHead { status: 200, kind, charset, media_type, url, began: Instant::now() }
}

fn check(content_type: &str, body: &[u8], expected: Expect) {
    let head = head(content_type);
    let read = read_answer("tool", &head, to_utf8(&head.kind, &head.charset, body.to_vec()), false);
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
    check("text/plain; charset=\"gb18030\"", b"\xb1\xb1\xbe\xa9", expect![[r#"Text("北京")"#]]);
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
    let head = head(content_type);
    expected.assert_eq(&reason_in_error_body(&head.kind, &head.charset, body.as_bytes()));
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

#[test]
fn the_charset_that_is_said_is_the_one_that_is_read() {
    let beijing = b"\xb1\xb1\xbe\xa9";
    for charset in ["gbk", "GB2312", "gb18030"] {
        let kind = format!("text/plain; charset={charset}");
        check(&kind, beijing, expect![[r#"Text("北京")"#]]);
    }
    let json = [b"{\"city\": \"".as_slice(), beijing, b"\"}"].concat();
    check("application/json; charset=gbk", &json, expect![[r#"Value(Object {"city": String("北京")})"#]]);
    let page = [b"<html><meta charset=\"gbk\"><p>".as_slice(), beijing].concat();
    check("text/html", &page, expect![[r#"Text("<html><meta charset=\"gbk\"><p>北京")"#]]);
    let xml = [b"<?xml version='1.0' encoding='GB18030'?><a>".as_slice(), beijing, b"</a>"].concat();
    check(
        "application/xml",
        &xml,
        expect![[r#"Text("<?xml version='1.0' encoding='GB18030'?><a>北京</a>")"#]],
    );
    // A server that says GBK and writes UTF-8.
    check("text/plain; charset=gbk", "北京".as_bytes(), expect![[r#"Text("北京")"#]]);
    check("text/plain; charset=iso-2022-jp", b"\x1b$BF|K\\\x1b(B", expect![[r#"Text("日本")"#]]);
}

#[test]
fn bytes_of_no_charset_that_is_known_are_said_to_be_so() {
    check(
        "text/plain",
        b"\xb1\xb1",
        expect![[
            r#"Text("[the answer is not UTF-8, and its server does not say what it is; what could not be read shows as �]\n��")"#
        ]],
    );
    check(
        "text/plain; charset=wat",
        b"\xb1\xb1",
        expect![[
            r#"Text("[the answer is written in wat, which is not known; what could not be read shows as �]\n��")"#
        ]],
    );
}

#[test]
fn json_keeps_its_numbers_and_the_order_of_its_keys() {
    let written = "{ \"z\": 2.50,\n \"a\": [1e3, 12345678901234567890123, \"\\u5317\\u4eac \\\" x\"] }";
    assert_eq!(json_as_written(written), r#"{"z":2.50,"a":[1e3,12345678901234567890123,"北京 \" x"]}"#);
    assert_eq!(json_as_written("[\"open"), "[\"open");
}
