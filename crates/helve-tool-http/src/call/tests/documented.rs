//! Answers that say more of a result than its value.

use helve_types::OutputFile;

use super::*;

const DOCUMENT: &str = "content-type: application/vnd.helve.result+json; charset=utf-8\r\n";

async fn called(document: &Value, changes: Value) -> Result<ToolOutput, ToolError> {
    let server = TestHttpServer::saying("200 OK", DOCUMENT, document.to_string()).await;
    server.call("/v1/{city}", changes, here()).await
}

#[tokio::test]
async fn an_answer_may_set_title_metadata_and_attachments() {
    let document = json!({
        "text": "Drawn.", "data": {"w": 2}, "title": "A chart", "metadata": {"rows": 3, "status": 500},
        "files": [{"name": "c.png", "media_type": "image/png", "base64": "AAEC"}],
    });
    let output = called(&document, json!({})).await.unwrap();
    assert_eq!((output.text.as_str(), output.title.as_deref()), ("Drawn.", Some("A chart")));
    assert_eq!(output.data, Some(json!({"w": 2})));
    let metadata = output.metadata.unwrap();
    // What is known of the answer, nobody can say otherwise.
    assert_eq!((&metadata["rows"], &metadata["status"]), (&json!(3), &json!(200)), "{metadata}");
    let file = OutputFile { name: "c.png".into(), media_type: "image/png".into(), bytes: vec![0, 1, 2] };
    assert_eq!(output.files, [file]);
}

#[tokio::test]
async fn what_it_leaves_out_is_as_always() {
    let output = called(&json!({"data": {"n": 1}, "metadata": [1]}), json!({})).await.unwrap();
    assert_eq!(
        (output.text.as_str(), output.title.as_deref()),
        (r#"{"n":1}"#, Some("GET 127.0.0.1/v1/Oslo"))
    );
    assert_eq!(output.metadata.unwrap()["metadata"], json!([1]));
}

#[tokio::test]
async fn the_same_members_are_data_in_an_answer_of_another_type_or_for_a_transform() {
    let document = json!({"text": "Drawn.", "title": "A chart"});
    let server = TestHttpServer::json(document.clone()).await;
    let output = server.call("/v1/{city}", json!({}), here()).await.unwrap();
    assert_eq!(
        (output.data, output.title.as_deref()),
        (Some(document.clone()), Some("GET 127.0.0.1/v1/Oslo"))
    );
    let picked = called(&document, json!({"response_transform": {"path": "title"}})).await.unwrap();
    assert_eq!((picked.text.as_str(), picked.title.as_deref()), ("A chart", Some("GET 127.0.0.1/v1/Oslo")));
}

#[tokio::test]
async fn a_document_that_cannot_be_read_is_a_failure_only_if_nothing_was_done() {
    for document in [json!({"txt": "x"}), json!([1]), json!({"metadata": "x".repeat(17 << 10)})] {
        let error = called(&document, json!({})).await.unwrap_err().without_notice();
        let ToolError::Ailing(told) = &error else { panic!("{error:?}") };
        assert!(told.starts_with("the answer cannot be used as a result document: "), "{told}");
        let output = called(&document, json!({"endpoint": {"method": "POST"}})).await.unwrap();
        assert!(
            output.text.starts_with("It was done (status 200), but the answer cannot be used"),
            "{output:?}"
        );
    }
}

#[tokio::test]
async fn files_in_it_have_the_bound_of_files() {
    let file = |bytes: usize| json!({"files": [{"name": "a", "media_type": "image/png", "base64": "A".repeat(bytes)}]});
    let output = called(&file(2 << 20), json!({})).await.unwrap();
    assert_eq!(output.files[0].bytes.len(), 3 << 19);
    let error = called(&file(8 << 20), json!({})).await.unwrap_err().to_string();
    assert!(error.contains("larger than 8") && error.contains("and was not read"), "{error}");
}

#[tokio::test]
async fn no_part_of_it_has_a_secret() {
    let document = json!({
        "title": SECRET, "metadata": {SECRET: SECRET},
        "files": [{"name": SECRET, "media_type": "text/plain", "base64": "AAEC"}],
    });
    let told = format!("{:?}", called(&document, json!({})).await.unwrap());
    assert!(!told.contains(SECRET) && told.contains("[secret]"), "{told}");
}
