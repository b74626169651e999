//! `helve chat`: a conversation in the terminal, with approvals.
//!
//! One message, one run: `speak` starts it, `attend` stays with it to its end. The screen, the questions and the commands
//! are pure files beside; here lines, events and Ctrl-C meet. Without a terminal the answer goes to standard output, all
//! else to standard error, and nobody is taken to have agreed to anything.

mod asking;
mod attend;
mod editor;
mod keyboard;
mod markdown;
mod names;
mod screen;
mod slash;

use std::collections::VecDeque;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use helve_types::World;
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use self::attend::Left;
use self::keyboard::{Input, Keyboard, Names, Purpose};
use self::names::Kind;
use self::screen::{Screen, Side};
use self::slash::{Slash, help};
use super::serve::Take;
use super::{block_on_threads, log_quietly};
use crate::client::{Client, ClientError, Reach, Run, line};
use crate::i18n::tr;

const MESSAGE_PROMPT: &str = "> ";
/// Before a server that is gone is asked again.
const PAUSE: Duration = Duration::from_secs(1);
/// A server with room for a run answers sooner.
const SLOW: Duration = Duration::from_secs(2);
/// The tool with which a model asks a person.
const ASK_USER: &str = "ask_user";
/// A call waits for a person and none is at the terminal.
const WAITS: u8 = 3;
/// Ended with Ctrl-C, as shells have it.
const INTERRUPTED: u8 = 130;

#[derive(Debug, Args)]
pub(crate) struct ChatArgs {
    #[command(flatten)]
    pub(super) reach: Reach,
    /// The agent to talk to
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// The model that answers, or `name:variant`
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Continue this conversation
    #[arg(long, value_name = "ID")]
    conversation: Option<String>,
    /// Without a terminal: exit with code 3 as soon as a call needs approval, even while standard input is open
    #[arg(long)]
    no_wait: bool,
    /// Ask questions on standard input even if it is not a terminal
    #[arg(long)]
    interactive: bool,
}

pub(super) fn run(args: ChatArgs) -> anyhow::Result<ExitCode> {
    log_quietly();
    block_on_threads(async {
        let reached = args.reach.reach(Take::Up).await?;
        reached.tell(&tr!(
            "serving inside this command, at {address}, until it ends",
            address = reached.client.server()
        ));
        let data = args.reach.common.load(None)?.data;
        let done = Chat::new(reached.client.clone(), &args, &data).talk().await;
        reached.leave().await?;
        done
    })
}

struct Chat {
    client: Client,
    keyboard: Keyboard,
    /// What the Tab key offers.
    names: Names,
    screen: Screen,
    /// Ctrl-C, once for each time.
    stops: UnboundedReceiver<()>,
    agent: Option<String>,
    model: Option<String>,
    conversation: Option<String>,
    /// A person at the terminal can be asked.
    interactive: bool,
    no_wait: bool,
    /// Said while a run was at work that could not hear it: the messages of the next ones.
    unheard: VecDeque<String>,
}

impl Chat {
    fn new(client: Client, args: &ChatArgs, data: &Path) -> Self {
        let terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
        let names = Names::default();
        let keyboard =
            if terminal && !is_dumb() { Keyboard::terminal(data, names.clone()) } else { Keyboard::piped() };
        Self {
            client,
            keyboard,
            names,
            screen: Screen::new(terminal && wants_colour()),
            stops: stops(),
            agent: args.agent.clone(),
            model: args.model.clone(),
            conversation: args.conversation.clone(),
            interactive: terminal || args.interactive,
            no_wait: args.no_wait,
            unheard: VecDeque::new(),
        }
    }

    async fn talk(mut self) -> anyhow::Result<ExitCode> {
        let mut code = 0;
        self.greet().await?;
        loop {
            let said = match self.next_message().await? {
                NextMessage::Text(text) => text,
                NextMessage::End => return Ok(code.into()),
                NextMessage::Stop => return Ok(INTERRUPTED.into()),
            };
            match slash::read(&said) {
                Some(Slash::Quit) => return Ok(code.into()),
                Some(command) => {
                    self.obey(command).await?;
                    continue;
                }
                None => {}
            }
            match self.speak(&said).await? {
                Left::Over { well } => code = u8::from(!well),
                Left::Refused | Left::Parked => code = 1,
                Left::Waiting => return Ok(WAITS.into()),
                Left::Quit => return Ok(code.into()),
                Left::Interrupted => return Ok(INTERRUPTED.into()),
            }
        }
    }

    /// Who is not there at the beginning is not waited for, and what does not exist is told before anything is said.
    async fn greet(&mut self) -> anyhow::Result<()> {
        let models: Value = self.client.get("/api/models", &[]).await?;
        for (kind, name) in [(Kind::Model, self.model.clone()), (Kind::Agent, self.agent.clone())] {
            if let Some(name) = name {
                self.check_exists(kind, &name).await?;
            }
        }
        if self.keyboard.is_terminal() {
            names::learn(&self.client, &self.names, &models);
        }
        let model = self.model.clone().or_else(|| models["default"].as_str().map(str::to_owned));
        let model = line(model.as_deref().unwrap_or("?"));
        if self.interactive {
            self.screen.note(&tr!(
                "model {model} at {server}; /help shows the commands",
                model = model,
                server = self.client.server()
            ));
        }
        self.flush()
    }

    /// The next message, typed now or before.
    async fn next_message(&mut self) -> anyhow::Result<NextMessage> {
        loop {
            if let Some(said) = self.unheard.pop_front() {
                return Ok(NextMessage::Text(said));
            }
            if self.keyboard.is_terminal() {
                self.screen.end_line();
                self.flush()?;
                self.keyboard.edit(Purpose::Message, MESSAGE_PROMPT);
            } else if self.interactive {
                self.screen.prompt(MESSAGE_PROMPT);
                self.flush()?;
            }
            let input = tokio::select! {
                input = self.keyboard.next(Purpose::Message) => input,
                _ = self.stops.recv() => return Ok(NextMessage::Stop),
            };
            match input {
                Input::Line(_, said) => {
                    self.screen.heard();
                    if !said.trim().is_empty() {
                        return Ok(NextMessage::Text(said));
                    }
                }
                Input::Key | Input::Discarded => {}
                Input::Interrupt => return Ok(NextMessage::Stop),
                Input::End => return Ok(NextMessage::End),
            }
        }
    }

    /// Says something and stays until it is answered.
    async fn speak(&mut self, said: &str) -> anyhow::Result<Left> {
        if let Some(columns) = self.styled_columns() {
            self.screen.render_markdown(columns);
        }
        // One key for all tries: a message that was heard and not answered is not heard twice.
        let key = format!("chat-{}", World::real().run_id());
        let mut told = false;
        loop {
            let mut body = json!({"message": said});
            if self.no_wait && !self.interactive {
                // There is no person who could answer.
                body["tools"] = json!({ASK_USER: false});
            }
            for (name, value) in
                [("agent", &self.agent), ("model", &self.model), ("conversation", &self.conversation)]
            {
                if let Some(value) = value {
                    body[name] = value.as_str().into();
                }
            }
            let Some(answer) = self.start_run(&body, &key, &mut told).await? else {
                return Ok(Left::Interrupted);
            };
            match answer {
                Ok(started) => {
                    self.conversation = started["conversation"].as_str().map(str::to_owned);
                    let run = started["run"].as_str().unwrap_or_default().to_owned();
                    return self.attend(&run, 0).await;
                }
                Err(ClientError::Refused { code, more, .. }) if code == "conversation_busy" => {
                    let run = more["run"].as_str().unwrap_or_default().to_owned();
                    self.screen.note(&tr!("the conversation has a run that has not ended; it comes first"));
                    let known: Run = self.client.get(&format!("/api/runs/{run}"), &[]).await?;
                    match self.attend(&run, known.last_event).await? {
                        Left::Over { .. } => {}
                        left => return Ok(left),
                    }
                }
                Err(error @ (ClientError::Gone { .. } | ClientError::Refused { status: 503, .. })) => {
                    if !std::mem::replace(&mut told, true) {
                        self.screen.note(&tr!("{error}; trying again", error = error));
                    }
                    self.flush()?;
                    tokio::select! {
                        () = tokio::time::sleep(PAUSE) => {}
                        _ = self.stops.recv() => return Ok(Left::Interrupted),
                    }
                }
                Err(error) => {
                    self.screen.note(&error.to_string());
                    self.flush()?;
                    return Ok(Left::Refused);
                }
            }
        }
    }

    /// Asks for a run; nothing if the person does not want to wait for it any more. A full server answers only when it
    /// is this run's turn, which the person is told.
    async fn start_run(
        &mut self,
        body: &Value,
        key: &str,
        told: &mut bool,
    ) -> anyhow::Result<Option<Result<Value, ClientError>>> {
        let client = self.client.clone();
        let mut answer = std::pin::pin!(client.post("/api/runs", Some(body), Some(key)));
        loop {
            tokio::select! {
                answer = &mut answer => return Ok(Some(answer)),
                () = tokio::time::sleep(SLOW), if !*told => {
                    *told = true;
                    self.screen.note(&tr!("the server is busy; your message waits for its turn, Ctrl-C leaves"));
                    self.flush()?;
                }
                _ = self.stops.recv() => return Ok(None),
            }
        }
    }

    async fn obey(&mut self, command: Slash) -> anyhow::Result<()> {
        match command {
            Slash::Help => self.screen.block(&help()),
            Slash::New => {
                self.conversation = None;
                self.screen.note(&tr!("another conversation"));
            }
            Slash::Model(Some(name)) if self.exists(Kind::Model, &name).await => {
                self.screen.note(&tr!("model {name} from now on", name = line(&name)));
                self.model = Some(name);
            }
            Slash::Agent(Some(name)) if self.exists(Kind::Agent, &name).await => {
                self.screen.note(&tr!("agent {name} from now on", name = line(&name)));
                self.agent = Some(name);
            }
            // What was wrong with the name is told.
            Slash::Model(Some(_)) | Slash::Agent(Some(_)) => {}
            Slash::Model(None) => self.list(Kind::Model).await,
            Slash::Agent(None) => self.list(Kind::Agent).await,
            Slash::Tools(None) => self.list(Kind::Tool).await,
            Slash::Tools(Some(name)) => self.describe_tool(&name).await,
            Slash::Stop => self.screen.note(&tr!("no run is in progress")),
            Slash::Decline(_) => self.screen.note(&tr!("the model asks nothing")),
            Slash::Quit => {}
            Slash::Unknown(word) => {
                self.screen.note(&tr!("there is no command /{word}; /help shows them", word = line(&word)));
            }
        }
        self.flush()
    }

    /// The width of the terminal, if the answer may be shown with styles on it.
    fn styled_columns(&self) -> Option<usize> {
        #[cfg(unix)]
        if self.keyboard.is_terminal() && wants_colour() {
            let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
            return Some(size.ws_col.into()).filter(|columns| *columns > 0);
        }
        None
    }

    /// Writes what there is to be seen; while a line is edited it waits.
    fn flush(&mut self) -> anyhow::Result<()> {
        if self.keyboard.is_editing() {
            return Ok(());
        }
        let (mut out, mut err) = (std::io::stdout().lock(), std::io::stderr().lock());
        for (side, text) in self.screen.take() {
            match side {
                Side::Beside if !self.interactive => err.write_all(text.as_bytes())?,
                Side::Answer | Side::Beside => out.write_all(text.as_bytes())?,
            }
        }
        out.flush()?;
        Ok(())
    }
}

/// What comes from the keyboard when a message is wanted.
enum NextMessage {
    Text(String),
    End,
    Stop,
}

fn wants_colour() -> bool {
    let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !set("NO_COLOR") && !is_dumb()
}

/// A terminal that knows no escape sequences.
fn is_dumb() -> bool {
    std::env::var("TERM").as_deref() == Ok("dumb")
}

fn stops() -> UnboundedReceiver<()> {
    let (sender, stops) = unbounded_channel();
    tokio::spawn(async move { while tokio::signal::ctrl_c().await.is_ok() && sender.send(()).is_ok() {} });
    stops
}
