//! The sources are walked: a sentence that is printed comes from `tr!`, and what other crates say has its pattern.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::foreign;
use super::texts::FOREIGN;

/// Sentences that need no translation where they stand: file, beginning of the text, why.
const ALLOWED: &[(&str, &str, &str)] = &[
    ("assemble.rs", "set the environment variable", "of a `Reason`, whose notice is translated"),
    ("assemble/models.rs", "demo, inside the program", "a part of the fingerprint of a model"),
    ("commands/chat/asking.rs", "", "words that a person types"),
    ("commands/chat/keyboard/history.rs", "not a regular file", "an error that is dropped"),
    ("commands/import_openapi.rs", "command line", "the audit says who did it"),
    ("commands/parse.rs", "Without --jsonl", "help, whose texts have a test of their own"),
    ("commands/runs/story.rs", "command line", "what the server calls it"),
    ("commands/tools/rows.rs", "command line", "the audit says who did it"),
    ("discovery.rs", "", "of a `Reason`, whose notice is translated"),
    ("hooks/", "", "what a hook did wrong is kept with the run, in one language"),
    ("i18n/help.rs", "", "the keys of the table"),
    ("import.rs", "", "the API answers it; the terminal has patterns for it"),
    ("webhook.rs", "", "for the log"),
];

/// Programs that doctor and others suggest to run.
const PROGRAMS: &[&str] = &["helve ", "ollama ", "application/"];

/// Texts of `#[error]` in these files come to the terminal.
const FOREIGN_SOURCES: &[&str] = &[
    "helve-store/src/error.rs",
    "helve-store-sql/src/data_dir.rs",
    "helve-store-sql/src/sqlite/open.rs",
    "helve-store-sql/src/migrate.rs",
    "helve-model-http/src/model.rs",
    "helve-tool/src/catalogue.rs",
    "helve-tool/src/registry.rs",
];

/// Every sentence of these files comes to the terminal, in a report or as the words of another part.
const SPOKEN_SOURCES: &[&str] = &[
    "helve/src/import.rs",
    "helve-egress/src/headers.rs",
    "helve-egress/src/policy.rs",
    "helve-tool/src/json.rs",
    "helve-tool/src/schema/measure.rs",
    "helve-tool/src/schema/mod.rs",
    "helve-tool/src/schema/pattern.rs",
    "helve-tool-http/src/openapi/auth.rs",
    "helve-tool-http/src/openapi/body.rs",
    "helve-tool-http/src/openapi/diff.rs",
    "helve-tool-http/src/openapi/import.rs",
    "helve-tool-http/src/openapi/operation.rs",
    "helve-tool-http/src/openapi/parameters.rs",
    "helve-tool-http/src/openapi/parameters/shape.rs",
    "helve-tool-http/src/openapi/read.rs",
    "helve-tool-http/src/openapi/refs.rs",
    "helve-tool-http/src/openapi/select.rs",
    "helve-tool-http/src/openapi/server.rs",
    "helve-tool-http/src/transform/jq/parse.rs",
    "helve-tool-http/src/transform/jq/parse/literal.rs",
    "helve-tool-http/src/transform/jq/parse/term.rs",
];

/// Beginnings of what they write for models.
const FOR_MODELS: &[&str] = &["(One or more"];

/// Where what is wrong with a definition is found: a sentence there is a code of `fixtures/definition-codes.json`.
const DEFINITION_SOURCES: &[&str] = &[
    "helve-rows/src",
    "helve-tool/src/catalogue",
    "helve-tool/src/guards",
    "helve-tool-code/src/definition.rs",
    "helve-tool-code/src/folder.rs",
    "helve-tool-code/src/inline.rs",
    "helve-tool-http/src/caller.rs",
    "helve-tool-http/src/make.rs",
    "helve-tool-http/src/template/headers.rs",
    "helve-agent/src/agents/check.rs",
];

/// Sentences there that are no problem of a definition: file, beginning of the text, why.
const NO_PROBLEMS: &[(&str, &str, &str)] = &[
    ("helve-agent/src/agents/check.rs", "command line", "a reserved name"),
    ("helve-rows/src/table.rs", "what is stored as", "of a store that cannot be read"),
    ("helve-tool/src/catalogue/check.rs", "missing field", "how the reader of JSON begins"),
    ("helve-tool/src/catalogue/inside.rs", "`{}` is switched off", "told to the model that calls it"),
    ("helve-tool/src/catalogue/words.rs", "", "what the reader of JSON says, to find the code of it"),
];

struct Literal {
    line: usize,
    text: String,
    /// What stands before the brackets around it, such as `tr!`.
    around: Vec<String>,
}

/// The string literals of some code, as far as its bytes tell: no macro is expanded.
fn literals(code: &str) -> Vec<Literal> {
    let (mut found, mut around, mut at) = (vec![], Vec::<String>::new(), 0);
    while let Some(c) = code[at..].chars().next() {
        let rest = &code[at..];
        if rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
            continue;
        }
        if let Some((start, end)) = raw_string(rest).or_else(|| plain_string(rest)) {
            let text = unescaped(&rest[start..end]);
            let line = code[..at].lines().count();
            found.push(Literal { line, text, around: around.clone() });
            at += end + rest[end..].find('"').map_or(0, |quote| quote + 1);
            continue;
        }
        if let Some(length) = character(rest) {
            at += length;
            continue;
        }
        match c {
            '(' | '[' | '{' => around.push(name_before(&code[..at])),
            ')' | ']' | '}' => _ = around.pop(),
            _ => {}
        }
        at += c.len_utf8();
    }
    found
}

fn raw_string(code: &str) -> Option<(usize, usize)> {
    let marks = code.strip_prefix('r')?.split('"').next()?;
    if !marks.bytes().all(|b| b == b'#') {
        return None;
    }
    let start = marks.len() + 2;
    code.get(start..)?;
    let end = code[start..].find(&format!("\"{marks}"))?;
    Some((start, start + end))
}

fn plain_string(code: &str) -> Option<(usize, usize)> {
    let body = code.strip_prefix('"')?;
    let mut is_escaped = false;
    for (at, c) in body.char_indices() {
        match c {
            '"' if !is_escaped => return Some((1, at + 1)),
            _ => is_escaped = c == '\\' && !is_escaped,
        }
    }
    None
}

/// How long a literal of one character is; a lifetime is none.
fn character(code: &str) -> Option<usize> {
    let body = code.strip_prefix('\'')?;
    if body.starts_with('\\') {
        return Some(3 + body[2..].find('\'')?);
    }
    let first = body.chars().next()?;
    body[first.len_utf8()..].starts_with('\'').then(|| first.len_utf8() + 2)
}

fn unescaped(text: &str) -> String {
    let mut lines = text.split("\\\n");
    let first = lines.next().unwrap_or_default().to_owned();
    lines.fold(first, |whole, line| whole + line.trim_start()).replace("\\\"", "\"")
}

fn name_before(code: &str) -> String {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | ':' | '!' | '#');
    code.trim_end().rsplit(|c| !is_part(c)).next().unwrap_or_default().to_owned()
}

impl Literal {
    /// Two words in a row outside of what is quoted or filled in.
    fn is_sentence(&self) -> bool {
        let outside: String = self.text.split('`').step_by(2).collect();
        let mut words = String::new();
        let mut depth = 0_usize;
        for c in outside.chars() {
            match c {
                '{' => depth += 1,
                '}' => depth = depth.saturating_sub(1),
                _ if depth == 0 => words.push(c),
                _ => {}
            }
        }
        let is_word = |word: &str| {
            let word = word.trim_matches([',', ':', ';', '.']);
            word.len() > 1
                && word.bytes().all(|b| b.is_ascii_alphabetic())
                && word.bytes().skip(1).all(|b| b.is_ascii_lowercase())
        };
        let words: Vec<&str> = words.split_whitespace().collect();
        words.windows(2).any(|pair| pair.iter().all(|word| is_word(word)))
    }

    /// Translated, a line of the log, or nothing that runs.
    fn is_seen_to(&self) -> bool {
        let seen_to = |name: &String| {
            name == "tr!"
                || name.starts_with('#')
                || name.starts_with("tracing::")
                || name.contains("assert")
                || name == "unreachable!"
        };
        self.around.iter().any(seen_to) || PROGRAMS.iter().any(|program| self.text.starts_with(program))
    }
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => sources(&path, found),
            false if path.extension().is_some_and(|extension| extension == "rs") => found.push(path),
            false => {}
        }
    }
}

fn without_tests(code: &str) -> &str {
    code.split("#[cfg(test)]\nmod tests").next().unwrap_or_default()
}

#[test]
fn literals_are_found_with_what_stands_around_them() {
    let code = "fn a<'t>() { b(tr!(\"one {x} two\", 'c', '\"'), r#\"three \"four\"\"#); /* */ }\n// \"not this\"\n#[doc = \"five six\"]";
    let found = literals(code);
    let texts: Vec<&str> = found.iter().map(|literal| literal.text.as_str()).collect();
    assert_eq!(texts, ["one {x} two", "three \"four\"", "five six"]);
    assert_eq!(
        found[0].around,
        ["", "b", "tr!"].map(str::to_owned)[..].to_vec().into_iter().collect::<Vec<_>>()
    );
    assert!(found[0].is_seen_to() && !found[1].is_seen_to() && found[2].is_seen_to());
    let sentence = |text: &str| Literal { line: 1, text: text.into(), around: vec![] }.is_sentence();
    assert!(
        sentence("there is {x}")
            && !sentence("{a} at {b}")
            && !sentence("`a b c`")
            && !sentence("on_failure")
    );
}

#[test]
fn every_sentence_of_this_crate_is_translated_or_on_the_list() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut paths = vec![];
    sources(&root, &mut paths);
    let (mut used, mut left) = (BTreeSet::new(), vec![]);
    for path in paths {
        let name = path.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
        if name.ends_with("tests.rs")
            || name == "testing.rs"
            || name.starts_with("i18n/texts")
            || name == "i18n/literals.rs"
        {
            continue;
        }
        let code = fs::read_to_string(&path).unwrap();
        for literal in literals(without_tests(&code))
            .iter()
            .filter(|literal| literal.is_sentence() && !literal.is_seen_to())
        {
            let allowed = ALLOWED
                .iter()
                .position(|(file, text, _)| name.starts_with(file) && literal.text.starts_with(text));
            match allowed {
                Some(number) => _ = used.insert(number),
                None => left.push(format!("{name}:{}: {:?}", literal.line, literal.text)),
            }
        }
    }
    assert!(left.is_empty(), "use `tr!` for:\n{}", left.join("\n"));
    let unused: Vec<_> =
        (0..ALLOWED.len()).filter(|number| !used.contains(number)).map(|number| ALLOWED[number]).collect();
    assert!(unused.is_empty(), "no longer needed: {unused:?}");
}

/// The text of `#[error]` with `{}` for each value.
fn pattern(text: &str) -> String {
    let mut out = String::new();
    for (number, part) in text.split('{').enumerate() {
        match part.split_once('}').filter(|_| number > 0) {
            Some((_, behind)) => out += &format!("{{}}{behind}"),
            None => out += part,
        }
    }
    out
}

#[test]
fn what_other_crates_say_when_they_fail_has_its_chinese() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let patterns: BTreeSet<&str> = FOREIGN.iter().copied().flatten().map(|(english, _)| *english).collect();
    let mut missing = vec![];
    for source in FOREIGN_SOURCES {
        let code = fs::read_to_string(crates.join(source)).unwrap();
        for literal in literals(without_tests(&code)).iter().filter(|literal| {
            literal.is_sentence()
                && literal.around.len() >= 2
                && literal.around.iter().any(|name| name == "error")
        }) {
            let pattern = pattern(&literal.text);
            if !patterns.contains(pattern.as_str()) {
                missing.push(format!("{source}:{}: {pattern:?}", literal.line));
            }
        }
    }
    assert!(missing.is_empty(), "no Chinese in i18n/texts/foreign.rs for:\n{}", missing.join("\n"));
}

#[test]
fn whatever_is_told_of_documents_schemas_and_filters_has_its_chinese() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let patterns: BTreeSet<&str> = FOREIGN.iter().copied().flatten().map(|(english, _)| *english).collect();
    let mut missing = vec![];
    for source in SPOKEN_SOURCES {
        let code = fs::read_to_string(crates.join(source)).unwrap();
        for literal in literals(without_tests(&code)) {
            let is_for_models = FOR_MODELS.iter().any(|begin| literal.text.starts_with(begin));
            if !literal.is_sentence() || literal.is_seen_to() || is_for_models {
                continue;
            }
            let pattern = pattern(&literal.text);
            if !patterns.contains(pattern.as_str()) {
                missing.push(format!("{source}:{}: {pattern:?}", literal.line));
            }
        }
    }
    assert!(missing.is_empty(), "no Chinese in i18n/texts/definitions.rs for:\n{}", missing.join("\n"));
}

#[test]
fn what_is_wrong_with_a_definition_is_a_code_and_no_sentence() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let (mut used, mut left) = (BTreeSet::new(), vec![]);
    for source in DEFINITION_SOURCES {
        let (place, mut paths) = (crates.join(source), vec![]);
        match place.is_dir() {
            true => sources(&place, &mut paths),
            false => paths.push(place),
        }
        for path in paths.iter().filter(|path| !path.ends_with("tests.rs")) {
            let name = path.strip_prefix(crates).unwrap().to_string_lossy().into_owned();
            if name.contains("/tests/") {
                continue;
            }
            let code = fs::read_to_string(path).unwrap();
            for literal in literals(without_tests(&code)) {
                if !literal.is_sentence() || literal.is_seen_to() {
                    continue;
                }
                let allowed = NO_PROBLEMS
                    .iter()
                    .position(|(file, begin, _)| name == *file && literal.text.starts_with(begin));
                match allowed {
                    Some(number) => _ = used.insert(number),
                    None => left.push(format!("{name}:{}: {:?}", literal.line, literal.text)),
                }
            }
        }
    }
    assert!(left.is_empty(), "sentences without a code:\n{}", left.join("\n"));
    assert_eq!(used.len(), NO_PROBLEMS.len(), "an entry of the list allows nothing: {used:?}");
}

#[test]
fn both_sides_of_a_pattern_have_as_many_values_or_the_chinese_fewer() {
    let holes = |text: &str| text.matches("{}").count();
    let mut seen = BTreeSet::new();
    for (english, chinese) in FOREIGN.iter().copied().flatten() {
        assert!(holes(english) >= holes(chinese), "{english}");
        assert!(seen.insert(english), "twice: {english}");
        // An earlier pattern that is wider would take its texts.
        let sample = english.replace("{}", "x");
        let own = chinese.replace("{}", "x");
        assert_eq!(
            foreign::chinese(&sample).as_deref(),
            Some(own.as_str()),
            "an earlier pattern takes: {english}"
        );
    }
}
