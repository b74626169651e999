//! `get_plan`: shows a plan of the user's own.

use std::sync::Arc;

use helve_tool::{CallContext, Guards, Request, Tool, ToolFuture, schema_of};
use helve_types::{Effect, Example, OnUnknown, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::plans::{self, TAG};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The plan's number.
    // Some models write every number with a point.
    #[schemars(with = "u32", range(min = 1))]
    plan_id: f64,
}

struct GetPlan {
    spec: ToolSpec,
}

pub(crate) fn tool() -> (Arc<dyn Tool>, Guards) {
    (Arc::new(GetPlan { spec: spec() }), plans::read_guards())
}

impl Tool for GetPlan {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, request: Request<'a>, cx: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(async move {
            let Arguments { plan_id } = request.parse()?;
            let number = plan_id as u32;
            let plan =
                cx.user_store().plan(number).await.map_err(|error| plans::store_error(error, number))?;
            Ok(plans::build_output(&self.spec, &plan))
        })
    }
}

fn spec() -> ToolSpec {
    ToolSpec {
        title: Some("Look at a plan".into()),
        tags: vec![TAG.into()],
        examples: examples(),
        on_unknown: OnUnknown::TellModel,
        ..ToolSpec::new(
            "get_plan",
            include_str!("get_plan.md").trim(),
            schema_of::<Arguments>(),
            Effect::Read,
        )
    }
}

fn examples() -> Vec<Example> {
    vec![
        Example {
            question: "What is left to do in plan 1?".into(),
            arguments: json!({"plan_id": 1}),
            result: "Plan 1 (version 2, active): Move to the new flat\n1. [x] Get boxes\n\
                     2. [ ] Order the internet line"
                .into(),
            answer: "One step is left: **order the internet line**.".into(),
        },
        Example {
            question: "看看计划 2。".into(),
            arguments: json!({"plan_id": 2}),
            result: "Plan 2 (version 1, active): 周末大扫除\n1. [ ] 擦窗户\n2. [ ] 拖地".into(),
            answer: "**计划 2：周末大扫除**，还有两步：擦窗户、拖地。".into(),
        },
    ]
}
