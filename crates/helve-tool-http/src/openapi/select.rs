//! Which operations are taken.

use serde::{Deserialize, Serialize};

use super::ImportError;

/// What to take of a document, and what to leave; everything if nothing is said. Several kinds narrow each other, several
/// of one kind add to each other.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Selection {
    pub tags: Vec<String>,
    /// With `*` for anything inside of a segment and `**` for anything at all: `/repos/**`.
    pub paths: Vec<String>,
    pub methods: Vec<String>,
    /// By `operationId`.
    pub operations: Vec<String>,
    pub exclude_tags: Vec<String>,
    pub exclude_paths: Vec<String>,
    pub exclude_operations: Vec<String>,
}

/// What is known of an operation before it is looked into.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate<'a> {
    pub(super) id: Option<&'a str>,
    pub(super) method: &'a str,
    pub(super) path: &'a str,
    pub(super) tags: &'a [&'a str],
}

impl Selection {
    pub fn is_everything(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn check(&self) -> Result<(), ImportError> {
        let known = ["get", "head", "post", "put", "patch", "delete"];
        let wrong = self.methods.iter().find(|method| !known.contains(&method.to_ascii_lowercase().as_str()));
        if let Some(wrong) = wrong {
            let problem = format!("`{wrong}` is no method; the methods are {}", known.join(", "));
            return Err(ImportError::Selection(problem));
        }
        if let Some(wrong) = self.paths.iter().chain(&self.exclude_paths).find(|glob| glob.len() > 500) {
            return Err(ImportError::Selection(format!(
                "the path of {} characters is too long",
                wrong.len()
            )));
        }
        Ok(())
    }

    pub(super) fn takes(&self, candidate: Candidate<'_>) -> bool {
        let Candidate { id, method, path, tags } = candidate;
        let tagged = |wanted: &[String]| {
            wanted.iter().any(|wanted| tags.iter().any(|tag| tag.eq_ignore_ascii_case(wanted)))
        };
        let on_path = |globs: &[String]| globs.iter().any(|glob| fits(glob, path));
        let named = |ids: &[String]| ids.iter().any(|wanted| Some(wanted.as_str()) == id);
        let within = |list: &[String], hit: bool| list.is_empty() || hit;
        within(&self.tags, tagged(&self.tags))
            && within(&self.paths, on_path(&self.paths))
            && within(&self.methods, self.methods.iter().any(|wanted| wanted.eq_ignore_ascii_case(method)))
            && within(&self.operations, named(&self.operations))
            && !tagged(&self.exclude_tags)
            && !on_path(&self.exclude_paths)
            && !named(&self.exclude_operations)
    }
}

/// Whether a path fits a pattern. Remembers one way back at a time, so it takes no more than the product of both lengths.
fn fits(glob: &str, path: &str) -> bool {
    let (glob, path) = (glob.as_bytes(), path.as_bytes());
    let mut reachable = vec![false; path.len() + 1];
    reachable[0] = true;
    let mut rest = glob;
    while let [first, after @ ..] = rest {
        let wide = rest.starts_with(b"**");
        rest = if wide { &rest[2..] } else { after };
        if *first == b'*' {
            for at in 1..=path.len() {
                reachable[at] |= reachable[at - 1] && (wide || path[at - 1] != b'/');
            }
        } else {
            for at in (0..=path.len()).rev() {
                reachable[at] = at > 0 && reachable[at - 1] && path[at - 1] == *first;
            }
        }
    }
    reachable[path.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_paths() {
        for (glob, path, expected) in [
            ("/pets", "/pets", true),
            ("/pets", "/pets/{id}", false),
            ("/pets/*", "/pets/{id}", true),
            ("/pets/*", "/pets/{id}/toys", false),
            ("/pets/**", "/pets/{id}/toys", true),
            ("**/toys", "/pets/{id}/toys", true),
            ("/*/{id}*", "/pets/{id}.json", true),
            ("", "/pets", false),
            ("**", "/", true),
        ] {
            assert_eq!(fits(glob, path), expected, "{glob} {path}");
        }
    }

    #[test]
    fn kinds_narrow_and_exclusions_win() {
        let list = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let candidate =
            Candidate { id: Some("listPets"), method: "get", path: "/pets", tags: &["Pets", "shop"] };
        let takes = |selection: Selection| selection.takes(candidate);
        assert!(takes(Selection::default()));
        assert!(takes(Selection { tags: list(&["pets", "x"]), ..Default::default() }));
        assert!(!takes(Selection { tags: list(&["pets"]), methods: list(&["POST"]), ..Default::default() }));
        assert!(takes(Selection {
            operations: list(&["listPets"]),
            methods: list(&["GET"]),
            ..Default::default()
        }));
        assert!(!takes(Selection {
            tags: list(&["pets"]),
            exclude_tags: list(&["shop"]),
            ..Default::default()
        }));
        assert!(!takes(Selection { exclude_paths: list(&["/p*"]), ..Default::default() }));
        assert!(Selection { methods: list(&["fetch"]), ..Default::default() }.check().is_err());
    }
}
