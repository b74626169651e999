//! Runs from the terminal: listed, told as a story, taken up again, stopped.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

use crate::outside::{Outside, Spoken};
use crate::people::{Home, ask};
use crate::serving::Served;
use crate::{err, out};

#[test]
fn a_run_is_listed_and_its_story_is_told() {
    let home = Home::new();
    let served = home.serve(&[]);
    let (run, question) = ask(&served, "", "milk");
    let listed = home.done(&["runs", "list"]);
    assert!(listed.starts_with(&run) && listed.contains("waiting_approval"), "{listed}");
    assert_eq!(home.done(&["runs", "list", "--state", "completed"]), "");
    let wrong = home.refused(&["runs", "list", "--state", "asleep"]);
    assert!(wrong.contains("needs_attention"), "{wrong}");

    let end = &run[run.len() - 12..];
    let story = home.done(&["runs", "show", end]);
    assert!(story.contains("\n  | please note milk\n"), "{story}");
    assert!(story.contains("call       1:0 save_note\n  | {\"text\":\"milk\"}\n"), "{story}");
    assert!(story.contains(&format!("question  {question}\n")), "{story}");
    assert!(story.ends_with("answer with `helve approvals answer`\n"), "{story}");
    let waits = home.refused(&["runs", "resume", end]);
    assert!(waits.contains("answer its questions"), "{waits}");

    home.done(&["approvals", "answer", &question, "reject", "--reason", "no\u{1b}[2J milk"]);
    let followed = home.done(&["runs", "follow", end]);
    assert!(followed.contains("by local: reject, because no⟨U+001B⟩[2J milk\n"), "{followed}");
    assert!(followed.ends_with("end        answered\n"), "{followed}");
    let events = home.done(&["runs", "show", end, "--events"]);
    let (first, _) = events.split_once('\n').unwrap();
    assert!(first.starts_with("1 {") && first.contains("run.started"), "{first}");
    let json: Value = serde_json::from_str(&home.done(&["runs", "show", end, "--json"])).unwrap();
    assert_eq!(json["run"]["state"], "completed");
    assert_eq!(json["events"].as_array().unwrap().len(), events.lines().count());

    let (other, _) = ask(&served, "", "bread");
    // Ids begin with the time, so these two begin alike.
    let both = home.refused(&["runs", "show", &run[..4]]);
    assert!(both.contains("several ids are like") && both.contains(&run) && both.contains(&other), "{both}");
    assert!(home.refused(&["runs", "show", "zzzz"]).contains("`helve runs list` shows them"));
    assert_eq!(home.done(&["runs", "cancel", &other]), format!("run {other} is told to stop\n"));
    assert!(home.done(&["runs", "follow", &other]).contains("stopped    by local\n"));
}

#[test]
fn a_direct_call_is_listed_as_one() {
    let home = Home::new();
    home.done(&["tools", "call", "calculator", r#"{"expression": "6 * 7"}"#]);
    let listed = home.done(&["runs", "list"]);
    assert!(listed.contains("  called from the command line  "), "{listed}");
    let story = home.done(&["runs", "show", listed.split(' ').next().unwrap()]);
    assert!(story.contains(" called from the command line\n"), "{story}");
    let served = home.serve(&[]);
    home.done(&["tools", "call", "calculator", r#"{"expression": "7 * 7"}"#]);
    let listed = home.done(&["runs", "list"]);
    assert!(listed.contains("  called directly  ") && !listed.contains("api /"), "{listed}");
    drop(served);
}

#[test]
fn a_run_that_was_left_alone_is_taken_up_when_a_person_says_so() {
    let awake = Arc::new(AtomicBool::new(false));
    let switch = awake.clone();
    let home = Home::with(Outside::speaking(move |_| match switch.load(Ordering::SeqCst) {
        true => Spoken::Words("Good morning.".into()),
        false => Spoken::Nothing,
    }));
    let first = home.serve(&[]);
    let begun = first.ask("POST", "/api/runs", "", r#"{"message": "hello?"}"#);
    assert!(begun.starts_with("HTTP/1.1 201"), "{begun}");
    let last_event = |served: &Served| {
        let told = served.ask("GET", "/api/runs", "", "");
        let told: Value = serde_json::from_str(told.split_once("\r\n\r\n").unwrap().1).unwrap();
        told["runs"][0]["last_event"].as_u64().unwrap()
    };
    let mut last = last_event(&first);
    // It ends every server that takes it up, in the same step.
    drop(first);
    for _ in 0..3 {
        let served = home.serve(&[]);
        while last_event(&served) == last {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        last = last_event(&served);
    }
    let listed = home.helve(&["runs", "list", "--state", "needs_attention"]);
    assert_eq!(err(&listed), "no server is running: reading the data directory\n");
    let run = out(&listed).split(' ').next().unwrap().to_owned();
    let story = home.done(&["runs", "show", &run]);
    assert!(story.contains(&format!("`helve runs resume {run}`")), "{story}");
    awake.store(true, Ordering::SeqCst);
    let resumed = home.helve(&["runs", "resume", &run]);
    assert_eq!(out(&resumed), format!("run {run} is completed\n"), "{}", err(&resumed));
    assert_eq!(err(&resumed), "no server is running: the run goes on inside this command\n");
    assert!(home.done(&["runs", "show", &run]).contains("\n  | Good morning.\n"));
    assert!(home.refused(&["runs", "resume", &run]).contains("the run is over"));
}
