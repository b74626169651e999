//! What the operator lets single tools have: given, listed and taken back.

use std::process::ExitCode;

use anyhow::{Context, bail};
use helve_tool::Catalogue;
use helve_types::ToolGrant;

use super::confirm::ask;
use super::rows::{BY, told, with_hint};
use crate::output::{errln, outln};

/// Binds the secret of a tool to a variable, once the operator has confirmed that and the host.
pub(super) async fn bind(
    catalogue: &Catalogue,
    name: &str,
    env: Option<String>,
    host: Option<String>,
) -> anyhow::Result<ExitCode> {
    let tool = catalogue.get(name);
    let row = tool.and_then(|tool| tool.row);
    let row = row.with_context(|| {
        format!("no tool that is a row is called `{name}`; `helve tools list` shows them")
    })?;
    let Some(need) = catalogue.secret_need(&row.definition) else {
        bail!("`{name}` waits for no secret, so there is nothing to bind");
    };
    let env = env.unwrap_or(need.env);
    check_variable(&env)?;
    match host {
        Some(host) if host == need.place => {}
        Some(host) => {
            bail!("`{name}` sends its secret to `{}`, not to `{host}`; nothing was bound", need.place)
        }
        None => {
            let question = format!("May `{name}` send the value of the variable {env} to `{}`?", need.place);
            match ask(&question) {
                Some(true) => {}
                Some(false) => bail!("nothing was bound"),
                None => bail!(
                    "`{name}` would send the value of the variable {env} to `{}`; confirm that with `helve tools bind \
                     {name} --env {env} --host {}`",
                    need.place,
                    need.place
                ),
            }
        }
    }
    let grant = ToolGrant::Secret { secret: need.secret, env: env.clone(), place: need.place.clone() };
    told(&catalogue.bind(name, grant, BY).await.map_err(with_hint)?);
    if std::env::var_os(&env).is_none() {
        errln!("{name}: the variable {env} is not set here; a server sends what it was started with");
    }
    Ok(ExitCode::SUCCESS)
}

fn check_variable(env: &str) -> anyhow::Result<()> {
    if env.to_ascii_uppercase().starts_with("HELVE_") {
        bail!("{env} configures Helve itself and is sent to nobody; choose another variable");
    }
    Ok(())
}

pub(super) fn list(catalogue: &Catalogue, name: Option<&str>) -> anyhow::Result<ExitCode> {
    for row in name.map_or_else(|| catalogue.all_grants(), |name| catalogue.grants(name)) {
        let at = jiff::Timestamp::from_millisecond(row.at.0).map(|at| at.to_string());
        outln!("{}  {}  {} by {}", row.tool, row.grant, at.unwrap_or_default(), row.by);
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn revoke(
    catalogue: &Catalogue,
    name: &str,
    place: Option<&str>,
) -> anyhow::Result<ExitCode> {
    let revoked = catalogue.revoke(name, place, BY).await?;
    if revoked.is_empty() {
        bail!("`{name}` is allowed nothing of the kind; `helve tools grants` lists what tools are allowed");
    }
    for grant in revoked {
        outln!("{name}  {grant} revoked");
    }
    Ok(ExitCode::SUCCESS)
}
