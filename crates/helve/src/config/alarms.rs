//! `[alarms]`: who is told when a tool goes down.

use helve_egress::Url;
use serde::Deserialize;

use super::places::Places;
use crate::alarms::AlarmSettings;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(super) struct AlarmsTable {
    webhook: Option<String>,
    /// The name of a secret, which is sent as a bearer token.
    secret: Option<String>,
}

pub(super) fn alarms(table: AlarmsTable, places: &Places) -> anyhow::Result<Option<AlarmSettings>> {
    let AlarmsTable { webhook, secret } = table;
    match (webhook, secret) {
        (None, None) => Ok(None),
        (None, Some(_)) => {
            let what = "there is no `webhook` that would get the secret";
            Err(places.wrong(&["alarms", "secret"], what))
        }
        (Some(text), secret) => {
            let webhook = web_address(&text).map_err(|what| places.wrong(&["alarms", "webhook"], what))?;
            Ok(Some(AlarmSettings { webhook, secret }))
        }
    }
}

/// An address to send to, or what is wrong with it.
pub(super) fn web_address(text: &str) -> Result<Url, String> {
    let wrong =
        |problem: &str| format!("`{text}` {problem}; use an address such as `https://ops.example.com/helve`");
    let url: Url = text.parse().map_err(|error| wrong(&format!("is no web address ({error})")))?;
    match url.scheme() {
        "http" | "https" if url.has_host() => Ok(url),
        _ => Err(wrong("is no address for HTTP")),
    }
}
