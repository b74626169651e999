//! `helve token`: who may use the server.

use std::process::ExitCode;

use anyhow::Context;
use clap::{Args, Subcommand};
use helve_server::new_token;
use helve_store::{ActFor, AuditEntry, Store, StoreError, TokenRights};
use helve_store_sql::{DataDir, Syncs};
use helve_types::{UserId, World};

use super::{block_on, log_quietly};
use crate::assemble::{install_tls, open_store};
use crate::client::Reach;
use crate::i18n::tr;
use crate::output::{errln, outln, padded};

#[derive(Debug, Args)]
pub(crate) struct TokenArgs {
    #[command(flatten)]
    pub(super) reach: Reach,
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Create a token and print it once; from then on the server requires a token
    Create {
        /// The user it belongs to
        #[arg(long, default_value = "local")]
        user: String,
        /// Grant the right `admin`: everything, including the data of other users
        #[arg(long)]
        admin: bool,
        /// Users it may act for, named in requests: `*`, or names separated by commas
        #[arg(long, value_name = "USERS", default_value = "")]
        act_for: String,
        /// A note on what it is for
        #[arg(long, default_value = "")]
        note: String,
    },
    /// List the tokens, without their secrets
    List,
    /// Revoke a token; open streams end within half a minute
    Revoke { id: String },
}

pub(super) fn run(args: TokenArgs) -> anyhow::Result<ExitCode> {
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

/// The person at the machine, in the audit log.
pub(super) const OPERATOR: &str = "operator";

fn revoked(world: &World, id: &str) -> AuditEntry {
    AuditEntry::new(world.now(), OPERATOR, "token.revoked", id)
}

async fn act(action: Action, store: &dyn Store, world: &World) -> anyhow::Result<ExitCode> {
    match action {
        Action::Create { user, admin, act_for, note } => {
            let rights = if admin { TokenRights::Admin } else { TokenRights::Chat };
            let act_for = ActFor::parse(&act_for).map_err(|error| anyhow::anyhow!("--act-for: {error}"))?;
            let (token, shown) = new_token(world, UserId::parse(&user)?, rights, act_for, note);
            let entry =
                AuditEntry::new(world.now(), OPERATOR, "token.created", &*token.id).about(&*token.user.0);
            store.create_token(token, entry).await?;
            errln!(
                "{}",
                tr!("Keep it: it is shown only now. A running server asks for it within five seconds.")
            );
            outln!("{shown}");
        }
        Action::List => {
            for token in store.tokens().await? {
                let state = if token.revoked_at.is_some() { tr!("revoked") } else { tr!("valid") };
                let act_for = match &token.act_for {
                    ActFor::OnlySelf => String::new(),
                    act_for => tr!(" for {users}", users = act_for),
                };
                outln!(
                    "{}  {}  {:5}  {}{act_for}  {}",
                    token.id,
                    padded(&state, 7),
                    token.rights.as_str(),
                    token.user,
                    token.note
                );
            }
        }
        Action::Revoke { id } => match store.revoke_token(id.clone(), revoked(world, &id)).await {
            Err(StoreError::NotFound(_)) => {
                return Err(StoreError::NotFound("token"))
                    .with_context(|| tr!("`{id}`: `helve token list` shows the ids", id = id));
            }
            done => done?,
        },
    }
    Ok(ExitCode::SUCCESS)
}
