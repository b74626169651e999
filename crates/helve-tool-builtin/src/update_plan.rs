//! `update_plan`: changes a plan of the user's own. The change is made for one version of the plan; if somebody else was
//! faster it is made again over what there is then, unless the model said which version it means.

use std::sync::Arc;

use helve_tool::{
    CallContext, Guards, PlanBody, PlanChange, PlanStep, Request, StoreError, Tool, ToolError, ToolFuture,
    schema_of,
};
use helve_types::{Effect, Example, OnUnknown, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::plans::{self, Status, TAG};

/// How often a change is made over what others have changed meanwhile.
const ROUNDS_MAX: usize = 3;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The plan's number.
    // Some models write every number with a point.
    #[schemars(with = "u32", range(min = 1))]
    plan_id: f64,
    /// The version that the change is for, so that it fails if the plan was changed since you looked.
    #[schemars(with = "Option<u32>", range(min = 1))]
    version: Option<f64>,
    /// A new title.
    #[schemars(length(max = 200))]
    title: Option<String>,
    /// A new text in place of the old one.
    #[schemars(length(max = 8000))]
    content: Option<String>,
    /// `active`, `done`, or `dropped`.
    status: Option<Status>,
    /// All steps, in place of the old ones; steps with the same words stay done.
    #[schemars(length(max = 100))]
    steps: Option<Vec<String>>,
    /// Steps to add at the end.
    #[schemars(length(max = 100))]
    add_steps: Option<Vec<String>>,
    /// The numbers of steps that are done now.
    #[schemars(with = "Option<Vec<u32>>", length(max = 100))]
    done: Option<Vec<f64>>,
    /// The numbers of steps that are not done after all.
    #[schemars(with = "Option<Vec<u32>>", length(max = 100))]
    not_done: Option<Vec<f64>>,
}

struct UpdatePlan {
    spec: ToolSpec,
}

pub(crate) fn tool() -> (Arc<dyn Tool>, Guards) {
    (Arc::new(UpdatePlan { spec: spec() }), plans::write_guards())
}

impl Tool for UpdatePlan {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, request: Request<'a>, cx: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(async move {
            let arguments: Arguments = request.parse()?;
            let number = arguments.plan_id as u32;
            let refused = |error| plans::store_error(error, number);
            let store = cx.user_store();
            let mut rounds = 0;
            loop {
                rounds += 1;
                let plan = store.plan(number).await.map_err(refused)?;
                if plan.changed_by.as_ref() == Some(&cx.call) {
                    return Ok(plans::build_output(&self.spec, &plan));
                }
                let over = arguments.version.map_or(plan.version, |version| version as u32);
                if over != plan.version {
                    return Err(refused(StoreError::Changed(plan.version)));
                }
                let taint = plan.body.taint.clone().map(|taint| taint.union((*cx.taint).clone()));
                let body = apply_change(plan.body, &arguments).map_err(ToolError::Declined)?;
                let body = PlanBody { taint, ..body };
                let change = PlanChange { number, over, body, by: cx.call.clone(), at: cx.world.now() };
                match store.change_plan(change).await {
                    Ok(plan) => return Ok(plans::build_output(&self.spec, &plan)),
                    Err(StoreError::Changed(_)) if arguments.version.is_none() && rounds < ROUNDS_MAX => {}
                    Err(error) => return Err(refused(error)),
                }
            }
        })
    }
}

/// The plan with the change in it. Numbers of steps mean those that the change leaves.
fn apply_change(mut body: PlanBody, arguments: &Arguments) -> Result<PlanBody, String> {
    if let Some(title) = &arguments.title {
        body.title.clone_from(title);
    }
    if let Some(content) = &arguments.content {
        body.content.clone_from(content);
    }
    if let Some(status) = arguments.status {
        body.status = status.into();
    }
    if let Some(steps) = &arguments.steps {
        let was_done = |text: &str| body.steps.iter().any(|step| step.done && step.text == text.trim());
        let step = |text: &String| PlanStep { done: was_done(text), text: text.clone() };
        body.steps = steps.iter().map(step).collect();
    }
    let added = arguments.add_steps.iter().flatten();
    body.steps.extend(added.map(|text| PlanStep { text: text.clone(), done: false }));
    for (numbers, done) in [(&arguments.done, true), (&arguments.not_done, false)] {
        for number in numbers.iter().flatten().map(|number| *number as usize) {
            let count = body.steps.len();
            let step = number.checked_sub(1).and_then(|place| body.steps.get_mut(place));
            let step = step.ok_or_else(|| match count {
                0 => "the plan has no steps; add some with `add_steps`".to_owned(),
                _ => format!("there is no step {number}; the plan has steps 1 to {count}"),
            })?;
            step.done = done;
        }
    }
    plans::check_plan(body)
}

fn spec() -> ToolSpec {
    ToolSpec {
        title: Some("Change a plan".into()),
        tags: vec![TAG.into()],
        examples: examples(),
        on_unknown: OnUnknown::TellModel,
        ..ToolSpec::new(
            "update_plan",
            include_str!("update_plan.md").trim(),
            schema_of::<Arguments>(),
            Effect::Idempotent,
        )
    }
}

fn examples() -> Vec<Example> {
    vec![
        Example {
            question: "I have the boxes now, that is step 1 of plan 1.".into(),
            arguments: json!({"plan_id": 1, "done": [1]}),
            result: "Plan 1 (version 2, active): Move to the new flat\n1. [x] Get boxes\n\
                     2. [ ] Order the internet line\n3. [ ] Tell everybody the new address"
                .into(),
            answer: "Done: **Get boxes** is ticked off. Two steps are left.".into(),
        },
        Example {
            question: "计划 2 再加一步：倒垃圾。".into(),
            arguments: json!({"plan_id": 2, "add_steps": ["倒垃圾"]}),
            result: "Plan 2 (version 2, active): 周末大扫除\n1. [ ] 擦窗户\n2. [ ] 拖地\n3. [ ] 倒垃圾"
                .into(),
            answer: "已在**计划 2** 里加上第 3 步：倒垃圾。".into(),
        },
    ]
}
