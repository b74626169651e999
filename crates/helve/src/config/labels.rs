//! `[labels]` and what `[tools]` says about labels: where data may go, and what comes in.

use std::collections::BTreeMap;

use helve_egress::Url;
use helve_tool::Trust;
use serde::Deserialize;

use super::file::GuardsTable;
use super::places::Places;
use crate::i18n::tr;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(super) struct LabelsTable {
    /// Hosts that private data may go to unasked.
    trusted_hosts: Vec<String>,
}

pub(super) fn trust(
    table: &LabelsTable,
    tools: &BTreeMap<String, GuardsTable>,
    places: &Places,
) -> anyhow::Result<Trust> {
    let host = |text: &String| {
        let wrong = |what: String| places.wrong(&["labels", "trusted_hosts"], what);
        let name = text.strip_prefix("*.").unwrap_or(text);
        let is_below = name.len() < text.len();
        if is_below && !name.contains('.') {
            return Err(wrong(tr!(
                "`{text}` would trust everybody; use a name such as `api.example.com`, or `*.example.com` for all below it",
                text = text
            )));
        }
        // The same reading as of the addresses that it is compared with; of nothing but the host.
        let has_port = if name.starts_with('[') { !name.ends_with(']') } else { name.contains(':') };
        let is_host = !has_port && !name.contains(['/', '\\', '@', '*', '?', '#', ' ']);
        let read = Url::parse(&format!("https://{name}/")).ok().filter(|_| is_host);
        match read.as_ref().and_then(Url::host_str) {
            Some(host) if is_below => Ok(format!("*.{host}")),
            Some(host) => Ok(host.to_owned()),
            None => Err(wrong(tr!(
                "`{text}` is no host; use a name such as `api.example.com`, or `*.example.com` for all below it",
                text = text
            ))),
        }
    };
    let said = tools.iter().map(|(name, table)| (name.clone(), table.labels()));
    Ok(Trust {
        hosts: table.trusted_hosts.iter().map(host).collect::<anyhow::Result<_>>()?,
        tools: said.filter(|(_, terms)| !terms.says_nothing()).collect(),
    })
}
