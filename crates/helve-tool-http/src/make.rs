//! From a definition to a tool, or to the field that is wrong.
//!
//! Everything that can be known before the first call is checked here, so that the author of a row learns of it
//! and not the model that calls it.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use helve_egress::header::{ACCEPT, HeaderName};
use helve_egress::{Credential, Egress, EgressError, Host, Secret, Url, place_of, why_header_is_refused};
use helve_tool::{
    BreakerSettings, BuiltTool, DefinitionError, Guards, Registered, RegistryError, ToolGrants,
};
use helve_types::{
    Auth, CacheSharing, CallerField, Effect, Endpoint, Flow, KeyPlace, Method, Notice, ToolDefinition,
    ToolKind, ToolSpec,
};

use crate::HttpTools;
use crate::call::{HttpTool, StatusPolicy};
use crate::caller::CallerIdentity;
use crate::granted::{build_granted_egress, find_secret_need, refused_address_error};
use crate::template::{Template, header_name};
use crate::transform::Transform;

const REDIRECTS_MAX: u8 = 3;

pub(crate) fn build_tool(
    tools: &HttpTools,
    definition: &ToolDefinition,
    grants: &Arc<ToolGrants>,
) -> Result<BuiltTool, DefinitionError> {
    let guards = default_guards().with_definition(definition, definition.effect())?;
    let tool = build_http_tool(tools, definition, grants, guards.timeout)?;
    Ok((Arc::new(tool), guards))
}

/// What a tool over the network has where its definition says nothing.
fn default_guards() -> Guards {
    Guards {
        timeout: Duration::from_secs(30),
        breaker: Some(BreakerSettings::default()),
        ..Guards::default()
    }
}

fn field_error<T>(field: &str, problem: Notice) -> Result<T, DefinitionError> {
    Err(DefinitionError::new(field, problem))
}

fn build_http_tool(
    tools: &HttpTools,
    definition: &ToolDefinition,
    grants: &Arc<ToolGrants>,
    timeout: Duration,
) -> Result<HttpTool, DefinitionError> {
    let endpoint = &definition.endpoint;
    let spec = ToolSpec {
        title: definition.display_name.clone(),
        tags: definition.tags.clone(),
        examples: definition.examples.clone(),
        on_unknown: definition.on_unknown.unwrap_or_default(),
        check_tool: definition.check_tool.clone(),
        ..ToolSpec::new(
            &definition.name,
            &definition.description,
            definition.parameters.clone(),
            definition.effect(),
        )
    };
    check_spec(&spec)?;
    check_effect(definition)?;
    let template = Template::parse(endpoint, &definition.parameters, key_in_query(&endpoint.auth))?;
    let need = find_secret_need(tools, definition, grants);
    let egress = build_granted_egress(tools, definition, grants, need.is_none())?;
    check_address(tools, &egress, template.base())?;
    let spec =
        ToolSpec { flow: flow_of_endpoint(endpoint, template.base()), labels: definition.labels, ..spec };
    if endpoint.redirects > REDIRECTS_MAX {
        return field_error(
            "endpoint.redirects",
            Notice::definition_redirects_too_many(REDIRECTS_MAX.into()),
        );
    }
    check_cache(definition)?;
    let streams = definition.kind == ToolKind::Streamable;
    if streams && endpoint.method == Method::Head {
        return field_error("type", Notice::definition_head_streams_nothing());
    }
    Ok(HttpTool {
        credential: build_credential(&egress, &endpoint.auth, need.is_some(), &template)?,
        caller: CallerIdentity::new(definition, template.base(), &egress)?,
        need: need.map(|need| need.refusal),
        grants: grants.clone(),
        idempotency: idempotency_header(endpoint, spec.effect, &template)?,
        transform: definition.response_transform.as_ref().map(Transform::compile).transpose()?,
        method: to_egress_method(endpoint.method),
        redirects: endpoint.redirects,
        timeout,
        streams,
        wants_json: accepts_json(endpoint),
        terms: StatusPolicy {
            busy_is_not_done: endpoint.busy_is_not_done,
            failure_statuses: definition
                .breaker
                .iter()
                .flat_map(|terms| terms.failure_statuses.clone())
                .collect(),
            writes: spec.effect != Effect::Read,
        },
        egress,
        template,
        spec,
    })
}

/// What a key opens or only this network reaches is private; an answer may quote strangers; and what is
/// sent has left.
fn flow_of_endpoint(endpoint: &Endpoint, base: &Url) -> Flow {
    Flow {
        private: endpoint.auth != Auth::None || is_local_host(base),
        untrusted: true,
        outward: true,
        // Where redirects lead is unknown beforehand.
        place: place_of(base).filter(|_| endpoint.redirects == 0),
    }
}

/// Whether a host has a name or an address that means something only inside a network.
fn is_local_host(base: &Url) -> bool {
    match base.host() {
        Some(Host::Ipv4(ip)) => ip.is_private() || ip.is_loopback() || ip.is_link_local(),
        Some(Host::Ipv6(ip)) => ip.is_unique_local() || ip.is_loopback() || ip.is_unicast_link_local(),
        Some(Host::Domain(name)) => {
            let name = name.trim_end_matches('.');
            let ends = [".internal", ".local", ".localhost", ".lan", ".intranet", ".corp", ".home.arpa"];
            !name.contains('.') || ends.iter().any(|end| name.ends_with(end))
        }
        None => false,
    }
}

/// The registry's own judgement of name, description and parameters.
fn check_spec(spec: &ToolSpec) -> Result<(), DefinitionError> {
    match Registered::for_client(spec.clone()) {
        Ok(_) => Ok(()),
        Err(RegistryError::Wrong { field, problem, .. }) => field_error(field, *problem),
        Err(other) => field_error("name", Notice::definition_other(&other.to_string())),
    }
}

/// Whether the effect class can be true of the method.
fn check_effect(definition: &ToolDefinition) -> Result<(), DefinitionError> {
    let endpoint = &definition.endpoint;
    let keyed = endpoint.idempotency_header.as_ref().is_some_and(|name| !name.is_empty());
    match (definition.effect(), endpoint.method) {
        (Effect::Read, Method::Put | Method::Patch | Method::Delete) => {
            field_error("effect", Notice::definition_method_changes())
        }
        (Effect::Idempotent, Method::Post | Method::Patch) if !keyed => {
            field_error("effect", Notice::definition_method_not_repeatable())
        }
        (Effect::Read, _) if keyed => {
            field_error("endpoint.idempotency_header", Notice::definition_read_needs_no_key())
        }
        _ => Ok(()),
    }
}

/// An answer that may depend on the user is no other user's.
fn check_cache(definition: &ToolDefinition) -> Result<(), DefinitionError> {
    let tells_user =
        definition.endpoint.caller.as_ref().is_some_and(|terms| terms.send.contains(&CallerField::User));
    let is_shared = definition
        .cache
        .is_some_and(|terms| matches!(terms.scope, CacheSharing::Params | CacheSharing::Agent));
    if tells_user && is_shared {
        return field_error("cache.scope", Notice::definition_cache_tells_user());
    }
    Ok(())
}

fn check_address(tools: &HttpTools, egress: &Egress, base: &Url) -> Result<(), DefinitionError> {
    egress.check(base).map_err(|error: EgressError| refused_address_error(tools, base, &error.to_string()))
}

fn build_credential(
    egress: &Egress,
    auth: &Auth,
    is_unbound: bool,
    template: &Template,
) -> Result<Option<Credential>, DefinitionError> {
    let (credential, name) = match auth.clone() {
        Auth::None => return Ok(None),
        Auth::Bearer { secret, .. } => (Credential::Bearer { secret: secret.clone() }, secret),
        Auth::Basic { username, secret, .. } => {
            if username.contains(|c: char| c == ':' || c.is_control()) {
                return field_error("endpoint.auth.username", Notice::definition_username_unfit());
            }
            (Credential::Basic { username, secret: secret.clone() }, secret)
        }
        Auth::ApiKey { secret, name, place: KeyPlace::Header, .. } => {
            let header = HeaderName::try_from(&name).ok().filter(|_| why_header_is_refused(&name).is_none());
            let Some(header) = header else {
                return field_error("endpoint.auth.name", Notice::definition_key_header_unfit(&name));
            };
            if template.has_header(&header) {
                return field_error("endpoint.auth.name", Notice::definition_header_twice());
            }
            (Credential::Header { name, secret: secret.clone() }, secret)
        }
        Auth::ApiKey { secret, name, place: KeyPlace::Query, .. } => {
            if name.is_empty() || name.chars().any(char::is_control) {
                return field_error("endpoint.auth.name", Notice::definition_key_query_missing());
            }
            (Credential::Query { name, secret: secret.clone() }, secret)
        }
    };
    if is_unbound {
        return Ok(None);
    }
    find_secret(egress, &name, template.base(), "endpoint.auth.secret")?;
    Ok(Some(credential))
}

/// The secret of this name, if there is one and the host may have it.
pub(crate) fn find_secret<'a>(
    egress: &'a Egress,
    name: &str,
    base: &Url,
    field: &str,
) -> Result<&'a Secret, DefinitionError> {
    let Some(secret) = egress.secrets().get(name) else {
        let known: Vec<&str> = egress.secrets().names().collect();
        return field_error(
            field,
            match known.is_empty() {
                true => Notice::definition_secret_unknown_of_none(name),
                false => Notice::definition_secret_unknown(name, &known.join(", ")),
            },
        );
    };
    let target = base.host().zip(base.port_or_known_default());
    let allowed = target.is_some_and(|(host, port)| secret.is_for(&host, port));
    if !allowed {
        let host = base.host_str().unwrap_or_default();
        return field_error(field, Notice::definition_secret_elsewhere(name, host));
    }
    Ok(secret)
}

pub(crate) fn key_in_query(auth: &Auth) -> Option<&str> {
    match auth {
        Auth::ApiKey { name, place: KeyPlace::Query, .. } => Some(name),
        _ => None,
    }
}

/// The header that the call's id goes into: the one that is named, or the usual one where something is changed. Whoever
/// knows it does what is sent twice only once; to everybody else it means nothing.
fn idempotency_header(
    endpoint: &Endpoint,
    effect: Effect,
    template: &Template,
) -> Result<Option<HeaderName>, DefinitionError> {
    let Some(named) = &endpoint.idempotency_header else {
        let usual = HeaderName::from_static("idempotency-key");
        return Ok((effect != Effect::Read && !template.has_header(&usual)).then_some(usual));
    };
    if named.is_empty() {
        return Ok(None);
    }
    let field = "endpoint.idempotency_header";
    let name = header_name(named).map_err(|problem| DefinitionError::new(field, problem))?;
    if template.has_header(&name) {
        return field_error(field, Notice::definition_header_twice());
    }
    Ok(Some(name))
}

/// Whether the row itself asks for JSON and nothing else.
fn accepts_json(endpoint: &Endpoint) -> bool {
    let accept = endpoint.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(ACCEPT.as_str()));
    accept
        .is_some_and(|(_, value)| value.contains("json") && !value.contains("html") && !value.contains("*/*"))
}

fn to_egress_method(method: Method) -> helve_egress::Method {
    match method {
        Method::Get => helve_egress::Method::GET,
        Method::Head => helve_egress::Method::HEAD,
        Method::Post => helve_egress::Method::POST,
        Method::Put => helve_egress::Method::PUT,
        Method::Patch => helve_egress::Method::PATCH,
        Method::Delete => helve_egress::Method::DELETE,
    }
}
