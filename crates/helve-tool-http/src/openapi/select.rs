//! Which operations are taken.

use helve_types::Selection;

use super::ImportError;

/// What is known of an operation before it is looked into.
#[derive(Debug, Clone, Copy)]
pub(super) struct OperationSummary<'a> {
    pub(super) id: Option<&'a str>,
    pub(super) method: &'a str,
    pub(super) path: &'a str,
    pub(super) tags: &'a [&'a str],
}

/// Whether a selection can be meant.
pub(super) fn check_selection(selection: &Selection) -> Result<(), ImportError> {
    let known = ["get", "head", "post", "put", "patch", "delete"];
    let wrong =
        selection.methods.iter().find(|method| !known.contains(&method.to_ascii_lowercase().as_str()));
    if let Some(wrong) = wrong {
        let problem = format!("`{wrong}` is no method; the methods are {}", known.join(", "));
        return Err(ImportError::Selection(problem));
    }
    if let Some(wrong) = selection.paths.iter().chain(&selection.exclude_paths).find(|glob| glob.len() > 500)
    {
        return Err(ImportError::Selection(format!("the path of {} characters is too long", wrong.len())));
    }
    Ok(())
}

/// Whether it takes the operation.
pub(super) fn is_selected(selection: &Selection, candidate: OperationSummary<'_>) -> bool {
    let OperationSummary { id, method, path, tags } = candidate;
    let tagged = |wanted: &[String]| {
        wanted.iter().any(|wanted| tags.iter().any(|tag| tag.eq_ignore_ascii_case(wanted)))
    };
    let on_path = |globs: &[String]| globs.iter().any(|glob| matches_glob(glob, path));
    let named = |ids: &[String]| ids.iter().any(|wanted| Some(wanted.as_str()) == id);
    let within = |list: &[String], hit: bool| list.is_empty() || hit;
    within(&selection.tags, tagged(&selection.tags))
        && within(&selection.paths, on_path(&selection.paths))
        && within(
            &selection.methods,
            selection.methods.iter().any(|wanted| wanted.eq_ignore_ascii_case(method)),
        )
        && within(&selection.operations, named(&selection.operations))
        && !tagged(&selection.exclude_tags)
        && !on_path(&selection.exclude_paths)
        && !named(&selection.exclude_operations)
}

/// Whether a path fits a pattern. Remembers one way back at a time, so it takes no more than the product of both lengths.
fn matches_glob(glob: &str, path: &str) -> bool {
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
            assert_eq!(matches_glob(glob, path), expected, "{glob} {path}");
        }
    }

    #[test]
    fn kinds_narrow_and_exclusions_win() {
        let list = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let candidate =
            OperationSummary { id: Some("listPets"), method: "get", path: "/pets", tags: &["Pets", "shop"] };
        let takes = |selection: Selection| is_selected(&selection, candidate);
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
        assert!(check_selection(&Selection { methods: list(&["fetch"]), ..Default::default() }).is_err());
    }
}
