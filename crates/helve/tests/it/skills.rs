//! Skills with the binary: from folders and archives, natively and in prompt mode, over kills and changes.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::outside::{Outside, Spoken};
use crate::serving::Served;
use crate::{err, out, run, scratch};

const SOON: Duration = Duration::from_secs(60);

fn skill_folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/skills").join(name)
}

/// A copy that can be changed.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() { copy(&path, &target) } else { _ = std::fs::copy(&path, &target).unwrap() }
    }
}

fn skills(data: &Path, arguments: &[&str]) -> std::process::Output {
    run(&[&["skills"], arguments, &["--data", data.to_str().unwrap()]].concat(), "")
}

fn done(data: &Path, arguments: &[&str]) -> String {
    let output = skills(data, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", err(&output));
    out(&output)
}

fn refused(data: &Path, arguments: &[&str]) -> String {
    let output = skills(data, arguments);
    assert_eq!(output.status.code(), Some(1), "{arguments:?}: {}", out(&output));
    err(&output)
}

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
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A server whose model is outside.
fn serve(data: &Path, model: &Outside, tools: &str) -> Served {
    let config = data.join("helve.toml");
    let text = format!(
        "default_model = \"m\"\n[[models]]\nname = \"m\"\nprotocol = \"openai_chat\"\nbase_url = \"http://{}/v1\"\n\
         model = \"m\"\ntools = \"{tools}\"\nprobe = false\n",
        model.address
    );
    std::fs::write(&config, text).unwrap();
    Served::start(data, &[("HELVE_CONFIG", config.to_str().unwrap())])
}

fn start(served: &Served, message: &str) -> String {
    let started = served.ask("POST", "/api/runs", "", &json!({"message": message}).to_string());
    body(&started)["run"].as_str().unwrap_or_else(|| panic!("{started}")).to_owned()
}

fn system_prompt(model: &Outside) -> String {
    let asked = model.asked();
    let question: Value = serde_json::from_slice(&asked.last().unwrap().body).unwrap();
    question["messages"][0]["content"].as_str().unwrap().to_owned()
}

#[test]
fn a_run_keeps_its_version_of_a_skill_over_a_kill_while_the_skill_is_changed() {
    let (data, folder) = (scratch(), scratch().join("csv-report"));
    copy(&skill_folder("csv-report"), &folder);
    assert_eq!(
        done(&data, &["add", folder.to_str().unwrap(), "--agree"]),
        "csv-report  created, version 1\n"
    );
    let is_open = Arc::new(AtomicBool::new(false));
    let gate = is_open.clone();
    let model = Outside::speaking(move |last| {
        let text = last["content"].as_str().unwrap_or_default();
        let call = |name: &str, arguments: Value| Spoken::Calls(vec![(name.to_owned(), arguments)]);
        match (last["role"].as_str(), text) {
            (Some("tool"), text) if text.starts_with("# Columns") => Spoken::Words(format!("I read: {text}")),
            // The server is killed while it waits for this answer.
            (Some("tool"), _) if !gate.load(Ordering::SeqCst) => Spoken::Nothing,
            (Some("tool"), _) => {
                call("read_skill_file", json!({"skill": "csv-report", "path": "references/columns.md"}))
            }
            _ => call("load_skill", json!({"name": "csv-report"})),
        }
    });
    let served = serve(&data, &model, "native");
    let run = start(&served, "The figures of this week?");
    let began = Instant::now();
    while !model.asked().iter().any(|asked| String::from_utf8_lossy(&asked.body).contains("misleading names"))
    {
        assert!(began.elapsed() < SOON, "the instructions never reach the model");
        std::thread::sleep(Duration::from_millis(10));
    }
    let prompt = system_prompt(&model);
    assert!(
        prompt.contains("- csv-report: Turns a CSV export") && !prompt.contains("misleading"),
        "{prompt}"
    );
    // Dropping it is kill -9.
    drop(served);

    std::fs::write(folder.join("references/columns.md"), "# Columns\n\nAll names are right now.\n").unwrap();
    let changed = done(&data, &["add", folder.to_str().unwrap(), "--agree"]);
    assert_eq!(changed, "csv-report  changed, version 2\n");
    is_open.store(true, Ordering::SeqCst);
    let served = serve(&data, &model, "native");
    until(&served, &format!("/api/runs/{run}"), |run| run["state"] == "completed");
    let log = served.ask("GET", &format!("/api/runs/{run}/events"), "", "");
    assert!(log.contains("includes the tax") && !log.contains("right now"), "{log}");

    let next = start(&served, "And now?");
    until(&served, &format!("/api/runs/{next}"), |run| run["state"] == "completed");
    let log = served.ask("GET", &format!("/api/runs/{next}/events"), "", "");
    assert!(log.contains("right now") && !log.contains("includes the tax"), "{log}");
    assert!(served.stop());
}

#[test]
fn in_prompt_mode_a_chinese_skill_of_the_folder_is_loaded_and_changes_with_its_files() {
    let data = scratch();
    copy(&skill_folder("报销审核"), &data.join("skills/报销审核"));
    let model = Outside::speaking(|last| {
        let text = last["content"].as_str().unwrap_or_default();
        Spoken::Words(match text.contains("tool_call_result") {
            true => format!("结论：{}", if text.contains("50 元") { "五十" } else { "八十" }),
            false => {
                let arguments = json!({"name": "报销审核"}).to_string();
                let function = json!({"name": "load_skill", "arguments": arguments});
                json!({"tool_calls": [{"id": "c1", "type": "function", "function": function}]}).to_string()
            }
        })
    });
    let served = serve(&data, &model, "prompt:json_strict");
    let listed = body(&served.ask("GET", "/api/skills", "", ""));
    assert_eq!(listed["skills"][0]["name"], "报销审核", "{listed}");
    assert_eq!(
        (&listed["skills"][0]["source"], &listed["skills"][0]["trusted"]),
        (&json!("folder"), &json!(true))
    );
    let answer = |message: &str| {
        let run = start(&served, message);
        until(&served, &format!("/api/runs/{run}"), |run| run["state"] == "completed");
        served.ask("GET", &format!("/api/runs/{run}/events"), "", "")
    };
    let log = answer("帮我看看这张报销单");
    assert!(log.contains("结论：五十"), "{log}");
    let prompt = system_prompt(&model);
    assert!(prompt.contains("- 报销审核: 审核员工报销单") && !prompt.contains("一律退回"), "{prompt}");

    let file = data.join("skills/报销审核/SKILL.md");
    let text = std::fs::read_to_string(&file).unwrap().replace("50 元", "80 元");
    std::fs::write(&file, format!("{text}\n")).unwrap();
    until(&served, "/api/skills", |listed| listed["skills"][0]["version"] == 2);
    assert!(answer("再看一张报销单").contains("结论：八十"));
    assert!(refused(&data, &["remove", "报销审核"]).contains("folder of skills"));
    std::fs::remove_dir_all(data.join("skills/报销审核")).unwrap();
    until(&served, "/api/skills", |listed| listed["skills"] == json!([]));
    assert!(served.stop());
}

#[test]
fn skills_are_added_shown_compared_agreed_to_exported_and_removed() {
    let (data, place) = (scratch(), scratch());
    let folder = place.join("meeting-minutes");
    copy(&skill_folder("meeting-minutes"), &folder);
    let add = ["add", folder.to_str().unwrap()];
    let added = skills(&data, &add);
    assert_eq!(out(&added), "meeting-minutes  created, version 1\n", "{}", err(&added));
    assert!(err(&added).contains("untrusted until you have read it"), "{}", err(&added));
    assert_eq!(done(&data, &add), "meeting-minutes  unchanged, version 1\n");
    assert!(done(&data, &["list"]).contains("(not agreed to)"));
    let shown = done(&data, &["show", "meeting-minutes"]);
    assert!(shown.contains("License: CC-BY-4.0") && shown.contains("Never invent who was there."), "{shown}");
    assert!(
        done(&data, &["show", "meeting-minutes", "references/template.md"])
            .starts_with("# Minutes of DATE\n")
    );
    assert!(refused(&data, &["show", "meeting-minutes", "../secret"]).contains("has no file"));
    assert!(refused(&data, &["show", "meeting-minute"]).contains("similar names: meeting-minutes"));
    assert_eq!(done(&data, &["agree", "meeting-minutes"]), "meeting-minutes  version 2, on\n");

    let document = std::fs::read_to_string(folder.join("SKILL.md")).unwrap();
    std::fs::write(folder.join("SKILL.md"), document.replace("Never invent", "Always invent")).unwrap();
    assert!(done(&data, &add).contains("in quarantine until you agree"));
    let diff = done(&data, &["diff", "meeting-minutes"]);
    assert!(
        diff.contains("- Use the form in `references/template.md`. Never invent who was there."),
        "{diff}"
    );
    assert!(
        diff.contains("+ Use the form in `references/template.md`. Always invent who was there."),
        "{diff}"
    );
    assert!(refused(&data, &["agree", "meeting-minutes", "--hash", "0"]).contains("has changed meanwhile"));
    assert_eq!(done(&data, &["reject", "meeting-minutes"]), "meeting-minutes  version 2, on\n");
    assert_eq!(done(&data, &["disable", "meeting-minutes"]), "meeting-minutes  version 3, off\n");
    assert_eq!(done(&data, &["versions", "meeting-minutes"]).lines().count(), 3);

    let zip = place.join("minutes.zip");
    let export = ["export", "meeting-minutes", "--output", zip.to_str().unwrap()];
    done(&data, &export);
    assert!(refused(&data, &export).contains("is there already"));
    let other = scratch();
    assert_eq!(done(&other, &["add", zip.to_str().unwrap()]), "meeting-minutes  created, version 1\n");
    assert_eq!(done(&data, &["remove", "meeting-minutes"]), "meeting-minutes  deleted\n");
    let wrong = refused(&data, &["add", place.to_str().unwrap()]);
    assert!(wrong.contains("`SKILL.md`: there is no `SKILL.md`"), "{wrong}");
    let missing = refused(&data, &["add", place.join("none.zip").to_str().unwrap()]);
    assert!(missing.contains("cannot be read"), "{missing}");
}
