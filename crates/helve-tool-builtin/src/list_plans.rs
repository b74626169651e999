//! `list_plans`: the user's own plans, those changed last first.

use std::sync::Arc;

use helve_tool::{CallContext, Guards, PLANS_MAX, Page, PlanRecord, Request, Tool, ToolFuture, schema_of};
use helve_types::{Effect, Example, Notice, OnUnknown, ToolOutput, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::plans::{self, Status, TAG};

const LISTED_MAX: usize = 50;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Only plans that are `active`, `done` or `dropped`; all if left out.
    status: Option<Status>,
}

struct ListPlans {
    spec: ToolSpec,
}

pub(crate) fn tool() -> (Arc<dyn Tool>, Guards) {
    (Arc::new(ListPlans { spec: spec() }), plans::read_guards())
}

impl Tool for ListPlans {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, request: Request<'a>, cx: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(async move {
            let Arguments { status } = request.parse()?;
            let all = cx.user_store().plans(Page::first(PLANS_MAX as usize)).await;
            let mut all = all.map_err(|error| plans::store_error(error, 0))?;
            if let Some(status) = status {
                all.retain(|plan| plan.body.status == status.into());
            }
            Ok(ToolOutput { labels: Some(plans::plan_labels(&self.spec, &all)), ..render_list(&all) })
        })
    }
}

fn render_list(all: &[PlanRecord]) -> ToolOutput {
    let shown = &all[..all.len().min(LISTED_MAX)];
    let mut lines: Vec<String> = shown.iter().map(plans::headline).collect();
    if all.is_empty() {
        lines.push("There are no such plans. create_plan makes one.".into());
    } else if shown.len() < all.len() {
        lines.push(format!("[the {} that were changed last, of {}]", shown.len(), all.len()));
    }
    let data: Vec<Value> = shown.iter().map(plans::plan_data).collect();
    let count = all.len();
    let title = format!("{count} plan{}", if count == 1 { "" } else { "s" });
    ToolOutput::text(lines.join("\n"))
        .with_headline(title, Notice::plans_listed(count as u64))
        .with_data(json!({"plans": data, "count": count}))
}

fn spec() -> ToolSpec {
    ToolSpec {
        title: Some("List plans".into()),
        tags: vec![TAG.into()],
        examples: examples(),
        on_unknown: OnUnknown::TellModel,
        ..ToolSpec::new(
            "list_plans",
            include_str!("list_plans.md").trim(),
            schema_of::<Arguments>(),
            Effect::Read,
        )
    }
}

fn examples() -> Vec<Example> {
    vec![
        Example {
            question: "Which plans do I have?".into(),
            arguments: json!({}),
            result: "Plan 2 (active, 0/2): 周末大扫除\nPlan 1 (active, 1/3): Move to the new flat".into(),
            answer:
                "You have two plans: **2, 周末大扫除** and **1, Move to the new flat** (1 of 3 steps done)."
                    .into(),
        },
        Example {
            question: "我还有哪些没做完的计划？".into(),
            arguments: json!({"status": "active"}),
            result: "Plan 2 (active, 0/2): 周末大扫除".into(),
            answer: "还有一个：**计划 2，周末大扫除**，两步都还没做。".into(),
        },
    ]
}
