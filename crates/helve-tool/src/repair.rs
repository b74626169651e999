//! Finds the tool a model meant when it wrote its name slightly wrong.

/// The one candidate that `name` can mean: the same but for case and separators, or one or two letters off.
///
/// Two candidates that are equally near are none, so that a look-alike can never be picked by chance.
///
/// A name with letters that no tool's name can have belongs to no tool: what looks like one of ours may be made to.
pub(crate) fn find_by_loose_name<'a>(
    name: &str,
    candidates: impl Iterator<Item = &'a str> + Clone,
) -> Option<&'a str> {
    let wanted = fold_name(name);
    if wanted.is_empty() || !wanted.is_ascii() {
        return None;
    }
    if let Some(found) = first_if_only(candidates.clone().filter(|candidate| fold_name(candidate) == wanted))
    {
        return found;
    }
    // A slip in a short name makes another name.
    let slips_max = match wanted.chars().count() {
        0..=4 => return None,
        5..=8 => 1,
        _ => 2,
    };
    let near = candidates.filter(|candidate| edit_distance(&fold_name(candidate), &wanted) <= slips_max);
    first_if_only(near).flatten()
}

/// `Some(Some(x))` for one item, `Some(None)` for several, `None` for none.
fn first_if_only<'a>(mut items: impl Iterator<Item = &'a str>) -> Option<Option<&'a str>> {
    let first = items.next()?;
    Some(if items.next().is_none() { Some(first) } else { None })
}

/// Whether people or models could take one name for the other.
pub(crate) fn looks_alike(one: &str, other: &str) -> bool {
    let shape = |name: &str| -> String {
        let folded = fold_name(name);
        let letters = folded.chars().map(|c| match c {
            'i' | '1' => 'l',
            '0' => 'o',
            other => other,
        });
        letters.collect()
    };
    shape(one) == shape(other)
}

/// What stays when case, separators and a leading `functions.` do not count.
fn fold_name(name: &str) -> String {
    let name = name.trim();
    let name = name.strip_prefix("functions.").unwrap_or(name);
    name.chars()
        .filter(|c| !matches!(c, '-' | '_' | '.' | ' ' | '/' | ':'))
        .flat_map(char::to_lowercase)
        .collect()
}

/// The number of letters to add, drop or change; more than two is not told apart.
fn edit_distance(a: &str, b: &str) -> usize {
    const FAR: usize = 3;
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().abs_diff(b.len()) >= FAR || a.len().max(b.len()) > 256 {
        return FAR;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let kept = diagonal + usize::from(from != to);
            diagonal = row[j + 1];
            row[j + 1] = kept.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()].min(FAR)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_repaired_when_it_can_mean_only_one_tool() {
        let tools = ["search_web", "calculator", "time", "read_file", "readfiles"];
        let cases = [
            ("search_web", Some("search_web")),
            ("Search-Web", Some("search_web")),
            ("searchWeb", Some("search_web")),
            ("functions.search_web", Some("search_web")),
            ("serach_web", Some("search_web")),
            ("calculater", Some("calculator")),
            ("TIME", Some("time")),
            ("tine", None),
            ("ReadFile", Some("read_file")),
            ("read_filez", None),
            ("delete_everything", None),
            ("", None),
            ("___", None),
            // Cyrillic and fullwidth letters, and one that nobody sees.
            ("sеarch_web", None),
            ("calculаtor", None),
            ("ｔｉｍｅ", None),
            ("search_web\u{200b}", None),
        ];
        for (name, expected) in cases {
            assert_eq!(find_by_loose_name(name, tools.into_iter()), expected, "{name}");
        }
    }

    /// T39.
    #[test]
    fn names_that_could_be_taken_for_each_other_look_alike() {
        let cases = [
            ("ReadFile", "readfile", true),
            ("read-file", "read_file", true),
            ("readfile", "read_file", true),
            ("list_items", "Iist_items", true),
            ("list_items", "1ist_items", true),
            ("good", "g00d", true),
            ("read_file", "read_files", false),
            ("time", "timer", false),
        ];
        for (one, other, alike) in cases {
            assert_eq!(looks_alike(one, other), alike, "{one} {other}");
            assert_eq!(looks_alike(other, one), alike, "{other} {one}");
        }
    }

    #[test]
    fn two_tools_that_differ_only_in_case_are_never_guessed_between() {
        assert_eq!(find_by_loose_name("READFILE", ["ReadFile", "readfile"].into_iter()), None);
    }
}
