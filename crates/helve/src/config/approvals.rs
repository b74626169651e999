//! `[approvals]`: who is told that a person is asked, and where the link leads.

use std::net::SocketAddr;

use helve_egress::Url;
use helve_types::Question;
use serde::Deserialize;

use super::alarms::{told, web_address};
use super::places::Places;
use crate::i18n::tr;
use crate::webhook::WebhookSettings;

/// As long as a question stays open.
const HOURS_MAX: u32 = (Question::OPEN_MS / (60 * 60 * 1_000)) as u32;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(super) struct ApprovalsTable {
    webhook: Option<String>,
    /// The name of a secret, which is sent as a bearer token.
    secret: Option<String>,
    /// Where links lead, if not to the `public_url` of the server.
    public_url: Option<String>,
    /// How long a link is good for.
    link_hours: Option<u32>,
}

/// How people are told of questions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalSettings {
    pub webhook: WebhookSettings,
    /// Links begin with it.
    pub public_url: Url,
    pub link_hours: u32,
}

pub(super) fn approvals(
    table: ApprovalsTable,
    listen: SocketAddr,
    servers_url: Option<&Url>,
    places: &Places,
) -> anyhow::Result<Option<ApprovalSettings>> {
    let ApprovalsTable { webhook, secret, public_url, link_hours } = table;
    let wrong = |key: &'static str, what: String| places.wrong(&["approvals", key], what);
    let idle = [("public_url", public_url.is_some()), ("link_hours", link_hours.is_some())];
    let Some(webhook) = told("approvals", webhook, secret, places)? else {
        return match idle.into_iter().find(|(_, given)| *given) {
            Some((key, _)) => Err(wrong(key, tr!("there is no `webhook` that would be told"))),
            None => Ok(None),
        };
    };
    let public_url = match (public_url, servers_url) {
        (Some(text), _) => web_address(&text).map_err(|what| wrong("public_url", what))?,
        (None, Some(url)) => url.clone(),
        (None, None) if listen.ip().is_unspecified() => {
            let what = tr!(
                "`public_url` is missing: {listen} is no address for a link; say where people reach the server, as in \
                 `public_url = \"https://helve.example.com\"` in [server]",
                listen = listen
            );
            return Err(wrong("webhook", what));
        }
        (None, None) => web_address(&format!("http://{listen}")).map_err(|what| wrong("webhook", what))?,
    };
    let link_hours = link_hours.unwrap_or(HOURS_MAX);
    if !(1..=HOURS_MAX).contains(&link_hours) {
        let what = tr!(
            "`{link_hours}` must be between 1 and {hours_max}: no link outlives its question",
            link_hours = link_hours,
            hours_max = HOURS_MAX
        );
        return Err(wrong("link_hours", what));
    }
    Ok(Some(ApprovalSettings { webhook, public_url, link_hours }))
}
