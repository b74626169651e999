//! The server as a process: it starts, says so, serves, stops, and starts again.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::{err, helve, run, scratch};

pub(crate) struct Served {
    child: Child,
    address: String,
}

impl Drop for Served {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

impl Served {
    /// Starts on a free port and waits for the one line that says so.
    pub(crate) fn start(data: &Path, more: &[(&str, &str)]) -> Self {
        Self::start_at(Some("127.0.0.1:0"), data, more)
    }

    /// Starts there, or where the configuration says.
    pub(crate) fn start_at(listen: Option<&str>, data: &Path, more: &[(&str, &str)]) -> Self {
        Self::start_as(helve(), listen, data, more)
    }

    /// With so many open files and no more.
    fn start_with_files(files: u32, data: &Path) -> Self {
        let binary = helve();
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("ulimit -n {files}; exec \"$0\" \"$@\"")]).arg(binary.get_program());
        shell.env_clear().env("HOME", scratch()).env("PATH", "/usr/bin:/bin").current_dir(scratch());
        Self::start_as(shell, Some("127.0.0.1:0"), data, &[])
    }

    pub(crate) fn start_as(
        mut command: Command,
        listen: Option<&str>,
        data: &Path,
        more: &[(&str, &str)],
    ) -> Self {
        let listen = listen.map(|listen| ["--listen", listen]).into_iter().flatten();
        let mut child = command
            .args(["serve", "--data", data.to_str().unwrap()])
            .args(listen)
            .envs(more.iter().copied())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on http://").unwrap().to_owned();
        Self { child, address }
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// The number of its process.
    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    /// One request on a connection of its own; the answer as text.
    pub(crate) fn ask(&self, method: &str, path: &str, headers: &str, body: &str) -> String {
        let usual = format!("Host: {}\r\nContent-Type: application/json\r\n{headers}", self.address);
        self.ask_as(method, path, &usual, body)
    }

    /// The same with no headers but these.
    pub(crate) fn ask_as(&self, method: &str, path: &str, headers: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// SIGTERM.
    pub(crate) fn tell_to_stop(&self) {
        let done = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status().unwrap();
        assert!(done.success());
    }

    /// Waits for its end; whether that was a good one.
    pub(crate) fn ended_well(mut self) -> bool {
        self.child.wait().unwrap().success()
    }

    pub(crate) fn stop(self) -> bool {
        self.tell_to_stop();
        self.ended_well()
    }
}

const ASK: &str = r#"{"message": "what is 12.5% of 3,480?", "stream": false}"#;

#[test]
fn the_demo_model_answers_without_a_key_and_the_conversation_outlives_the_process() {
    let data = scratch();
    let first = Served::start(&data, &[]);
    let answer = first.ask("POST", "/api/agent", "", ASK);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.contains("12.5% of 3,480 = **435**"), "{answer}");
    assert!(answer.contains(r#"{"name":"calculator","state":"done"}"#), "{answer}");
    assert!(first.stop(), "told to stop, it ends well");

    let second = Served::start(&data, &[]);
    let listed = second.ask("GET", "/api/conversations", "", "");
    assert!(listed.contains("what is 12.5% of 3,480?"), "{listed}");
    assert!(second.ask("GET", "/readyz", "", "").contains(r#""ready":true"#));
}

#[test]
fn the_demo_model_shows_prompt_mode_with_every_profile() {
    let served = Served::start(&scratch(), &[]);
    for mode in ["prompt", "prompt:xml_tag", "prompt:hermes"] {
        for (message, expected) in [
            ("3480 的 12.5% 是多少？", "12.5% of 3480 = **435**"),
            ("what is 2^64 and what time is it in Tokyo?", "2^64 = **18446744073709551616**"),
        ] {
            let body =
                format!(r#"{{"message": "{message}", "modelType": "demo", "config": {{"mode": "{mode}"}}}}"#);
            let answer = served.ask("POST", "/api/chat", "", &body);
            assert!(answer.contains(expected), "{mode}: {answer}");
            assert!(answer.contains("\"calculator\""), "{mode}: {answer}");
            for markup in ["tool_calls", "tool_code", "tool_call>"] {
                assert!(!answer.contains(markup), "{mode}: {answer}");
            }
        }
    }
}

#[test]
fn a_second_server_on_the_same_data_is_told_who_holds_it() {
    let data = scratch();
    let first = Served::start(&data, &[]);
    let second = run(&["serve", "--listen", "127.0.0.1:0", "--data", data.to_str().unwrap()], "");
    assert_eq!(second.status.code(), Some(1));
    assert!(err(&second).contains(&format!("process {}", first.child.id())), "{}", err(&second));
}

#[test]
fn an_address_that_others_can_reach_needs_a_token() {
    let data = scratch();
    let refused = run(&["serve", "--listen", "0.0.0.0:0", "--data", data.to_str().unwrap()], "");
    assert_eq!(refused.status.code(), Some(1));
    assert!(err(&refused).contains("helve token create"), "{}", err(&refused));
}

/// What `helve` says that it does not start with this configuration and this environment, or nothing if it starts.
fn refusal(config: &str, token: Option<&str>, arguments: &[&str]) -> Option<String> {
    let data = scratch();
    std::fs::write(data.join("helve.toml"), config).unwrap();
    let mut child = helve()
        .args(arguments)
        .current_dir(&data)
        .envs([("HELVE_DATA", data.to_str().unwrap()), ("HELVE_LISTEN", "127.0.0.1:0")])
        .envs(token.map(|token| ("HELVE_TOKEN", token)))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    _ = child.kill();
    let told = err(&child.wait_with_output().unwrap());
    (!line.starts_with("listening on")).then_some(told)
}

#[test]
fn on_loopback_a_name_that_others_know_needs_a_token() {
    let long = "0123456789abcdef";
    for (config, key) in [
        ("[server]\nhosts = [\"helve.example.com\"]\n", "line 2 at `hosts`"),
        ("[server]\npublic_url = \"https://helve.example.com\"\n", "line 2 at `public_url`"),
        ("[server]\ntrusted_proxies = [\"127.0.0.1\"]\n", "line 2 at `trusted_proxies`"),
    ] {
        let told = refusal(config, None, &["serve"]).unwrap();
        assert!(told.contains(key) && told.contains("helve token create"), "{told}");
        let told = refusal(config, Some("1234"), &["serve"]).unwrap();
        assert!(
            told.contains("HELVE_TOKEN: the token has fewer than 16") && !told.contains("1234"),
            "{told}"
        );
        assert_eq!(refusal(config, Some(long), &["serve"]), None, "{config}");
    }
    assert_eq!(refusal("[server]\nhosts = [\"localhost\"]\n", None, &["serve"]), None);
}

#[test]
fn a_token_that_can_be_guessed_is_refused_everywhere() {
    for arguments in [&["serve"][..], &["serve", "--listen", "0.0.0.0:0"], &["token", "list"]] {
        let told = refusal("", Some("open-sesame"), arguments).unwrap();
        let begin = "helve: the environment variable HELVE_TOKEN: the token has fewer than 16";
        assert!(told.starts_with(begin), "{told}");
    }
}

#[test]
fn the_doctor_says_that_others_reach_a_server_without_a_token() {
    let data = scratch();
    std::fs::write(data.join("helve.toml"), "[server]\nhosts = [\"helve.example.com\"]\n").unwrap();
    let ask = |token: &[(&str, &str)]| {
        let data = data.to_str().unwrap();
        let doctor =
            helve().args(["doctor", "--data", data]).current_dir(data).envs(token.iter().copied()).output();
        crate::out(&doctor.unwrap())
    };
    let told = ask(&[]);
    assert!(
        told.contains("BAD   access: helve.toml, line 2 at `hosts`: the name `helve.example.com`"),
        "{told}"
    );
    assert!(!told.contains("only this machine"), "{told}");
    let told = ask(&[("HELVE_TOKEN", "0123456789abcdef")]);
    assert!(told.contains("ok    access: 1 token(s)"), "{told}");
}

#[test]
fn without_a_token_what_a_proxy_passes_on_is_refused() {
    let served = Served::start(&scratch(), &[]);
    assert!(served.ask("GET", "/api/models", "", "").starts_with("HTTP/1.1 200"));
    for header in
        ["X-Forwarded-For: 203.0.113.9", "Forwarded: for=203.0.113.9", "Via: 1.1 proxy", "X-Real-IP: ::1"]
    {
        let answer = served.ask("GET", "/api/models", &format!("{header}\r\n"), "");
        assert!(answer.starts_with("HTTP/1.1 401") && answer.contains("passed on by a proxy"), "{answer}");
    }
}

#[test]
fn logs_in_a_file_have_no_colours_and_tell_of_variables_that_set_nothing() {
    let data = scratch();
    let log = data.join("log");
    let mut child = helve()
        .args(["serve", "--listen", "127.0.0.1:0", "--data", data.to_str().unwrap()])
        .env("HELVE_LISTNE", "127.0.0.1:1")
        .stdout(Stdio::piped())
        .stderr(std::fs::File::create(&log).unwrap())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let told = std::fs::read_to_string(&log).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(told.contains("HELVE_LISTNE") && !told.contains('\u{1b}'), "{told}");
}

#[test]
fn a_token_from_the_environment_is_wanted_by_every_request() {
    let served = Served::start(&scratch(), &[("HELVE_TOKEN", "open-sesame-open-sesame")]);
    assert!(served.ask("GET", "/api/models", "", "").starts_with("HTTP/1.1 401"));
    let wrong = served.ask("GET", "/api/models", "Authorization: Bearer sesame\r\n", "");
    assert!(wrong.starts_with("HTTP/1.1 401"), "{wrong}");
    let right = served.ask("GET", "/api/models", "Authorization: Bearer open-sesame-open-sesame\r\n", "");
    assert!(right.starts_with("HTTP/1.1 200"), "{right}");
    assert!(served.ask("GET", "/healthz", "", "").starts_with("HTTP/1.1 200"));
}

#[test]
fn what_the_operator_said_before_there_was_a_token_is_still_there_with_one() {
    let data = scratch();
    let open = Served::start(&data, &[]);
    open.ask("POST", "/api/agent", "", ASK);
    assert!(open.stop());
    let closed = Served::start(&data, &[("HELVE_TOKEN", "open-sesame-open-sesame")]);
    let listed =
        closed.ask("GET", "/api/conversations", "Authorization: Bearer open-sesame-open-sesame\r\n", "");
    assert!(listed.contains("what is 12.5% of 3,480?"), "{listed}");
}

#[test]
fn a_model_without_its_key_or_its_server_says_so_and_the_run_is_over() {
    let data = scratch();
    std::fs::write(
        data.join("helve.toml"),
        "[[models]]\nname = \"gone\"\nprotocol = \"openai_chat\"\nmodel = \"m\"\nbase_url = \"http://127.0.0.1:9/v1\"\n",
    )
    .unwrap();
    let config = data.join("helve.toml");
    let served = Served::start(&data, &[("HELVE_CONFIG", config.to_str().unwrap())]);
    let ask = |model: &str| {
        let body = format!(r#"{{"message": "hi", "model": "{model}", "stream": false}}"#);
        served.ask("POST", "/api/agent", "", &body)
    };
    let keyless = ask("volcano");
    assert!(keyless.contains("set the environment variable ARK_API_KEY"), "{keyless}");
    let gone = ask("gone");
    assert!(gone.contains("the model server at 127.0.0.1:9 cannot be reached"), "{gone}");
    assert!(gone.contains(r#""state":"failed""#), "{gone}");
    let unknown = ask("gpt-9");
    assert!(unknown.starts_with("HTTP/1.1 404"), "{unknown}");
    // Nothing is left hanging, and the store is well.
    let runs = served.ask("GET", "/api/runs", "", "");
    assert_eq!(runs.matches(r#""state":"failed""#).count(), 2, "{runs}");
    assert!(served.ask("GET", "/readyz", "", "").contains(r#""ready":true"#));
}

#[test]
fn a_wrong_configuration_names_the_line_and_the_key() {
    let dir = scratch();
    let file = dir.join("helve.toml");
    std::fs::write(&file, "[server]\nlisten = \"127.0.0.1:0\"\n\n[[agents]]\nname = \"a\"\nmax_step = 3\n")
        .unwrap();
    let refused = run(&["serve", "--config", file.to_str().unwrap()], "");
    assert_eq!(refused.status.code(), Some(1));
    assert!(err(&refused).contains("line 6 at `max_step`: unknown field `max_step`"), "{}", err(&refused));
}

#[cfg(unix)]
#[test]
fn connections_that_say_nothing_keep_nobody_out_however_few_files_there_are() {
    let served = Served::start_with_files(256, &scratch());
    let connect = || TcpStream::connect(served.address()).unwrap();
    let mut silent: Vec<TcpStream> = (0..150).map(|_| connect()).collect();
    for number in 0..150 {
        let mut half = connect();
        // Some have said half of a request, and some half of a body.
        let head = format!("POST /api/session HTTP/1.1\r\nHost: {}\r\n", served.address());
        let body = "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{";
        write!(half, "{head}{}", if number % 2 == 0 { body } else { "" }).unwrap();
        silent.push(half);
    }
    for _ in 0..3 {
        assert!(served.ask("GET", "/healthz", "", "").starts_with("HTTP/1.1 200"));
        let answer = served.ask("POST", "/api/agent", "", ASK);
        assert!(answer.contains("12.5% of 3,480 = **435**"), "{answer}");
    }
    assert!(silent.len() == 300 && served.stop());
}

#[cfg(target_os = "linux")]
#[test]
fn the_server_raises_its_bound_on_files_and_leaves_no_core_dumps() {
    let data = scratch();
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -S -n 64; ulimit -S -c unlimited; exec \"$0\" \"$@\""]);
    shell.arg(helve().get_program()).env_clear().env("HOME", scratch()).current_dir(scratch());
    let served = Served::start_as(shell, Some("127.0.0.1:0"), &data, &[]);
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", served.child.id())).unwrap();
    let of = |name: &str| {
        let line = limits.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        let mut fields = line.split_whitespace().map(str::to_owned);
        (fields.next().unwrap(), fields.next().unwrap())
    };
    let (soft, hard) = of("Max open files");
    assert!(soft == hard || soft == (1 << 20).to_string(), "{limits}");
    assert_eq!(of("Max core file size"), ("0".into(), "0".into()), "{limits}");
}
