//! `helve groups`: what people have in common that decides what they may use.

use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use helve_store::{AuditEntry, GroupChange, GroupRecord, People, Store, UserChange, UserRecord};
use helve_store_sql::{DataDir, Syncs};
use helve_types::{UserId, World};

use super::token::OPERATOR;
use super::{block_on, log_quietly};
use crate::assemble::{install_tls, open_store};
use crate::client::Reach;
use crate::i18n::tr;
use crate::output::{outln, padded};

#[derive(Debug, Args)]
pub(crate) struct GroupsArgs {
    #[command(flatten)]
    pub(super) reach: Reach,
    #[command(subcommand)]
    action: GroupsAction,
}

#[derive(Debug, Subcommand)]
enum GroupsAction {
    /// List the groups with their members
    List,
    /// Make a group, or change what it is called and which claims stand for it
    Set {
        group: String,
        /// What people read in place of the name
        #[arg(long)]
        name: Option<String>,
        /// Values of the identity provider's claim that make somebody a member, separated by commas
        #[arg(long, value_delimiter = ',')]
        claims: Option<Vec<String>>,
        /// What the runs of each member may cost in a day; 0 is no limit
        #[arg(long, value_name = "AMOUNT")]
        day_money: Option<f64>,
        /// How many tools the runs of each member may call in a day; 0 is no limit
        #[arg(long, value_name = "COUNT")]
        day_calls: Option<u64>,
    },
    /// Make users members of a group
    Join { group: String, users: Vec<String> },
    /// Take users out of a group
    Leave { group: String, users: Vec<String> },
    /// Delete a group; its members stay users
    Remove { group: String },
}

pub(super) fn run(args: GroupsArgs) -> anyhow::Result<ExitCode> {
    log_quietly();
    let config = args.reach.load_shared()?;
    let world = World::real();
    install_tls();
    block_on(async {
        let dir = DataDir::open_shared(&config.data)?;
        let opened = open_store(&config, dir, &world, Syncs::default()).await?;
        act(args.action, &*opened.store, &world).await
    })
}

async fn act(action: GroupsAction, store: &dyn Store, world: &World) -> anyhow::Result<ExitCode> {
    let people = People::new(store.users().await?, store.groups().await?);
    match action {
        GroupsAction::List => {
            for group in people.groups.values() {
                let members: Vec<&str> =
                    people.members_of(&group.name).map(|user| user.id.0.as_str()).collect();
                let claims: Vec<&str> = group.claims.iter().map(String::as_str).collect();
                outln!(
                    "{}  {}  {}",
                    padded(&group.name, 20),
                    padded(&members.join(","), 30),
                    claims.join(",")
                );
            }
        }
        GroupsAction::Set { group, name, claims, day_money, day_calls } => {
            let is_good = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
            if group.is_empty() || group.len() > 64 || !group.chars().all(is_good) {
                bail!(tr!(
                    "`{group}` is no name for a group: use letters, digits, `-`, `_` and `.`",
                    group = group
                ));
            }
            let known = people.groups.get(&group).cloned();
            let mut row = known.unwrap_or_else(|| GroupRecord::new(group.clone(), world.now()));
            row.display_name = name.unwrap_or(row.display_name);
            row.claims = claims
                .map_or(row.claims, |claims| claims.into_iter().filter(|claim| !claim.is_empty()).collect());
            row.grants.member_day.money = day_money.or(row.grants.member_day.money);
            row.grants.member_day.calls = day_calls.or(row.grants.member_day.calls);
            helve_runtime::check_budget(&row.grants.member_day)?;
            row.updated_at = world.now();
            let (expected, audit) = (row.version, group_entry(world, "group.saved", &group));
            store.save_group(GroupChange { group: row, expected, audit }).await?;
        }
        GroupsAction::Join { group, users } => {
            find(&people, &group)?;
            for user in users {
                let id = UserId::parse(&user)?;
                let known = people.users.get(&id).cloned();
                let mut row = known.unwrap_or_else(|| UserRecord::new(id.clone(), world.now()));
                if row.version == 0 {
                    let tokens = store.tokens().await?;
                    let valid = tokens.iter().filter(|token| token.user == id && token.revoked_at.is_none());
                    row.role = valid.map(|token| token.rights).max().unwrap_or(row.role);
                }
                if row.groups.insert(group.clone()) {
                    save_member(store, world, row, "group.member_added", &group).await?;
                }
            }
        }
        GroupsAction::Leave { group, users } => {
            find(&people, &group)?;
            for user in users {
                let mut row = people.users.get(&UserId(user)).cloned();
                if let Some(row) = row.as_mut().filter(|row| row.groups.contains(&group)) {
                    row.groups.remove(&group);
                    save_member(store, world, row.clone(), "group.member_removed", &group).await?;
                }
            }
        }
        GroupsAction::Remove { group } => {
            find(&people, &group)?;
            store.delete_group(group.clone(), None, group_entry(world, "group.deleted", &group)).await?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn group_entry(world: &World, action: &str, group: &str) -> AuditEntry {
    AuditEntry::new(world.now(), OPERATOR, action, group)
}

fn find<'a>(people: &'a People, group: &str) -> anyhow::Result<&'a GroupRecord> {
    people
        .groups
        .get(group)
        .with_context(|| tr!("`{group}`: `helve groups list` shows the groups", group = group))
}

async fn save_member(
    store: &dyn Store,
    world: &World,
    mut user: UserRecord,
    action: &str,
    group: &str,
) -> anyhow::Result<()> {
    user.updated_at = world.now();
    let audit = group_entry(world, action, group).about(&*user.id.0);
    let expected = user.version;
    store.save_user(UserChange { user, expected, ends_sessions: false, audit }).await?;
    Ok(())
}
