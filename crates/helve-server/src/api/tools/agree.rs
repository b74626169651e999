//! What tools from outside have become: a person agrees to it, or rejects it.

use axum::extract::State;
use axum::response::Response;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::tool_response;
use crate::access::{Principal, Right};
use crate::app::App;
use crate::input::{Json, Path};
use crate::problem::Problem;
use crate::routes::{Operation, Routes};

use super::view::ToolView;

pub(super) fn routes(routes: Routes) -> Routes {
    routes
        .add_route(
            Operation::post(
                "/api/tools/{tool}/agree",
                Right::Admin,
                "Agree to what a tool in quarantine has become",
            )
            .with_example(json!({"hash": "ae9d3a79591f6bffb3428d38ea36f6e1"}))
            .gives::<ToolView>(),
            agree_to_offer,
        )
        .add_route(
            Operation::post(
                "/api/tools/{tool}/reject",
                Right::Admin,
                "Leave a tool in quarantine what it was, and use it as that",
            )
            .gives::<ToolView>(),
            reject_offer,
        )
}

/// What is agreed to.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AgreeBody {
    /// The `hash` of the offer that was looked at; if another one is there by now, nothing happens (409).
    #[serde(default)]
    hash: Option<String>,
}

async fn agree_to_offer(
    State(app): State<App>,
    principal: Principal,
    Path(name): Path<String>,
    body: Json<AgreeBody>,
) -> Result<Response, Problem> {
    let hash = body.value.hash.as_deref();
    let catalogue = app.runtime.catalogue();
    Ok(tool_response(&catalogue.accept_offer(&catalogue.resolve_name(&name), hash, &principal.user.0).await?))
}

async fn reject_offer(
    State(app): State<App>,
    principal: Principal,
    Path(name): Path<String>,
) -> Result<Response, Problem> {
    let catalogue = app.runtime.catalogue();
    Ok(tool_response(&catalogue.reject_offer(&catalogue.resolve_name(&name), &principal.user.0).await?))
}
