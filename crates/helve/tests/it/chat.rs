//! A conversation in the terminal: piped, asked, interrupted by the server's end.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use serde_json::{Value, json};

use crate::outside::{Outside, Spoken};
use crate::people::Home;
use crate::{err, helve, out, run, scratch};

/// The chat, with these lines typed at once.
fn chat(home: &Home, more: &[&str], typed: &str) -> std::process::Output {
    run(&[&["chat"], more, &home.at()].concat(), typed)
}

#[test]
fn the_demo_model_talks_at_once_without_a_server_a_key_or_a_terminal() {
    let data = scratch();
    let said = "what is 12.5% of 3,480?\nand what is 31 * 47?\n";
    let output = run(&["chat", "--data", data.to_str().unwrap()], said);
    assert!(output.status.success(), "{}", err(&output));
    // The answers, and nothing else; all that is told beside them is on the other side.
    assert!(out(&output).contains("12.5% of 3,480 = **435**"), "{}", out(&output));
    assert!(out(&output).contains("**1457**") && !out(&output).contains("calculator {"), "{}", out(&output));
    let beside = err(&output);
    assert!(
        beside.starts_with("no server is running: serving inside this command, at http://127.0.0.1:"),
        "{beside}"
    );
    assert!(
        beside.contains("→ calculator {") && beside.contains("✓ calculator: 12.5% of 3,480 = 435"),
        "{beside}"
    );
    assert!(!beside.contains('\u{1b}'), "{beside}");
    // Both messages are of one conversation.
    let runs = out(&run(&["runs", "list", "--json", "--data", data.to_str().unwrap()], ""));
    let runs: Value = serde_json::from_str(&runs).unwrap();
    assert_eq!(runs.as_array().unwrap().len(), 2);
    assert_eq!(runs[0]["conversation"], runs[1]["conversation"]);
}

#[test]
fn piped_nobody_has_agreed_to_anything() {
    let home = Home::new();
    let output = chat(&home, &["--no-wait"], "please note milk\ny\n");
    assert_eq!(output.status.code(), Some(3), "{}", err(&output));
    let beside = err(&output);
    assert!(beside.contains("arguments\n  | {\"text\":\"milk\"}\n"), "{beside}");
    let (_, how) = beside.split_once("answer with `").unwrap();
    let (command, _) = how.split_once('`').unwrap();
    assert_eq!(home.notes(), "");
    // The command that it names works as it stands.
    let words: Vec<&str> = command.split(' ').skip(1).collect();
    assert!(home.done(&words).contains("answered: approve\n"));
    assert!(home.notes().contains("milk"));
}

#[test]
fn piped_without_no_wait_an_answer_from_another_terminal_is_waited_for() {
    let home = Home::new();
    let mut typing = Typing::start(&home, &[]);
    typing.say("please note milk");
    let card = typing.until(Side::Err, "answer with `helve approvals answer ");
    let id = card.rsplit_once("answer ").unwrap().1.split(' ').next().unwrap().to_owned();
    // The chat is the server, and is found in the data directory.
    let answered = home.helve(&["approvals", "answer", &id, "approve"]);
    assert!(answered.status.success() && err(&answered).is_empty(), "{}", err(&answered));
    typing.until(Side::Out, "I was told: ");
    assert!(typing.leave().success());
    assert!(home.notes().contains("milk"));
}

#[test]
fn where_the_input_has_ended_a_question_ends_the_chat_and_its_run_goes_on_when_it_is_answered() {
    for more in [&[][..], &["--interactive"]] {
        let home = Home::new();
        let output = chat(&home, more, "please note milk");
        assert_eq!(output.status.code(), Some(3), "{more:?}: {}", err(&output));
        let told = format!("{}{}", out(&output), err(&output));
        assert!(told.contains("the run is kept, and continues when the question is answered"), "{told}");
        assert_eq!(told.matches("answer with `").count(), 1, "{told}");
        let (_, how) = told.split_once("answer with `").unwrap();
        let (command, _) = how.split_once('`').unwrap();
        assert_eq!(home.notes(), "");
        let words: Vec<&str> = command.split(' ').skip(1).collect();
        assert!(home.done(&words).contains("answered: approve\n"));
        assert!(home.notes().contains("milk"));
    }
    // What stood behind the message has not been said.
    let home = Home::new();
    let output = chat(&home, &[], "please note milk\nand bread\n");
    assert_eq!(output.status.code(), Some(3), "{}", err(&output));
    assert!(err(&output).contains("1 message(s) after it were not sent"), "{}", err(&output));
}

#[test]
fn a_model_or_an_agent_that_does_not_exist_is_an_error_before_anything_is_said() {
    let home = Home::new();
    for (option, what) in
        [("--model", "there is no model `nosuch`"), ("--agent", "there is no agent `nosuch`")]
    {
        let output = chat(&home, &[option, "nosuch"], "");
        assert_eq!(output.status.code(), Some(1), "{}", err(&output));
        assert!(err(&output).contains(what), "{}", err(&output));
    }
}

#[test]
fn a_person_edits_rejects_and_answers_in_place() {
    let words = ["one", "two", "three"];
    let home = Home::with(Outside::speaking(move |last| match last["role"] == "tool" {
        true => Spoken::Words("Done.".into()),
        false => Spoken::Calls(words.map(|text| ("save_note".to_owned(), json!({"text": text}))).to_vec()),
    }));
    let served = home.serve(&[]);
    let typed = "note them\nwhat?\ne\n{\"text\": \"uno\"}\ny\nn not two\nr three is in my head\n/quit\n";
    let mut typing = Typing::start(&home, &["--interactive"]);
    for line in typed.lines() {
        typing.say(line);
        // Every line is waited for: what is typed too early is for somebody else.
        let next = match line {
            "note them" | "what?" => "[y]es, [e]dit, [n]o",
            "e" => "other arguments",
            "{\"text\": \"uno\"}" => "send this?",
            "y" | "n not two" => "[y]es, [e]dit, [n]o",
            "r three is in my head" => "Done.",
            _ => break,
        };
        typing.until(Side::Out, next);
    }
    assert!(typing.leave().success());
    let notes = home.notes();
    assert!(notes.contains("uno") && !notes.contains("one") && !notes.contains("two"), "{notes}");
    assert!(!notes.contains("three"), "{notes}");
    let all = home.done(&["approvals", "list", "--all"]);
    for word in ["approve", "reject", "respond"] {
        assert!(all.contains(&format!("  {word} ")), "{all}");
    }
    drop(served);
}

#[test]
fn what_the_model_wants_to_know_is_typed_or_declined() {
    let home = Home::new();
    let mut typing = Typing::start(&home, &["--interactive", "--model", "demo"]);
    for (line, next) in [
        ("ask me to choose a colour", "a number from 1 to 3, or /decline: "),
        ("mauve", "must be one of: Green, Blue, Red"),
        ("", "a number from 1 to 3, or /decline: "),
        ("2", "Your answer: **Blue**"),
        ("ask me which of several days suit me", "numbers from 1 to 3 with commas"),
        ("1, friday", "Your answer: **[\"Monday\",\"Friday\"]**"),
        ("ask me for the details of a trip", "Where to, text: "),
        ("Kyoto", "First day, a date such as 2026-03-29: "),
        ("tomorrow", "“First day” must be written as: 2026-03-29"),
        ("2026-12-24", "How many people, a whole number (empty: 2): "),
        ("", "By, one of: 1 Train, 2 Plane, 3 Car (empty: leave out): "),
        ("train", "Anything else, text (empty: leave out): "),
        ("", "\"people\":2,\"place\":\"Kyoto\",\"way\":\"Train\"}**"),
        ("ask me something", "your answer, or /decline: "),
        ("/decline that is private", "says: that is private."),
        ("/decline", "the model asks nothing"),
    ] {
        typing.say(line);
        typing.until(Side::Out, next);
    }
    assert!(typing.leave().success());
    assert!(
        typing.seen.contains("the question\n  | Which colour do you like best?\noptions\n  | 1  Green\n")
    );
    let all = home.done(&["approvals", "list", "--all"]);
    assert_eq!(all.matches("  reply ").count(), 3, "{all}");
    assert_eq!(all.matches("  decline ").count(), 1, "{all}");
}

#[test]
fn what_a_model_writes_cannot_steer_the_terminal() {
    let home = Home::with(Outside::speaking(|_| {
        Spoken::Words("\u{1b}]0;gone\u{7}\u{1b}[2Jclear \u{9b}31m \u{202e}txt".into())
    }));
    let output = chat(&home, &["--interactive"], "hello\n");
    let all = out(&output) + &err(&output);
    assert!(all.contains("⟨U+001B⟩]0;gone⟨U+0007⟩⟨U+001B⟩[2Jclear ⟨U+009B⟩31m ⟨U+202E⟩txt"), "{all:?}");
    assert!(!all.contains(['\u{1b}', '\u{7}', '\u{9b}', '\u{202e}']), "{all:?}");
}

#[test]
fn commands_and_mistakes_are_told() {
    let home = Home::new();
    let typed =
        "/help\n/model\n/nonsense\n/model nobody\n/model demo\n/agent default\n/new\nwhat is 31 * 47?\n";
    let output = chat(&home, &[], typed);
    let beside = err(&output);
    for told in [
        "/new  ",
        "scripted\n",
        "there is no command /nonsense",
        "there is no model `nobody`; /model lists them",
        "model demo from now on",
        "another conversation",
    ] {
        assert!(beside.contains(told), "{told}: {beside}");
    }
    assert!(out(&output).contains("**1457**"), "{}", out(&output));
    // A server that is not there is not waited for, and what is said is one line.
    for command in [&["chat"][..], &["approvals", "list"], &["runs", "show", "0199"]] {
        let gone = run(&[command, &["--server", "http://127.0.0.1:9"]].concat(), "hello\n");
        assert_eq!((gone.status.code(), err(&gone).lines().count()), (Some(1), 1), "{}", err(&gone));
        assert!(err(&gone).contains("the server at http://127.0.0.1:9 does not answer"), "{}", err(&gone));
    }
    let gone = run(&["chat", "--server", "ftp://example.com"], "hello\n");
    assert!(err(&gone).contains("is no address of a server"), "{}", err(&gone));
}

#[test]
fn a_lost_server_is_waited_for_and_nothing_is_doubled_or_lost() {
    let home = Home::new();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let listen = format!("127.0.0.1:{port}");
    let config = std::fs::read_to_string(&home.config).unwrap();
    std::fs::write(&home.config, format!("{config}\n[server]\nlisten = \"{listen}\"\n")).unwrap();
    let first = home.serve_where_configured();
    let mut typing = Typing::start(&home, &["--interactive"]);
    typing.say("please note milk");
    typing.until(Side::Out, "[y]es, [e]dit, [n]o");
    drop(first);
    typing.until(Side::Out, "the server is gone");
    let second = home.serve_where_configured();
    typing.until(Side::Out, "the server is back");
    typing.say("y");
    typing.until(Side::Out, "I was told: ");
    let seen = typing.seen.clone();
    assert_eq!(seen.matches("→ save_note").count(), 1, "{seen}");
    assert_eq!(seen.matches("question  ").count(), 1, "{seen}");
    assert!(typing.leave().success());
    assert_eq!(home.notes().matches("milk").count(), 1);
    drop(second);
}

#[test]
fn a_message_that_waits_for_its_turn_at_a_full_server_says_so() {
    let home = Home::with(Outside::speaking(|last| match last["content"] == "think for long" {
        true => Spoken::Nothing,
        false => Spoken::Words("here I am".into()),
    }));
    let served = home.serve(&[("HELVE_LIMITS__RUNS_MAX", "1")]);
    let started = served.ask("POST", "/api/runs", "", r#"{"message": "think for long"}"#);
    let started: Value = serde_json::from_str(started.split_once("\r\n\r\n").unwrap().1).unwrap();
    let mut typing = Typing::start(&home, &["--interactive"]);
    typing.say("hello");
    typing.until(Side::Out, "the server is busy; your message waits for its turn");
    served.ask("POST", &format!("/api/runs/{}/cancel", started["run"].as_str().unwrap()), "", "");
    typing.until(Side::Out, "here I am");
    assert!(typing.leave().success());
    assert_eq!(typing.seen.matches("the server is busy").count(), 1, "{}", typing.seen);
}

#[test]
fn a_connection_that_breaks_in_the_middle_of_a_text_doubles_and_loses_nothing() {
    let words: Vec<String> = (0..40).map(|n| format!("word{n} ")).collect();
    let home = Home::with(Outside::drawling(words.clone()));
    let scissors = Scissors::new(["word7 ", "word19 ", "word30 "]);
    let config = std::fs::read_to_string(&home.config).unwrap();
    let names = format!("{config}\n[server]\nhosts = [\"{}\"]\n", scissors.address);
    std::fs::write(&home.config, names).unwrap();
    let served = home.serve(&[]);
    scissors.lead_to(served.address());
    let output = chat(&home, &["--server", &format!("http://{}", scissors.address)], "count\n");
    assert_eq!(out(&output), format!("{}\n", words.concat()), "{}", err(&output));
    assert!(scissors.left().is_empty(), "not cut at {:?}", scissors.left());
}

/// A way to a server that is cut each time one of its words has passed.
struct Scissors {
    address: std::net::SocketAddr,
    server: Arc<Mutex<String>>,
    cuts: Arc<Mutex<Vec<&'static str>>>,
}

impl Scissors {
    fn new(cuts: impl IntoIterator<Item = &'static str>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (server, cuts) = (Arc::default(), Arc::new(Mutex::new(cuts.into_iter().collect())));
        let made = Self { address, server, cuts };
        let (server, cuts) = (made.server.clone(), made.cuts.clone());
        std::thread::spawn(move || {
            for near in listener.incoming().flatten() {
                let far = TcpStream::connect(server.lock().unwrap().as_str()).unwrap();
                let (mut from, mut to) = (near.try_clone().unwrap(), far.try_clone().unwrap());
                std::thread::spawn(move || _ = std::io::copy(&mut from, &mut to));
                let cuts = cuts.clone();
                std::thread::spawn(move || pass(far, near, &cuts));
            }
        });
        made
    }

    fn lead_to(&self, server: &str) {
        server.clone_into(&mut self.server.lock().unwrap());
    }

    fn left(&self) -> Vec<&'static str> {
        self.cuts.lock().unwrap().clone()
    }
}

fn pass(mut far: TcpStream, mut near: TcpStream, cuts: &Mutex<Vec<&'static str>>) {
    let (mut passed, mut buffer) = (String::new(), [0; 4096]);
    while let Ok(length @ 1..) = far.read(&mut buffer) {
        if near.write_all(&buffer[..length]).is_err() {
            return;
        }
        passed.push_str(&String::from_utf8_lossy(&buffer[..length]));
        let mut cuts = cuts.lock().unwrap();
        if cuts.first().is_some_and(|word| passed.contains(word)) {
            cuts.remove(0);
            _ = near.shutdown(std::net::Shutdown::Both);
            _ = far.shutdown(std::net::Shutdown::Both);
            return;
        }
    }
}

#[cfg(unix)]
#[test]
fn an_interrupt_stops_the_run_and_the_next_one_leaves() {
    let home = Home::with(Outside::speaking(|_| Spoken::Nothing));
    let mut typing = Typing::start(&home, &["--interactive"]);
    typing.until(Side::Out, "> ");
    typing.say("think as long as you like");
    // It is at work when its run is there.
    for _ in 0..600 {
        if out(&home.helve(&["runs", "list"])).contains("running") {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    typing.interrupt();
    typing.until(Side::Out, "[stopped by local]\n> ");
    typing.interrupt();
    // The input is open still: it is the interrupt that ends it.
    let open = typing.child.stdin.take();
    assert_eq!(typing.child.wait().unwrap().code(), Some(130));
    drop(open);
    assert!(home.done(&["runs", "list"]).contains("cancelled"));
}

#[derive(Clone, Copy, PartialEq)]
enum Side {
    Out,
    Err,
}

/// Somebody at the chat, who reads before they type.
struct Typing {
    child: Child,
    pieces: mpsc::Receiver<(Side, String)>,
    seen: String,
    /// What was not looked at yet.
    unread: [String; 2],
}

impl Typing {
    fn start(home: &Home, more: &[&str]) -> Self {
        let mut child = helve()
            .arg("chat")
            .args(more)
            .args(home.at())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, pieces) = mpsc::channel();
        read(Side::Out, child.stdout.take().unwrap(), sender.clone());
        read(Side::Err, child.stderr.take().unwrap(), sender);
        Self { child, pieces, seen: String::new(), unread: Default::default() }
    }

    fn say(&mut self, line: &str) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    /// Reads up to this text, which is waited for, and gives back what came before it and its line so far.
    fn until(&mut self, side: Side, wanted: &str) -> String {
        loop {
            let unread = &mut self.unread[usize::from(side == Side::Err)];
            if let Some(at) = unread.find(wanted)
                && (side == Side::Out || unread[at..].contains('\n'))
            {
                let end = match side {
                    Side::Out => at + wanted.len(),
                    Side::Err => at + unread[at..].find('\n').unwrap(),
                };
                return unread.drain(..end).collect();
            }
            let (from, piece) = self
                .pieces
                .recv_timeout(Duration::from_secs(60))
                .unwrap_or_else(|_| panic!("`{wanted}` never came: {}", self.seen));
            self.seen.push_str(&piece);
            self.unread[usize::from(from == Side::Err)].push_str(&piece);
        }
    }

    #[cfg(unix)]
    fn interrupt(&self) {
        let done = std::process::Command::new("kill").args(["-INT", &self.child.id().to_string()]).status();
        assert!(done.unwrap().success());
    }

    /// Ends the input, and waits for the end.
    fn leave(&mut self) -> std::process::ExitStatus {
        drop(self.child.stdin.take());
        self.child.wait().unwrap()
    }
}

impl Drop for Typing {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

fn read(side: Side, from: impl Read + Send + 'static, to: mpsc::Sender<(Side, String)>) {
    std::thread::spawn(move || {
        let mut from = BufReader::new(from);
        loop {
            let bytes = from.fill_buf().unwrap_or_default().to_vec();
            if bytes.is_empty() || to.send((side, String::from_utf8_lossy(&bytes).into_owned())).is_err() {
                return;
            }
            from.consume(bytes.len());
        }
    });
}
