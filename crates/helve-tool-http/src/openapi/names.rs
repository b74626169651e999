//! Names that every model can say, made of names that a document gives.

use std::collections::HashSet;

use helve_tool::RESERVED_NAMES;

/// What every vendor takes as the name of a function.
pub(super) const NAME_CHARS_MAX: usize = 64;

/// Letters, digits and `_`: a name in every notation that models call tools in. Empty if nothing is left.
pub(super) fn to_identifier(given: &str) -> String {
    let mut out = String::new();
    for c in given.chars() {
        if c.is_ascii_alphanumeric() {
            out.push(c);
        } else if !out.is_empty() && !out.ends_with('_') {
            out.push('_');
        }
    }
    out.trim_end_matches('_').chars().take(NAME_CHARS_MAX).collect()
}

/// The same in small letters, for names that people write: of documents, tags and secrets.
pub(super) fn to_slug(given: &str, chars_max: usize) -> String {
    let slug: String = to_identifier(given).to_ascii_lowercase().chars().take(chars_max).collect();
    slug.trim_end_matches('_').to_owned()
}

/// A tool's name from the operation's own, or from what it does to which path.
pub(super) fn operation_name(id: Option<&str>, method: &str, path: &str) -> String {
    let own = id.map(to_identifier).filter(|name| !name.is_empty());
    own.unwrap_or_else(|| {
        let path = to_identifier(path);
        if path.is_empty() { method.to_owned() } else { format!("{method}_{path}") }
    })
}

/// Gives every name once.
#[derive(Debug)]
pub(super) struct NameRegistry {
    prefix: String,
    taken: HashSet<String>,
}

impl NameRegistry {
    pub(super) fn with_prefix(prefix: Option<&str>) -> Self {
        let prefix: String = prefix.map(to_identifier).unwrap_or_default().chars().take(24).collect();
        let prefix = if prefix.is_empty() { prefix } else { format!("{}_", prefix.trim_end_matches('_')) };
        Self { prefix, taken: RESERVED_NAMES.map(str::to_owned).into() }
    }

    /// The name with the prefix; with the method or a number behind it where it is taken.
    pub(super) fn reserve(&mut self, name: &str, method: &str) -> String {
        let name = format!("{}{name}", self.prefix);
        let numbered = (2..).map(|number: usize| number.to_string());
        let endings = [String::new(), method.to_owned()].into_iter().chain(numbered);
        for ending in endings {
            let candidate = append_ending(&name, &ending);
            // Names that differ in case only are one to some models and to most people.
            if self.taken.insert(candidate.to_ascii_lowercase()) {
                return candidate;
            }
        }
        unreachable!("there is always another number")
    }
}

fn append_ending(name: &str, ending: &str) -> String {
    if ending.is_empty() {
        return name.chars().take(NAME_CHARS_MAX).collect();
    }
    let kept: String = name.chars().take(NAME_CHARS_MAX - ending.len() - 1).collect();
    format!("{}_{ending}", kept.trim_end_matches('_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_have_names_that_models_can_say() {
        for (id, method, path, expected) in [
            (Some("listPets"), "get", "/pets", "listPets"),
            (Some("repos/get-content"), "get", "/x", "repos_get_content"),
            (Some("Get a pet (by id)"), "get", "/x", "Get_a_pet_by_id"),
            (Some("获取"), "get", "/pets/{pet-id}", "get_pets_pet_id"),
            (None, "delete", "/pets/{petId}.json", "delete_pets_petId_json"),
            (None, "get", "/", "get"),
        ] {
            assert_eq!(operation_name(id, method, path), expected);
        }
    }

    #[test]
    fn no_two_tools_have_the_same_name() {
        let mut names = NameRegistry::with_prefix(Some("pet-shop!"));
        assert_eq!(names.reserve("list", "get"), "pet_shop_list");
        assert_eq!(names.reserve("list", "post"), "pet_shop_list_post");
        assert_eq!(names.reserve("List", "post"), "pet_shop_List_2");
        let long = "x".repeat(100);
        let made: Vec<_> = (0..30).map(|_| names.reserve(&long, "get")).collect();
        assert!(made.iter().all(|name| name.len() <= NAME_CHARS_MAX));
        assert_eq!(made.iter().collect::<HashSet<_>>().len(), 30);
    }

    #[test]
    fn what_no_tool_may_be_called_no_operation_is() {
        assert_eq!(NameRegistry::with_prefix(None).reserve("export", "get"), "export_get");
        assert_eq!(NameRegistry::with_prefix(Some("shop")).reserve("export", "get"), "shop_export");
    }

    #[test]
    fn slugs_are_small() {
        assert_eq!(to_slug("GitHub v3 REST API", 40), "github_v3_rest_api");
        assert_eq!(to_slug("宠物", 40), "");
        assert_eq!(to_slug("a b c d", 4), "a_b");
    }
}
