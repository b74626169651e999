//! Names that may have been meant by one that does not exist.

const SUGGESTIONS_MAX: usize = 3;
/// As `clap` has it for its own suggestions.
const SIMILARITY_MIN: f64 = 0.7;
/// A longer name was not mistyped.
const NAME_CHARS_MAX: usize = 200;

/// The most similar names, best first.
pub(crate) fn similar<'n>(name: &str, names: impl IntoIterator<Item = &'n str>) -> Vec<&'n str> {
    if name.chars().count() > NAME_CHARS_MAX {
        return vec![];
    }
    let wanted = name.to_lowercase();
    let mut rated: Vec<(f64, &str)> = names
        .into_iter()
        .filter(|known| known.chars().count() <= NAME_CHARS_MAX)
        .map(|known| (strsim::jaro(&wanted, &known.to_lowercase()), known))
        .filter(|(similarity, _)| *similarity >= SIMILARITY_MIN)
        .collect();
    rated.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(other.1)));
    rated.truncate(SUGGESTIONS_MAX);
    rated.into_iter().map(|(_, known)| known).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_names_come_first_and_unlike_ones_not_at_all() {
        let tools = ["calculator", "calendar", "search_web", "time"];
        assert_eq!(similar("calculater", tools), ["calculator", "calendar"]);
        assert_eq!(similar("Time", tools), ["time"]);
        assert_eq!(similar("qqq", tools), Vec::<&str>::new());
        assert_eq!(similar(&"calculator".repeat(30), tools), Vec::<&str>::new());
        let many: Vec<String> = (0..50).map(|n| format!("tool_{n}")).collect();
        assert_eq!(similar("tool_", many.iter().map(String::as_str)).len(), SUGGESTIONS_MAX);
    }
}
