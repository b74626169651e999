//! The tools that are rows, as the operator's configuration has them.

use std::collections::BTreeMap;
use std::sync::Arc;

use helve_egress::Egress;
use helve_store::Store;
use helve_tool::{Catalogue, Guards, Registry};
use helve_tool_http::HttpTools;
use helve_types::World;

use crate::config::Config;
use crate::i18n::tr;

/// Rows become tools over HTTP, under the same `[tools]` tables as those that come with Helve.
pub(super) fn catalogue(
    config: &Config,
    egress: &Egress,
    registry: Arc<Registry>,
    store: Arc<dyn Store>,
    world: &World,
) -> Catalogue {
    // The variables of a running server are those that it was started with.
    let variables = |name: &str| std::env::var(name).ok();
    let http = HttpTools::new(egress.clone())
        .with_variables(Arc::new(variables))
        .with_own_port(config.listen.port());
    let needs = http.clone();
    let tables: BTreeMap<_, _> = config.tools.iter().cloned().collect();
    let off = tables.iter().filter(|(_, table)| table.enabled == Some(false));
    let off: Vec<_> = off.map(|(name, _)| name.clone()).collect();
    let json = config.limits.server.json;
    Catalogue::new(
        registry,
        store,
        world.clone(),
        Arc::new(move |definition, grants| http.build_tool(definition, grants)),
    )
    .with_secret_needs(Arc::new(move |definition, grants| needs.find_secret_need(definition, grants)))
    .with_guard_overrides(Arc::new(move |name, guards| {
        let guards = Guards { json, ..guards };
        match tables.get(name) {
            Some(table) => table.over(guards),
            None => guards,
        }
    }))
    .with_disabled_tools(off)
}

/// Names in the configuration that no tool has. A row may have been deleted or may come later, so none of them keeps the
/// server from starting: an agent starts without the tool, and has it when it appears.
pub async fn check_names(config: &Config, catalogue: &Catalogue) -> Vec<String> {
    let tables = config.tools.iter().map(|(name, _)| (vec!["tools", name.as_str()], name));
    let agents = config.agents.iter().flat_map(|agent| {
        let names = agent.tools.iter().flatten();
        names.map(move |name| (vec!["agents", agent.name.as_str(), "tools"], name))
    });
    let named: Vec<_> = tables.chain(agents).collect();
    let mut warnings = vec![];
    for (path, name) in named {
        if catalogue.is_taken(name) {
            continue;
        }
        if catalogue.list_versions(name).await.is_ok() {
            let place = config.places.of(&path);
            warnings.push(tr!("{place}: the tool `{name}` was deleted", place = place, name = name));
            continue;
        }
        let tools = catalogue.list();
        let known: Vec<_> = tools.iter().map(|tool| tool.name()).collect();
        let (place, known) = (config.places.of(&path), known.join(", "));
        warnings.push(match path[0] {
            "agents" => tr!(
                "{place}: there is no tool `{name}`; the tools are: {known}; the agent `{agent}` starts without it",
                place = place,
                name = name,
                known = known,
                agent = path[1]
            ),
            _ => tr!(
                "{place}: there is no tool `{name}`; the tools are: {known}",
                place = place,
                name = name,
                known = known
            ),
        });
    }
    warnings
}
