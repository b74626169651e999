//! The parsers that are compared, each behind the same face: a text in pieces, and how many calls were found.
//!
//! What a server does once — read the declarations of the tools, build a factory — is done once here too, for each
//! parser alike. A parser is made anew for every text.

use dynamo_parsers::tool_calling::{ToolDefinition, parsers as dynamo};
use dynamo_parsers_v2::{Tool, create_tool_parser_for_family};
use futures::executor::block_on;
use helve_dialect::{End, Parser, Piece, Reading, Tools};
use serde_json::{Value, json};

/// How a text is given to a parser.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Pieces,
    Whole,
}

/// Reads one text and counts its calls; `None` where it fails.
pub type Reader = Box<dyn Fn(&[&str]) -> Option<usize>>;

/// One parser: its name, and how it is set up; `None` where it does not know the format or the way.
pub struct Peer {
    pub name: &'static str,
    pub set_up: fn(format: &str, way: Way) -> Option<Reader>,
}

/// Helve comes first, as a server uses it that knows its model, and then as one that does not.
pub const PEERS: &[Peer] = &[
    Peer { name: "helve, given", set_up: helve_given },
    Peer { name: "helve, found", set_up: helve_found },
    Peer { name: "tool-parser", set_up: tool_parser },
    Peer { name: "dynamo v2", set_up: dynamo_v2 },
    Peer { name: "dynamo v1", set_up: dynamo_v1 },
];

/// How many of them are Helve.
pub const OURS: usize = 2;

/// The tool that is called.
pub const NAME: &str = "write_file";

fn schema() -> Value {
    json!({"type": "object", "properties": {"content": {"type": "string"}}, "required": ["content"]})
}

fn helve_given(format: &str, way: Way) -> Option<Reader> {
    let dialect = helve_dialect::dialect(format)?;
    Some(helve(Reading::for_dialect(dialect, Tools::new([(NAME.to_owned(), schema())])), way))
}

fn helve_found(_: &str, way: Way) -> Option<Reader> {
    Some(helve(Reading::any(Tools::new([(NAME.to_owned(), schema())])), way))
}

fn helve(reading: Reading, way: Way) -> Reader {
    Box::new(move |pieces| {
        let mut calls = 0;
        let mut bytes = 0;
        let mut take = |piece: Piece<'_>| match piece {
            Piece::CallFinished { .. } => calls += 1,
            Piece::Text(text) | Piece::Reasoning(text) | Piece::CallArguments { text, .. } => {
                bytes += text.len()
            }
            _ => {}
        };
        if way == Way::Whole {
            reading.read(pieces.first()?, End::Normal, &mut take);
        } else {
            let mut parser = Parser::new(reading.clone());
            pieces.iter().for_each(|piece| parser.feed(piece, &mut take));
            parser.finish(End::Normal, &mut take);
        }
        std::hint::black_box(bytes);
        Some(calls)
    })
}

fn tool_parser(format: &str, way: Way) -> Option<Reader> {
    let name = match format {
        "hermes" => "qwen",
        "json_bare" => "json",
        "llama3_json" => "llama",
        "qwen3_coder" => "qwen_coder",
        "glm47" => "glm47_moe",
        "deepseek_v31" => "deepseek31",
        "kimi_k2" => "kimik2",
        other => other,
    };
    let name = name.to_owned();
    let tool = json!({"type": "function", "function": {"name": NAME, "parameters": schema()}});
    let tools: Vec<openai_protocol::common::Tool> = serde_json::from_value(json!([tool])).ok()?;
    let factory = tool_parser::ParserFactory::new();
    if !factory.registry().has_parser(&name) {
        return None;
    }
    Some(Box::new(move |pieces| {
        let mut parser = factory.registry().create_parser(&name)?;
        if way == Way::Whole {
            let read = block_on(parser.parse_complete_with_tools(pieces.first()?, &tools));
            return read.ok().map(|(_, calls)| calls.len());
        }
        let mut calls = 0;
        for piece in pieces {
            let result = block_on(parser.parse_incremental(piece, &tools)).ok()?;
            calls += result.calls.iter().filter(|call| call.name.is_some()).count();
        }
        Some(calls)
    }))
}

fn dynamo_v2(format: &str, _: Way) -> Option<Reader> {
    let format = format.to_owned();
    let tools = [Tool { name: NAME.to_owned(), description: None, parameters: schema(), strict: None }];
    create_tool_parser_for_family(&format, &tools).ok()?;
    Some(Box::new(move |pieces| {
        let mut parser = create_tool_parser_for_family(&format, &tools).ok()?;
        let mut calls = 0;
        for piece in pieces {
            calls += parser.push(piece).ok()?.calls.iter().filter(|call| call.name.is_some()).count();
        }
        calls += parser.finish().ok()?.calls.iter().filter(|call| call.name.is_some()).count();
        Some(calls)
    }))
}

/// Reads whole texts only: its streaming is bound to its server's response types.
fn dynamo_v1(format: &str, way: Way) -> Option<Reader> {
    let name = match format {
        "json_bare" => "default",
        "deepseek_v31" => "deepseek_v3_1",
        other => other,
    };
    if way == Way::Pieces || !dynamo::get_available_tool_parsers().contains(&name) {
        return None;
    }
    let name = name.to_owned();
    let tools = [ToolDefinition { name: NAME.to_owned(), parameters: Some(schema()), strict: None }];
    Some(Box::new(move |pieces| {
        let read = dynamo::detect_and_parse_tool_call(pieces.first()?, Some(&name), Some(&tools));
        block_on(read).ok().map(|(calls, _)| calls.len())
    }))
}
