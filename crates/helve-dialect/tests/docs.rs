//! The pages say what is so.

use helve_dialect::dialects;

const PAGE: &str = include_str!("../../../docs/reference/dialects.md");

#[test]
fn every_dialect_has_its_row_which_says_who_writes_it_and_whether_it_is_found() {
    let rows: Vec<&str> = PAGE.lines().filter(|line| line.starts_with("| `")).collect();
    for dialect in dialects() {
        let row = match dialect.is_found_by_marks() {
            true => format!("| `{}` |", dialect.name),
            false => format!("| `{}` (given only) |", dialect.name),
        };
        let row = rows.iter().find(|line| line.starts_with(&row));
        let row = row.unwrap_or_else(|| panic!("`{}` has no row", dialect.name));
        assert!(row.contains(dialect.models), "{row} does not say `{}`", dialect.models);
    }
}

#[test]
fn pages_count_the_dialects() {
    let count = dialects().len();
    assert!(PAGE.contains(&format!("There are {count}.")));
    for (readme, says) in [
        (include_str!("../../../README.md"), format!("[{count} dialects]")),
        (include_str!("../../../README.zh-CN.md"), format!("{count} 种")),
    ] {
        assert!(readme.contains(&says), "a README does not say `{says}`");
    }
}
