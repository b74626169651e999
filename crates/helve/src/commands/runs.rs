//! `helve runs`: what runs there are, the story of one, and a hand for one that does not go on.

pub(super) mod story;

use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use helve_types::{EventBody, RunState};
use serde_json::Value;

use super::approvals::{self, card};
use super::serve::Take;
use super::{block_on_threads, log_quietly};
use crate::client::{
    Approval, Client, Following, Reach, Reached, Run, Seen, all_approvals, line, run_of, when,
};

#[derive(Debug, Args)]
pub(crate) struct RunsArgs {
    #[command(flatten)]
    reach: Reach,
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List runs, latest first
    List {
        /// Only those that are running, waiting_approval, waiting_client, needs_attention, completed, failed or cancelled
        #[arg(long)]
        state: Option<String>,
        /// How many at most, up to 200
        #[arg(long, default_value_t = 20)]
        limit: u32,
        /// Only those of this user; needs the right `admin`
        #[arg(long)]
        user: Option<String>,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Show a run: what was said, every call and what became of it, what is open, what it took
    Show {
        /// Its id, or enough of its beginning or end
        id: String,
        /// The events of its log instead, one a line, as JSON
        #[arg(long)]
        events: bool,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Show a run as it goes on, to its end
    Follow {
        /// Its id, or enough of its beginning or end
        id: String,
    },
    /// Take up a run that was left alone because it ended the server too often, or that nobody drives
    ///
    /// With no server running, the run goes on inside this command until it ends or waits.
    Resume {
        /// Its id, or enough of its beginning or end
        id: String,
    },
    /// Stop a run; what has happened stays
    Cancel {
        /// Its id, or enough of its beginning or end
        id: String,
    },
}

pub(super) fn run(args: RunsArgs) -> anyhow::Result<ExitCode> {
    log_quietly();
    block_on_threads(async {
        let reached = args.reach.reach(Take::Nothing).await?;
        let done = act(args.action, &reached).await;
        reached.leave().await?;
        done
    })
}

async fn act(action: Action, reached: &Reached) -> anyhow::Result<ExitCode> {
    let client = &reached.client;
    match action {
        Action::List { state, limit, user, json } => {
            reached.tell("reading the data directory");
            list(client, state.as_deref(), limit, user.as_deref(), json).await?;
        }
        Action::Show { id, events, json } => {
            reached.tell("reading the data directory");
            show(client, &run_of(client, &id).await?, events, json).await?;
        }
        Action::Follow { id } => {
            reached.tell("reading the data directory; nobody drives the run");
            follow(reached, &run_of(client, &id).await?).await?;
        }
        Action::Resume { id } => {
            reached.tell("the run goes on inside this command");
            command(reached, &run_of(client, &id).await?, "resume", "taken up").await?;
        }
        Action::Cancel { id } => {
            reached.tell("stopping the run inside this command");
            command(reached, &run_of(client, &id).await?, "cancel", "told to stop").await?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn list(
    client: &Client,
    state: Option<&str>,
    limit: u32,
    user: Option<&str>,
    as_json: bool,
) -> anyhow::Result<()> {
    if let Some(state) = state
        && RunState::parse(state).is_none()
    {
        let all = RunState::ALL.map(RunState::as_str).join(", ");
        bail!("there is no state `{}`; the states are: {all}", line(state));
    }
    let limit = limit.to_string();
    let named = [("state", state), ("user", user), ("limit", Some(limit.as_str()))];
    let query: Vec<_> = named.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
    let mut told: Value = client.get("/api/runs", &query).await?;
    let runs = told["runs"].take();
    if as_json {
        println!("{}", serde_json::to_string_pretty(&runs)?);
        return Ok(());
    }
    let runs: Vec<Run> =
        serde_json::from_value(runs).context("the server's list of runs is not understood")?;
    if runs.is_empty() {
        eprintln!("there are no such runs");
    }
    for run in runs {
        println!("{}", row(&run));
    }
    Ok(())
}

fn row(run: &Run) -> String {
    let usage = run.spent.usage;
    format!(
        "{}  {:16}  {}  {} / {}  {} + {} tokens",
        run.run,
        run.state.as_str(),
        when(run.created_at),
        line(&run.agent),
        line(&run.model),
        usage.input_tokens,
        usage.output_tokens,
    )
}

async fn show(client: &Client, id: &str, events: bool, as_json: bool) -> anyhow::Result<()> {
    let told: Value = client.get(&format!("/api/runs/{id}"), &[]).await?;
    let run: Run = serde_json::from_value(told.clone())?;
    let log = log_of(client, &run).await?;
    if events {
        for (seq, event) in (1_u64..).zip(&log) {
            println!("{seq} {}", serde_json::to_string(event)?);
        }
        return Ok(());
    }
    if as_json {
        let whole = serde_json::json!({"run": told, "events": log});
        println!("{}", serde_json::to_string_pretty(&whole)?);
        return Ok(());
    }
    print!("{}", story::head(&run, &currency(client, &run).await));
    for event in &log {
        print!("{}", story::told(event));
    }
    let mut open = vec![];
    if run.state.is_waiting() {
        for approval in all_approvals(client, "pending", None).await? {
            let approval: Approval = serde_json::from_value(approval)?;
            if approval.run == run.run {
                open.push(approval);
            }
        }
    }
    for approval in &open {
        println!();
        print!("{}", card::card(approval, helve_types::World::real().now()));
    }
    if let Some(hint) = hint(&run, !open.is_empty()) {
        println!("\n{hint}");
    }
    Ok(())
}

/// What a person can do about a run that does not go on by itself.
pub(super) fn hint(run: &Run, asks: bool) -> Option<String> {
    match (run.state, asks) {
        (RunState::WaitingApproval | RunState::NeedsAttention, true) => {
            Some("answer with `helve approvals answer`".to_owned())
        }
        (RunState::NeedsAttention, false) => Some(format!(
            "it was left alone, since it ended the server too often; go on with `helve runs resume {}`",
            run.run
        )),
        _ => None,
    }
}

/// The events of a run up to now.
async fn log_of(client: &Client, run: &Run) -> anyhow::Result<Vec<EventBody>> {
    let mut following = Following::new(client, &run.run, 0);
    let mut log = vec![];
    while following.last() < run.last_event {
        match following.next().await? {
            Seen::Event(event) => log.push(*event),
            Seen::End => break,
            Seen::Gone => bail!("the server is gone; try again when it is back"),
            Seen::Live(_) | Seen::Back => {}
        }
    }
    Ok(log)
}

/// The unit of the operator's prices, where there is anything to count.
async fn currency(client: &Client, run: &Run) -> String {
    if run.spent.cost_nanos.is_none() {
        return String::new();
    }
    let models: Value = client.get("/api/models", &[]).await.unwrap_or_default();
    models["currency"].as_str().map(line).unwrap_or_default()
}

async fn follow(reached: &Reached, id: &str) -> anyhow::Result<()> {
    let client = &reached.client;
    let run: Run = client.get(&format!("/api/runs/{id}"), &[]).await?;
    print!("{}", story::head(&run, &currency(client, &run).await));
    let mut following = Following::new(client, id, 0);
    // A run that nobody drives says no more than it has said.
    while !reached.is_own() || following.last() < run.last_event {
        match following.next().await? {
            Seen::Event(event) => print!("{}", story::told(&event)),
            Seen::End => break,
            Seen::Gone => eprintln!("the server is gone; waiting for it"),
            Seen::Back => eprintln!("the server is back"),
            Seen::Live(_) => {}
        }
    }
    Ok(())
}

/// Tells a run to do something, and stays with it where nobody else would.
async fn command(reached: &Reached, id: &str, verb: &str, done: &str) -> anyhow::Result<()> {
    let client = &reached.client;
    let before: Run = client.get(&format!("/api/runs/{id}"), &[]).await?;
    client.post(&format!("/api/runs/{id}/{verb}"), None, None).await?;
    if reached.is_own() && !before.state.is_final() {
        println!("{}", approvals::to_rest(client, &before).await?);
    } else if before.state.is_final() {
        println!("run {id} is {} already", before.state.as_str());
    } else {
        println!("run {id} is {done}");
    }
    Ok(())
}
