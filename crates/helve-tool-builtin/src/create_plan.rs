//! `create_plan`: makes a plan of the user's own. The same call makes one plan, however often it is sent.

use std::sync::Arc;

use helve_tool::{
    CallContext, Guards, PlanBody, PlanStatus, PlanStep, Request, Tool, ToolError, ToolFuture, schema_of,
};
use helve_types::{Effect, Example, OnUnknown, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::plans::{self, TAG};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// What the plan is for, in a few words.
    #[schemars(length(min = 1, max = 200))]
    title: String,
    /// Anything that is no step: a goal, a budget, dates.
    #[schemars(length(max = 8000))]
    content: Option<String>,
    /// What is to be done, in order, one step each.
    #[schemars(length(max = 100))]
    steps: Option<Vec<String>>,
}

struct CreatePlan {
    spec: ToolSpec,
}

pub(crate) fn tool() -> (Arc<dyn Tool>, Guards) {
    (Arc::new(CreatePlan { spec: spec() }), plans::write_guards())
}

impl Tool for CreatePlan {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, request: Request<'a>, cx: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(async move {
            let body = body(request.parse()?).map_err(ToolError::Declined)?;
            let body = PlanBody { taint: Some((*cx.taint).clone()), ..body };
            let made = cx.user_store().create_plan(cx.call.clone(), body, cx.world.now()).await;
            Ok(plans::build_output(&self.spec, &made.map_err(|error| plans::store_error(error, 0))?))
        })
    }
}

fn body(arguments: Arguments) -> Result<PlanBody, String> {
    let Arguments { title, content, steps } = arguments;
    let steps = steps.unwrap_or_default().into_iter().map(|text| PlanStep { text, done: false });
    plans::check_plan(PlanBody {
        title,
        content: content.unwrap_or_default(),
        steps: steps.collect(),
        status: PlanStatus::Active,
        taint: None,
    })
}

fn spec() -> ToolSpec {
    ToolSpec {
        title: Some("Make a plan".into()),
        tags: vec![TAG.into()],
        examples: examples(),
        on_unknown: OnUnknown::TellModel,
        ..ToolSpec::new(
            "create_plan",
            include_str!("create_plan.md").trim(),
            schema_of::<Arguments>(),
            Effect::Idempotent,
        )
    }
}

fn examples() -> Vec<Example> {
    vec![
        Example {
            question: "Make me a plan for moving to the new flat: boxes, internet, change of address.".into(),
            arguments: json!({
                "title": "Move to the new flat",
                "steps": ["Get boxes", "Order the internet line", "Tell everybody the new address"]
            }),
            result: "Plan 1 (version 1, active): Move to the new flat\n1. [ ] Get boxes\n\
                     2. [ ] Order the internet line\n3. [ ] Tell everybody the new address"
                .into(),
            answer: "I have made **plan 1, Move to the new flat**, with three steps.".into(),
        },
        Example {
            question: "帮我建一个周末大扫除的计划：先擦窗户，再拖地。".into(),
            arguments: json!({"title": "周末大扫除", "steps": ["擦窗户", "拖地"]}),
            result: "Plan 1 (version 1, active): 周末大扫除\n1. [ ] 擦窗户\n2. [ ] 拖地".into(),
            answer: "已建好**计划 1：周末大扫除**，共两步：擦窗户、拖地。".into(),
        },
    ]
}
