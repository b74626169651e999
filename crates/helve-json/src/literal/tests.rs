//! Values in every notation, and what becomes of them.

use proptest::prelude::*;
use serde_json::Value;

use super::*;

fn read(text: &str, mut literal: LiteralReader, chunk: usize) -> Option<(String, Vec<Repair>)> {
    let mut out = String::new();
    let chars: Vec<char> = text.chars().collect();
    for piece in chars.chunks(chunk.max(1)) {
        let piece: String = piece.iter().collect();
        match literal.feed(&piece, 0, &mut out) {
            LiteralProgress::All => {}
            LiteralProgress::UpTo(at) if at == piece.len() => {}
            _ => return None,
        }
    }
    literal.finish(false, &mut out).then(|| (out, literal.changes()))
}

#[test]
fn python_values_become_json() {
    let cases = [
        ("'it'", Some(r#""it""#)),
        (r#""a" 'b'"#, Some(r#""ab""#)),
        (r#"'say "hi"'"#, Some(r#""say \"hi\"""#)),
        ("'''two\n'lines' \"here\"'''", Some(r#""two\n'lines' \"here\"""#)),
        (r"r'C:\new'", Some(r#""C:\\new""#)),
        (r"'\x41\u00e9\U0001F600\'\d'", Some(r#""Aé😀'\\d""#)),
        ("f'plain'", Some(r#""plain""#)),
        ("f'{x}'", None),
        ("{'a': [1, 2.5, -3], 'b': None}", Some(r#"{"a": [1, 2.5, -3], "b": null}"#)),
        ("(1, 'x')", Some(r#"[1, "x"]"#)),
        ("{1, 2}", Some("[1, 2]")),
        ("{[1], [2]}", Some("[[1], [2]]")),
        ("('x')", Some(r#""x""#)),
        ("('a'\n 'b')", Some(r#""ab""#)),
        ("[(1), (2,), (), ((3)), ((4, 5))]", Some("[1, [2], [], 3, [4, 5]]")),
        ("({'a': (1)})", Some(r#"{"a": 1}"#)),
        ("{{'a': 1}}", Some(r#"{"a": 1}"#)),
        ("[{{'a': {{'b': 1}}, 'c': { {} }}}, 2]", Some(r#"[{"a": {"b": 1}, "c": {}}, 2]"#)),
        ("{{'a': 1},}", None),
        ("{{'a': 1}, {'b': 2}}", None),
        ("{1, {'a': 1}}", None),
        ("{{{'a': 1}}}", None),
        ("{{1, 2}}", None),
        ("{{'a': 1}: 2}", None),
        ("{}", Some("{}")),
        ("{1: 'one'}", Some(r#"{"1": "one"}"#)),
        ("[True, False, true,]", Some("[true, false, true]")),
        ("''", Some(r#""""#)),
        ("['', \"\"]", Some(r#"["", ""]"#)),
        ("name", None),
        ("1 + 2", None),
        ("[f(1)]", None),
        ("{'a': 1, 'b'}", None),
        ("[1 2]", None),
    ];
    for (written, json) in cases {
        for chunk in 1..5 {
            let got = read(written, LiteralReader::for_python(), chunk).map(|(text, _)| text);
            assert_eq!(got.as_deref(), json, "{written}");
        }
    }
}

#[test]
fn liberties_are_noted() {
    use Repair::*;
    let cases: &[(&str, &[Repair])] = &[
        (r#"{"a": [1, true, null, "x\n"]}"#, &[]),
        ("{'a': 1}", &[Quotes]),
        ("{a: 1}", &[Quotes]),
        ("[True, None]", &[Words]),
        ("[1, 2,]", &[Commas]),
        ("[\"a\nb\"]", &[ControlCharacters]),
        (r#"["\d"]"#, &[Escapes]),
        ("{“a”：1}", &[Quotes, FullWidth]),
        ("[007]", &[Numbers]),
        ("{\\n\"a\": 1,\\n\"b\": 2\\n}", &[Escapes]),
    ];
    for (written, changes) in cases {
        let (text, got) = read(written, LiteralReader::for_repair(), 3).expect(written);
        assert_eq!(got, *changes, "{written} became {text}");
        assert!(serde_json::from_str::<Value>(&text).is_ok(), "{text}");
    }
}

#[test]
fn only_whole_values_may_be_closed() {
    let close = |text: &str| {
        let mut literal = LiteralReader::for_repair();
        let mut out = String::new();
        assert_eq!(literal.feed(text, 0, &mut out), LiteralProgress::All);
        literal.finish(true, &mut out).then_some(out)
    };
    assert_eq!(close(r#"{"a": {"b": 1}"#).as_deref(), Some(r#"{"a": {"b": 1}}"#));
    assert_eq!(close(r#"[{"a": "x""#).as_deref(), Some(r#"[{"a": "x"}]"#));
    assert_eq!(close(r#"{"a": "x"#), None);
    assert_eq!(close(r#"{"a": "#), None);
    assert_eq!(close(r#"{"a": 1, "#), None);
}

proptest! {
    #[test]
    fn json_passes_unchanged_in_meaning(text in ".*", number in any::<i64>(), chunk in 1usize..7) {
        let value = serde_json::json!({"t": text, "n": [number, null, true, {"x": 0.5}]});
        let (out, changes) = read(&value.to_string(), LiteralReader::for_repair(), chunk).expect("is JSON");
        prop_assert_eq!(serde_json::from_str::<Value>(&out).unwrap(), value);
        prop_assert!(changes.is_empty());
    }

    #[test]
    fn any_text_is_read_alike_in_any_chunks(text in "[\\[\\]{}(),:'\"\\\\ntrueN1.5“”a\n ]{0,24}", chunk in 1usize..5) {
        prop_assert_eq!(read(&text, LiteralReader::for_python(), chunk), read(&text, LiteralReader::for_python(), 1000));
    }

    #[test]
    fn what_is_written_is_json(text in "[\\[{(]?[\\[\\]{}(),:'\"\\\\ux41trueN1.5a ]{0,24}[\\]})]?") {
        if let Some((out, _)) = read(&text, LiteralReader::for_python(), 1000) {
            prop_assert!(serde_json::from_str::<serde::de::IgnoredAny>(&out).is_ok(), "{} became {}", text, out);
        }
    }
}
