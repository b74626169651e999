//! `[alarms]`: who is told when a tool goes down.

use helve_egress::Url;
use serde::Deserialize;

use super::places::Places;
use crate::i18n::{tr, words};
use crate::webhook::WebhookSettings;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(super) struct AlarmsTable {
    webhook: Option<String>,
    /// The name of a secret, which is sent as a bearer token.
    secret: Option<String>,
}

pub(super) fn alarms(table: AlarmsTable, places: &Places) -> anyhow::Result<Option<WebhookSettings>> {
    told("alarms", table.webhook, table.secret, places)
}

/// The webhook that a table names, with its secret.
pub(super) fn told(
    table: &'static str,
    webhook: Option<String>,
    secret: Option<String>,
    places: &Places,
) -> anyhow::Result<Option<WebhookSettings>> {
    match (webhook, secret) {
        (None, None) => Ok(None),
        (None, Some(_)) => {
            let what = tr!("there is no `webhook` that would get the secret");
            Err(places.wrong(&[table, "secret"], what))
        }
        (Some(text), secret) => {
            let webhook = web_address(&text).map_err(|what| places.wrong(&[table, "webhook"], what))?;
            Ok(Some(WebhookSettings { webhook, secret }))
        }
    }
}

/// An address to send to, or what is wrong with it.
pub(super) fn web_address(text: &str) -> Result<Url, String> {
    let url: Url = text.parse().map_err(|error| {
        tr!(
            "`{text}` is no web address ({error}); use an address such as `https://ops.example.com/helve`",
            text = text,
            error = words(&format!("{error}"))
        )
    })?;
    match url.scheme() {
        "http" | "https" if url.has_host() => Ok(url),
        _ => Err(tr!(
            "`{text}` is no address for HTTP; use an address such as `https://ops.example.com/helve`",
            text = text
        )),
    }
}
