//! The parameters that a request may ask for: how an answer is drawn and how long it is.
//!
//! What goes to the vendor as it stands (`extra`) is the operator's to say, in the model's parameters or a variant.

use helve_types::ModelParams;
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct AskedParams {
    temperature: Option<f64>,
    top_p: Option<f64>,
    max_tokens: Option<u32>,
    seed: Option<i64>,
    #[serde(default)]
    stop: Vec<String>,
}

impl From<AskedParams> for ModelParams {
    fn from(asked: AskedParams) -> Self {
        let AskedParams { temperature, top_p, max_tokens, seed, stop } = asked;
        Self { temperature, top_p, max_tokens, seed, stop, ..Self::default() }
    }
}
