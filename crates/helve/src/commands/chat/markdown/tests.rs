//! Formatting of answers for the terminal, by example and against arbitrary text.

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;

fn without_styles(text: &str) -> String {
    let mut shown = text.replace(RESET, "");
    while let Some(at) = shown.find('\u{1b}') {
        let end = shown[at..].find('m').map_or(shown.len(), |end| at + end + 1);
        shown.replace_range(at..end, "");
    }
    shown
}

/// Styles as names, so that they can be read.
fn named(text: &str) -> String {
    let names = [
        ("\u{1b}[1;4m", "<title>"),
        ("\u{1b}[1;3m", "<b+i>"),
        (BOLD, "<b>"),
        (DIM, "<dim>"),
        (ITALIC, "<i>"),
        (UNDERLINE, "<u>"),
        (STRIKE, "<s>"),
        (CODE, "<code>"),
        (RESET, "</>"),
    ];
    names.iter().fold(text.to_owned(), |text, (sequence, name)| text.replace(sequence, name))
}

fn rendered(pieces: &[&str], columns: usize) -> String {
    let mut markdown = Markdown::new(columns);
    let shown: String = pieces.iter().map(|piece| markdown.push(piece)).collect();
    shown + &markdown.flush()
}

fn check(source: &str, expected: Expect) {
    expected.assert_eq(&named(&rendered(&[source], 60)));
    // In the smallest pieces it looks the same; only styles may be begun anew.
    let pieces: Vec<String> = source.chars().map(String::from).collect();
    let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
    assert_eq!(without_styles(&rendered(&pieces, 60)), without_styles(&rendered(&[source], 60)));
}

#[test]
fn blocks_are_shown_without_their_marks() {
    check(
        "# Title\n## Part *two*\ntext\n\n- one\n  - [x] done\n  - [ ] open\n3. three\n> said **so**\n---\n#no heading\n",
        expect![[r#"
            <title>Title</>
            <b>Part <i>two</><b></>
            text

            • one
              ☑ done
              ☐ open
            3. three
            <dim>│ </><i>said <b>so</><i></>
            <dim>────────────────────────────────────────</>
            #no heading
        "#]],
    );
}

#[test]
fn spans_are_styled_and_what_is_no_span_stays() {
    check(
        "**bold** *it* ***both*** `a*b*c` ~~gone~~ [Rust](https://rust-lang.org \"t\") ![pic](p.png)\n\
         2 * 3 * 4, snake_case_name, a ** b, **open, `tick, [1] and \\*stars\\*\n\
         **重要：**内容 _斜体_ ``a`b``\n",
        expect![[r#"
            <b>bold</> <i>it</> <b+i>both</> <code>a*b*c</> <s>gone</> <u>Rust</><dim> (https://rust-lang.org)</> <u>pic</><dim> (p.png)</>
            2 * 3 * 4, snake_case_name, a ** b, **open, `tick, [1] and *stars*
            <b>重要：</>内容 <i>斜体</> <code>a`b</>
        "#]],
    );
}

#[test]
fn a_code_block_is_shown_as_it_is() {
    check(
        "```rust\nlet a = *b; // **not bold**\n# no heading\n\n``\n```\n**bold**\n~~~\n```\n~~~\n",
        expect![[r#"
            <dim>┌── rust</>
            <code>let a = *b; // **not bold**</>
            <code># no heading</>

            <code>``</>
            <dim>└──</>
            <b>bold</>
            <dim>┌── </>
            <code>```</>
            <dim>└──</>
        "#]],
    );
}

#[test]
fn a_table_has_columns_of_equal_width_also_with_wide_characters() {
    let source = "| 名称 | Price |\n|:---|---:|\n| 苹果 | 3 |\n| **pear** | 12.50 |\n\nafter\n";
    check(
        source,
        expect![[r#"
            <b>名称</><dim> │ </><b>Price</>
            <dim>─────┼──────</>
            苹果<dim> │ </>    3
            <b>pear</><dim> │ </>12.50

            after
        "#]],
    );
    // Where there is no room for it, each row is a list.
    expect![[r#"
        <b>名称</>: 苹果
        <b>Price</>: 3
        <dim>──</>
        <b>名称</>: <b>pear</>
        <b>Price</>: 12.50

        after
    "#]]
    .assert_eq(&named(&rendered(&[source], 10)));
    check(
        "| no table |\nat all\n",
        expect![[r#"
        | no table |
        at all
    "#]],
    );
}

#[test]
fn text_is_shown_as_it_comes_and_only_an_open_span_waits() {
    let mut markdown = Markdown::new(80);
    assert_eq!(markdown.push("Hello wor"), "Hello wor");
    assert!(!markdown.is_at_line_start());
    assert_eq!(markdown.push("ld, **bo"), "ld, ");
    assert_eq!(markdown.push("ld*"), "");
    assert_eq!(markdown.push("*"), "");
    assert_eq!(named(&markdown.push(" and")), "<b>bold</> and");
    assert_eq!(markdown.push("\n"), "\n");
    assert!(markdown.is_at_line_start());
    // What is cut off is shown as it was written.
    assert_eq!(markdown.push("see [the"), "see ");
    assert_eq!(markdown.flush(), "[the");
    let mut markdown = Markdown::new(80);
    assert_eq!(markdown.push("| a | b |\n|---|---|\n| 1 |"), "");
    assert_eq!(without_styles(&markdown.flush()), "a │ b\n──┼──\n1 │ \n");
    let mut markdown = Markdown::new(80);
    assert_eq!(markdown.push("```"), "");
    assert_eq!(without_styles(&markdown.flush()), "┌── \n");
}

#[test]
fn what_is_held_back_is_bounded() {
    let mut markdown = Markdown::new(80);
    let mut shown = markdown.push("**");
    for _ in 0..500 {
        shown += &markdown.push("word ");
    }
    assert!(shown.len() > 1_000, "{}", shown.len());
    let mut markdown = Markdown::new(80);
    let rows: String = (0..1_000).map(|n| format!("| row {n} |\n")).collect();
    assert!(markdown.push(&rows).contains("row 500"));
    let mut markdown = Markdown::new(80);
    assert!(!markdown.push(&format!("```{}", "x".repeat(UNDECIDED_BYTES_MAX))).is_empty());
}

proptest! {
    #[test]
    fn nothing_is_lost_and_no_other_sequence_goes_out(
        pieces in prop::collection::vec(r"([a-z你 ]|[*_`~\[\]()!#>|\\:-]|\n|```|\*\*|1\. |- ){0,12}", 0..12)
    ) {
        let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
        let shown = rendered(&pieces, 40);
        prop_assert!(!without_styles(&shown).contains('\u{1b}'), "a sequence is left");
        prop_assert_eq!(without_styles(&shown), without_styles(&rendered(&[&pieces.concat()], 40)));
        let letters = |text: &str| text.chars().filter(|c| *c == '你').count();
        let whole = pieces.concat();
        // Addresses of links lose their titles, and a fence what stands behind its language.
        if !whole.contains('(') && !whole.contains("``") && !whole.contains("~~~") {
            prop_assert_eq!(letters(&shown), letters(&whole), "{:?}", shown);
        }
    }
}
