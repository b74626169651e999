//! Snapshots of real work trees with a real git.

use std::path::Path;
use std::process::Command;

use helve_types::{RunId, UserId, World};

use super::*;

fn program() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap();
    std::env::split_paths(&path).map(|directory| directory.join("git")).find(|git| git.is_file()).unwrap()
}

fn git(directory: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new(program());
    command.current_dir(directory).args(arguments).env("HOME", directory).env("GIT_CONFIG_NOSYSTEM", "1");
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_NAME"), "mei").env(format!("GIT_{who}_EMAIL"), "mei@example.com");
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

/// A repository without a commit.
fn repository() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    git(directory.path(), &["init", "--quiet"]);
    directory
}

async fn take(directory: &Path, kept_max: usize, run: RunId, step: u32) -> Result<String, HookError> {
    let hook = GitSnapshots { program: program(), directory: directory.to_owned(), kept_max };
    let user = UserId("mei".into());
    let about = HookQuestion { run, conversation: None, agent: "default", user: &user, model: "m", step };
    match hook.after_step(&about).await? {
        HookReply::Change(id) => Ok(id.to_string()),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_snapshot_has_changed_and_untracked_files_and_leaves_index_and_head_alone() {
    let kept = repository();
    let top = kept.path();
    let write = |name: &str, text: &str| std::fs::write(top.join(name), text).unwrap();
    write("tracked", "old");
    write(".gitignore", "ignored\n");
    git(top, &["add", "--all"]);
    git(top, &["commit", "--quiet", "-m", "first"]);
    write("tracked", "new and longer");
    write("untracked", "u");
    write("ignored", "i");
    let state = || {
        let head = git(top, &["rev-parse", "HEAD"]);
        (std::fs::read(top.join(".git/index")).unwrap(), head, git(top, &["branch", "--list"]))
    };
    let before = state();
    let run = World::deterministic().run_id();
    let id = take(top, 9, run, 3).await.unwrap();
    assert_eq!(state(), before);
    assert_eq!(git(top, &["rev-parse", &format!("refs/helve/{run}/3/after")]), id);
    assert_eq!(git(top, &["ls-tree", "--name-only", &id]), ".gitignore\ntracked\nuntracked");
    assert_eq!(git(top, &["show", &format!("{id}:tracked")]), "new and longer");
    assert_eq!(git(top, &["rev-parse", &format!("{id}^")]), before.1);
}

#[tokio::test]
async fn a_repository_without_a_commit_is_kept_and_only_the_last_snapshots_of_a_run_keep_their_refs() {
    let kept = repository();
    std::fs::write(kept.path().join("a"), "a").unwrap();
    let run = World::deterministic().run_id();
    for step in [1, 2, 9, 10] {
        take(kept.path(), 2, run, step).await.unwrap();
    }
    let refs = git(kept.path(), &["for-each-ref", "--format=%(refname)", "refs/helve"]);
    assert_eq!(refs, format!("refs/helve/{run}/10/after\nrefs/helve/{run}/9/after"));
}

#[tokio::test]
async fn a_directory_in_a_work_tree_or_outside_of_one_is_no_repository() {
    let (kept, run) = (repository(), World::deterministic().run_id());
    let inner = kept.path().join("inner");
    std::fs::create_dir(&inner).unwrap();
    for directory in [inner, tempfile::tempdir().unwrap().keep()] {
        let error = take(&directory, 9, run, 1).await.unwrap_err();
        assert!(error.0.contains("not a git repository"), "{error}");
    }
}

#[tokio::test]
async fn programs_that_the_repository_names_are_not_started() {
    let kept = repository();
    let top = kept.path();
    let started = format!("touch {}", top.join(".git/started").display());
    for key in ["filter.x.clean", "filter.x.process", "core.fsmonitor"] {
        git(top, &["config", key, &started]);
    }
    git(top, &["config", "filter.x.required", "true"]);
    std::fs::write(top.join(".gitattributes"), "* filter=x\n").unwrap();
    std::fs::write(top.join("a"), "as it stands").unwrap();
    let id = take(top, 9, World::deterministic().run_id(), 1).await.unwrap();
    assert_eq!(git(top, &["show", &format!("{id}:a")]), "as it stands");
    assert!(!top.join(".git/started").exists());
}

#[tokio::test]
async fn the_commands_of_the_guide_list_compare_restore_and_delete_snapshots() {
    let guide = include_str!("../../../../../docs/guide/hooks.md");
    let kept = repository();
    let top = kept.path();
    let write = |name: &str, text: &str| std::fs::write(top.join(name), text).unwrap();
    write("changed", "1");
    write("deleted", "1");
    std::fs::create_dir_all(top.join("path/of")).unwrap();
    write("path/of/file", "1");
    let run = World::deterministic().run_id();
    take(top, 9, run, 1).await.unwrap();
    write("changed", "2");
    let id = take(top, 9, run, 2).await.unwrap();
    let shell = |documented: &str| {
        assert!(guide.contains(&documented.replace('|', r"\|")), "the guide does not have `{documented}`");
        let filled =
            documented.replace("ID", &id).replace("RUN", &run.to_string()).replace("/before", "/after");
        let path = program().parent().unwrap().display().to_string();
        let script = format!("PATH={path}:$PATH; cd {} && {filled}", top.display());
        let output = Command::new("/bin/sh").args(["-c", &script]).env("HOME", top).output().unwrap();
        assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let listed = shell("git for-each-ref --sort=creatordate refs/helve");
    assert_eq!(listed.lines().count(), 2, "{listed}");
    assert!(shell("git diff refs/helve/RUN/2/before refs/helve/RUN/2/after").is_empty());

    write("changed", "3");
    std::fs::remove_file(top.join("deleted")).unwrap();
    write("later", "3");
    git(top, &["add", "later"]);
    write("stranger", "3");
    shell("git restore --source=ID --worktree -- :/");
    let read = |name: &str| std::fs::read_to_string(top.join(name)).ok();
    assert_eq!(
        ["changed", "deleted", "later", "stranger"].map(read),
        [Some("2".into()), Some("1".into()), None, Some("3".into())]
    );
    write("path/of/file", "4");
    shell("git restore --source=ID --worktree -- path/of/file");
    assert_eq!(read("path/of/file"), Some("1".into()));
    shell("git for-each-ref --format='delete %(refname)' refs/helve/RUN | git update-ref --stdin");
    assert_eq!(git(top, &["for-each-ref", "refs/helve"]), "");
}
