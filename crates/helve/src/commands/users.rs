//! `helve users`: what is known of users besides their names.

use std::collections::BTreeSet;
use std::io::{IsTerminal, Read};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::{Args, Subcommand, ValueEnum};
use helve_server::{PASSWORD_BYTES_MAX, hash_password};
use helve_store::{AuditEntry, Store, TokenRights, UserChange, UserKind, UserRecord};
use helve_types::{UserId, World, hex};
use serde_json::json;

use super::token::OPERATOR;
use super::{block_on, log_quietly};
use crate::assemble::{install_tls, open_store};
use crate::client::Reach;
use crate::i18n::tr;
use crate::output::{errln, outln, padded};
use helve_store_sql::{DataDir, Syncs};

#[derive(Debug, Args)]
pub(crate) struct UsersArgs {
    #[command(flatten)]
    pub(super) reach: Reach,
    #[command(subcommand)]
    action: UsersAction,
}

#[derive(Debug, Subcommand)]
enum UsersAction {
    /// List the users that have a row, with their roles and groups
    List,
    /// Show a user as JSON
    Show { user: String },
    /// Make a user
    Add {
        user: String,
        #[command(flatten)]
        fields: Fields,
        /// A service account: it has tokens and cannot sign in
        #[arg(long)]
        service: bool,
    },
    /// Change a user; what is not given stays as it is
    Set {
        user: String,
        #[command(flatten)]
        fields: Fields,
        /// Accept what the user shows again
        #[arg(long)]
        enable: bool,
    },
    /// Give a user a password, read from standard input; in a terminal one is made and printed
    Passwd { user: String },
    /// Accept nothing that a user shows, and end its sessions
    Disable { user: String },
    /// Delete a user's row, and revoke its tokens; conversations stay
    Remove { user: String },
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum RoleOption {
    Chat,
    Admin,
}

#[derive(Debug, Args)]
struct Fields {
    /// What people read in place of the id
    #[arg(long)]
    name: Option<String>,
    #[arg(long)]
    /// The e-mail address
    email: Option<String>,
    /// What the user may do; no token of the user gives more
    #[arg(long)]
    role: Option<RoleOption>,
    /// The groups that the user is in, separated by commas
    #[arg(long, value_delimiter = ',')]
    groups: Option<Vec<String>>,
}

pub(super) fn run(args: UsersArgs) -> anyhow::Result<ExitCode> {
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

async fn act(action: UsersAction, store: &dyn Store, world: &World) -> anyhow::Result<ExitCode> {
    match action {
        UsersAction::List => list(store).await?,
        UsersAction::Show { user } => {
            let user = find(store, &user).await?;
            let people = helve_store::People::new(store.users().await?, store.groups().await?);
            let shown = json!({
                "id": user.id, "version": user.version, "name": user.name, "email": user.email,
                "kind": user.kind, "role": user.effective_role(), "groups": user.groups,
                "member_of": *people.groups_of(&user.id), "disabled": user.disabled,
                "has_password": user.password.is_some(), "identities": user.identities,
                "created_at": user.created_at, "updated_at": user.updated_at, "signed_in_at": user.signed_in_at,
            });
            outln!("{}", serde_json::to_string_pretty(&shown)?);
        }
        UsersAction::Add { user, fields, service } => {
            let id = UserId::parse(&user)?;
            if store.users().await?.iter().any(|known| known.id == id) {
                bail!(tr!("there is a user `{user}` already; change it with `helve users set`", user = id));
            }
            let mut row = UserRecord::new(id.clone(), world.now());
            // A row must not take away what a token of the user's gives already.
            let tokens = store.tokens().await?;
            let valid = tokens.iter().filter(|token| token.user == id && token.revoked_at.is_none());
            row.role = valid.map(|token| token.rights).max().unwrap_or(row.role);
            row.kind = if service { UserKind::ServiceAccount } else { UserKind::Person };
            save(store, world, fields.apply(row), "user.created", false).await?;
        }
        UsersAction::Set { user, fields, enable } => {
            let mut row = fields.apply(find(store, &user).await?);
            row.disabled &= !enable;
            save(store, world, row, "user.changed", false).await?;
        }
        UsersAction::Passwd { user } => set_password(store, world, &user).await?,
        UsersAction::Disable { user } => {
            let row = UserRecord { disabled: true, ..find(store, &user).await? };
            save(store, world, row, "user.disabled", true).await?;
        }
        UsersAction::Remove { user } => {
            let id = UserId::parse(&user)?;
            let audit = entry_about(world, "user.deleted", &id);
            store.delete_user(id, None, audit).await.with_context(|| {
                tr!("`{user}`: `helve users list` shows the users that have a row", user = user)
            })?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn list(store: &dyn Store) -> anyhow::Result<()> {
    let people = helve_store::People::new(store.users().await?, store.groups().await?);
    for user in people.users.values() {
        let state = if user.disabled { tr!("disabled") } else { String::new() };
        let groups: Vec<String> = people.groups_of(&user.id).iter().cloned().collect();
        outln!(
            "{}  {:5}  {}  {}  {state}",
            padded(&user.id.0, 20),
            user.effective_role().as_str(),
            padded(&user.name, 20),
            groups.join(",")
        );
    }
    Ok(())
}

async fn set_password(store: &dyn Store, world: &World, user: &str) -> anyhow::Result<()> {
    let mut row = find(store, user).await?;
    if row.kind == UserKind::ServiceAccount {
        bail!(tr!(
            "`{user}` is a service account; make a token with `helve token create --user`",
            user = user
        ));
    }
    let made = std::io::stdin().is_terminal();
    let password = if made {
        hex(&world.random_secret()[..12])
    } else {
        let mut text = String::new();
        std::io::stdin().take(PASSWORD_BYTES_MAX as u64 + 3).read_to_string(&mut text)?;
        text.lines().next().unwrap_or_default().to_owned()
    };
    row.password = Some(hash_password(password.clone().into(), world).await?);
    save(store, world, row, "user.password_changed", true).await?;
    if made {
        errln!("{}", tr!("Keep it: it is shown only now."));
        outln!("{password}");
    }
    Ok(())
}

async fn find(store: &dyn Store, user: &str) -> anyhow::Result<UserRecord> {
    let known = store.users().await?.into_iter().find(|known| known.id.0 == user);
    known.with_context(|| tr!("`{user}`: `helve users list` shows the users that have a row", user = user))
}

async fn save(
    store: &dyn Store,
    world: &World,
    mut user: UserRecord,
    action: &str,
    ends_sessions: bool,
) -> anyhow::Result<()> {
    user.updated_at = world.now();
    let (audit, expected) = (entry_about(world, action, &user.id), user.version);
    let change = UserChange { user, expected, ends_sessions, audit };
    store.save_user(change).await.with_context(|| tr!("the user was not saved"))?;
    Ok(())
}

/// The audit's entry about a user.
fn entry_about(world: &World, action: &str, user: &UserId) -> AuditEntry {
    AuditEntry::new(world.now(), OPERATOR, action, "").about(&*user.0)
}

impl Fields {
    fn apply(self, mut user: UserRecord) -> UserRecord {
        user.name = self.name.unwrap_or(user.name);
        user.email = self.email.or(user.email).filter(|email| !email.is_empty());
        user.role = match self.role {
            Some(RoleOption::Chat) => TokenRights::Chat,
            Some(RoleOption::Admin) => TokenRights::Admin,
            None => user.role,
        };
        let given =
            |groups: Vec<String>| groups.into_iter().filter(|name| !name.is_empty()).collect::<BTreeSet<_>>();
        user.groups = self.groups.map_or(user.groups, given);
        user
    }
}
