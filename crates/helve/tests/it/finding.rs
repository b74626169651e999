//! Commands beside a server: they find it without being told where it is, and say which one they use.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::serving::Served;
use crate::{err, helve, out, scratch};

/// A user's home directory: commands know of nothing else.
struct User {
    home: std::path::PathBuf,
}

impl User {
    fn new() -> Self {
        Self { home: scratch() }
    }

    fn command(&self, more: &[(&str, &str)]) -> Command {
        let mut command = helve();
        command.env("HOME", &self.home).envs(more.iter().copied());
        command
    }

    fn run(&self, arguments: &[&str], more: &[(&str, &str)]) -> Output {
        let output = self.command(more).args(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", err(&output));
        output
    }

    fn serve(&self, data: &Path) -> Served {
        Served::start_as(self.command(&[]), Some("127.0.0.1:0"), data, &[])
    }
}

/// What a command says first: the server or the directory that it uses.
fn said(output: &Output) -> String {
    err(output).lines().next().unwrap_or_default().to_owned()
}

/// An address at which nothing answers, so that a server of this machine's user is not found by chance.
const NOWHERE: (&str, &str) = ("HELVE_LISTEN", "127.0.0.1:1");

#[test]
fn commands_without_options_find_the_server_that_uses_another_directory() {
    let user = User::new();
    let data = user.home.join("project data");
    let served = user.serve(&data);
    let address = format!("http://{}", served.address());

    user.run(&["tools", "disable", "save_note"], &[NOWHERE]);
    let listed = out(&user.run(&["tools", "list"], &[NOWHERE]));
    let row = listed.lines().find(|line| line.starts_with("save_note")).unwrap();
    assert!(row.ends_with("(off)"), "{row}");
    assert!(!user.home.join(".local/share/helve").exists(), "no second world was made");

    for (command, expected) in [
        (&["runs", "list"][..], format!("using the server at {address}")),
        (&["approvals", "list"], format!("using the server at {address}")),
        (&["tools", "list"], format!("using the data of the server at {address}: {}", data.display())),
        (&["models", "list"], format!("using the server at {address}")),
        (&["token", "list"], format!("using the data of the server at {address}: {}", data.display())),
    ] {
        assert_eq!(said(&user.run(command, &[NOWHERE])), expected, "{command:?}");
    }

    // A message of the terminal is a conversation of the server's.
    let mut command = user.command(&[NOWHERE]);
    command.args(["chat", "--model", "demo"]).stdin(Stdio::piped());
    let mut chat = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    chat.stdin.take().unwrap().write_all(b"what is 6 * 7?").unwrap();
    let chat = chat.wait_with_output().unwrap();
    assert!(out(&chat).contains("42"), "{}{}", out(&chat), err(&chat));
    let conversations = served.ask("GET", "/api/conversations", "", "");
    assert!(conversations.contains("what is 6 * 7?"), "{conversations}");
    drop(served);

    // The server is gone, and its note says nothing any more.
    let after = user.run(&["tools", "list"], &[NOWHERE]);
    let own = user.home.join(".local/share/helve");
    assert_eq!(said(&after), format!("no server is running; using the data directory {}", own.display()));
}

#[test]
fn a_server_at_the_default_address_is_found_and_another_program_there_is_not_taken_for_one() {
    let (user, other) = (User::new(), User::new());
    let served = other.serve(&other.home.join("data"));
    let default = [("HELVE_LISTEN", served.address())];
    let listed = user.run(&["runs", "list"], &default);
    assert_eq!(said(&listed), format!("using the server at http://{}", served.address()));
    // Who names a directory means it.
    let data = user.home.join("own");
    let own = user.run(&["runs", "list", "--data", data.to_str().unwrap()], &default);
    assert!(err(&own).starts_with("no server is running: reading the data directory"), "{}", err(&own));

    let foreign = crate::outside::Outside::model("time", "x");
    let there = foreign.address.to_string();
    let listed = user.run(&["runs", "list"], &[("HELVE_LISTEN", &there)]);
    assert!(err(&listed).starts_with("no server is running"), "{}", err(&listed));
}

#[test]
fn the_environment_names_the_server_and_commands_that_need_its_directory_say_so() {
    let (user, other) = (User::new(), User::new());
    let served = other.serve(&other.home.join("data"));
    let url = format!("http://{}", served.address());
    let listed = user.run(&["runs", "list"], &[("HELVE_SERVER", &url), NOWHERE]);
    assert_eq!(out(&listed), out(&other.run(&["runs", "list"], &[NOWHERE])));
    assert!(!user.home.join(".local").exists(), "the server was asked");
    let help = out(&user.run(&["runs", "list", "--help"], &[]));
    assert!(help.contains("[default: HELVE_SERVER, or") && !help.contains("HELVE_SERVER_URL"), "{help}");
    let refused = user.command(&[NOWHERE]).args(["tools", "list", "--server", &url]).output().unwrap();
    assert!(!refused.status.success());
    assert!(err(&refused).contains(&format!("the one at {url} does not use")), "{}", err(&refused));
    let fine = other.run(&["tools", "list", "--server", &url], &[NOWHERE]);
    assert!(out(&fine).contains("calculator"));
}
