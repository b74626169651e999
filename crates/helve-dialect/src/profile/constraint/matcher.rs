//! Whether a text fits a grammar, for tests: the notation's own semantics, without its speed.

use std::collections::{BTreeSet, HashMap};
use std::iter::Peekable;
use std::str::Chars;

enum Node {
    Text(Vec<char>),
    /// Ranges, and whether they are what must not come.
    Class(Vec<(char, char)>, bool),
    Rule(String),
    Sequence(Vec<Node>),
    Either(Vec<Node>),
    Times(Box<Node>, usize, Option<usize>),
}

pub(super) struct Grammar {
    rules: HashMap<String, Node>,
}

/// What is known of rules at places of the text.
#[derive(Default)]
struct Known<'a> {
    ends: HashMap<(&'a str, usize), BTreeSet<usize>>,
    closing: HashMap<(&'a str, usize), bool>,
}

impl Grammar {
    /// Panics where a grammar is wrong, also where it uses a rule that it does not have.
    pub(super) fn read(text: &str) -> Self {
        let mut rules = HashMap::new();
        for line in text.lines() {
            let (name, body) = line.split_once(" ::= ").expect("a rule");
            assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'), "{name}");
            let mut chars = body.chars().peekable();
            let node = either(&mut chars);
            assert_eq!(chars.next(), None, "{line}");
            assert!(rules.insert(name.to_owned(), node).is_none(), "two rules named {name}");
        }
        let grammar = Self { rules };
        grammar.rules.values().for_each(|node| grammar.check(node));
        grammar
    }

    pub(super) fn fits(&self, text: &str) -> bool {
        const STACK: usize = 256 << 20;
        let chars: Vec<char> = text.chars().collect();
        let fits = || self.closes(&self.rules["root"], &chars, 0, &mut Known::default());
        // A rule for each character goes deep.
        std::thread::scope(|scope| {
            let deep = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, fits);
            deep.expect("a thread").join().expect("an answer")
        })
    }

    /// Whether the node that begins here may end where the text ends. What is last in a rule needs no list of places
    /// where it could end, and words are nothing but rules that end in rules.
    fn closes<'a>(&'a self, node: &'a Node, text: &[char], at: usize, known: &mut Known<'a>) -> bool {
        match node {
            Node::Rule(name) => {
                if let Some(closes) = known.closing.get(&(name.as_str(), at)) {
                    return *closes;
                }
                let closes = self.closes(&self.rules[name], text, at, known);
                known.closing.insert((name, at), closes);
                closes
            }
            Node::Either(nodes) => nodes.iter().any(|node| self.closes(node, text, at, known)),
            Node::Sequence(nodes) => {
                let Some((last, before)) = nodes.split_last() else { return at == text.len() };
                let starts = before.iter().fold([at].into(), |starts: BTreeSet<usize>, node| {
                    starts.into_iter().flat_map(|start| self.ends(node, text, start, known)).collect()
                });
                starts.into_iter().any(|start| self.closes(last, text, start, known))
            }
            Node::Times(node, 0, Some(1)) => at == text.len() || self.closes(node, text, at, known),
            Node::Text(_) | Node::Class(..) | Node::Times(..) => {
                self.ends(node, text, at, known).contains(&text.len())
            }
        }
    }

    fn check(&self, node: &Node) {
        match node {
            Node::Text(_) | Node::Class(..) => {}
            Node::Rule(name) => assert!(self.rules.contains_key(name), "no rule {name}"),
            Node::Sequence(nodes) | Node::Either(nodes) => nodes.iter().for_each(|node| self.check(node)),
            Node::Times(node, ..) => self.check(node),
        }
    }

    /// Where the node may end that begins here.
    fn ends<'a>(
        &'a self,
        node: &'a Node,
        text: &[char],
        at: usize,
        known: &mut Known<'a>,
    ) -> BTreeSet<usize> {
        match node {
            Node::Text(chars) if text[at..].starts_with(chars) => [at + chars.len()].into(),
            Node::Text(_) => BTreeSet::new(),
            Node::Class(ranges, not) => match text.get(at) {
                Some(c) if ranges.iter().any(|(a, b)| (a..=b).contains(&c)) != *not => [at + 1].into(),
                _ => BTreeSet::new(),
            },
            Node::Rule(name) => {
                if let Some(ends) = known.ends.get(&(name.as_str(), at)) {
                    return ends.clone();
                }
                let ends = self.ends(&self.rules[name], text, at, known);
                known.ends.insert((name, at), ends.clone());
                ends
            }
            Node::Sequence(nodes) => nodes.iter().fold([at].into(), |starts: BTreeSet<usize>, node| {
                starts.into_iter().flat_map(|start| self.ends(node, text, start, known)).collect()
            }),
            Node::Either(nodes) => nodes.iter().flat_map(|node| self.ends(node, text, at, known)).collect(),
            Node::Times(node, least, most) => {
                let (mut reached, mut ends) = (BTreeSet::from([at]), BTreeSet::new());
                for count in 0.. {
                    if count >= *least {
                        ends.extend(&reached);
                    }
                    let next: BTreeSet<usize> =
                        reached.iter().flat_map(|start| self.ends(node, text, *start, known)).collect();
                    if most.is_some_and(|most| count >= most) || next.is_empty() || next == reached {
                        break;
                    }
                    reached = next;
                }
                ends
            }
        }
    }
}

type Source<'a> = Peekable<Chars<'a>>;

fn either(chars: &mut Source<'_>) -> Node {
    let mut ways = vec![sequence(chars)];
    while chars.next_if_eq(&'|').is_some() {
        ways.push(sequence(chars));
    }
    Node::Either(ways)
}

fn sequence(chars: &mut Source<'_>) -> Node {
    let mut nodes = vec![];
    loop {
        while chars.next_if_eq(&' ').is_some() {}
        let node = match chars.peek() {
            None | Some('|' | ')') => return Node::Sequence(nodes),
            Some('"') => text(chars),
            Some('[') => class(chars),
            Some('(') => {
                chars.next();
                let inner = either(chars);
                assert_eq!(chars.next(), Some(')'));
                inner
            }
            Some(_) => {
                let mut name = String::new();
                while let Some(c) = chars.next_if(|c| c.is_ascii_alphanumeric() || *c == '-') {
                    name.push(c);
                }
                assert!(!name.is_empty(), "nothing that could begin here: {:?}", chars.peek());
                Node::Rule(name)
            }
        };
        nodes.push(times(node, chars));
    }
}

fn times(node: Node, chars: &mut Source<'_>) -> Node {
    let (least, most) = match chars.peek() {
        Some('*') => (0, None),
        Some('+') => (1, None),
        Some('?') => (0, Some(1)),
        Some('{') => {
            let bounds: String = chars.by_ref().skip(1).take_while(|c| *c != '}').collect();
            let (least, most) = bounds.split_once(',').unwrap_or((&bounds, &bounds));
            return Node::Times(Box::new(node), least.parse().expect("a number"), most.parse().ok());
        }
        _ => return node,
    };
    chars.next();
    Node::Times(Box::new(node), least, most)
}

fn text(chars: &mut Source<'_>) -> Node {
    chars.next();
    let mut text = vec![];
    while chars.next_if_eq(&'"').is_none() {
        text.push(character(chars));
    }
    Node::Text(text)
}

fn class(chars: &mut Source<'_>) -> Node {
    chars.next();
    let not = chars.next_if_eq(&'^').is_some();
    let mut ranges = vec![];
    while chars.next_if_eq(&']').is_none() {
        let from = character(chars);
        let mut ahead = chars.clone();
        if ahead.next() == Some('-') && ahead.next() != Some(']') {
            chars.next();
            ranges.push((from, character(chars)));
        } else {
            ranges.push((from, from));
        }
    }
    Node::Class(ranges, not)
}

fn character(chars: &mut Source<'_>) -> char {
    match chars.next().expect("a character") {
        '\\' => match chars.next().expect("an escape") {
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'x' => {
                let digits: String = chars.by_ref().take(2).collect();
                u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32).expect("a character")
            }
            c @ ('"' | '\\' | '[' | ']') => c,
            c => panic!("no escape: {c}"),
        },
        c => c,
    }
}
