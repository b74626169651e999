//! The parsers that are compared, each behind the same face: a text in pieces, and how many calls were found.

use futures::executor::block_on;
use helve_dialect::{End, Parser, Piece, Reading, Tools};
use serde_json::json;

/// One parser: its name, and how it reads a text in pieces; `None` where it does not know the format or the way.
pub struct Peer {
    pub name: &'static str,
    pub read: fn(format: &str, pieces: &[&str]) -> Option<usize>,
}

pub const PEERS: &[Peer] = &[
    Peer { name: "helve, given", read: helve_given },
    Peer { name: "helve, found", read: helve_found },
    Peer { name: "tool-parser", read: tool_parser },
    Peer { name: "dynamo v2", read: dynamo_v2 },
    Peer { name: "dynamo v1", read: dynamo_v1 },
];

fn schema() -> serde_json::Value {
    json!({"type": "object", "properties": {"content": {"type": "string"}}, "required": ["content"]})
}

fn helve(reading: Reading, pieces: &[&str]) -> usize {
    let mut parser = Parser::new(reading);
    let mut calls = 0;
    let mut bytes = 0;
    let mut take = |piece: Piece<'_>| match piece {
        Piece::CallFinished { .. } => calls += 1,
        Piece::Text(text) | Piece::Reasoning(text) | Piece::CallArguments { text, .. } => bytes += text.len(),
        _ => {}
    };
    for piece in pieces {
        parser.feed(piece, &mut take);
    }
    parser.finish(End::Normal, &mut take);
    std::hint::black_box(bytes);
    calls
}

fn tools() -> Tools {
    Tools::new([("write_file".to_owned(), schema())])
}

fn helve_given(format: &str, pieces: &[&str]) -> Option<usize> {
    Some(helve(Reading::of(helve_dialect::dialect(format)?, tools()), pieces))
}

fn helve_found(_: &str, pieces: &[&str]) -> Option<usize> {
    Some(helve(Reading::any(tools()), pieces))
}

fn tool_parser(format: &str, pieces: &[&str]) -> Option<usize> {
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
    let factory = tool_parser::ParserFactory::new();
    let mut parser = factory.registry().create_parser(name)?;
    let tools: Vec<openai_protocol::common::Tool> = serde_json::from_value(json!([
        {"type": "function", "function": {"name": "write_file", "parameters": schema()}}
    ]))
    .ok()?;
    if let [whole] = pieces {
        return block_on(parser.parse_complete_with_tools(whole, &tools)).ok().map(|(_, calls)| calls.len());
    }
    let mut calls = 0;
    for piece in pieces {
        let result = block_on(parser.parse_incremental(piece, &tools)).ok()?;
        calls += result.calls.iter().filter(|call| call.name.is_some()).count();
    }
    Some(calls)
}

fn dynamo_v2(format: &str, pieces: &[&str]) -> Option<usize> {
    use dynamo_parsers_v2::{Tool, create_tool_parser_for_family};
    let tool = Tool { name: "write_file".to_owned(), description: None, parameters: schema(), strict: None };
    let mut parser = create_tool_parser_for_family(format, &[tool]).ok()?;
    let mut calls = 0;
    for piece in pieces {
        calls += parser.push(piece).ok()?.calls.iter().filter(|call| call.name.is_some()).count();
    }
    calls += parser.finish().ok()?.calls.iter().filter(|call| call.name.is_some()).count();
    Some(calls)
}

/// Reads whole texts only: its streaming is bound to its server's response types.
fn dynamo_v1(format: &str, pieces: &[&str]) -> Option<usize> {
    let [whole] = pieces else { return None };
    let name = match format {
        "json_bare" => "default",
        "deepseek_v31" => "deepseek_v3_1",
        other => other,
    };
    let parse = dynamo_parsers::tool_calling::parsers::detect_and_parse_tool_call(whole, Some(name), None);
    block_on(parse).ok().map(|(calls, _)| calls.len())
}
