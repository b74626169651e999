//! What the model wants to know of a person, by the process: over a kill, with a webhook and its link, from the terminal.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::outside::{Outside, Reply};
use crate::people::Home;
use crate::serving::Served;
use crate::{err, out, run, scratch};

const SOON: Duration = Duration::from_secs(30);

fn body(answer: &str) -> Value {
    serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
}

/// What the server says at `path` once it is so.
fn until(served: &Served, path: &str, is_so: impl Fn(&Value) -> bool) -> Value {
    let began = Instant::now();
    loop {
        let said = body(&served.ask("GET", path, "", ""));
        if is_so(&said) {
            return said;
        }
        assert!(began.elapsed() < SOON, "{path} stays {said}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Has the demo model ask something: the run and the question.
fn ask(served: &Served, message: &str) -> (String, Value) {
    let started =
        served.ask("POST", "/api/runs", "", &json!({"message": message, "model": "demo"}).to_string());
    let run = body(&started)["run"].as_str().unwrap().to_owned();
    let listed = until(served, "/api/approvals", |said| {
        said["approvals"].as_array().is_some_and(|open| open.iter().any(|asked| asked["run"] == *run))
    });
    let mine = listed["approvals"].as_array().unwrap().iter().find(|asked| asked["run"] == *run);
    (run, mine.unwrap().clone())
}

fn path_of(asked: &Value) -> String {
    format!("/api/approvals/{}", asked["approval"].as_str().unwrap())
}

/// Dropping it is kill -9.
fn killed(served: Served, data: &Path) -> Served {
    drop(served);
    Served::start(data, &[])
}

#[test]
fn a_question_outlives_a_kill_and_its_reply_reaches_the_model_once() {
    let data = scratch();
    let served = Served::start(&data, &[]);
    let (run, asked) = ask(&served, "Ask me for the details of a trip");
    let served = killed(served, &data);
    let path = path_of(&asked);
    assert_eq!(body(&served.ask("GET", &path, "", "")), asked, "it is what it was");
    let wrong = json!({"decision": "reply", "value": {"place": "Kyoto", "day": "soon", "people": 2}});
    let refused = served.ask("POST", &path, "", &wrong.to_string());
    assert!(refused.starts_with("HTTP/1.1 422") && refused.contains(r#""field":"day""#), "{refused}");
    let right = json!({"decision": "reply", "value": {"place": "Kyoto", "day": "2026-12-24", "people": 2}});
    let answered = served.ask("POST", &path, "", &right.to_string());
    assert!(answered.starts_with("HTTP/1.1 200"), "{answered}");
    // Killed again at once: the reply is on disk before it is acknowledged.
    let served = killed(served, &data);
    until(&served, &format!("/api/runs/{run}"), |run| run["state"] == "completed");
    let log = served.ask("GET", &format!("/api/runs/{run}/events"), "", "");
    for kind in ["approval.asked", "approval.answered", "tool.finished"] {
        assert_eq!(log.matches(&format!(r#""type":"{kind}""#)).count(), 1, "{kind}: {log}");
    }
    assert!(log.contains("Kyoto"), "{log}");
    assert!(served.stop());
}

#[test]
fn a_webhook_is_told_what_the_model_asks_and_its_link_takes_the_reply_after_a_kill() {
    let outside = Outside::new(|_| Reply::new(204, "text/plain", ""));
    let data = scratch();
    let config = data.join("helve.toml");
    std::fs::write(&config, format!("[approvals]\nwebhook = \"http://{}/asked\"\n", outside.address))
        .unwrap();
    let environment = [("HELVE_CONFIG", config.to_str().unwrap())];
    let served = Served::start(&data, &environment);
    let (run, asked) = ask(&served, "问我选择哪个颜色");
    drop(served);
    let served = Served::start(&data, &environment);
    let began = Instant::now();
    while outside.asked().len() < 2 {
        assert!(began.elapsed() < SOON, "the webhook was not told again");
        std::thread::sleep(Duration::from_millis(5));
    }
    let told: Value = serde_json::from_slice(&outside.asked()[1].body).unwrap();
    assert_eq!((&told["approval"], &told["kind"]), (&asked["approval"], &json!("user")));
    assert_eq!((&told["question"], &told["again"]), (&json!("你最喜欢哪种颜色？"), &json!(true)));
    assert_eq!(told["form"]["options"][1]["value"], "蓝色");
    let base = format!("http://{}", served.address());
    let link = told["link"].as_str().unwrap().strip_prefix(&base).unwrap_or_else(|| panic!("{told}"));
    let page = served.ask("GET", link, "Accept-Language: zh-CN\r\n", "");
    assert!(page.contains("你最喜欢哪种颜色？") && page.contains("发送答复"), "{page}");
    let form = format!(
        "Host: {}\r\nOrigin: {base}\r\nContent-Type: application/x-www-form-urlencoded\r\n",
        served.address()
    );
    let pressed = served.ask_as("POST", link, &form, "decision=reply&f.=%E8%93%9D%E8%89%B2");
    assert!(pressed.starts_with("HTTP/1.1 303"), "{pressed}");
    until(&served, &format!("/api/runs/{run}"), |run| run["state"] == "completed");
    let held = body(&served.ask("GET", &path_of(&asked), "", ""));
    assert_eq!((&held["by"], &held["answer"]["value"]), (&json!("link:local"), &json!("蓝色")));
}

#[test]
fn a_question_is_shown_and_answered_with_a_command() {
    let home = Home::new();
    let served = home.serve(&[]);
    let (trip, asked) = ask(&served, "Ask me for the details of a trip");
    let id = asked["approval"].as_str().unwrap();
    let row = home.done(&["approvals", "list"]);
    assert!(row.contains("a question") && row.contains("ask_user Tell me about your trip."), "{row}");
    let card = home.done(&["approvals", "show", id]);
    for told in [
        "the question\n  | Tell me about your trip.\n",
        "  | Where to — place: text (required)\n",
        "  | How many people — people: a whole number (required)\n",
        "  | By — way: one of: 1 Train, 2 Plane, 3 Car (optional)\n",
        "no passwords or keys",
    ] {
        assert!(card.contains(told), "{told}: {card}");
    }
    for (words, told) in [
        (&["reply", "Kyoto"][..], "name=value"),
        (
            &["reply", "place=Kyoto", "people=12", "day=2026-12-24"],
            "“How many people” must not be greater than 9",
        ),
        (&["reply", "{bad"], "not JSON"),
    ] {
        let refused = home.refused(&[&["approvals", "answer", id], words].concat());
        assert!(refused.contains(told) && refused.lines().count() == 1, "{refused}");
    }
    let words = ["place=Kyoto", "people=3", "day=2026-12-24", "way=2"];
    let done = home.done(&[&["approvals", "answer", id, "reply"][..], &words].concat());
    assert!(done.contains(r#"answered: reply {"day":"2026-12-24","#), "{done}");
    until(&served, &format!("/api/runs/{trip}"), |run| run["state"] == "completed");
    let story = home.done(&["runs", "show", &trip]);
    assert!(story.contains("Tell me about your trip.") && story.contains("Plane"), "{story}");

    let (colour, asked) = ask(&served, "Ask me to choose a colour");
    let id = asked["approval"].as_str().unwrap();
    assert!(home.refused(&["approvals", "answer", id, "reply", "Mauve"]).contains("Green, Blue, Red"));
    assert!(home.refused(&["approvals", "answer", id, "approve"]).contains("does not fit"));
    let done = home.done(&["approvals", "answer", id, "decline", "--reason", "I see none"]);
    assert!(done.contains("answered: decline, because I see none"), "{done}");
    until(&served, &format!("/api/runs/{colour}"), |run| run["state"] == "completed");
    assert!(home.done(&["approvals", "list", "--all"]).contains("  decline "));

    // In the reader's language.
    let (_, asked) = ask(&served, "问我哪几个日子方便");
    let id = asked["approval"].as_str().unwrap();
    let card = home.done(&["approvals", "show", id, "--lang", "zh"]);
    assert!(card.contains("提问\n  | 哪几天方便？") && card.contains("  | 2  星期三"), "{card}");
    let done = home.done(&["approvals", "answer", id, "reply", "1", "星期五", "--lang", "zh"]);
    assert!(done.contains(r#"["星期一","星期五"]"#), "{done}");
}

#[test]
fn a_chat_that_waits_for_nobody_has_no_tool_that_asks() {
    let data = scratch();
    let data = data.to_str().unwrap();
    let output = run(&["chat", "--no-wait", "--model", "demo", "--data", data], "ask me something\n");
    assert!(output.status.success(), "{}", err(&output));
    // The demo model introduces itself where it has nothing to call.
    assert!(out(&output).contains("demo model") && !err(&output).contains("ask_user"), "{}", err(&output));
}
