//! `helve skills`: the skills there are, and adding, agreeing to, switching and removing them.

mod changes;
mod listing;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use helve_runtime::{Runtime, SkillCatalogueError};
use helve_types::World;

use super::{block_on, log_quietly};
use crate::assemble::{Assembly, Hold, assemble};
use crate::client::{Reach, line};
use crate::commands::suggest::similar;
use crate::i18n::tr;

#[derive(Debug, Args)]
pub(crate) struct SkillsArgs {
    #[command(flatten)]
    pub(super) reach: Reach,
    #[command(subcommand)]
    action: SkillAction,
}

#[derive(Debug, Subcommand)]
enum SkillAction {
    /// List the skills
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show what a model reads of a skill
    Show {
        name: String,
        /// A file of the skill [default: the instructions, and the list of files]
        file: Option<String>,
        /// Print JSON
        #[arg(long, conflicts_with = "file")]
        json: bool,
    },
    /// Add a skill, a folder or an archive (zip, tar.gz) with SKILL.md; one that has changed waits until you agree
    #[command(visible_aliases = ["create", "import"])]
    Add {
        /// The folder or the archive
        path: PathBuf,
        /// Agree to the text at once: it is trusted, and a changed skill does not wait
        #[arg(long)]
        agree: bool,
    },
    /// List all versions of a skill
    Versions { name: String },
    /// Show what is different between two versions of a skill, or what is offered in its place
    Diff {
        name: String,
        /// The number of a version [default: the one before]
        from: Option<u32>,
        /// The number of a version, or `offer` [default: the offer, or else the current version]
        to: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Agree to a changed skill, or to the text of one that was added
    Agree {
        name: String,
        /// The hash of what you looked at; another one is not agreed to
        #[arg(long)]
        hash: Option<String>,
    },
    /// Reject the change of a skill
    Reject { name: String },
    /// Enable a skill for new runs
    Enable { name: String },
    /// Disable a skill for new runs
    Disable { name: String },
    /// Write a skill to a zip archive
    Export {
        name: String,
        /// The archive [default: NAME.zip]
        #[arg(long, short)]
        output: Option<PathBuf>,
        /// The number of a version [default: the current one]
        #[arg(long)]
        version: Option<u32>,
    },
    /// Remove a skill; runs that have it keep it
    #[command(visible_alias = "delete")]
    Remove { name: String },
}

pub(super) fn run(args: SkillsArgs) -> anyhow::Result<ExitCode> {
    log_quietly();
    let config = args.reach.load_shared()?;
    let world = World::real();
    block_on(async {
        let assembly = assemble(&config, &world, Hold::Shared, vec![]).await?;
        let runtime = assembly.runtime.clone();
        act(args.action, &assembly, &config.skills_dir).await.map_err(|error| with_hint(error, &runtime))
    })
}

async fn act(action: SkillAction, assembly: &Assembly, folder: &std::path::Path) -> anyhow::Result<ExitCode> {
    let skills = assembly.runtime.skills();
    match action {
        SkillAction::List { json } => listing::list(skills, folder, json),
        SkillAction::Show { name, file, json } => listing::show(skills, &name, file.as_deref(), json).await,
        SkillAction::Add { path, agree } => changes::add(skills, &path, agree).await,
        SkillAction::Versions { name } => listing::versions(skills, &name).await,
        SkillAction::Diff { name, from, to, json } => {
            listing::compare(skills, &name, from, to.as_deref(), json).await
        }
        SkillAction::Agree { name, hash } => changes::agree(skills, &name, hash.as_deref()).await,
        SkillAction::Reject { name } => changes::reject(skills, &name).await,
        SkillAction::Enable { name } => changes::switch(skills, &name, true).await,
        SkillAction::Disable { name } => changes::switch(skills, &name, false).await,
        SkillAction::Export { name, output, version } => {
            changes::export(skills, &name, output, version).await
        }
        SkillAction::Remove { name } => changes::remove(skills, &name).await,
    }
}

fn with_hint(error: anyhow::Error, runtime: &Runtime) -> anyhow::Error {
    let Some(SkillCatalogueError::Missing(name)) = error.downcast_ref() else { return error };
    let all = runtime.skills().list();
    let near: Vec<String> =
        similar(name, all.iter().map(helve_runtime::ListedSkill::name)).into_iter().map(line).collect();
    let what = tr!("there is no skill `{name}`", name = line(name));
    anyhow::anyhow!(match near.is_empty() {
        true => tr!("{what}; `helve skills list` shows them", what = what),
        false => tr!("{what}; similar names: {names}", what = what, names = near.join(", ")),
    })
}
