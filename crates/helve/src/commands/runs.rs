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
use crate::i18n::tr;
use crate::output::{errln, out, outln, padded};

#[derive(Debug, Args)]
pub(crate) struct RunsArgs {
    #[command(flatten)]
    pub(super) reach: Reach,
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List runs, latest first
    List {
        /// Only runs in this state: running, waiting_approval, waiting_client, waiting_subagent, needs_attention, completed, failed or cancelled
        #[arg(long)]
        state: Option<String>,
        /// The maximum number of runs, up to 200
        #[arg(long, default_value_t = 20)]
        limit: u32,
        /// Only those of this user; needs the right `admin`
        #[arg(long)]
        user: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show a run: its messages, calls with their outcomes, open approvals, tokens and cost
    Show {
        /// Its id, or the first or last characters of it
        id: String,
        /// Print the events of its log instead, one JSON object per line
        #[arg(long)]
        events: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show a run as it happens, until it ends
    Follow {
        /// Its id, or the first or last characters of it
        id: String,
    },
    /// Resume a run that needs attention or that no server is working on
    ///
    /// Without a running server, this command executes the run until it ends or waits.
    Resume {
        /// Its id, or the first or last characters of it
        id: String,
    },
    /// Cancel a run; what has already happened is not undone
    Cancel {
        /// Its id, or the first or last characters of it
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
            reached.tell(&tr!("reading the data directory"));
            list(client, state.as_deref(), limit, user.as_deref(), json).await?;
        }
        Action::Show { id, events, json } => {
            reached.tell(&tr!("reading the data directory"));
            show(client, &run_of(client, &id).await?, events, json).await?;
        }
        Action::Follow { id } => {
            reached.tell(&tr!("reading the data directory; no server works on the run"));
            follow(reached, &run_of(client, &id).await?).await?;
        }
        Action::Resume { id } => {
            reached.tell(&tr!("the run goes on inside this command"));
            command(reached, &run_of(client, &id).await?, "resume", &tr!("resumed")).await?;
        }
        Action::Cancel { id } => {
            reached.tell(&tr!("stopping the run inside this command"));
            command(reached, &run_of(client, &id).await?, "cancel", &tr!("told to stop")).await?;
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
        bail!(tr!("there is no state `{state}`; the states are: {all}", state = line(state), all = all));
    }
    let limit = limit.to_string();
    let named = [("state", state), ("user", user), ("limit", Some(limit.as_str()))];
    let query: Vec<_> = named.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
    let mut told: Value = client.get("/api/runs", &query).await?;
    let runs = told["runs"].take();
    if as_json {
        outln!("{}", serde_json::to_string_pretty(&runs)?);
        return Ok(());
    }
    let runs: Vec<Run> =
        serde_json::from_value(runs).with_context(|| tr!("the server's list of runs is not understood"))?;
    if runs.is_empty() {
        errln!("{}", tr!("there are no such runs"));
    }
    for run in runs {
        outln!("{}", row(&run));
    }
    Ok(())
}

fn row(run: &Run) -> String {
    let usage = run.spent.usage;
    format!(
        "{}  {}  {}  {}  {}",
        run.run,
        padded(&story::state_word(run.state), 16),
        when(run.created_at),
        story::direct_call(run).unwrap_or_else(|| format!("{} / {}", line(&run.agent), line(&run.model))),
        tr!("{input} + {output} tokens", input = usage.input_tokens, output = usage.output_tokens),
    )
}

async fn show(client: &Client, id: &str, events: bool, as_json: bool) -> anyhow::Result<()> {
    let told: Value = client.get(&format!("/api/runs/{id}"), &[]).await?;
    let run: Run = serde_json::from_value(told.clone())?;
    let log = log_of(client, &run).await?;
    if events {
        for (seq, event) in (1_u64..).zip(&log) {
            outln!("{seq} {}", serde_json::to_string(event)?);
        }
        return Ok(());
    }
    if as_json {
        let whole = serde_json::json!({"run": told, "events": log});
        outln!("{}", serde_json::to_string_pretty(&whole)?);
        return Ok(());
    }
    out!("{}", story::head(&run, &currency(client, &run).await));
    for event in &log {
        out!("{}", story::told(event));
    }
    let mut open = vec![];
    if run.state.is_waiting() {
        for approval in all_approvals(client, "pending", None).await? {
            let approval: Approval = serde_json::from_value(approval)?;
            let is_of_tree = approval
                .question
                .asker
                .as_ref()
                .is_some_and(|asker| run.children.iter().any(|child| child.run == asker.run.to_string()));
            if approval.run == run.run || is_of_tree {
                open.push(approval);
            }
        }
    }
    for approval in &open {
        outln!();
        out!("{}", card::card(approval, helve_types::World::real().now()));
    }
    if let Some(hint) = hint(&run, !open.is_empty()) {
        outln!("\n{hint}");
    }
    Ok(())
}

/// What a person can do about a run that does not go on by itself.
pub(super) fn hint(run: &Run, asks: bool) -> Option<String> {
    match (run.state, asks) {
        (RunState::WaitingApproval | RunState::NeedsAttention, true) => {
            Some(tr!("answer with `helve approvals answer`"))
        }
        (RunState::NeedsAttention, false) => Some(tr!(
            "it is not resumed automatically, since the server ended too often during it; continue with `helve runs resume {run}`",
            run = run.run
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
            Seen::Gone => bail!(tr!("the server is gone; try again when it is back")),
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
    out!("{}", story::head(&run, &currency(client, &run).await));
    let mut following = Following::new(client, id, 0);
    // A run without a driver says no more than it has said.
    while !reached.is_own() || following.last() < run.last_event {
        match following.next().await? {
            Seen::Event(event) => out!("{}", story::told(&event)),
            Seen::End => break,
            Seen::Gone => errln!("{}", tr!("the server is gone; waiting for it")),
            Seen::Back => errln!("{}", tr!("the server is back")),
            Seen::Live(_) => {}
        }
    }
    Ok(())
}

/// Sends a run a command, and drives it where no server does.
async fn command(reached: &Reached, id: &str, verb: &str, done: &str) -> anyhow::Result<()> {
    let client = &reached.client;
    let before: Run = client.get(&format!("/api/runs/{id}"), &[]).await?;
    client.post(&format!("/api/runs/{id}/{verb}"), None, None).await?;
    if reached.is_own() && !before.state.is_final() {
        outln!("{}", approvals::to_rest(client, &before).await?);
    } else if before.state.is_final() {
        outln!("{}", tr!("run {run} is {state} already", run = id, state = story::state_word(before.state)));
    } else {
        outln!("{}", tr!("run {run} is {state}", run = id, state = done));
    }
    Ok(())
}
