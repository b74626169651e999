//! The first steps of the README and of the guide to tools, as they stand there: each block of commands runs in a shell,
//! as a newcomer runs it.
//!
//! Only what belongs to this machine is put in place of what it means: `make run` is the binary under test, `ollama pull`
//! and the vendor are a model server of the test, and ports and the temporary folder are free ones.

use std::path::PathBuf;
use std::process::{Command, Output};

use crate::model_server::ModelServer;
use crate::{err, out, scratch};

/// `make run` serves, and says when it does; whatever was started ends with the block.
const PREAMBLE: &str = r#"
set -euo pipefail
trap 'kill $(jobs -p) 2>/dev/null; wait' EXIT
make() {
  [ "$*" = run ]
  helve serve > served.txt 2> served.log &
  until grep -q '^listening' served.txt; do
    kill -0 $! || { cat served.log >&2; return 1; }
    command sleep 0.05
  done
}
ollama() { [ "$1" = pull ]; }
# A second is long enough for people; a busy machine gets as long as it takes.
sleep() { [ "$*" = 1 ]; until tools | grep -q "\"$NEW_TOOL\""; do command sleep 0.05; done; }
tools() {
  exec 9<>"/dev/tcp/${HELVE_LISTEN/://}"
  printf 'GET /api/tools HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n' "$HELVE_LISTEN" >&9
  cat <&9
}
"#;

/// A newcomer with a clone of the repository and an empty home directory.
struct Newcomer {
    steps: Vec<String>,
    folder: PathBuf,
    port: u16,
}

/// A document of the repository.
fn document(name: &str) -> String {
    std::fs::read_to_string(format!("{}/../../{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// The block of the guide that makes a service a tool, as a step beside a server that runs.
fn service_step(guide: &str) -> String {
    let text = document(guide);
    let mut blocks = text.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let block = blocks.find(|block| block.contains("opening_hours")).unwrap();
    format!("export PATH=\"$PWD/target/quick:$PATH\"\nmake run\n{block}")
}

impl Newcomer {
    fn reading(readme: &str) -> Self {
        let text = document(readme);
        // The first block are the two commands; the second begins with the ways to start, one of which is taken.
        let mut blocks = text.split("```sh\n").skip(2).map(|rest| rest.split("```").next().unwrap());
        let begin: Vec<&str> = blocks.next().unwrap().lines().collect();
        let (starts, asking): (Vec<&str>, Vec<&str>) =
            begin.into_iter().partition(|line| line.contains("make run"));
        let [path, question] = asking[..] else { panic!("{asking:?}") };
        let start = |line: &&str| format!("{path}\n{line}\n{question}");
        let steps = starts.iter().map(start).chain(blocks.map(|block| format!("{path}\nmake run\n{block}")));
        let folder = scratch();
        std::fs::create_dir_all(folder.join("target/quick")).unwrap();
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_helve"), folder.join("target/quick/helve")).unwrap();
        Self { steps: steps.collect(), folder, port: free_port() }
    }

    /// Runs the steps in one shell, with these variables set.
    fn run(&self, steps: &str, environment: &[(&str, &str)]) -> Output {
        let web = free_port().to_string();
        let place = self.folder.to_str().unwrap();
        let steps = steps.replace("/tmp", place).replace("9000", &web);
        // The web server of a step takes a moment, which a person does too.
        let steps = steps.replace(
            " &\n",
            &format!(
                " > web.log 2>&1 &\nuntil (: < /dev/tcp/127.0.0.1/{web}) 2>/dev/null; do command sleep 0.05; done\n"
            ),
        );
        let mut shell = Command::new("bash");
        shell.args(["-c", &format!("{PREAMBLE}{steps}")]).current_dir(&self.folder);
        let tool = ["opening_hours", "word_count"].into_iter().find(|tool| steps.contains(tool));
        shell
            .env_clear()
            .env("NEW_TOOL", tool.unwrap_or_default())
            .env("HOME", &self.folder)
            .env("PATH", "/usr/local/bin:/usr/bin:/bin");
        shell.env("HELVE_LISTEN", format!("127.0.0.1:{}", self.port)).envs(environment.iter().copied());
        shell.output().unwrap()
    }

    /// The same, and it must go well and say these words.
    fn succeeds(&self, steps: &str, environment: &[(&str, &str)], words: &[&str]) {
        let output = self.run(steps, environment);
        let (told, complaint) = (out(&output), err(&output));
        let log = std::fs::read_to_string(self.folder.join("served.log")).unwrap_or_default();
        assert!(output.status.success(), "{steps}\n{told}\n{complaint}\n{log}");
        for word in words {
            assert!(told.contains(word), "{steps} has no `{word}`:\n{told}\n{complaint}\n{log}");
        }
        let server = format!("using the server at http://127.0.0.1:{}", self.port);
        assert!(complaint.contains(&server), "{steps}: {complaint}");
    }
}

fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn check(readme: &str, guide: &str) {
    if Command::new("python3").arg("--version").output().is_err() {
        return helve_test_support::skip_test(readme, "python3 is not installed, and its tools need it");
    }
    let steps = Newcomer::reading(readme).steps;
    let [nothing, ollama, key, script] = &steps[..] else { panic!("{} steps", steps.len()) };
    let service = &service_step(guide);

    let has_nothing = [("OLLAMA_API_URL", "http://127.0.0.1:1")];
    Newcomer::reading(readme).succeeds(nothing, &has_nothing, &["**435**"]);

    let pulled = ollama.split_once("ollama pull ").unwrap().1.split(' ').next().unwrap();
    let server = ModelServer::start(&[pulled]);
    let has_ollama = [("OLLAMA_API_URL", server.url())];
    let has_ollama = has_ollama.each_ref().map(|(name, url)| (*name, url.as_str()));
    Newcomer::reading(readme).succeeds(ollama, &has_ollama, &["The tool says: 435"]);
    assert!(server.asked_models().iter().all(|model| model == pulled));

    let vendor = ModelServer::start(&["gpt-5-mini"]);
    let gate = format!("{}/v1", vendor.url());
    Newcomer::reading(readme).succeeds(key, &[("OPENAI_BASE_URL", &gate)], &["The tool says: 435"]);
    let secret = key.split_once("_KEY=").unwrap().1.split(' ').next().unwrap();
    assert!(vendor.keys().iter().all(|sent| sent == &format!("Bearer {secret}")), "{:?}", vendor.keys());

    let told = ["The tool says: 1 words"];
    Newcomer::reading(readme).succeeds(script, &has_ollama, &told);
    let told = ["The tool says: {\"monday\":\"9 to 17\""];
    Newcomer::reading(readme).succeeds(service, &has_ollama, &told);
}

#[test]
fn the_first_steps_of_the_readme_work_as_they_stand() {
    check("README.md", "docs/guide/tools.md");
}

#[test]
fn the_first_steps_of_the_chinese_readme_work_as_they_stand() {
    check("README.zh-CN.md", "docs/zh-CN/guide/tools.md");
}
