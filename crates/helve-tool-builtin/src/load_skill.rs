//! `load_skill`: gives the model the instructions of a skill that its run has.
//!
//! The text is what the run was started with. What the model reads of a skill that nobody has agreed to is labelled
//! untrusted. Nothing of a skill is run.

use std::sync::Arc;
use std::time::Duration;

use helve_tool::{
    CallContext, Guards, LOAD_SKILL, READ_SKILL_FILE, Request, RunSkills, Skill, Tool, ToolError, ToolFuture,
    schema_of,
};
use helve_types::{Effect, Example, Labels, Notice, OnUnknown, ToolOutput, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

const SKILL_FILE: &str = "SKILL.md";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The name of the skill, as the list of skills has it.
    #[schemars(length(min = 1, max = 64))]
    name: String,
}

struct LoadSkill {
    spec: ToolSpec,
}

pub(crate) fn tool() -> (Arc<dyn Tool>, Guards) {
    (Arc::new(LoadSkill { spec: spec() }), guards())
}

impl Tool for LoadSkill {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, request: Request<'a>, cx: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(async move {
            let arguments: Arguments = request.parse()?;
            Ok(write_instructions(find_skill(cx.toolbox.skills(), &arguments.name)?))
        })
    }
}

/// The skill of the run that the model means.
pub(crate) fn find_skill<'a>(skills: &'a RunSkills, name: &str) -> Result<&'a Arc<Skill>, ToolError> {
    skills.find(name).ok_or_else(|| {
        let known: Vec<_> = skills.iter().map(|skill| format!("`{}`", skill.definition.name)).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        let text = match skills.is_lost(name) {
            true => format!("the skill `{name}` cannot be read any more; go on without it"),
            false => format!("there is no skill `{name}`; the skills are: {known}"),
        };
        ToolError::Declined(text).with_notice(Notice::no_such_skill(name))
    })
}

/// What is written on what a model reads of a skill.
pub(crate) fn labels_of_skill(skill: &Skill, tool: &str) -> Labels {
    Labels { source: tool.to_owned(), untrusted: !skill.definition.trusted, ..Labels::default() }
}

fn write_instructions(skill: &Skill) -> ToolOutput {
    let definition = &skill.definition;
    let mut text = definition.instructions.clone();
    let others: Vec<_> = definition.files.iter().filter(|file| file.path != SKILL_FILE).collect();
    if !others.is_empty() {
        text.push_str(&format!("\n\n[files of this skill, read with {READ_SKILL_FILE}:"));
        for file in &others {
            let kind = if file.text { "" } else { ", no text" };
            text.push_str(&format!("\n- {} ({} bytes{kind})", file.path, file.bytes));
        }
        text.push(']');
    }
    let headline = Notice::skill_loaded(&definition.name);
    let data = json!({"skill": definition.name, "version": skill.version});
    let output = ToolOutput::text(text).with_headline(definition.name.clone(), headline).with_data(data);
    ToolOutput { labels: Some(labels_of_skill(skill, LOAD_SKILL)), ..output }
}

fn spec() -> ToolSpec {
    ToolSpec {
        title: Some("Load a skill".into()),
        tags: vec!["skill".into()],
        examples: examples(),
        on_unknown: OnUnknown::TellModel,
        ..ToolSpec::new(
            LOAD_SKILL,
            include_str!("load_skill.md").trim(),
            schema_of::<Arguments>(),
            Effect::Read,
        )
    }
}

fn examples() -> Vec<Example> {
    vec![
        Example {
            question: "Write the minutes of this meeting: …".into(),
            arguments: json!({"name": "meeting-minutes"}),
            result: "# Minutes\nBegin with the decisions, then who does what by when.".into(),
            answer: "**Decisions**: the launch moves to May. **To do**: Mei tells the customers by Friday."
                .into(),
        },
        Example {
            question: "帮我看看这张报销单合不合规：打车 58 元，没有发票。".into(),
            arguments: json!({"name": "报销审核"}),
            result: "# 报销审核\n超过 50 元的支出必须有发票。".into(),
            answer: "这张单子不合规：58 元超过了 50 元，按规定**必须有发票**。".into(),
        },
    ]
}

/// It reads what the run has at hand and touches nothing.
fn guards() -> Guards {
    Guards { timeout: Duration::from_secs(10), attempts: 1, ..Guards::default() }
}

#[cfg(test)]
mod tests {
    use helve_store::MemoryStore;
    use helve_tool::Toolbox;

    use super::*;
    use crate::testing;

    #[tokio::test]
    async fn instructions_are_given_with_the_list_of_files_and_a_label() {
        let store = Arc::new(MemoryStore::new());
        for (trusted, name) in [(true, "forms"), (false, "Forms")] {
            let skill = testing::skill(&store, trusted).await;
            let toolbox = Toolbox::default().with_skills(RunSkills::new(vec![skill], vec!["gone".into()]));
            let cx = CallContext { toolbox: Arc::new(toolbox), ..testing::context("mei") };
            let call = async |name: &str| {
                let arguments = json!({"name": name});
                LoadSkill { spec: spec() }.call(Request { arguments: &arguments }, &cx).await
            };
            let output = call(name).await.unwrap();
            assert_eq!(
                output.text,
                "Ask first.\n\n[files of this skill, read with read_skill_file:\n- logo.png (5 bytes, no text)\n\
                 - references/多.md (12 bytes)]"
            );
            assert_eq!(output.labels.unwrap().untrusted, !trusted);
            let missing = call("tables").await.unwrap_err().to_string();
            assert_eq!(missing, "there is no skill `tables`; the skills are: `forms`");
            assert!(call("gone").await.unwrap_err().to_string().contains("cannot be read any more"));
        }
    }
}
