//! A webhook is told of a question, and the link in it answers: by the process, over real HTTP, also after a kill.

use serde_json::Value;

use crate::outside::{Outside, ReceivedRequest, Reply};
use crate::scratch;
use crate::serving::Served;

/// Waits until the webhook was told so often.
fn told(outside: &Outside, count: usize) -> Vec<ReceivedRequest> {
    loop {
        let asked = outside.asked();
        if asked.len() >= count {
            return asked;
        }
        std::thread::yield_now();
    }
}

fn notice(asked: &ReceivedRequest) -> Value {
    serde_json::from_slice(&asked.body).unwrap()
}

#[test]
fn a_webhook_is_told_of_a_question_and_its_link_answers_also_after_the_server_was_killed() {
    let outside = Outside::new(|_| Reply::new(204, "text/plain", ""));
    let data = scratch();
    let config = data.join("helve.toml");
    std::fs::write(
        &config,
        format!(
            "[approvals]\nwebhook = \"http://{0}/asked\"\nsecret = \"ops\"\npublic_url = \"https://helve.example.com\"\n\
             [secrets.ops]\nenv = \"OPS\"\nhosts = [\"{0}\"]\n",
            outside.address
        ),
    )
    .unwrap();
    let token = "a-token-of-sixteen-or-more";
    let shown = format!("Authorization: Bearer {token}\r\n");
    let environment =
        [("HELVE_CONFIG", config.to_str().unwrap()), ("OPS", "a-secret-of-ours"), ("HELVE_TOKEN", token)];
    let served = Served::start(&data, &environment);
    let started =
        served.ask("POST", "/api/runs", &shown, r#"{"message": "remember that the meeting is at nine"}"#);
    assert!(started.starts_with("HTTP/1.1 201"), "{started}");
    let first = told(&outside, 1).remove(0);
    assert_eq!(first.path, "/asked");
    assert!(first.headers.iter().any(|line| line.contains("Bearer a-secret-of-ours")), "{:?}", first.headers);
    let first = notice(&first);
    assert_eq!((&first["event"], &first["again"]), (&"approval.asked".into(), &false.into()));
    assert_eq!((&first["tool"], &first["user"]), (&"save_note".into(), &"local".into()));
    assert!(first["arguments"].as_str().unwrap().contains("the meeting is at nine"), "{first}");

    // Dropping it is kill -9. What is still open is told again.
    drop(served);
    let served = Served::start(&data, &environment);
    let again = notice(&told(&outside, 2)[1]);
    assert_eq!((&again["again"], &again["approval"]), (&true.into(), &first["approval"]));

    // The link that was sent before is as good as the new one.
    let link = first["link"].as_str().unwrap().strip_prefix("https://helve.example.com").unwrap();
    let as_public = "Host: helve.example.com\r\n";
    let page = served.ask_as("GET", link, as_public, "");
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("the meeting is at nine"), "{page}");
    let form = "Host: helve.example.com\r\nOrigin: https://helve.example.com\r\n\
                Content-Type: application/x-www-form-urlencoded\r\n";
    let pressed = served.ask_as("POST", link, form, "decision=approve");
    assert!(pressed.starts_with("HTTP/1.1 303"), "{pressed}");
    let path = format!("/api/approvals/{}", first["approval"].as_str().unwrap());
    let held = served.ask("GET", &path, &shown, "");
    assert!(held.contains(r#""by":"link:local""#) && held.contains(r#""state":"answered""#), "{held}");
    let metrics = served.ask("GET", "/metrics", &shown, "");
    assert!(metrics.contains("helve_approval_notices_lost_total 0"), "{metrics}");
}

#[test]
fn a_link_of_a_server_on_a_port_that_the_system_chose_leads_to_that_port() {
    let outside = Outside::new(|_| Reply::new(204, "text/plain", ""));
    let data = scratch();
    let config = data.join("helve.toml");
    let text = format!("[approvals]\nwebhook = \"http://{}/asked\"\n", outside.address);
    std::fs::write(&config, text).unwrap();
    let served = Served::start(&data, &[("HELVE_CONFIG", config.to_str().unwrap())]);
    served.ask("POST", "/api/runs", "", r#"{"message": "remember that the meeting is at nine"}"#);
    let told = notice(&told(&outside, 1)[0]);
    let base = format!("http://{}", served.address());
    let link = told["link"].as_str().unwrap().strip_prefix(&base).unwrap_or_else(|| panic!("{told}"));
    let page = served.ask("GET", link, "", "");
    assert!(page.starts_with("HTTP/1.1 200"), "{page}");
    // The same names that the page uses, and not only those of the arguments.
    assert!(page.contains("<dt>Text</dt><dd>the meeting is at nine</dd>"), "{page}");
}
