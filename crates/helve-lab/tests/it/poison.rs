//! A run that ends the server whenever it goes on, beside nine that only happen to be at work (K14).
//!
//! The real server, killed by what the run's call reaches: three servers die, the fourth stays up.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use helve_lab::mock::{Mock, Script};
use helve_lab::tools::PERMISSIONS;
use helve_types::FailPoints;
use reqwest::Client;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};
use tokio::sync::Notify;

const INNOCENTS: usize = 9;
/// Nothing here takes so long, however busy the machine is.
const LONG: Duration = Duration::from_secs(120);
const POISON: &str = "poison";

/// What the calls of all runs reach.
#[derive(Default)]
struct World {
    state: Mutex<State>,
    /// The poison has come, with all that is to be at work beside it.
    deadly: Notify,
}

#[derive(Default)]
struct State {
    /// While set, nobody is answered, and the poison waits until it is one of ten.
    all_at_work: bool,
    /// The notes of the calls that are here.
    here: BTreeSet<String>,
    poison_came: usize,
    /// The most that were here at a time, since it was last looked.
    most: usize,
}

impl World {
    fn arrive(&self, note: &str) -> bool {
        let mut state = self.state.lock().unwrap();
        state.here.insert(note.to_owned());
        state.most = state.most.max(state.here.len());
        let poison_is_here = state.here.contains(POISON);
        if poison_is_here && (!state.all_at_work || state.here.len() == INNOCENTS + 1) {
            state.poison_came += 1;
            self.deadly.notify_one();
        }
        !state.all_at_work && note != POISON
    }

    fn leave(&self, note: &str) {
        self.state.lock().unwrap().here.remove(note);
    }

    async fn serve(self: Arc<Self>, listener: TcpListener) {
        while let Ok((stream, _)) = listener.accept().await {
            let world = self.clone();
            tokio::spawn(async move { world.take(stream).await });
        }
    }

    /// One connection with any number of orders; those that are not answered stay until the server is gone.
    async fn take(&self, mut stream: TcpStream) {
        let mut held = Vec::new();
        let mut buffer = vec![];
        loop {
            let order = loop {
                if let Some((order, bytes)) = order(&buffer) {
                    buffer.drain(..bytes);
                    break Some(order);
                }
                match stream.read_buf(&mut buffer).await {
                    Ok(0) | Err(_) => break None,
                    Ok(_) => {}
                }
            };
            let Some(order) = order else { break };
            let note = order["payload"]["note"].as_str().unwrap().to_owned();
            if self.arrive(&note) {
                self.leave(&note);
                let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
                if stream.write_all(answer).await.is_err() {
                    break;
                }
            } else {
                held.push(note);
            }
        }
        held.iter().for_each(|note| self.leave(note));
    }
}

/// The first whole request in these bytes.
fn order(bytes: &[u8]) -> Option<(Value, usize)> {
    let head = bytes.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let text = std::str::from_utf8(&bytes[..head]).unwrap().to_lowercase();
    let length = text.split("content-length: ").nth(1)?.split("\r\n").next()?.parse::<usize>().unwrap();
    let body = bytes.get(head..head + length)?;
    Some((serde_json::from_slice(body).unwrap(), head + length))
}

struct Server {
    child: Child,
    address: String,
    client: Client,
}

impl Server {
    async fn start(config: &Path, ledger: &str) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_faultlab"))
            .args(["server", "--ledger", ledger, "--config"])
            .arg(config)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = lines.next_line().await.unwrap().unwrap_or_default();
        let address =
            line.trim().strip_prefix("listening on ").unwrap_or_else(|| panic!("{line}")).to_owned();
        Self { child, address, client: Client::new() }
    }

    async fn begin(&self, note: &str) -> String {
        let message = format!(r#"[[tools=effect_read,text=3,args={{"note":"{note}"}}]]"#);
        let asked = self.client.post(format!("{}/api/runs", self.address)).json(&json!({"message": message}));
        let told: Value = asked.send().await.unwrap().json().await.unwrap();
        told["run"].as_str().unwrap_or_else(|| panic!("{told}")).to_owned()
    }

    async fn state(&self, run: &str) -> Value {
        let asked = self.client.get(format!("{}/api/runs/{run}", self.address)).send().await.unwrap();
        let told: Value = asked.json().await.unwrap();
        told["state"].clone()
    }

    /// The state of a run that does not go on.
    async fn rests(&self, run: &str) -> Value {
        let rests = async {
            loop {
                match self.state(run).await {
                    state if state == "running" => tokio::time::sleep(Duration::from_millis(20)).await,
                    state => return state,
                }
            }
        };
        tokio::time::timeout(LONG, rests).await.unwrap()
    }

    /// Dies when the poison comes.
    async fn be_killed_by(mut self, world: &World) {
        tokio::time::timeout(LONG, world.deadly.notified()).await.unwrap();
        self.child.kill().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_ends_the_server_is_left_alone_after_the_third_crash_and_nine_others_are_not() {
    helve::assemble::install_tls();
    let world = Arc::new(World::default());
    let ledger = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let place = format!("http://{}/effects", ledger.local_addr().unwrap());
    tokio::spawn(world.clone().serve(ledger));
    let mock = Mock::start(
        TcpListener::bind("127.0.0.1:0").await.unwrap(),
        Script::default(),
        FailPoints::default(),
    );
    let mock = mock.unwrap();
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("helve.toml");
    let text = format!(
        "default_model = \"m\"\n[server]\nlisten = \"127.0.0.1:0\"\ndata = {data:?}\n{PERMISSIONS}\n[[models]]\n\
         name = \"m\"\nprotocol = \"openai_chat\"\nbase_url = \"{base}\"\nmodel = \"m\"\nprobe = false\ntools = \"native\"\n",
        data = dir.path().join("data"),
        base = mock.base_url(),
    );
    std::fs::write(&config, text).unwrap();

    // Ten runs in the same step, and one of them ends the server. The next takes all of them up together.
    world.state.lock().unwrap().all_at_work = true;
    let first = Server::start(&config, &place).await;
    let mut innocents = vec![];
    for n in 0..INNOCENTS {
        innocents.push(first.begin(&format!("fine {n}")).await);
    }
    let poison = first.begin(POISON).await;
    first.be_killed_by(&world).await;
    Server::start(&config, &place).await.be_killed_by(&world).await;
    assert_eq!(world.state.lock().unwrap().most, INNOCENTS + 1);

    // From now on one at a time.
    {
        let mut state = world.state.lock().unwrap();
        (state.all_at_work, state.most) = (false, 0);
        state.here.clear();
    }
    Server::start(&config, &place).await.be_killed_by(&world).await;
    assert_eq!(world.state.lock().unwrap().most, 1, "somebody was at work beside the suspect");

    let fourth = Server::start(&config, &place).await;
    for run in &innocents {
        assert_eq!(fourth.rests(run).await, "completed");
    }
    assert_eq!(fourth.rests(&poison).await, "needs_attention");
    assert_eq!(world.state.lock().unwrap().poison_came, 3, "it was tried after the third crash");
}
