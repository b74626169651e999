//! `helve import`: what another system has, as rows of this one.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, IsTerminal, Write};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use helve_runtime::{BatchOutcome, Runtime, read_agent};
use helve_store_sql::{PostgresSettings, read_foreign_tables};
use helve_tool::{Catalogue, CatalogueError, ImportOptions, ImportOutcome, ImportedRow};
use helve_types::{AgentDefinition, World};
use serde_json::{Value, json};

use super::tools::rows::BY;
use super::{block_on, log_quietly};
use crate::assemble::{Hold, assemble, install_tls};
use crate::client::{Reach, line};
use crate::commands::notice::{catalogue_words, definition_words};
use crate::i18n::{self, error_words, tr};
use crate::output::{errln, outln};
use crate::source_rows::{KnownNames, Plan, ROWS_MAX, SourceRows, TABLES, make_plan, read_source};

#[derive(Debug, Args)]
pub(crate) struct ImportKindArgs {
    #[command(flatten)]
    pub(super) reach: Reach,
    #[command(subcommand)]
    kind: ImportKind,
}

#[derive(Debug, Subcommand)]
enum ImportKind {
    /// Import the tables tools, agents and agent_tools of the tool system that Helve replaces
    ///
    /// It shows what it would make and asks. Everything is made or nothing: a wrong row is told with its number.
    Rows(RowsArgs),
}

#[derive(Debug, Args)]
struct RowsArgs {
    /// A dump that pg_dump wrote as plain SQL, a JSON object with the lists `tools`, `agents` and `agent_tools`, `-` for
    /// standard input, or the database itself: `postgres://USER:PASSWORD@HOST:PORT/NAME`
    source: String,
    /// Replace tools and agents that already exist
    #[arg(long)]
    replace: bool,
    /// Only show what would be made
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(long, short = 'y')]
    yes: bool,
    /// Let the tools reach this machine where their addresses say so
    #[arg(long)]
    allow_host: bool,
    /// Print JSON: `{"tools", "agents", "links", "secrets", "notes", "made"}`; needs `--yes` or `--dry-run`
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: ImportKindArgs) -> anyhow::Result<ExitCode> {
    log_quietly();
    install_tls();
    let ImportKind::Rows(rows) = args.kind;
    if rows.json {
        i18n::speak_to_programs();
        if !rows.yes && !rows.dry_run {
            bail!(tr!("--json needs --yes or --dry-run"));
        }
    }
    let config = args.reach.load_shared()?;
    block_on(async {
        let source = read_rows(&rows.source).await?;
        let assembly = assemble(&config, &World::real(), Hold::Shared, vec![]).await?;
        import(&assembly.runtime, source, &rows).await
    })
}

async fn read_rows(source: &str) -> anyhow::Result<SourceRows> {
    if source.starts_with("postgres://") || source.starts_with("postgresql://") {
        let settings = PostgresSettings::parse(&source.to_owned().into()).map_err(anyhow::Error::msg)?;
        let found = read_foreign_tables(&settings, &TABLES, ROWS_MAX).await?;
        let mut rows = SourceRows::default();
        for (table, items) in found {
            let items = items.into_iter().filter_map(|row| match row {
                Value::Object(row) => Some(row),
                _ => None,
            });
            rows.tables.insert(table, items.collect());
        }
        if rows.tables.is_empty() {
            bail!(tr!(
                "the database {place} has no table {tables}",
                place = settings,
                tables = TABLES.map(|table| format!("`{table}`")).join(", ")
            ));
        }
        return Ok(rows);
    }
    if source == "-" {
        return read_source(std::io::stdin().lock()).with_context(|| tr!("standard input"));
    }
    let file = std::fs::File::open(source).with_context(|| tr!("`{path}` cannot be read", path = source))?;
    read_source(BufReader::with_capacity(256 << 10, file)).with_context(|| source.to_owned())
}

async fn import(runtime: &Runtime, source: SourceRows, args: &RowsArgs) -> anyhow::Result<ExitCode> {
    let catalogue = runtime.catalogue();
    let find_tool = |id: &str| {
        let name = catalogue.resolve_name(id);
        catalogue.is_taken(&name).then_some(name)
    };
    let has_model = |name: &str| runtime.models().get(name).is_some();
    let plan = make_plan(source, &KnownNames { has_model: &has_model, find_tool: &find_tool });
    let checked = check(runtime, &plan, args).await?;
    if args.json {
        return import_for_program(runtime, &plan, &checked, args).await;
    }
    show(&plan, &checked);
    if args.dry_run {
        return Ok(ExitCode::SUCCESS);
    }
    if plan.tools.is_empty() && plan.agents.is_empty() {
        errln!("{}", tr!("there is nothing to import"));
        return Ok(ExitCode::SUCCESS);
    }
    if !args.yes && !confirm()? {
        errln!("{}", tr!("nothing was imported"));
        return Ok(ExitCode::FAILURE);
    }
    make(runtime, &plan, &checked, args).await?;
    outln!(
        "{}",
        tr!(
            "imported: {tools} tools, {agents} agents, {links} links",
            tools = plan.tools.len(),
            agents = plan.agents.len(),
            links = plan.links
        )
    );
    Ok(ExitCode::SUCCESS)
}

async fn import_for_program(
    runtime: &Runtime,
    plan: &Plan,
    checked: &Checked,
    args: &RowsArgs,
) -> anyhow::Result<ExitCode> {
    if !args.dry_run {
        make(runtime, plan, checked, args).await?;
    }
    let tools: Vec<Value> = checked
        .tools
        .iter()
        .map(|tool| json!({"name": tool.definition.name, "id": tool.definition.id}))
        .collect();
    let agents: Vec<Value> = plan
        .agents
        .iter()
        .map(|agent| {
            let definition = &agent.definition;
            json!({"name": definition["name"], "id": definition["id"], "enabled": definition["enabled"],
                "tools": definition["tools"], "notes": agent.notes})
        })
        .collect();
    let told = json!({"tools": tools, "agents": agents, "links": plan.links, "secrets": checked.secrets,
        "notes": plan.notes, "made": !args.dry_run});
    outln!("{}", serde_json::to_string_pretty(&told)?);
    Ok(ExitCode::SUCCESS)
}

/// What the plan would do, once all of it is known to be possible.
struct Checked {
    tools: Vec<ImportedRow>,
    agents: Vec<AgentDefinition>,
    outcomes: Vec<BatchOutcome>,
    /// Secrets without a variable and a host, with the tools that need them.
    secrets: BTreeMap<String, Vec<String>>,
}

/// Checks every row; what is wrong is told row by row, and then nothing is made.
async fn check(runtime: &Runtime, plan: &Plan, args: &RowsArgs) -> anyhow::Result<Checked> {
    let catalogue = runtime.catalogue();
    let options = ImportOptions { replace: args.replace, dry_run: true, allow_host: args.allow_host };
    let (mut tools, mut wrong) = (vec![], 0);
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    for (number, row) in (1..).zip(&plan.tools) {
        let number: usize = number;
        let name = row.get("name").and_then(Value::as_str).unwrap_or_default();
        let imported = catalogue.import_row(Value::Object(row.clone()), options, BY).await;
        let problem = match imported {
            Err(error) => Some(catalogue_words(&error)),
            Ok(row) => {
                let first = names.insert(row.definition.name.clone(), number);
                let twice = first.map(|first| tr!("row {first} has the same name", first = first));
                tools.push(row);
                twice
            }
        };
        if let Some(error) = problem {
            wrong += 1;
            let name = line(name);
            errln!(
                "{}",
                tr!("tools, row {number} (`{name}`): {error}", number = number, name = name, error = error)
            );
        }
    }
    let mut agents = vec![];
    for agent in &plan.agents {
        let name = agent.definition["name"].as_str().unwrap_or_default();
        match read_agent(agent.definition.clone()) {
            Ok(definition) => agents.push(definition),
            Err(error) => {
                wrong += 1;
                tell_agent(agent.number, name, &error_words(&anyhow::Error::new(error)));
            }
        }
    }
    let mut outcomes = vec![];
    if wrong == 0 && !agents.is_empty() {
        match runtime.import_agents(agents.clone(), args.replace, true, BY).await {
            Ok(imported) => outcomes = imported.into_iter().map(|agent| agent.outcome).collect(),
            Err(error) => {
                wrong += 1;
                let at = error.number.and_then(|number| plan.agents.get(number));
                let (number, name) = at.map_or((0, ""), |agent| {
                    (agent.number, agent.definition["name"].as_str().unwrap_or_default())
                });
                tell_agent(number, name, &error_words(&anyhow::Error::new(error.error)));
            }
        }
    }
    if wrong > 0 {
        bail!(tr!("{wrong} rows cannot be imported; nothing was changed", wrong = wrong));
    }
    let secrets = secrets_of(catalogue, &tools);
    Ok(Checked { tools, agents, outcomes, secrets })
}

fn tell_agent(number: usize, name: &str, error: &str) {
    let name = line(name);
    errln!(
        "{}",
        tr!("agents, row {number} (`{name}`): {error}", number = number, name = name, error = error)
    );
}

fn secrets_of(catalogue: &Catalogue, tools: &[ImportedRow]) -> BTreeMap<String, Vec<String>> {
    let mut secrets: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for row in tools {
        if let Some(need) = catalogue.find_secret_need(&row.definition) {
            secrets.entry(need.secret).or_default().push(row.definition.name.clone());
        }
    }
    secrets
}

fn show(plan: &Plan, checked: &Checked) {
    for row in &checked.tools {
        let definition = &row.definition;
        let id = definition.id.as_deref().map(|id| format!(" ({})", line(id))).unwrap_or_default();
        outln!("{}", tr!("tool {name}{id}", name = line(&definition.name), id = id));
        for note in row.mapped.iter().chain(&row.warnings) {
            outln!("    {}", definition_words(note));
        }
    }
    for (number, agent) in plan.agents.iter().enumerate() {
        let definition = &agent.definition;
        let text = |field: &str| line(definition[field].as_str().unwrap_or_default());
        let outcome = match checked.outcomes.get(number) {
            Some(BatchOutcome::Changed) => tr!(", changed"),
            Some(BatchOutcome::Unchanged) => tr!(", unchanged"),
            _ => String::new(),
        };
        outln!(
            "{}",
            tr!("agent {name} ({id}){outcome}", name = text("name"), id = text("id"), outcome = outcome)
        );
        for tool in definition["tools"].as_array().into_iter().flatten() {
            let state = if tool["enabled"] == false { tr!(" (off)") } else { String::new() };
            outln!("    {}{state}", line(tool["name"].as_str().unwrap_or_default()));
        }
        for note in &agent.notes {
            outln!("    {}", line(note));
        }
    }
    for note in &plan.notes {
        outln!("{}", line(note));
    }
    for (secret, tools) in &checked.secrets {
        let first = tools.first().cloned().unwrap_or_default();
        outln!(
            "{}",
            tr!(
                "secret {secret} stays unbound: {tools} fail until you confirm the variable and the host with `helve tools bind {first}`",
                secret = line(secret),
                tools = tools.join(", "),
                first = first
            )
        );
    }
    outln!(
        "{}",
        tr!(
            "together: {tools} tools, {agents} agents, {links} links",
            tools = plan.tools.len(),
            agents = plan.agents.len(),
            links = plan.links
        )
    );
}

fn confirm() -> anyhow::Result<bool> {
    let stdin = std::io::stdin();
    if !stdin.is_terminal() {
        bail!(tr!("nobody can be asked here; give --yes to import all of this, or --dry-run"));
    }
    let mut err = std::io::stderr();
    write!(err, "{}", tr!("Import all of this? [y/N] "))?;
    err.flush()?;
    let mut answer = String::new();
    stdin.lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes" | "是"))
}

/// Makes the tools, then the agents at once. If one cannot be made after all, the tools that are new are taken back.
async fn make(runtime: &Runtime, plan: &Plan, checked: &Checked, args: &RowsArgs) -> anyhow::Result<()> {
    let catalogue = runtime.catalogue();
    let options = ImportOptions { replace: args.replace, dry_run: false, allow_host: args.allow_host };
    let mut created = vec![];
    let mut failed = None;
    for row in &plan.tools {
        match catalogue.import_row(Value::Object(row.clone()), options, BY).await {
            Ok(row) if row.outcome == ImportOutcome::Created => created.push(row.definition.name),
            Ok(_) => {}
            Err(error) => {
                failed = Some(anyhow::anyhow!(catalogue_words(&error)));
                break;
            }
        }
    }
    if failed.is_none() && !checked.agents.is_empty() {
        let imported = runtime.import_agents(checked.agents.clone(), args.replace, false, BY).await;
        failed = imported.err().map(|error| anyhow::Error::new(error.error));
    }
    let Some(error) = failed else { return Ok(()) };
    for name in created {
        if let Err(left) = catalogue.remove(&name, None, BY).await
            && !matches!(left, CatalogueError::Missing(_))
        {
            errln!("{}", tr!("`{name}` stays: {error}", name = name, error = catalogue_words(&left)));
        }
    }
    Err(error.context(tr!("the import was given up; new tools were deleted again")))
}
