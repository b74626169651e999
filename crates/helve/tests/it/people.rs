//! People at a terminal: what waits for them, and what they say to it.

use std::path::PathBuf;
use std::process::Output;

use serde_json::{Value, json};

use crate::outside::{Outside, Reply};
use crate::serving::Served;
use crate::{err, out, run, scratch};

/// A data directory, and a model that wants to note down the last word of what it is told.
pub(crate) struct Home {
    pub(crate) data: PathBuf,
    pub(crate) config: PathBuf,
    _model: Outside,
}

impl Home {
    pub(crate) fn new() -> Self {
        Self::with(Outside::model("save_note", "text"))
    }

    /// With another tool that the model wants to call.
    fn new_calling(tool: &'static str) -> Self {
        Self::with(Outside::model(tool, "text"))
    }

    pub(crate) fn with(model: Outside) -> Self {
        let data = scratch();
        let config = data.join("helve.toml");
        let text = format!(
            "default_model = \"scripted\"\n\n[[models]]\nname = \"scripted\"\nprotocol = \"openai_chat\"\n\
             base_url = \"http://{}/v1\"\nmodel = \"m\"\ntools = \"native\"\nprobe = false\n",
            model.address
        );
        std::fs::write(&config, text).unwrap();
        Self { data, config, _model: model }
    }

    pub(crate) fn serve(&self, more: &[(&str, &str)]) -> Served {
        let config = [("HELVE_CONFIG", self.config.to_str().unwrap())];
        Served::start(&self.data, &[&config, more].concat())
    }

    /// Where the configuration says, so that it is found there again.
    pub(crate) fn serve_where_configured(&self) -> Served {
        Served::start_at(None, &self.data, &[("HELVE_CONFIG", self.config.to_str().unwrap())])
    }

    pub(crate) fn at(&self) -> [&str; 4] {
        ["--data", self.data.to_str().unwrap(), "--config", self.config.to_str().unwrap()]
    }

    /// The command, beside the server or without one.
    pub(crate) fn helve(&self, arguments: &[&str]) -> Output {
        run(&[arguments, &self.at()].concat(), "")
    }

    pub(crate) fn done(&self, arguments: &[&str]) -> String {
        let output = self.helve(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", err(&output));
        out(&output)
    }

    pub(crate) fn refused(&self, arguments: &[&str]) -> String {
        let output = self.helve(arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {}", out(&output));
        err(&output)
    }

    /// What was noted down, whoever said so.
    pub(crate) fn notes(&self) -> String {
        let files = std::fs::read_dir(self.data.join("notes")).into_iter().flatten().flatten();
        files.map(|file| std::fs::read_to_string(file.path()).unwrap()).collect()
    }
}

/// Starts a run that will want to note `word` down, and waits for the question: its run and its id.
pub(crate) fn ask(served: &Served, headers: &str, word: &str) -> (String, String) {
    let body = json!({"message": format!("please note {word}"), "stream": false}).to_string();
    let answer = served.ask("POST", "/api/agent", headers, &body);
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    let told: Value = serde_json::from_str(body).unwrap();
    assert_eq!(told["state"], "waiting_approval", "{told}");
    let run = told["run"].as_str().unwrap().to_owned();
    let listed = served.ask("GET", "/api/approvals", headers, "");
    let (_, body) = listed.split_once("\r\n\r\n").unwrap();
    let listed: Value = serde_json::from_str(body).unwrap();
    let mine = listed["approvals"].as_array().unwrap().iter().find(|asked| asked["run"] == *run).unwrap();
    (run, mine["approval"].as_str().unwrap().to_owned())
}

#[test]
fn a_question_of_a_running_server_is_listed_shown_and_answered_from_the_terminal() {
    let home = Home::new();
    let served = home.serve(&[]);
    let (_, milk) = ask(&served, "", "milk");
    let (_, bread) = ask(&served, "", "bread");

    let listed = home.done(&["approvals", "list"]);
    assert_eq!(listed.lines().count(), 2, "{listed}");
    let row = listed.lines().find(|row| row.starts_with(&milk)).unwrap();
    assert!(row.contains("may it run?") && row.contains(r#"save_note {"text":"milk"}"#), "{row}");
    let json: Value = serde_json::from_str(&home.done(&["approvals", "list", "--json"])).unwrap();
    assert_eq!(json.as_array().unwrap().len(), 2);

    let card = home.done(&["approvals", "show", &milk[..8]]);
    assert!(card.contains("arguments\n  | {\"text\":\"milk\"}\n"), "{card}");
    assert!(card.contains("because   ") && card.contains("effect    "), "{card}");
    assert_eq!(home.notes(), "");

    // A part of the id is enough, and what was approved is what happens.
    let answered = home.done(&["approvals", "answer", &milk[..8], "approve"]);
    assert!(
        answered.contains("{\"text\":\"milk\"}") && answered.ends_with("answered: approve\n"),
        "{answered}"
    );
    settled(&served, 1);
    assert!(home.notes().contains("milk") && !home.notes().contains("bread"), "{}", home.notes());

    // The same again is the same; another answer comes too late, and says so in one line.
    home.done(&["approvals", "answer", &milk, "approve"]);
    let late = home.refused(&["approvals", "answer", &milk, "reject", "--reason", "rather not"]);
    assert_eq!(late.lines().count(), 1, "{late}");
    assert!(
        late.starts_with("helve: answered before by local at ") && late.ends_with(": approve\n"),
        "{late}"
    );

    home.done(&["approvals", "answer", &bread, "reject", "--reason", "no carbohydrates"]);
    settled(&served, 2);
    assert!(!home.notes().contains("bread"), "{}", home.notes());
    assert_eq!(home.done(&["approvals", "list"]), "");
    let all = home.done(&["approvals", "list", "--all"]);
    assert!(all.contains("  approve ") && all.contains("  reject "), "{all}");
}

/// Waits until so many runs have come to their end.
fn settled(served: &Served, count: usize) {
    for _ in 0..600 {
        if served.ask("GET", "/api/runs", "", "").matches(r#""state":"completed""#).count() == count {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("{}", served.ask("GET", "/api/runs", "", ""));
}

#[test]
fn a_person_may_send_other_arguments_or_answer_in_the_tools_place() {
    let home = Home::new();
    let served = home.serve(&[]);
    let (_, milk) = ask(&served, "", "milk");
    let wrong = home.refused(&["approvals", "answer", &milk, "approve", "--arguments", "[1]"]);
    assert!(wrong.contains("must be a JSON object"), "{wrong}");
    let unfit = home.refused(&["approvals", "answer", &milk, "happened"]);
    assert!(unfit.contains("does not fit"), "{unfit}");
    let file = home.data.join("other.json");
    std::fs::write(&file, r#"{"text": "oat milk"}"#).unwrap();
    let at = format!("@{}", file.display());
    home.done(&["approvals", "answer", &milk, "approve", "--arguments", &at]);
    settled(&served, 1);
    assert!(home.notes().contains("oat milk"), "{}", home.notes());

    let (run, bread) = ask(&served, "", "bread");
    home.done(&["approvals", "answer", &bread, "respond", "I will remember it"]);
    settled(&served, 2);
    assert!(!home.notes().contains("bread"));
    let events = served.ask("GET", &format!("/api/runs/{run}/events"), "", "");
    assert!(events.contains("I was told: I will remember it"), "{events}");
}

#[test]
fn too_little_of_an_id_or_one_that_is_not_there_is_told() {
    let home = Home::new();
    let served = home.serve(&[]);
    ask(&served, "", "milk");
    assert!(home.refused(&["approvals", "show", "ab"]).contains("at least 4"));
    let nothing = home.refused(&["approvals", "answer", "zzzz", "approve"]);
    assert!(nothing.contains("`helve approvals list --all` shows them"), "{nothing}");
    let unknown = home.refused(&["approvals", "show", "00000000-0000-4000-8000-000000000000"]);
    assert!(unknown.contains("there is no such approval"), "{unknown}");
}

#[test]
fn a_server_that_wants_a_token_is_shown_the_one_of_the_environment() {
    let home = Home::new();
    let made = home.done(&["token", "create", "--user", "mei"]);
    let token = made.trim();
    let served = home.serve(&[]);
    let (_, milk) = ask(&served, &format!("Authorization: Bearer {token}\r\n"), "milk");
    let without = home.refused(&["approvals", "list"]);
    assert!(without.contains("HELVE_TOKEN"), "{without}");
    let with = |arguments: &[&str]| {
        let output =
            crate::helve().args(arguments).args(home.at()).env("HELVE_TOKEN", token).output().unwrap();
        assert!(output.status.success(), "{}", err(&output));
        out(&output)
    };
    assert!(with(&["approvals", "list"]).starts_with(&milk));
    // Not found in the data directory, but named.
    let elsewhere = scratch();
    let url = format!("http://{}", served.address());
    let named =
        ["approvals", "answer", &milk, "approve", "--server", &url, "--data", elsewhere.to_str().unwrap()];
    let output = crate::helve().args(named).env("HELVE_TOKEN", token).output().unwrap();
    assert!(output.status.success(), "{}", err(&output));
    assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 0, "only the server is asked");
}

#[test]
fn a_call_that_may_have_happened_is_run_again_once_and_settled_from_the_terminal() {
    let service = Outside::new(|asked| match asked.path.as_str() {
        "/pay" => Reply::Silence,
        _ => Reply::new(200, "text/plain", "no rent was paid"),
    });
    let payments = || service.asked().into_iter().filter(|asked| asked.path == "/pay").collect::<Vec<_>>();
    let home = Home::new_calling("pay");
    let config = std::fs::read_to_string(&home.config).unwrap();
    let allowed = format!("{config}\n[egress]\nallow = [\"{}\"]\n", service.address);
    std::fs::write(&home.config, allowed).unwrap();
    let tool = |name: &str, method: &str, check: Option<&str>| {
        json!({"name": name, "description": "Pays, or looks.", "check_tool": check,
            "parameters": {"type": "object", "properties": {"text": {"type": "string"}}},
            "endpoint": {"method": method, "url_template": format!("http://{}/{name}", service.address)}})
    };
    for tool in [tool("paid", "GET", None), tool("pay", "POST", Some("paid"))] {
        let added = run(&[&["tools", "add", "-"], &home.at()[..]].concat(), &tool.to_string());
        assert!(added.status.success(), "{}", err(&added));
    }
    let served = home.serve(&[]);
    let (story, question) = ask(&served, "", "rent");
    home.done(&["approvals", "answer", &question, "approve"]);
    let sent = |times: usize| {
        while payments().len() < times {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    };
    let asked_what_happened = || {
        for _ in 0..600 {
            let listed = home.done(&["approvals", "list"]);
            if !listed.is_empty() {
                assert!(listed.contains("did it happen?") && listed.contains("pay "), "{listed}");
                return listed.split(' ').next().unwrap().to_owned();
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        panic!("nobody was asked");
    };
    sent(1);
    // It was sent, and the server dies before it hears of it.
    drop(served);

    let served = home.serve(&[]);
    let id = &asked_what_happened();
    let shown = home.done(&["approvals", "show", id]);
    let request = format!("| POST http://{}/pay\n", service.address);
    for known in ["it may or may not have happened", &request, "| idempotency-key: ", "| no rent was paid\n"]
    {
        assert!(shown.contains(known), "{shown}");
    }
    // Whoever has it run again has agreed to it, and it has a key of its own.
    home.done(&["approvals", "answer", id, "run-again"]);
    sent(2);
    assert_eq!(home.done(&["approvals", "list"]), "");
    let keys = payments().into_iter().map(|asked| {
        asked
            .headers
            .into_iter()
            .find(|header| header.to_lowercase().starts_with("idempotency-key:"))
            .unwrap()
    });
    let keys: Vec<String> = keys.collect();
    assert_ne!(keys[0], keys[1]);
    drop(served);

    let served = home.serve(&[]);
    let id = &asked_what_happened();
    assert!(home.refused(&["approvals", "answer", id, "approve"]).contains("does not fit"));
    let answered = home.done(&["approvals", "answer", id, "happened"]);
    assert!(answered.ends_with("answered: happened\n"), "{answered}");
    let told = home.done(&["runs", "follow", &story]);
    assert!(told.contains("unknown    1:0 may or may not have happened"), "{told}");
    assert!(told.contains("this call did take effect"), "{told}");
    assert_eq!(payments().len(), 2);
    drop(served);
}

#[test]
fn with_no_server_running_the_run_goes_on_inside_the_command() {
    let home = Home::new();
    let served = home.serve(&[]);
    let (run, milk) = ask(&served, "", "milk");
    assert!(served.stop());

    let listed = home.helve(&["approvals", "list"]);
    assert!(out(&listed).starts_with(&milk), "{}", err(&listed));
    assert_eq!(err(&listed), "no server is running: reading the data directory\n");
    let answered = home.helve(&["approvals", "answer", &milk[..6], "approve"]);
    assert!(answered.status.success(), "{}", err(&answered));
    assert_eq!(err(&answered), "no server is running: the run goes on inside this command\n");
    assert!(
        out(&answered).ends_with(&format!("answered: approve\nrun {run} is completed\n")),
        "{}",
        out(&answered)
    );
    assert!(home.notes().contains("milk"));
    let again = home.done(&["approvals", "answer", &milk, "approve"]);
    assert!(again.ends_with("this was the answer before, too\n"), "{again}");
    // Also where others have tokens: whoever has the directory needs none.
    home.done(&["token", "create", "--user", "mei"]);
    assert!(home.done(&["approvals", "list", "--all"]).starts_with(&milk));
}
