//! Questions that several people must agree about, with the process, its database and the other side all real.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::outside::{Outside, Reply};
use crate::serving::Served;
use crate::{err, out, run, scratch};

/// A server with a payment service beside it, where a payment needs approvers.
struct Office {
    data: PathBuf,
    config: PathBuf,
    service: Outside,
    _model: Outside,
    served: Option<Served>,
}

impl Office {
    fn open(approvers: &str) -> Self {
        let (data, model) = (scratch(), Outside::model("pay", "to"));
        let service = Outside::new(|_| Reply::new(200, "application/json", r#"{"paid": true}"#));
        let config = data.join("helve.toml");
        let text = format!(
            "default_model = \"scripted\"\n\n[[models]]\nname = \"scripted\"\nprotocol = \"openai_chat\"\n\
             base_url = \"http://{}/v1\"\nmodel = \"m\"\ntools = \"native\"\nprobe = false\n\n\
             [egress]\nallow = [\"{}\"]\n\n\
             [[permissions]]\ntool = \"pay\"\naction = \"ask\"\n{approvers}\n",
            model.address, service.address
        );
        std::fs::write(&config, text).unwrap();
        Self { data, config, service, _model: model, served: None }
    }

    /// Opens the office with an operator's token and one for each user. The server finds them when it starts.
    fn with_people<const N: usize>(approvers: &str, users: [&str; N]) -> (Self, String, [String; N]) {
        let mut office = Self::open(approvers);
        let admin = office.token("root", &["--admin"]);
        let tokens = users.map(|user| office.token(user, &[]));
        office.start();
        office.add_tool(&admin);
        (office, admin, tokens)
    }

    /// The process before is killed: nothing is written on the way down.
    fn start(&mut self) {
        self.served = None;
        let config = [("HELVE_CONFIG", self.config.to_str().unwrap())];
        self.served = Some(Served::start(&self.data, &config));
    }

    fn token(&self, user: &str, more: &[&str]) -> String {
        let made = self.helve(&[&["token", "create", "--user", user], more].concat());
        assert!(made.status.success(), "{}", err(&made));
        out(&made).trim().to_owned()
    }

    fn helve(&self, arguments: &[&str]) -> std::process::Output {
        let at = ["--data", self.data.to_str().unwrap(), "--config", self.config.to_str().unwrap()];
        run(&[arguments, &at].concat(), "")
    }

    /// The status, and what was said.
    fn ask(&self, token: &str, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let header = format!("Authorization: Bearer {token}\r\n");
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let answer = self.served.as_ref().unwrap().ask(method, path, &header, &body);
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, serde_json::from_str(body).unwrap_or(Value::Null))
    }

    fn get(&self, token: &str, path: &str) -> Value {
        let (status, said) = self.ask(token, "GET", path, &Value::Null);
        assert_eq!(status, 200, "{path}: {said}");
        said
    }

    fn add_tool(&self, admin: &str) {
        let url = format!("http://{}/v1/payments", self.service.address);
        let tool = json!({
            "name": "pay",
            "description": "Pays.",
            "parameters": {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]},
            "endpoint": {"url_template": url, "method": "POST"}
        });
        assert_eq!(self.ask(admin, "POST", "/api/tools", &tool).0, 201);
    }

    /// Starts a run that wants to pay somebody: the run and its question.
    fn pay(&self, token: &str) -> (String, String) {
        let (_, started) = self.ask(token, "POST", "/api/runs", &json!({"message": "pay bo"}));
        let run = started["run"].as_str().unwrap().to_owned();
        assert_eq!(self.settled(token, &run), "waiting_approval");
        let listed = self.get(token, "/api/approvals");
        let mine = listed["approvals"].as_array().unwrap().iter().find(|held| held["run"] == *run);
        (run, mine.unwrap()["approval"].as_str().unwrap().to_owned())
    }

    fn settled(&self, token: &str, run: &str) -> String {
        loop {
            let state = self.get(token, &format!("/api/runs/{run}"))["state"].as_str().unwrap().to_owned();
            if state != "running" {
                return state;
            }
            std::thread::yield_now();
        }
    }

    fn inbox(&self, token: &str) -> Vec<String> {
        let listed = self.get(token, "/api/approvals?state=inbox");
        let ids = listed["approvals"].as_array().unwrap().iter();
        ids.map(|held| held["approval"].as_str().unwrap().to_owned()).collect()
    }

    fn answer(&self, token: &str, approval: &str, answer: &Value) -> (u16, Value) {
        self.ask(token, "POST", &format!("/api/approvals/{approval}"), answer)
    }

    fn log(&self, run: &str, token: &str) -> String {
        let header = format!("Authorization: Bearer {token}\r\n");
        self.served.as_ref().unwrap().ask("GET", &format!("/api/runs/{run}/events"), &header, "")
    }
}

const TWO_OF_THREE: &str = "[permissions.approvers]\nusers = [\"mei\", \"li\", \"wang\"]\napprovals = 2\n";

#[test]
fn two_of_three_must_agree_and_neither_asked_for_it_whatever_is_killed_in_between() {
    let (mut office, admin, [mei, li, wang, bo]) =
        Office::with_people(TWO_OF_THREE, ["mei", "li", "wang", "bo"]);
    let (run, approval) = office.pay(&mei);
    let yes = json!({"decision": "approve"});

    // Who asked may not decide, who is not named does not see it, and an operator is no approver.
    let (status, refused) = office.answer(&mei, &approval, &yes);
    assert_eq!((status, &refused["code"]), (403, &json!("own_request")), "{refused}");
    let path = format!("/api/approvals/{approval}");
    assert_eq!(office.ask(&bo, "GET", &path, &Value::Null).0, 404);
    assert_eq!(office.answer(&bo, &approval, &yes).0, 404);
    let (status, refused) = office.answer(&admin, &approval, &yes);
    assert_eq!((status, &refused["code"]), (403, &json!("not_an_approver")), "{refused}");
    assert_eq!(office.inbox(&mei), [] as [String; 0]);
    assert_eq!(office.inbox(&li), std::slice::from_ref(&approval));
    // An approver sees the question, and nothing else of the run.
    assert_eq!(office.get(&li, &path)["you"], "may_answer");
    assert_eq!(office.ask(&li, "GET", &format!("/api/runs/{run}"), &Value::Null).0, 404);
    let (status, refused) =
        office.answer(&li, &approval, &json!({"decision": "approve", "always": {"within": "run"}}));
    assert_eq!((status, &refused["code"]), (400, &json!("bad_always")), "{refused}");

    let (status, voted) = office.answer(&li, &approval, &yes);
    assert_eq!(
        (status, &voted["state"], &voted["votes_missing"]),
        (200, &json!("pending"), &json!(1)),
        "{voted}"
    );
    office.start();
    assert_eq!(office.service.asked().len(), 0);
    // The vote is still there, and once is once.
    let (status, again) = office.answer(&li, &approval, &yes);
    assert_eq!((status, again["votes"].as_array().unwrap().len()), (200, 1), "{again}");
    assert_eq!(office.inbox(&li), [] as [String; 0]);
    let other = json!({"decision": "approve", "arguments": "{\"to\": \"eve\"}"});
    let (status, refused) = office.answer(&wang, &approval, &other);
    assert_eq!((status, &refused["code"]), (409, &json!("other_decision")), "{refused}");
    let (status, decided) = office.answer(&wang, &approval, &yes);
    assert_eq!((status, &decided["state"], &decided["by"]), (200, &json!("answered"), &json!("wang")));
    assert_eq!(office.settled(&mei, &run), "completed");
    office.start();
    assert_eq!(office.service.asked().len(), 1, "exactly one effect");
    let log = office.log(&run, &mei);
    for (kind, count) in [("approval.voted", 1), ("approval.answered", 1), ("tool.finished", 1)] {
        assert_eq!(log.matches(&format!(r#""type":"{kind}""#)).count(), count, "{kind}: {log}");
    }
    let audit = office.get(&admin, "/api/audit?action=approval");
    let actions: Vec<_> = audit["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| (entry["action"].as_str().unwrap(), entry["by"].as_str().unwrap()))
        .collect();
    let expected = [("approval.answered", "wang"), ("approval.voted", "li"), ("approval.asked", "helve")];
    assert_eq!(actions, expected);
    let verified = office.helve(&["audit", "verify"]);
    assert!(verified.status.success(), "{}", err(&verified));
}

#[test]
fn a_no_ends_it_and_people_answer_from_the_terminal() {
    let (office, _, [mei, li, wang]) = Office::with_people(TWO_OF_THREE, ["mei", "li", "wang"]);
    let (run, approval) = office.pay(&mei);
    let as_user = |token: &str, arguments: &[&str]| {
        let at = ["--data", office.data.to_str().unwrap(), "--config", office.config.to_str().unwrap()];
        crate::helve()
            .args(["approvals"])
            .args(arguments)
            .args(at)
            .env("HELVE_TOKEN", token)
            .output()
            .unwrap()
    };
    let listed = out(&as_user(&li, &["list", "--inbox"]));
    assert!(listed.starts_with(&approval), "{listed}");
    let said = out(&as_user(&li, &["answer", &approval[..8], "approve"]));
    assert!(said.contains("2 of: mei, li, wang") && said.ends_with("1 more must agree\n"), "{said}");
    let shown = out(&as_user(&mei, &["show", &approval]));
    assert!(shown.contains("another approver must decide") && shown.contains("agreed    li"), "{shown}");
    let refused = as_user(&mei, &["answer", &approval, "approve"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(err(&refused).contains("your own request"), "{}", err(&refused));
    let no = as_user(&wang, &["answer", &approval, "reject", "--reason", "too much"]);
    assert!(no.status.success(), "{}", err(&no));
    assert_eq!(office.settled(&mei, &run), "completed");
    assert_eq!(office.service.asked().len(), 0);
}
