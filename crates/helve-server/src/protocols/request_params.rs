//! Settings that a request may make for its run: sampling and length, an additional system prompt, tools switched off.
//!
//! Fields that go to the vendor unchanged (`extra`) are set by the operator only, in the model's parameters or a variant.

use std::collections::{BTreeMap, BTreeSet};

use helve_tool::Registry;
use helve_types::ModelParams;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::problem::Problem;

const TOP_K_MAX: u32 = 1_000;
const MAX_TOKENS_MAX: u32 = 1_000_000;
const RETRIES_MAX: u32 = 10;
const STOPS_MAX: usize = 16;
const STOP_BYTES_MAX: usize = 200;
const SYSTEM_BYTES_MAX: usize = 64 << 10;
const SWITCHES_MAX: usize = 256;

#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct RequestParams {
    /// 0 to 2.
    temperature: Option<f64>,
    /// 0 to 1.
    #[serde(alias = "topP")]
    #[schemars(extend("x-aliases" = ["topP"]))]
    top_p: Option<f64>,
    /// 1 to 1,000; sent to vendors that know it.
    #[serde(alias = "topK")]
    #[schemars(extend("x-aliases" = ["topK"]))]
    top_k: Option<u32>,
    /// 1 to 1,000,000.
    #[serde(alias = "maxOutputTokens", alias = "max_output_tokens")]
    #[schemars(extend("x-aliases" = ["maxOutputTokens", "max_output_tokens"]))]
    max_tokens: Option<u32>,
    seed: Option<i64>,
    /// At most 16, of at most 200 bytes each.
    #[serde(default)]
    stop: Vec<String>,
    /// How often a failed request to the same model is retried: 0 to 10, 2 if not set.
    #[serde(alias = "maxRetries")]
    #[schemars(extend("x-aliases" = ["maxRetries"]))]
    retries: Option<u32>,
}

impl RequestParams {
    /// The parameters, or an error that names the first one outside its bounds.
    pub(crate) fn into_model_params(self) -> Result<ModelParams, Problem> {
        let Self { temperature, top_p, top_k, max_tokens, seed, stop, retries } = self;
        let within = |given: bool, field: &str, bounds: &str| match given {
            true => Ok(()),
            false => Err(bad_params_problem(field, bounds)),
        };
        within(temperature.is_none_or(|given| (0.0..=2.0).contains(&given)), "temperature", "0 to 2")?;
        within(top_p.is_none_or(|given| (0.0..=1.0).contains(&given)), "top_p", "0 to 1")?;
        within(top_k.is_none_or(|given| (1..=TOP_K_MAX).contains(&given)), "top_k", "1 to 1,000")?;
        within(
            max_tokens.is_none_or(|given| (1..=MAX_TOKENS_MAX).contains(&given)),
            "max_tokens",
            "1 to 1,000,000",
        )?;
        within(retries.is_none_or(|given| given <= RETRIES_MAX), "retries", "0 to 10")?;
        let stops = stop.len() <= STOPS_MAX && stop.iter().all(|stop| stop.len() <= STOP_BYTES_MAX);
        within(stops, "stop", "at most 16 texts of at most 200 bytes")?;
        Ok(ModelParams {
            temperature,
            top_p,
            top_k,
            max_tokens,
            seed,
            stop,
            retries,
            ..ModelParams::default()
        })
    }
}

fn bad_params_problem(field: &str, bounds: &str) -> Problem {
    let detail = format!("`{field}` must be {bounds}");
    Problem::bad_request("bad_params", detail).with_field("field", field)
}

/// The system prompt of a request, if it is not too long.
pub(crate) fn check_system_prompt(given: Option<String>) -> Result<Option<String>, Problem> {
    match given {
        Some(text) if text.len() > SYSTEM_BYTES_MAX => {
            Err(bad_params_problem("system", "at most 65,536 bytes"))
        }
        given => Ok(given.filter(|text| !text.trim().is_empty())),
    }
}

/// Tools by name, switched on or off for the run; the others stay as the agent has them.
pub(crate) type ToolSwitches = BTreeMap<String, bool>;

/// The tools that are switched off, and the names that no tool of this server has.
pub(crate) fn list_disabled_tools(
    switches: ToolSwitches,
    registry: &Registry,
) -> Result<(BTreeSet<String>, Vec<String>), Problem> {
    if switches.len() > SWITCHES_MAX {
        return Err(bad_params_problem("tools", "at most 256 names"));
    }
    let unknown = switches.keys().filter(|name| registry.get(name).is_none()).cloned().collect();
    Ok((switches.into_iter().filter(|(_, on)| !on).map(|(name, _)| name).collect(), unknown))
}
