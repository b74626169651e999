//! What the rows of the other system become here. Pure: nothing is changed, and nothing is lost without a word.

use std::collections::BTreeMap;

use helve_types::{AgentPermission, AgentToolConfig, ModelParams};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::{AGENTS, LINKS, SourceRow, SourceRows, TOOLS};
use crate::i18n::tr;

/// Columns of `tools` that a definition has, or that the mapping of rows knows.
const TOOL_COLUMNS: [&str; 15] = [
    "id",
    "name",
    "type",
    "display_name",
    "description",
    "category",
    "endpoint",
    "parameters",
    "response_transform",
    "rate_limit",
    "enabled",
    "version",
    "tags",
    "created_at",
    "updated_at",
];
/// Of these nothing has to be said.
const TIMES: [&str; 3] = ["created_at", "updated_at", "deleted_at"];
const NAME_CHARS_MAX: usize = 64;
const STEPS_MAX: u64 = 1_000;

/// What there is here already.
pub(crate) struct KnownNames<'a> {
    pub(crate) has_model: &'a dyn Fn(&str) -> bool,
    /// The name of the tool with this id or name.
    pub(crate) find_tool: &'a dyn Fn(&str) -> Option<String>,
}

#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// Rows of tools, as the catalogue imports them; their numbers are those of the source.
    pub(crate) tools: Vec<SourceRow>,
    pub(crate) agents: Vec<PlannedAgent>,
    pub(crate) notes: Vec<String>,
    /// How many links the agents get.
    pub(crate) links: usize,
}

#[derive(Debug)]
pub(crate) struct PlannedAgent {
    /// The row of `agents`, from 1.
    pub(crate) number: usize,
    pub(crate) definition: Value,
    /// What was changed or left out, and why.
    pub(crate) notes: Vec<String>,
}

pub(crate) fn make_plan(source: SourceRows, known: &KnownNames<'_>) -> Plan {
    let mut plan = Plan { notes: source.notes.clone(), ..Plan::default() };
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    for row in source.of(TOOLS) {
        let (kept, left): (SourceRow, SourceRow) =
            row.clone().into_iter().partition(|(column, _)| TOOL_COLUMNS.contains(&column.as_str()));
        if let Some(name) = text_of(&kept, "name") {
            plan.notes.extend(left_columns(&left).map(|columns| {
                tr!("tool `{name}`: its columns {columns} are left out", name = name, columns = columns)
            }));
            names.insert(name.clone(), name.clone());
            names.extend(text_of(&kept, "id").map(|id| (id, name)));
        }
        plan.tools.push(kept);
    }
    let find_tool = |id: &str| names.get(id).cloned().or_else(|| (known.find_tool)(id));
    let mut links = Links::read(source.of(LINKS), &find_tool, &mut plan.notes);
    let mut taken: Vec<String> = vec![];
    for (number, row) in (1..).zip(source.of(AGENTS)) {
        let mut agent = read_agent(number, row, known, &taken);
        taken.extend(agent.definition["name"].as_str().map(str::to_owned));
        let tools = text_of(row, "id").and_then(|id| links.by_agent.remove(&id)).unwrap_or_default();
        plan.links += tools.len();
        agent.notes.extend(links.notes.remove(&text_of(row, "id").unwrap_or_default()).into_iter().flatten());
        agent.definition["tools"] = json!(tools);
        plan.agents.push(agent);
    }
    plan.notes.extend(links.by_agent.into_iter().map(|(agent, tools)| {
        tr!(
            "{count} links of the agent `{agent}` are left out: it is not in the table `agents`",
            count = tools.len(),
            agent = agent
        )
    }));
    plan
}

/// The tools of each agent, by its id.
#[derive(Default)]
struct Links {
    by_agent: BTreeMap<String, Vec<Value>>,
    notes: BTreeMap<String, Vec<String>>,
}

impl Links {
    fn read(
        rows: &[SourceRow],
        find_tool: &dyn Fn(&str) -> Option<String>,
        others: &mut Vec<String>,
    ) -> Self {
        let mut links = Self::default();
        let mut rows: Vec<(usize, &SourceRow)> = (1..).zip(rows).collect();
        // A dump has them in the order in which they were written, which a live database does not tell.
        rows.sort_by_cached_key(|(_, row)| text_of(row, "id"));
        for (number, row) in rows {
            let (Some(agent), Some(tool)) = (text_of(row, "agent_id"), text_of(row, "tool_id")) else {
                others.push(tr!(
                    "`agent_tools`, row {number}: left out, since it names no agent or no tool",
                    number = number
                ));
                continue;
            };
            let notes = links.notes.entry(agent.clone()).or_default();
            let Some(name) = find_tool(&tool) else {
                notes.push(tr!("the link to `{tool}` is left out: there is no such tool", tool = tool));
                continue;
            };
            let tools = links.by_agent.entry(agent).or_default();
            if tools.iter().any(|held| held["name"] == *name) {
                notes.push(tr!("a second link to `{tool}` is left out", tool = name));
                continue;
            }
            let config = row.get("config").cloned().unwrap_or_default();
            let config = read_members::<AgentToolConfig>(config, |members| {
                notes.push(tr!(
                    "`{tool}`: of its config {members} is left out",
                    tool = name,
                    members = members
                ));
            });
            let enabled = row.get("enabled").and_then(Value::as_bool).unwrap_or(true);
            tools.push(json!({"name": name, "enabled": enabled, "config": config}));
        }
        links
    }
}

fn read_agent(number: usize, row: &SourceRow, known: &KnownNames<'_>, taken: &[String]) -> PlannedAgent {
    let mut notes = vec![];
    let mut left = row.clone();
    let mut take = |column: &str| left.remove(column).filter(|value| !value.is_null());
    let mut definition = Map::new();
    let mut put = |field: &str, value: Value| definition.insert(field.to_owned(), value);
    let id = take("id").map(|id| plain_text(&id));
    let given = take("name").map(|name| plain_text(&name)).filter(|name| !name.trim().is_empty());
    let given = given.or_else(|| id.clone()).unwrap_or_default();
    let name = free_name(&given, taken);
    if name != given {
        put("display_name", json!(given));
        notes.push(tr!("its name becomes `{name}`; people see `{given}`", name = name, given = given));
    }
    put("name", json!(name));
    put("id", json!(id));
    for (column, field) in
        [("display_name", "display_name"), ("description", "description"), ("system_prompt", "system_prompt")]
    {
        if let Some(text) = take(column).map(|text| plain_text(&text)).filter(|text| !text.is_empty()) {
            put(field, json!(text));
        }
    }
    if let Some(model) = take("model").map(|model| plain_text(&model)).filter(|model| !model.is_empty()) {
        match (known.has_model)(&model) {
            true => _ = put("model", json!(model)),
            false => notes.push(tr!(
                "its model `{model}` is not one of this server; it uses the default model until you configure one with this name and set it",
                model = model
            )),
        }
    }
    if let Some(parameters) = take("parameters") {
        let params = read_members::<ModelParams>(parameters, |members| {
            notes.push(tr!("of its parameters {members} is left out", members = members));
        });
        put("params", params);
    }
    if let Some(steps) = take("max_steps") {
        match steps.as_u64().filter(|steps| (1..=STEPS_MAX).contains(steps)) {
            Some(steps) => _ = put("max_steps", json!(steps)),
            None => notes.push(tr!("its max_steps {steps} is left out: 10 holds", steps = steps)),
        }
    }
    let mut enabled = ["enabled", "is_active", "active"].into_iter().filter_map(&mut take);
    let mut enabled = enabled.all(|value| value.as_bool().unwrap_or(true));
    match take("permissions").filter(|given| *given != json!([]) && *given != json!({})) {
        None => {}
        Some(given) => match serde_json::from_value::<Vec<AgentPermission>>(given.clone()) {
            Ok(_) => _ = put("permissions", given),
            Err(_) => {
                // What was forbidden there must not be allowed here without a person's look.
                enabled = false;
                notes.push(tr!(
                    "its permissions are not understood and left out, so it is disabled; give it permissions, then `helve agents enable {name}`",
                    name = name
                ));
            }
        },
    }
    put("enabled", json!(enabled));
    notes.extend(
        left_columns(&left).map(|columns| tr!("its columns {columns} are left out", columns = columns)),
    );
    PlannedAgent { number, definition: Value::Object(definition), notes }
}

/// A name without blanks and slashes that no other agent of the source has.
fn free_name(given: &str, taken: &[String]) -> String {
    let is_plain = |c: char| !c.is_whitespace() && !c.is_control() && c != '/';
    let plain: String = given.trim().chars().map(|c| if is_plain(c) { c } else { '-' }).collect();
    let plain = if plain.is_empty() { "agent".to_owned() } else { plain };
    let cut = |chars: usize| plain.chars().take(chars).collect::<String>();
    let first = cut(NAME_CHARS_MAX);
    if !taken.contains(&first) {
        return first;
    }
    let numbered = |number: usize| {
        let ending = format!("-{number}");
        cut(NAME_CHARS_MAX - ending.len()) + &ending
    };
    (2..).map(numbered).find(|name| !taken.contains(name)).unwrap_or(first)
}

/// Of an object the members that fit, each by itself; the others are told by their names.
fn read_members<T: DeserializeOwned>(given: Value, mut tell: impl FnMut(String)) -> Value {
    let members = match given {
        Value::Null => Map::new(),
        Value::Object(members) => members,
        other => {
            tell(format!("`{other}`"));
            Map::new()
        }
    };
    let (mut kept, mut left) = (Map::new(), vec![]);
    for (name, value) in members.into_iter().filter(|(_, value)| !value.is_null()) {
        let alone = json!({name.clone(): value.clone()});
        match serde_json::from_value::<T>(alone) {
            Ok(_) => _ = kept.insert(name, value),
            Err(_) => left.push(format!("`{name}`")),
        }
    }
    if !left.is_empty() {
        tell(left.join(", "));
    }
    Value::Object(kept)
}

fn left_columns(left: &SourceRow) -> Option<String> {
    let said = left.iter().filter(|(column, value)| !value.is_null() && !TIMES.contains(&column.as_str()));
    let names: Vec<String> = said.map(|(column, _)| format!("`{column}`")).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

fn text_of(row: &SourceRow, column: &str) -> Option<String> {
    row.get(column).filter(|value| !value.is_null()).map(plain_text)
}

fn plain_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
