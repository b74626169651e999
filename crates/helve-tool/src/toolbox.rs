//! The tools of one run.

use std::sync::Arc;

use helve_types::{Failure, FailureKind, Stage, ToolSpec};

use crate::Registered;
use crate::repair::meant;

/// What a run may use; nothing else exists for it.
#[derive(Default)]
pub struct Toolbox {
    tools: Vec<Arc<Registered>>,
}

impl Toolbox {
    /// The first of two tools with one name wins: the server's before the client's.
    pub fn new(tools: impl IntoIterator<Item = Arc<Registered>>) -> Self {
        let mut box_ = Self::default();
        for tool in tools {
            if box_.named(&tool.spec.name).is_none() {
                box_.tools.push(tool);
            }
        }
        box_
    }

    pub fn specs(&self) -> impl ExactSizeIterator<Item = &Arc<ToolSpec>> + Clone {
        self.tools.iter().map(|tool| &tool.spec)
    }

    pub fn tools(&self) -> &[Arc<Registered>] {
        &self.tools
    }

    pub fn named(&self, name: &str) -> Option<&Arc<Registered>> {
        self.tools.iter().find(|tool| tool.spec.name == name)
    }

    /// The tool that the model means, and what was repaired to find it.
    pub(crate) fn resolve(&self, name: &str) -> Result<(&Arc<Registered>, Stage), Failure> {
        let names = self.tools.iter().map(|tool| tool.spec.name.as_str());
        let found = match self.named(name) {
            Some(tool) => Some((tool, None)),
            None => meant(name, names.clone())
                .and_then(|meant| self.named(meant))
                .map(|tool| (tool, Some(name.to_owned()))),
        };
        let Some((tool, repaired_from)) = found else {
            let known: Vec<_> = names.map(|name| format!("`{name}`")).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            return Err(Failure::new(
                FailureKind::UnknownTool,
                format!("there is no tool `{name}`; the tools are: {known}"),
            ));
        };
        if !tool.is_enabled() {
            return Err(Failure::new(
                FailureKind::Denied,
                format!("the tool `{}` is switched off; go on without it", tool.spec.name),
            ));
        }
        Ok((tool, Stage::Resolve { tool: tool.spec.name.clone(), repaired_from }))
    }
}
