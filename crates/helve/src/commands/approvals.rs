//! `helve approvals`: what waits for a person, and the person's word on it.

pub(super) mod answer;
pub(super) mod card;
pub(super) mod reply;

use std::process::ExitCode;

use anyhow::bail;
use clap::{Args, Subcommand};
use helve_types::{Fact, World};
use serde_json::Value;

use self::answer::GivenAnswer;
use super::serve::Take;
use super::{block_on_threads, log_quietly};
use crate::client::{
    Approval, ApprovalState, Client, ClientError, Following, Reach, Reached, Run, Seen, all_approvals,
    approval_of, when,
};
use crate::commands::runs::story::state_word;
use crate::i18n::tr;
use crate::output::{errln, out, outln};

#[derive(Debug, Args)]
pub(crate) struct ApprovalsArgs {
    #[command(flatten)]
    pub(super) reach: Reach,
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the open approval requests
    List {
        /// Include those that are already answered
        #[arg(long)]
        all: bool,
        /// Those that you may answer, also in runs of other users
        #[arg(long, conflicts_with = "all")]
        inbox: bool,
        /// Only those of this user; needs the right `admin`
        #[arg(long)]
        user: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show an approval request in full: exactly what would be sent, and why approval is needed
    Show {
        /// Its id, or the first or last characters of it
        id: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Answer an approval request; the first answer counts
    ///
    /// Without a running server, this command executes the run until it ends or waits again.
    Answer {
        /// Its id, or the first or last characters of it
        id: String,
        #[command(subcommand)]
        answer: GivenAnswer,
    },
}

pub(super) fn run(args: ApprovalsArgs) -> anyhow::Result<ExitCode> {
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
        Action::List { all, inbox, user, json } => {
            reached.tell(&tr!("reading the data directory"));
            let state = match (all, inbox) {
                (true, _) => "all",
                (false, true) => "inbox",
                (false, false) => "pending",
            };
            list(client, state, user.as_deref(), json).await?;
        }
        Action::Show { id, json } => {
            reached.tell(&tr!("reading the data directory"));
            let id = approval_of(client, &id).await?;
            let told: Value = client.get(&format!("/api/approvals/{id}"), &[]).await?;
            if json {
                outln!("{}", serde_json::to_string_pretty(&told)?);
            } else {
                out!("{}", card::card(&serde_json::from_value(told)?, World::real().now()));
            }
        }
        Action::Answer { id, answer } => {
            reached.tell(&tr!("the run goes on inside this command"));
            settle(reached, &id, answer).await?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn list(client: &Client, state: &str, user: Option<&str>, as_json: bool) -> anyhow::Result<()> {
    let told = all_approvals(client, state, user).await?;
    if as_json {
        outln!("{}", serde_json::to_string_pretty(&told)?);
        return Ok(());
    }
    if told.is_empty() {
        let nothing =
            if state == "all" { tr!("there are no approvals") } else { tr!("no approval is pending") };
        errln!("{nothing}");
    }
    let now = World::real().now();
    for approval in told {
        outln!("{}", card::row(&serde_json::from_value(approval)?, now));
    }
    Ok(())
}

async fn settle(reached: &Reached, id: &str, given: GivenAnswer) -> anyhow::Result<()> {
    let client = &reached.client;
    let id = approval_of(client, id).await?;
    let path = format!("/api/approvals/{id}");
    let asked: Approval = client.get(&path, &[]).await?;
    let answer = given.answer(&asked.question)?;
    let now = World::real().now();
    if asked.state == ApprovalState::Pending && asked.question.expires_at <= now {
        bail!(tr!(
            "it expired at {when} and can no longer be answered",
            when = when(asked.question.expires_at)
        ));
    }
    refuse_if_settled_otherwise(&asked, &answer)?;
    out!("{}", card::card(&asked, now));
    if asked.state == ApprovalState::Answered {
        outln!("{}", tr!("this was the answer before, too"));
        return Ok(());
    }
    // An approver sees the question, and not the run.
    let before: Option<Run> = match reached.is_own() {
        true => Some(client.get(&format!("/api/runs/{}", asked.run), &[]).await?),
        false => None,
    };
    match client.post(&path, Some(&serde_json::to_value(&answer)?), None).await {
        Ok(now) => {
            let now: Approval = serde_json::from_value(now)?;
            outln!("{}", tr!("answered: {answer}", answer = card::said(&answer)));
            if let (ApprovalState::Pending, Some(missing)) = (now.state, now.votes_missing) {
                outln!("{}", tr!("{count} more must agree", count = missing));
                return Ok(());
            }
        }
        // Another answer was first.
        Err(error @ ClientError::Refused { status: 409, .. }) => {
            refuse_if_settled_otherwise(&client.get(&path, &[]).await?, &answer)?;
            return Err(error.into());
        }
        Err(error) => return Err(error.into()),
    }
    if let Some(before) = before {
        outln!("{}", to_rest(client, &before).await?);
    }
    Ok(())
}

/// The first answer wins, and a second one is told what it was.
fn refuse_if_settled_otherwise(approval: &Approval, answer: &helve_types::Answer) -> anyhow::Result<()> {
    match approval.state {
        ApprovalState::Pending => Ok(()),
        ApprovalState::Withdrawn => {
            bail!(tr!("its run ended before it was answered"))
        }
        ApprovalState::Answered if approval.answer.as_ref() == Some(answer) => Ok(()),
        ApprovalState::Answered => bail!("{}", card::settled(approval)),
    }
}

/// Follows a run until it ends or waits, and says which.
pub(super) async fn to_rest(client: &Client, run: &Run) -> anyhow::Result<String> {
    let mut following = Following::new(client, &run.run, run.last_event);
    loop {
        match following.next().await? {
            Seen::Event(event) if rests(&event.fact) => break,
            Seen::End => break,
            Seen::Event(_) | Seen::Live(_) | Seen::Gone | Seen::Back => {}
        }
    }
    let now: Run = client.get(&format!("/api/runs/{}", run.run), &[]).await?;
    Ok(tr!("run {run} is {state}", run = now.run, state = state_word(now.state)))
}

fn rests(fact: &Fact) -> bool {
    matches!(fact, Fact::RunWaiting { .. }) || fact.is_last()
}
