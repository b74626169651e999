//! How people sign in besides tokens, with the way to the identity provider.

use helve_openid::{Provider, ProviderSettings};
use helve_server::{OpenIdSignIn, SignInSettings};
use helve_types::World;

use crate::config::{AuthSettings, Config, OidcSettings};
use crate::outlet::outlet;

pub(super) fn sign_in(config: &Config, world: &World) -> anyhow::Result<SignInSettings> {
    let AuthSettings { passwords, session_hours, oidc } = &config.auth;
    let openid = oidc.as_ref().map(|oidc| openid(config, oidc, world)).transpose()?;
    Ok(SignInSettings { passwords: *passwords, session_hours: *session_hours, openid })
}

fn openid(config: &Config, oidc: &OidcSettings, world: &World) -> anyhow::Result<OpenIdSignIn> {
    let ours = config.public_url.as_ref().map_or_else(|| config.local_address(), ToString::to_string);
    let ours = ours.trim_end_matches('/');
    let provider = Provider::new(ProviderSettings {
        issuer: oidc.issuer.clone(),
        client_id: oidc.client_id.clone(),
        client_secret: oidc.client_secret.clone(),
        redirect_uri: format!("{ours}/sign-in/callback"),
        scopes: oidc.scopes.clone(),
        egress: outlet(&config.egress, &oidc.issuer_url)?,
        world: world.clone(),
    });
    Ok(OpenIdSignIn {
        provider,
        name: oidc.name.clone(),
        user_claim: oidc.user_claim.clone(),
        groups_claim: oidc.groups_claim.clone(),
        admin_claims: oidc.admin_claims.clone(),
        creates_users: oidc.create_users,
        done_url: format!("{ours}/sign-in/done"),
    })
}
