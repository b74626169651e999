//! `[auth]`: how people sign in besides tokens.

use std::collections::BTreeSet;

use helve_egress::Url;
use secrecy::SecretString;
use serde::Deserialize;

use super::alarms::web_address;
use super::places::Places;
use crate::i18n::tr;

const HOURS_MAX: u32 = 30 * 24;
const HOURS: u32 = 12;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(super) struct AuthTable {
    /// Whether people sign in with passwords; if not said, they do where there is no provider.
    passwords: Option<bool>,
    /// How long a session of the page lasts that began with a password or at the provider.
    session_hours: Option<u32>,
    oidc: Option<OidcTable>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
struct OidcTable {
    issuer: String,
    client_id: String,
    #[serde(default)]
    client_secret: Option<SecretString>,
    /// What the page calls it.
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    scopes: Option<Vec<String>>,
    #[serde(default)]
    user_claim: Option<String>,
    #[serde(default)]
    groups_claim: Option<String>,
    #[serde(default)]
    admin_claims: BTreeSet<String>,
    #[serde(default)]
    create_users: Option<bool>,
}

/// How people sign in besides tokens.
#[derive(Debug, Clone)]
pub struct AuthSettings {
    pub passwords: bool,
    pub session_hours: u32,
    pub oidc: Option<OidcSettings>,
}

/// An identity provider.
#[derive(Debug, Clone)]
pub struct OidcSettings {
    /// As the provider writes it, which tokens are compared with.
    pub issuer: String,
    pub issuer_url: Url,
    pub client_id: String,
    pub client_secret: Option<SecretString>,
    pub name: String,
    pub scopes: Vec<String>,
    pub user_claim: String,
    pub groups_claim: String,
    pub admin_claims: BTreeSet<String>,
    pub create_users: bool,
}

pub(super) fn auth(table: AuthTable, places: &Places) -> anyhow::Result<AuthSettings> {
    let AuthTable { passwords, session_hours, oidc } = table;
    let oidc = oidc.map(|oidc| read_oidc(oidc, places)).transpose()?;
    let session_hours = session_hours.unwrap_or(HOURS);
    if !(1..=HOURS_MAX).contains(&session_hours) {
        let what =
            tr!("`{hours}` must be between 1 and {hours_max}", hours = session_hours, hours_max = HOURS_MAX);
        return Err(places.wrong(&["auth", "session_hours"], what));
    }
    Ok(AuthSettings { passwords: passwords.unwrap_or(oidc.is_none()), session_hours, oidc })
}

fn read_oidc(table: OidcTable, places: &Places) -> anyhow::Result<OidcSettings> {
    let issuer_url =
        web_address(&table.issuer).map_err(|what| places.wrong(&["auth", "oidc", "issuer"], what))?;
    let mut scopes = table.scopes.unwrap_or_else(|| vec!["profile".into(), "email".into()]);
    if !scopes.iter().any(|scope| scope == "openid") {
        scopes.insert(0, "openid".into());
    }
    let host = issuer_url.host_str().unwrap_or_default().to_owned();
    Ok(OidcSettings {
        issuer: table.issuer,
        issuer_url,
        client_id: table.client_id,
        client_secret: table.client_secret,
        name: table.name.unwrap_or(host),
        scopes,
        user_claim: table.user_claim.unwrap_or_else(|| "preferred_username".into()),
        groups_claim: table.groups_claim.unwrap_or_else(|| "groups".into()),
        admin_claims: table.admin_claims,
        create_users: table.create_users.unwrap_or(true),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> anyhow::Result<AuthSettings> {
        auth(toml::from_str(text).unwrap(), &Places::default())
    }

    #[test]
    fn passwords_are_for_installations_without_a_provider_unless_the_operator_says_otherwise() {
        let provider = "[oidc]\nissuer = \"https://id.example.com/\"\nclient_id = \"helve\"\n";
        assert!(read("").unwrap().passwords);
        assert!(!read("passwords = false").unwrap().passwords);
        let with_provider = read(provider).unwrap();
        assert!(!with_provider.passwords);
        assert!(read(&format!("passwords = true\n{provider}")).unwrap().passwords);
        let oidc = with_provider.oidc.unwrap();
        assert_eq!((&*oidc.issuer, &*oidc.name), ("https://id.example.com/", "id.example.com"));
        assert_eq!(oidc.scopes, ["openid", "profile", "email"]);
    }

    #[test]
    fn an_issuer_that_is_no_address_and_sessions_without_end_are_refused() {
        assert!(read("[oidc]\nissuer = \"id.example\"\nclient_id = \"helve\"\n").is_err());
        assert!(read("session_hours = 0").is_err());
        assert!(read("session_hours = 721").is_err());
        assert!(toml::from_str::<AuthTable>("[oidc]\nissuer = \"https://id.example\"\n").is_err());
    }
}
