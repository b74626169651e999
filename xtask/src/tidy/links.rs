//! Links between documents: the file exists, and so does the heading after `#`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use super::{none, with_ending};
use crate::step::root;

/// The lines of a page that are not inside a block of code.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut in_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        !in_code && !is_fence
    })
}

/// The targets of the links of a page, outside of code.
fn targets(text: &str) -> Vec<String> {
    // A link may be broken across two lines.
    let text = prose(text).collect::<Vec<_>>().join("\n");
    text.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0.to_owned())).collect()
}

/// The anchors of a page as GitHub makes them: lower case, blanks as hyphens, no punctuation, and a number for the
/// second heading with the same words.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let headings = prose(text).filter(|line| line.starts_with('#'));
    let headings = headings.filter_map(|line| line.trim_start_matches('#').strip_prefix(' '));
    let slugs = headings.map(|heading| {
        let kept =
            heading.trim().chars().filter(|char| char.is_alphanumeric() || matches!(char, ' ' | '-' | '_'));
        kept.flat_map(char::to_lowercase).map(|char| if char == ' ' { '-' } else { char }).collect::<String>()
    });
    slugs
        .map(|slug| {
            let times = seen.entry(slug.clone()).or_default();
            *times += 1;
            if *times == 1 { slug } else { format!("{slug}-{}", *times - 1) }
        })
        .collect()
}

/// A path without `.` and `..`.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => _ = normal.pop(),
            Component::CurDir => {}
            part => normal.push(part),
        }
    }
    normal
}

#[test]
fn a_heading_has_the_anchor_that_github_makes_of_it() {
    let page =
        "# A `b` (c)\n```sh\n# no heading\n```\n## `POST /api/chat`, again\n## Same\n## Same\n## 做 工具？\n";
    let expected = ["a-b-c", "post-apichat-again", "same", "same-1", "做-工具"];
    assert_eq!(anchors(page), expected.map(str::to_owned).into());
    assert_eq!(targets("[a](b.md) [c\nd](#e)\n```\n[f](g)\n```\n"), ["b.md", "#e"]);
    assert_eq!(normal(Path::new("docs/guide/../zh-CN/./a.md")), Path::new("docs/zh-CN/a.md"));
}

#[test]
fn links_between_documents_lead_to_a_file_and_a_heading() {
    let pages: BTreeMap<PathBuf, String> = with_ending("md").into_iter().collect();
    let anchors: BTreeMap<&PathBuf, BTreeSet<String>> =
        pages.iter().map(|(path, text)| (path, anchors(text))).collect();
    let mut dead = vec![];
    for (path, text) in &pages {
        let folder = path.parent().unwrap_or(Path::new(""));
        for target in targets(text) {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            let (file, heading) = target.split_once('#').unwrap_or((&target, ""));
            let file = if file.is_empty() { path.clone() } else { normal(&folder.join(file)) };
            let is_there = root().join(&file).exists();
            let has_heading = anchors.get(&file).is_none_or(|anchors| anchors.contains(heading));
            if !is_there || !(heading.is_empty() || has_heading) {
                dead.push(format!("{}: {target}", path.display()));
            }
        }
    }
    none(dead);
}
