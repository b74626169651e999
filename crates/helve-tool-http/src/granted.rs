//! What the operator lets a tool have: whether its secret can be sent, and the way out that it gets.

use helve_egress::{
    Egress, EgressError, SECRET_BYTES_MIN, Secret, Url, place_on_this_machine, place_with_port,
};
use helve_tool::{DefinitionError, SecretNeed, ToolGrants};
use helve_types::{Notice, Reason, ToolDefinition};
use secrecy::SecretString;

use crate::HttpTools;
use crate::template::Template;

const URL: &str = "endpoint.url_template";

/// The secret that a definition proposes a variable for, unless the configuration has it or the operator has bound it and
/// the variable is set.
pub(crate) fn find_secret_need(
    tools: &HttpTools,
    definition: &ToolDefinition,
    grants: &ToolGrants,
) -> Option<SecretNeed> {
    let (secret, env) = definition.endpoint.auth.secret()?;
    let env = env?;
    let url = base_url(definition)?;
    if is_configured(tools, secret, &url) {
        return None;
    }
    let place = place_with_port(&url)?;
    let need = |told: String, notice, warning| {
        let refusal = Reason::new(told, notice);
        Some(SecretNeed { secret: secret.into(), env: env.into(), place: place.clone(), refusal, warning })
    };
    let name = &definition.name;
    let Some(bound) = grants.variable_for(secret, &place) else {
        let command = format!("helve tools bind {name}");
        let told = format!(
            "the secret `{secret}` of `{name}` is not bound, so nothing was sent. Operator: confirm with `{command}` that \
             the variable {env} may be sent to `{place}`"
        );
        let warning = Notice::definition_odd_unbound(secret, name, env, &place);
        return need(told, Notice::secret_not_bound(name, &command), warning);
    };
    match (tools.variables)(bound).map(|value| value.trim().len()) {
        None | Some(0) => need(
            format!(
                "the secret `{secret}` of `{name}` has no value, so nothing was sent. Operator: set the environment \
                 variable {bound} for the server and start it again"
            ),
            Notice::secret_without_value(name, bound),
            Notice::definition_odd_without_value(secret, bound),
        ),
        Some(1..SECRET_BYTES_MIN) => need(
            format!(
                "the secret `{secret}` of `{name}` was not sent: with fewer than {SECRET_BYTES_MIN} characters it cannot \
                 be kept out of answers. Operator: set a longer value for {bound}"
            ),
            Notice::secret_too_short(name, bound),
            Notice::definition_odd_short(secret, bound, SECRET_BYTES_MIN as u64),
        ),
        Some(_) => None,
    }
}

/// The way out for the tool of a definition: to the hosts that it is allowed, with the secret that is bound to it.
pub(crate) fn build_granted_egress(
    tools: &HttpTools,
    definition: &ToolDefinition,
    grants: &ToolGrants,
    is_complete: bool,
) -> Result<Egress, DefinitionError> {
    let places: Vec<_> = grants.hosts().map(str::to_owned).collect();
    let secret = if is_complete { find_granted_secret(tools, definition, grants) } else { None };
    if places.is_empty() && secret.is_none() {
        return Ok(tools.egress.clone());
    }
    let unusable =
        |error: EgressError| DefinitionError::new(URL, Notice::definition_other(&error.to_string()));
    tools.egress.with_grants(&places, secret).map_err(unusable)
}

fn find_granted_secret(
    tools: &HttpTools,
    definition: &ToolDefinition,
    grants: &ToolGrants,
) -> Option<Secret> {
    let (name, env) = definition.endpoint.auth.secret()?;
    env?;
    let url = base_url(definition)?;
    if is_configured(tools, name, &url) {
        return None;
    }
    let place = place_with_port(&url)?;
    let value = (tools.variables)(grants.variable_for(name, &place)?)?;
    Some(Secret { name: name.into(), value: SecretString::from(value), hosts: vec![place] })
}

/// Whether the configuration has this secret for this host.
fn is_configured(tools: &HttpTools, secret: &str, url: &Url) -> bool {
    let known = tools.egress.secrets().get(secret).filter(|secret| secret.has_value());
    let target = url.host().zip(url.port_or_known_default());
    known.zip(target).is_some_and(|(secret, (host, port))| secret.is_for(&host, port))
}

fn base_url(definition: &ToolDefinition) -> Option<Url> {
    let template = Template::parse(&definition.endpoint, &definition.parameters, None).ok()?;
    Some(template.base().clone())
}

/// Why an address is not reached. An address on this machine can be allowed for the one tool, where it is made.
pub(crate) fn refused_address_error(tools: &HttpTools, base: &Url, reason: &str) -> DefinitionError {
    let Some(place) = place_on_this_machine(base) else {
        return DefinitionError::new(URL, Notice::definition_other(reason));
    };
    if tools.own_port.is_some() && base.port_or_known_default() == tools.own_port {
        return DefinitionError::new(URL, Notice::definition_address_of_server(&place));
    }
    let problem = Notice::definition_address_on_this_machine(&place);
    DefinitionError { consent: Some(place), ..DefinitionError::new(URL, problem) }
}

#[cfg(test)]
mod tests;
