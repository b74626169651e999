//! The models: what each is, whether it can be used, how it is asked and what it costs.

use std::borrow::Cow;

use axum::extract::State;
use helve_runtime::{Model, Models, Price, PriceSource, Runtime};
use helve_types::{Mode, ModelProfile, Notice, Reason, UserId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::{Principal, Right};
use crate::app::{App, ModelProblems};
use crate::routes::{Operation, Routes};

pub(crate) fn routes(routes: Routes) -> Routes {
    routes.add_route(
        Operation::get("/api/models", Right::Chat, "List models").gives::<ModelList>(),
        list_models,
    )
}

/// All models, with what costs are counted in.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ModelList {
    pub models: Vec<ModelView>,
    /// The model that is asked where a request names none.
    pub default: String,
    /// The currency of prices and costs; `cost_nanos` are billionths of its unit.
    pub currency: String,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ModelView {
    pub name: String,
    /// Whether it is asked where a request names none.
    pub default: bool,
    /// A row of the vendor table; none where only a protocol was named, and for `demo`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vendor: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// What its vendor calls it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Where its server is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    pub ready: bool,
    /// What is wrong, and what to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// The same for people, as a code with its parameters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notice: Option<Notice>,
    /// How it calls tools now.
    pub mode: Mode,
    /// The dialect of the last call that it wrote into its text, if it ever did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dialect: Option<Cow<'static, str>>,
    /// What it was found to do when it was asked; none if it never was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<ModelProfile>,
    /// Whether it is asked as small models want to be asked.
    pub small: bool,
    /// None where it is not configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<PriceView>,
    /// Named sets of parameters that a request can choose from.
    pub variants: Vec<String>,
    /// Who answers in its place when it cannot, in this order.
    pub fallbacks: Vec<String>,
}

/// For a million tokens, in the currency of the list.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct PriceView {
    pub input: f64,
    /// For input that the vendor had in its cache.
    pub cached: f64,
    /// For input that the vendor put into its cache.
    pub cache_write: f64,
    pub output: f64,
    /// `configured` by the operator, or `shipped` with Helve.
    pub source: Cow<'static, str>,
    /// The day on which a shipped price was known to hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub as_of: Option<String>,
}

pub(crate) async fn list_models(State(app): State<App>, principal: Principal) -> axum::Json<ModelList> {
    axum::Json(model_list(&app.runtime, &*app.model_problems, &principal.user))
}

/// The models of a runtime, as everybody may know them, with the default of a user.
pub fn model_list(runtime: &Runtime, problem_of: &ModelProblems, user: &UserId) -> ModelList {
    let models = runtime.models();
    let default = models.default_for_user(user);
    let view = |model: &std::sync::Arc<dyn Model>| {
        let mode = models.tool_mode(&**model, runtime.default_profile());
        ModelView {
            default: default == model.name(),
            ..model_view(models, &**model, mode, problem_of(model.name()))
        }
    };
    ModelList {
        models: models.list().iter().map(view).collect(),
        default: default.clone(),
        currency: models.currency().to_owned(),
    }
}

fn model_view(models: &Models, model: &dyn Model, mode: Mode, problem: Option<Reason>) -> ModelView {
    let name = model.name();
    let options = models.options(name).map(|options| (*options).clone()).unwrap_or_default();
    let origin = options.origin.as_ref();
    ModelView {
        name: name.to_owned(),
        default: false,
        vendor: origin.and_then(|origin| origin.vendor.clone()),
        protocol: origin.map(|origin| origin.protocol.clone()),
        model: origin.map(|origin| origin.model.clone()),
        host: origin.map(|origin| origin.host.clone()),
        ready: problem.is_none(),
        notice: problem.as_ref().map(|problem| problem.notice.clone()),
        problem: problem.map(|problem| problem.text),
        mode,
        dialect: models.dialect(name).map(Cow::Borrowed),
        profile: models.profile(name).map(|profile| (*profile).clone()),
        small: options.small,
        price: options.price.as_ref().map(PriceView::from_price),
        variants: options.variants.into_keys().collect(),
        fallbacks: options.fallbacks,
    }
}

impl PriceView {
    fn from_price(price: &Price) -> Self {
        let (source, as_of) = match &price.from {
            PriceSource::Configured => ("configured", None),
            PriceSource::Shipped { as_of } => ("shipped", Some(as_of.clone())),
        };
        Self {
            input: price.input.as_units(),
            cached: price.cached.as_units(),
            cache_write: price.cache_write.as_units(),
            output: price.output.as_units(),
            source: Cow::Borrowed(source),
            as_of,
        }
    }
}
