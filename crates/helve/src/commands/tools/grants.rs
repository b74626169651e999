//! What the operator lets single tools have: given, listed and taken back.

use std::process::ExitCode;

use anyhow::{Context, bail};
use helve_tool::Catalogue;
use helve_types::ToolGrant;

use super::confirm::ask;
use super::rows::{BY, told, with_hint};
use crate::i18n::tr;
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
        tr!("no tool that is a row is called `{name}`; `helve tools list` shows them", name = name)
    })?;
    let Some(need) = catalogue.find_secret_need(&row.definition) else {
        bail!(tr!("`{name}` waits for no secret, so there is nothing to bind", name = name));
    };
    let env = env.unwrap_or(need.env);
    check_variable(&env)?;
    match host {
        Some(host) if host == need.place => {}
        Some(host) => {
            bail!(tr!(
                "`{name}` sends its secret to `{place}`, not to `{host}`; nothing was bound",
                name = name,
                place = need.place,
                host = host
            ))
        }
        None => {
            let question = tr!(
                "May `{name}` send the value of the variable {env} to `{place}`?",
                name = name,
                env = env,
                place = need.place
            );
            match ask(&question) {
                Some(true) => {}
                Some(false) => bail!(tr!("nothing was bound")),
                None => bail!(tr!(
                    "`{name}` would send the value of the variable {env} to `{place}`; confirm that with `helve tools bind \
                     {name} --env {env} --host {place}`",
                    name = name,
                    env = env,
                    place = need.place
                )),
            }
        }
    }
    let grant = ToolGrant::Secret { secret: need.secret, env: env.clone(), place: need.place.clone() };
    told(&catalogue.grant_secret(name, grant, BY).await.map_err(with_hint)?);
    if std::env::var_os(&env).is_none() {
        errln!(
            "{}",
            tr!(
                "{name}: the variable {env} is not set here; a server sends what it was started with",
                name = name,
                env = env
            )
        );
    }
    Ok(ExitCode::SUCCESS)
}

fn check_variable(env: &str) -> anyhow::Result<()> {
    if env.to_ascii_uppercase().starts_with("HELVE_") {
        bail!(tr!("{env} configures Helve itself and is never sent; choose another variable", env = env));
    }
    Ok(())
}

pub(super) fn list(catalogue: &Catalogue, name: Option<&str>) -> anyhow::Result<ExitCode> {
    for row in name.map_or_else(|| catalogue.list_all_grants(), |name| catalogue.list_grants(name)) {
        let at = jiff::Timestamp::from_millisecond(row.at.0).map(|at| at.to_string());
        outln!(
            "{}",
            tr!(
                "{tool}  {grant}  {at} by {by}",
                tool = row.name,
                grant = row.grant,
                at = at.unwrap_or_default(),
                by = row.by
            )
        );
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn revoke(
    catalogue: &Catalogue,
    name: &str,
    place: Option<&str>,
) -> anyhow::Result<ExitCode> {
    let revoked = catalogue.revoke_grants(name, place, BY).await?;
    if revoked.is_empty() {
        bail!(tr!(
            "`{name}` is allowed nothing of the kind; `helve tools grants` lists what tools are allowed",
            name = name
        ));
    }
    for grant in revoked {
        outln!("{}", tr!("{name}  {grant} revoked", name = name, grant = grant));
    }
    Ok(ExitCode::SUCCESS)
}
