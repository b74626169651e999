//! A complete message is read the same as the same message in pieces, whatever is odd in its calls.

use super::*;
use crate::families::framed::{deepseek_v3, deepseek_v31, kimi_k2};
use crate::families::gemma::{functiongemma, gemma4};
use crate::read as read_message;

const CALL: &str = r#"{"name": "f", "arguments": {"a": 1}}"#;

/// What comes out of these pieces: the names of calls, the texts of those that were cut, and what is said.
fn told(name: &str, pieces: &[&str], end: End) -> String {
    let tools = Tools::new([("f".to_owned(), serde_json::json!({}))]);
    let mut parser = Parser::new(Reading::for_dialect(dialect(name).expect("is a dialect"), tools));
    let mut told = String::new();
    let mut take = |piece: Piece<'_>| match piece {
        Piece::CallFinished { call, .. } => told += &format!("call {} {};", call.name, call.arguments),
        Piece::CallDropped { why: Dropped::Cut, text, .. } => told += &format!("cut {text};"),
        Piece::Text(text) => told += text,
        _ => {}
    };
    pieces.iter().for_each(|piece| parser.feed(piece, &mut take));
    parser.finish(end, &mut take);
    told
}

#[test]
fn a_call_is_shown_as_soon_as_it_is_there_and_once() {
    let mut shown = String::new();
    let mut take = |piece: Piece<'_>| match piece {
        Piece::CallStarted { name, .. } => shown += name,
        Piece::CallArguments { text, .. } => shown += text,
        _ => {}
    };
    let mut parser = Parser::new(Reading::default());
    parser.feed(&format!("<tool_call>{CALL}"), &mut take);
    parser.feed("</tool_call>", &mut |_| {});
    parser.feed(&format!("<tool_call>{CALL}"), &mut |_| {});
    parser.feed("</tool_call>", &mut take);
    assert_eq!(shown, "f{\"a\": 1}");
}

#[test]
fn the_last_call_counts_if_nothing_follows_it() {
    for (name, tag) in [("json_bare", ""), ("llama3_json", "<|python_tag|>"), ("hermes", "<tool_call>\n")] {
        let text = format!("{tag}{CALL} ");
        let call = "call f {\"a\": 1};";
        assert_eq!(told(name, &[&text], End::Normal), call);
        assert_eq!(
            told(name, &[&text, &CALL.replace(": 1", ": 2")], End::Normal),
            format!("{call}call f {{\"a\": 2}};")
        );
        assert_eq!(told(name, &[&text], End::Cut), format!("cut {text};"));
    }
    let text = format!("So: {CALL}");
    assert_eq!(told("json_bare", &[&text, " is how."], End::Normal), format!("{text} is how."));
    let text = format!("<tool_call>{CALL}");
    assert_eq!(told("hermes", &[&text, "</tool_call> So."], End::Normal), "call f {\"a\": 1}; So.");
}

/// What a section is made of: `(` begins a call, `|` the arguments, `)` ends the call and `]` the section.
const BITS: &[&str] = &[
    "(search|{}",
    "(f|{\"query\": \"x\"}",
    "(0|{\"query\": \")\"}",
    "(search|",
    "{}",
    ")",
    "]",
    "\n",
    "x",
    "{",
    "\"",
    "`",
    "(",
    "|",
    "<",
    "{\"query\": ",
];

fn section() -> impl Strategy<Value = String> {
    proptest::collection::vec(prop::sample::select(BITS), 0..5).prop_map(|bits| bits.concat())
}

proptest! {
    #[test]
    fn a_section_in_one_go_is_the_section_in_pieces(odd in section(), known in any::<bool>()) {
        let deepseek = ["<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>"];
        let kimi = [
            "<|tool_calls_section_begin|>",
            "<|tool_call_begin|>",
            "<|tool_call_argument_begin|>",
            "<|tool_call_end|>",
            "<|tool_calls_section_end|>",
        ];
        for (dialect, [open, call, arguments, end, close]) in
            [(&deepseek_v31::DIALECT, deepseek), (&deepseek_v3::DIALECT, deepseek), (&kimi_k2::DIALECT, kimi)]
        {
            for written in [format!("(search|{{}})]{odd}"), format!("(search|{{}}{odd})]"), odd.clone()] {
                let signs = |c: char| match c {
                    '(' => call.to_owned(),
                    '|' => arguments.to_owned(),
                    ')' => end.to_owned(),
                    ']' => close.to_owned(),
                    other => other.to_string(),
                };
                let text: String = std::iter::once(open.to_owned()).chain(written.chars().map(signs)).collect();
                let reading = Reading::for_dialect(dialect, if known { tools() } else { Tools::unknown() });
                let whole = read_message(&text, reading.clone(), None);
                prop_assert_eq!(read_message(&text, reading, Some(1)), whole, "{}", text);
            }
        }
    }
}

/// Members of a call; `¤` is a mark of text, `¡` the opening mark, `§` the closing one.
const MEMBERS: &[&str] = &[
    "query:¤x¤,",
    "query: ¤a < b\n\"¤ , ",
    "query:¤a§b¤,",
    "query:5,",
    "limit:5,",
    "limit:¤5¤,",
    "limit:5¤,",
    "limit:null,",
    "a-b.c:[1,¤b¤,c d],",
    "o:{k:[],e:{},n:-2.5,t:true,},",
    "l:[¤x¤,{a:¤§¤}, ],",
];

/// What makes a call odd.
const ODD: &[&str] = &[
    "¤",
    "§",
    "x",
    "<",
    "<|",
    " ",
    ",",
    ":",
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    "\"",
    "'",
    "limit:None,",
    "query:'a, b',",
    "{limit:2}}",
    "\\",
    "é",
    "\n",
    "call:",
    "}§",
    "¡",
    "¡call:search{",
    "<eos>",
    "¤x}§",
];

fn inside() -> impl Strategy<Value = String> {
    let bit = prop_oneof![5 => prop::sample::select(MEMBERS), 1 => prop::sample::select(ODD)];
    proptest::collection::vec(bit, 0..5).prop_map(|bits| bits.concat())
}

proptest! {
    #[test]
    fn a_call_in_one_go_is_the_call_in_pieces(inside in inside(), behind in inside(), known in any::<bool>()) {
        let written = format!("call:search{{{inside}}}§{behind}");
        for (dialect, open, quote, close) in [
            (&gemma4::DIALECT, "<|tool_call>", "<|\"|>", "<tool_call|>"),
            (&functiongemma::DIALECT, "<start_function_call>", "<escape>", "<end_function_call>"),
        ] {
            let text = format!("{open}{}", written.replace('¤', quote).replace('¡', open).replace('§', close));
            let reading = Reading::for_dialect(dialect, if known { tools() } else { Tools::unknown() });
            let whole = read_message(&text, reading.clone(), None);
            prop_assert_eq!(read_message(&text, reading, Some(1)), whole, "{}", text);
        }
    }
}
