//! Search for any of a set of markers, carried over from chunk to chunk.
//!
//! An Aho–Corasick automaton over bytes, built once per set. A node stands for the longest suffix of the text that
//! may still become a marker, so its depth is exactly what must be held back. What is held back needs no buffer:
//! it is a prefix of a marker, and the marker is known. Knows nothing of what a marker means.

use std::collections::VecDeque;

use helve_json::byte_search::begins;
use helve_json::work::count_bytes;

/// A place in the automaton; `ROOT` when nothing is held back.
pub(crate) type MarkerNode = u16;

pub(crate) const ROOT: MarkerNode = 0;

const NO_HIT: u16 = u16::MAX;

pub(crate) struct Markers {
    texts: Vec<&'static str>,
    /// Bytes that occur in no marker share class 0, which always leads back to the root.
    class: [u8; 256],
    classes: usize,
    next: Vec<MarkerNode>,
    nodes: Vec<MarkerState>,
    /// By marker: the node behind each of its bytes.
    paths: Vec<Vec<MarkerNode>>,
}

#[derive(Clone, Copy)]
struct MarkerState {
    depth: u16,
    /// The marker whose prefix this node is.
    of: u16,
    hit: u16,
}

impl Markers {
    /// Where one marker is a prefix of another, the shorter one wins; the registry's test forbids it.
    pub(crate) fn new(texts: Vec<&'static str>) -> Self {
        let mut class = [0; 256];
        let mut classes = 1;
        for byte in texts.iter().flat_map(|text| text.bytes()) {
            if class[byte as usize] == 0 {
                class[byte as usize] = classes as u8;
                classes += 1;
            }
        }
        let root = MarkerState { depth: 0, of: 0, hit: NO_HIT };
        let next = vec![ROOT; classes];
        let mut markers = Self { texts, class, classes, next, nodes: vec![root], paths: vec![] };
        markers.add_paths();
        markers.add_fallbacks();
        markers
    }

    fn add_paths(&mut self) {
        for of in 0..self.texts.len() {
            let mut node = ROOT;
            let mut path = vec![];
            for (depth, byte) in self.texts[of].bytes().enumerate() {
                let slot = self.table_index(node, byte);
                if self.next[slot] == ROOT {
                    self.next[slot] = self.nodes.len() as MarkerNode;
                    self.next.resize(self.next.len() + self.classes, ROOT);
                    self.nodes.push(MarkerState { depth: depth as u16 + 1, of: of as u16, hit: NO_HIT });
                }
                node = self.next[slot];
                path.push(node);
            }
            self.paths.push(path);
            self.nodes[node as usize].hit = of as u16;
        }
    }

    /// Turns the trie into an automaton: a step that leaves the trie goes where the longest live suffix goes.
    fn add_fallbacks(&mut self) {
        let mut queue: VecDeque<(MarkerNode, MarkerNode)> = VecDeque::new();
        queue.push_back((ROOT, ROOT));
        while let Some((node, suffix)) = queue.pop_front() {
            if self.nodes[node as usize].hit == NO_HIT {
                self.nodes[node as usize].hit = self.nodes[suffix as usize].hit;
            }
            for class in 1..self.classes {
                let slot = node as usize * self.classes + class;
                let over = self.next[suffix as usize * self.classes + class];
                match self.next[slot] {
                    ROOT => self.next[slot] = if node == ROOT { ROOT } else { over },
                    child => queue.push_back((child, if node == ROOT { ROOT } else { over })),
                }
            }
        }
    }

    fn table_index(&self, node: MarkerNode, byte: u8) -> usize {
        node as usize * self.classes + self.class[byte as usize] as usize
    }

    #[inline]
    pub(crate) fn next_node(&self, node: MarkerNode, byte: u8) -> MarkerNode {
        self.next[self.table_index(node, byte)]
    }

    /// How many bytes before this point may belong to a marker.
    #[inline]
    pub(crate) fn depth(&self, node: MarkerNode) -> usize {
        self.nodes[node as usize].depth as usize
    }

    /// The bytes held back at this node.
    pub(crate) fn prefix(&self, node: MarkerNode) -> &'static str {
        let inner = self.nodes[node as usize];
        // A prefix of a marker can end inside a character only while a chunk is being read, never between two.
        self.texts.get(inner.of as usize).and_then(|text| text.get(..inner.depth as usize)).unwrap_or("")
    }

    /// The first bytes of what is held back.
    pub(crate) fn beginning(&self, node: MarkerNode, len: usize) -> &'static str {
        let of = self.nodes[node as usize].of;
        self.texts.get(of as usize).and_then(|text| text.get(..len)).unwrap_or("")
    }

    /// The marker that ends here.
    #[inline]
    pub(crate) fn marker_ending_at(&self, node: MarkerNode) -> Option<usize> {
        match self.nodes[node as usize].hit {
            NO_HIT => None,
            hit => Some(hit as usize),
        }
    }

    /// Whether such a marker stands in the text. None stands in another, so that one look finds them all.
    pub(crate) fn contains_any(&self, text: &str, matters: impl Fn(usize) -> bool) -> bool {
        count_bytes(text.len());
        let mut node = ROOT;
        text.bytes().any(|byte| {
            node = self.next_node(node, byte);
            self.marker_ending_at(node).is_some_and(&matters)
        })
    }

    /// The marker that has begun here, if the text spells the rest of it.
    #[inline]
    pub(crate) fn marker_completed_by(&self, node: MarkerNode, text: &[u8]) -> Option<usize> {
        let MarkerState { depth, of, .. } = self.nodes[node as usize];
        let ahead = self.texts.get(of as usize)?.as_bytes().get(depth as usize..)?;
        (depth > 0 && begins(text, ahead)).then_some(of as usize)
    }

    /// Where the text leads if it is nothing but more of the marker that has begun here, and not yet all of it.
    #[inline]
    pub(crate) fn continue_marker(&self, node: MarkerNode, text: &[u8]) -> Option<MarkerNode> {
        let MarkerState { depth, of, .. } = self.nodes[node as usize];
        let ahead = &self.texts.get(of as usize)?.as_bytes()[depth as usize..];
        let more = !text.is_empty() && text.len() < ahead.len() && begins(ahead, text);
        more.then(|| self.paths[of as usize][depth as usize + text.len() - 1])
    }

    pub(crate) fn text(&self, marker: usize) -> &'static str {
        self.texts[marker]
    }

    #[cfg(test)]
    pub(crate) fn texts(&self) -> &[&'static str] {
        &self.texts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hits(markers: &Markers, text: &str) -> Vec<(usize, &'static str)> {
        let mut node = ROOT;
        let mut found = vec![];
        for (i, byte) in text.bytes().enumerate() {
            node = markers.next_node(node, byte);
            if let Some(hit) = markers.marker_ending_at(node) {
                found.push((i + 1, markers.text(hit)));
                node = ROOT;
            }
        }
        found
    }

    #[test]
    fn markers_are_found_inside_the_beginnings_of_others() {
        let markers = Markers::new(vec!["<tool_call>", "]<]x[>[", "<think>", "[TOOL]"]);
        assert_eq!(hits(&markers, "<<tool_call>"), [(12, "<tool_call>")]);
        assert_eq!(hits(&markers, "<tool_<think>"), [(13, "<think>")]);
        assert_eq!(hits(&markers, "]<]<]x[>[[TOOL]"), [(9, "]<]x[>["), (15, "[TOOL]")]);
        assert_eq!(hits(&markers, "<tool call>"), []);
    }

    #[test]
    fn what_is_held_back_is_the_longest_beginning_of_a_marker() {
        let markers = Markers::new(vec!["<tool_call>", "<think>"]);
        let node = "a <tool_<th".bytes().fold(ROOT, |node, byte| markers.next_node(node, byte));
        assert_eq!(markers.prefix(node), "<th");
        assert_eq!(markers.depth(node), 3);
    }
}
