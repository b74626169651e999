//! The tools of one run.

use std::sync::Arc;

use helve_types::{Failure, FailureKind, Notice, Stage, ToolSpec};

use crate::repair::{find_by_loose_name, looks_alike};
use crate::{Registered, RunSkills};

/// What a run may use; nothing else exists for it.
#[derive(Default)]
pub struct Toolbox {
    tools: Vec<Arc<Registered>>,
    skills: RunSkills,
    /// For direct calls: names are exact, and a tool that the operator has not agreed to is not called.
    fresh: bool,
}

impl Toolbox {
    /// The first of two tools with one name, or with names that look alike, wins: the server's before the client's.
    pub fn new(tools: impl IntoIterator<Item = Arc<Registered>>) -> Self {
        let mut box_ = Self::default();
        for tool in tools {
            let is_taken = |held: &Arc<Registered>| {
                held.spec.name == tool.spec.name
                    || (tool.spec.client && looks_alike(&held.spec.name, &tool.spec.name))
            };
            if !box_.tools.iter().any(is_taken) {
                box_.tools.push(tool);
            }
        }
        box_
    }

    /// For direct calls: names are exact, and a tool in quarantine is not called.
    #[must_use]
    pub fn with_exact_names(self) -> Self {
        Self { fresh: true, ..self }
    }

    /// With what its tools for skills read.
    #[must_use]
    pub fn with_skills(self, skills: RunSkills) -> Self {
        Self { skills, ..self }
    }

    /// The skills that the run may load.
    pub fn skills(&self) -> &RunSkills {
        &self.skills
    }

    pub fn specs(&self) -> impl ExactSizeIterator<Item = &Arc<ToolSpec>> + Clone {
        self.tools.iter().map(|tool| &tool.spec)
    }

    pub fn tools(&self) -> &[Arc<Registered>] {
        &self.tools
    }

    pub fn find(&self, name: &str) -> Option<&Arc<Registered>> {
        self.tools.iter().find(|tool| tool.spec.name == name)
    }

    /// Whether a model that calls this name means a subagent.
    pub fn is_subagent(&self, name: &str) -> bool {
        let called = self.resolve(name).ok().and_then(|(tool, _)| tool.tool.as_ref());
        called.is_some_and(|tool| tool.is_subagent())
    }

    /// The tool that the model means, and what was repaired to find it.
    pub(crate) fn resolve(&self, name: &str) -> Result<(&Arc<Registered>, Stage), Failure> {
        let names = self.tools.iter().map(|tool| tool.spec.name.as_str());
        let found = match self.find(name) {
            Some(tool) => Some((tool, None)),
            // A program that misspells a name has a fault; only a model's name is repaired.
            None if self.fresh => None,
            None => find_by_loose_name(name, names.clone())
                .and_then(|meant| self.find(meant))
                .map(|tool| (tool, Some(name.to_owned()))),
        };
        let Some((tool, repaired_from)) = found else {
            let known: Vec<_> = names.map(|name| format!("`{name}`")).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            return Err(Failure::new(
                FailureKind::UnknownTool,
                match name.trim() {
                    "" => format!("the call names no tool; call again with one of these: {known}"),
                    _ => format!("there is no tool `{name}`; the tools are: {known}"),
                },
            )
            .with_notice(match name.trim() {
                "" => Notice::call_without_tool(),
                name => Notice::no_such_tool(name),
            }));
        };
        if !tool.is_enabled() {
            return Err(Failure::new(
                FailureKind::Denied,
                format!("the tool `{}` is switched off; go on without it", tool.spec.name),
            )
            .with_notice(Notice::tool_switched_off(&tool.spec.name)));
        }
        if self.fresh && !tool.is_agreed() {
            let name = &tool.spec.name;
            let told = format!(
                "the tool `{name}` has changed where it comes from, and the change is not agreed to; go on without it. Operator: `helve tools agree {name}`"
            );
            return Err(Failure::new(FailureKind::Denied, told).with_notice(Notice::tool_not_agreed(name)));
        }
        Ok((tool, Stage::Resolve { tool: tool.spec.name.clone(), repaired_from }))
    }
}
