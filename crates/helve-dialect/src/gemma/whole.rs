//! A call as Gemma mostly writes it, where it lies before us whole: read in one go, without the state that one in
//! pieces needs.
//!
//! Reads only what is in perfect order. `None` says no more than that the call must be read step by step, by
//! `GemmaBody`, which knows what is odd about it, or what is still to come.

use super::{CALL, GemmaGrammar, NAME_MAX, json_of_text, json_of_word, word};
use crate::Tools;
use crate::calls::{ARGUMENTS, Ends, WholeCall};
use helve_json::byte_search::{begins, find_byte};
use helve_json::inspect::fits_inside;
use helve_json::literal::strings;
use helve_json::skip::skip_blanks;

/// Reads it at the position.
pub(super) fn read<'t>(
    text: &'t str,
    from: usize,
    grammar: &'static GemmaGrammar,
    tools: &Tools,
) -> Option<WholeCall<'t>> {
    let name = word(text[from..].strip_prefix(CALL)?)?;
    if name.len() > NAME_MAX - CALL.len() {
        return None;
    }
    let at = from + CALL.len() + name.len();
    // Where little is left, most of it may be the arguments, which then need not grow.
    let left = Some(text.len() - at).filter(|left| *left <= LITTLE);
    let json = String::with_capacity(left.unwrap_or_default().max(ARGUMENTS));
    let mut call = Call { grammar, tools, name, text, at, json };
    call.members(0)?;
    call.skip_blanks();
    call.take_mark(grammar.close)?;
    Some(WholeCall { id: None, name: name.into(), arguments: call.json.into(), ends: Ends::Closed(call.at) })
}

const LITTLE: usize = 2048;

/// Arguments inside arguments are seldom deeper.
const DEPTH: usize = 16;

struct Call<'t, 'c> {
    grammar: &'static GemmaGrammar,
    tools: &'c Tools,
    name: &'t str,
    text: &'t str,
    /// How far it is read.
    at: usize,
    /// What was read, as JSON.
    json: String,
}

impl Call<'_, '_> {
    /// An object inside so many containers; its bracket comes first.
    fn members(&mut self, depth: usize) -> Option<()> {
        self.take(b'{')?;
        self.json.push('{');
        let mut before = "\"";
        while !self.closes(b'}')? {
            let key = word(&self.text[self.at..])?;
            self.at += key.len();
            self.take(b':')?;
            self.json.push_str(before);
            self.json.push_str(key);
            self.json.push_str("\": ");
            self.value((depth == 0).then_some(key), depth)?;
            self.separator(b'}')?;
            before = ", \"";
        }
        self.json.push('}');
        Some(())
    }

    /// A list inside so many containers; its bracket comes first.
    fn items(&mut self, depth: usize) -> Option<()> {
        self.take(b'[')?;
        self.json.push('[');
        let mut before = "";
        while !self.closes(b']')? {
            self.json.push_str(before);
            self.value(None, depth)?;
            self.separator(b']')?;
            before = ", ";
        }
        self.json.push(']');
        Some(())
    }

    /// The value of this parameter, or one inside so many containers.
    fn value(&mut self, parameter: Option<&str>, depth: usize) -> Option<()> {
        self.skip_blanks();
        match self.byte()? {
            b'<' => self.quoted(parameter, depth),
            b'{' if depth < DEPTH => self.members(depth + 1),
            b'[' if depth < DEPTH => self.items(depth + 1),
            b'{' | b'[' | b'}' | b']' | b')' | b',' | b'"' | b'\'' => None,
            _ => self.bare(parameter),
        }
    }

    /// Text between its marks, which may hold anything else.
    fn quoted(&mut self, parameter: Option<&str>, depth: usize) -> Option<()> {
        self.take_mark(self.grammar.quote)?;
        let begin = self.at;
        loop {
            self.at += find_byte(&self.text.as_bytes()[self.at..], b'<')?;
            let end = self.at;
            if self.take_mark(self.grammar.quote).is_some() {
                return self.push_text(&self.text[begin..end], parameter, depth);
            }
            // The text may have been left open, and what is quoted in it is seldom a call.
            if begins(&self.text.as_bytes()[end..], self.grammar.close) {
                return None;
            }
            self.at += 1;
        }
    }

    fn push_text(&mut self, text: &str, parameter: Option<&str>, depth: usize) -> Option<()> {
        if self.grammar.decodes {
            let json = json_of_text(text, self.name, parameter, self.tools);
            return fits_inside(&json, depth + 1).then(|| self.json.push_str(&json));
        }
        // With room for what closes it, so that a long text does not grow twice.
        self.json.reserve(text.len() + 8);
        self.json.push('"');
        strings::push_text(text, &mut self.json);
        self.json.push('"');
        Some(())
    }

    /// A word without marks around it.
    fn bare(&mut self, parameter: Option<&str>) -> Option<()> {
        let ends = |byte: &u8| matches!(byte, b',' | b'}' | b']' | b')' | b'<');
        let end = self.at + self.text.as_bytes()[self.at..].iter().position(ends)?;
        let word = &self.text[self.at..end];
        self.at = end;
        self.json.push_str(&json_of_word(word, self.name, parameter, self.tools));
        Some(())
    }

    /// Takes the comma behind a value, or sees that its container ends.
    fn separator(&mut self, close: u8) -> Option<()> {
        self.skip_blanks();
        match self.byte()? {
            b',' => self.at += 1,
            byte if byte == close => {}
            _ => return None,
        }
        Some(())
    }

    /// Takes the bracket that ends the container, if it comes next; a comma may stand before it. Says whether it does.
    fn closes(&mut self, bracket: u8) -> Option<bool> {
        self.skip_blanks();
        let closes = self.byte()? == bracket;
        self.at += closes as usize;
        Some(closes)
    }

    #[inline]
    fn take_mark(&mut self, mark: &str) -> Option<()> {
        begins(&self.text.as_bytes()[self.at..], mark).then(|| self.at += mark.len())
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        (self.byte()? == byte).then(|| self.at += 1)
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_blanks(&mut self) {
        self.at = skip_blanks(self.text.as_bytes(), self.at);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::gemma::{functiongemma, gemma4};
    use crate::{Reading, read as read_message};

    fn tools() -> Tools {
        let schema = json!({"properties": {"query": {"type": "string"}, "limit": {"type": "integer"}}});
        Tools::new([("search".to_owned(), schema)])
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
                let reading = Reading::of(dialect, if known { tools() } else { Tools::unknown() });
                let whole = read_message(&text, reading.clone(), None);
                prop_assert_eq!(read_message(&text, reading, Some(1)), whole, "{}", text);
            }
        }
    }

    #[test]
    fn what_gemma_mostly_writes_is_read_in_one_go() {
        let text = "call:search{query:<|\"|>a < \"b\"\n<|\"|>, limit: 5,in:{l:[1,<|\"|>x<|\"|>],e:{}}} <tool_call|> so";
        let call = read(text, 0, &gemma4::GRAMMAR, &tools()).expect("nothing is odd here");
        assert_eq!(call.name, "search");
        let arguments = r#"{"query": "a < \"b\"\n", "limit": 5, "in": {"l": [1, "x"], "e": {}}}"#;
        assert_eq!(call.arguments, arguments);
        assert!(matches!(call.ends, Ends::Closed(end) if &text[end..] == " so"));
        for odd in
            ["call:search{query:<|\"|>a", "call:search(limit:5)<tool_call|>", "call:search{limit:5} so"]
        {
            assert!(read(odd, 0, &gemma4::GRAMMAR, &tools()).is_none(), "{odd}");
        }
    }
}
