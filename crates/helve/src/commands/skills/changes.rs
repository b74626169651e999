//! Adding, agreeing to, switching and removing skills from the command line, beside a server that may be running.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use helve_runtime::{ListedSkill, OfferOutcome, SkillCatalogue, SkillCatalogueError};
use helve_skill::{ARCHIVE_BYTES_MAX, SkillError, SkillFiles, SkillPackage, read_archive, read_folder};
use helve_types::SkillSource;

use crate::client::line;
use crate::commands::notice::definition_words;
use crate::commands::tools::rows::BY;
use crate::i18n::tr;
use crate::output::{errln, outln};

pub(super) async fn add(skills: &SkillCatalogue, path: &Path, agrees: bool) -> anyhow::Result<ExitCode> {
    let shown = path.display().to_string();
    let package = read(path)?.and_then(|files| SkillPackage::new(files, SkillSource::Import));
    let package = package.map_err(|wrong| {
        let SkillError { field, problem } = wrong;
        anyhow::anyhow!(tr!(
            "{path}: `{field}`: {problem}",
            path = shown,
            field = line(&field),
            problem = definition_words(&problem)
        ))
    })?;
    if !package.ignored.is_empty() {
        errln!("{}", tr!("not understood in SKILL.md: {keys}", keys = line(&package.ignored.join(", "))));
    }
    let outcome = skills.import(package, agrees, BY).await?;
    let (outcome, skill) = match outcome {
        OfferOutcome::Created(skill) => (tr!("created"), skill),
        OfferOutcome::Same(skill) => (tr!("unchanged"), skill),
        OfferOutcome::Changed(skill) => (tr!("changed"), skill),
        OfferOutcome::Quarantined(skill) => (tr!("changed, and in quarantine until you agree"), skill),
    };
    let name = skill.name();
    outln!("{name}  {outcome}{}", tr!(", version {version}", version = skill.row.version));
    if skill.offer.is_some() {
        errln!(
            "{}",
            tr!(
                "look at the change with `helve skills diff {name}`, then `helve skills agree {name}` or `helve skills \
                 reject {name}`",
                name = name
            )
        );
    } else if !skill.row.definition.trusted {
        errln!(
            "{}",
            tr!(
                "its text counts as untrusted until you have read it and say so: `helve skills show {name}`, then \
                 `helve skills agree {name}`",
                name = name
            )
        );
    }
    Ok(ExitCode::SUCCESS)
}

/// The files of a folder or of an archive.
fn read(path: &Path) -> anyhow::Result<Result<SkillFiles, SkillError>> {
    if path.is_dir() {
        return Ok(read_folder(path));
    }
    let unreadable = || tr!("`{path}` cannot be read", path = path.display());
    let file = std::fs::File::open(path).with_context(unreadable)?;
    let mut bytes = vec![];
    // One byte more than is read, which tells that there is more.
    file.take(ARCHIVE_BYTES_MAX as u64 + 1).read_to_end(&mut bytes).with_context(unreadable)?;
    Ok(read_archive(&bytes))
}

pub(super) async fn agree(
    skills: &SkillCatalogue,
    name: &str,
    hash: Option<&str>,
) -> anyhow::Result<ExitCode> {
    Ok(print_state(&skills.agree(name, hash, BY).await?))
}

pub(super) async fn reject(skills: &SkillCatalogue, name: &str) -> anyhow::Result<ExitCode> {
    Ok(print_state(&skills.reject(name, BY).await?))
}

pub(super) async fn switch(skills: &SkillCatalogue, name: &str, enabled: bool) -> anyhow::Result<ExitCode> {
    Ok(print_state(&skills.set_enabled(name, enabled, None, BY).await?))
}

pub(super) async fn remove(skills: &SkillCatalogue, name: &str) -> anyhow::Result<ExitCode> {
    skills.delete(name, None, BY).await?;
    outln!("{}", tr!("{name}  deleted", name = name));
    Ok(ExitCode::SUCCESS)
}

/// Writes the archive; a file that is there stays.
pub(super) async fn export(
    skills: &SkillCatalogue,
    name: &str,
    output: Option<PathBuf>,
    version: Option<u32>,
) -> anyhow::Result<ExitCode> {
    let definition = match version {
        Some(version) => skills.version(name, version).await?.definition,
        None => {
            let skill = skills.get(name).ok_or_else(|| SkillCatalogueError::Missing(name.into()))?;
            skill.row.definition.clone()
        }
    };
    let zip = skills.package(&definition).await?.to_zip();
    let output = output.unwrap_or_else(|| PathBuf::from(format!("{}.zip", definition.name)));
    let shown = output.display().to_string();
    if output.exists() {
        bail!(tr!("`{path}` is there already; name another file with --output", path = shown));
    }
    std::fs::write(&output, zip).with_context(|| tr!("`{path}` cannot be written", path = shown))?;
    outln!("{shown}");
    Ok(ExitCode::SUCCESS)
}

fn print_state(skill: &ListedSkill) -> ExitCode {
    let state = if skill.row.definition.enabled { tr!("on") } else { tr!("off") };
    outln!("{}  {}{state}", skill.name(), tr!("version {version}, ", version = skill.row.version));
    ExitCode::SUCCESS
}
