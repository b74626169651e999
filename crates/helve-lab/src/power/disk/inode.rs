//! One file: what it holds for certain, and the changes since.

use std::collections::VecDeque;

use super::Survival;
use crate::rng::Rng;

/// What a disk writes as a whole or not at all.
pub(super) const SECTOR: usize = 512;

#[derive(Debug, Clone)]
pub(super) enum Change {
    Write { at: u64, bytes: Vec<u8> },
    Truncate(u64),
}

impl Change {
    fn apply(&self, content: &mut Vec<u8>) {
        match self {
            Self::Write { at, bytes } => {
                let at = *at as usize;
                grow(content, at + bytes.len());
                content[at..at + bytes.len()].copy_from_slice(bytes);
            }
            Self::Truncate(length) => content.resize(*length as usize, 0),
        }
    }

    /// Some of its sectors; the file has its new length all the same.
    fn tear(&self, content: &mut Vec<u8>, rng: &mut Rng) {
        let Self::Write { at, bytes } = self else { return self.apply(content) };
        let (start, end) = (*at as usize, *at as usize + bytes.len());
        grow(content, end);
        let mut from = start;
        while from < end {
            let to = end.min((from / SECTOR + 1) * SECTOR);
            if rng.chance(50) {
                content[from..to].copy_from_slice(&bytes[from - start..to - start]);
            }
            from = to;
        }
    }
}

fn grow(content: &mut Vec<u8>, length: usize) {
    if content.len() < length {
        content.resize(length, 0);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// No sync has covered it.
    Open,
    /// On the disk.
    Certain,
    /// Nobody will write it again, and nobody knows whether it was written.
    Doubtful,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Inode {
    /// On the disk for certain.
    base: Vec<u8>,
    changes: VecDeque<(Change, State)>,
    /// How many changes are part of the base.
    folded: usize,
}

impl Inode {
    pub(super) fn change(&mut self, change: Change) {
        self.changes.push_back((change, State::Open));
    }

    /// How many changes there have been.
    pub(super) fn count(&self) -> usize {
        self.folded + self.changes.len()
    }

    /// The first changes, so many, are on the disk.
    pub(super) fn sync_changes(&mut self, count: usize) {
        let covered = count.saturating_sub(self.folded);
        for (_, state) in self.changes.iter_mut().take(covered) {
            if *state == State::Open {
                *state = State::Certain;
            }
        }
        while let Some((change, State::Certain)) = self.changes.front() {
            change.apply(&mut self.base);
            self.changes.pop_front();
            self.folded += 1;
        }
    }

    /// A sync failed.
    pub(super) fn give_up(&mut self) {
        for (_, state) in &mut self.changes {
            if *state == State::Open {
                *state = State::Doubtful;
            }
        }
    }

    pub(super) fn current_bytes(&self) -> Vec<u8> {
        let mut content = self.base.clone();
        self.changes.iter().for_each(|(change, _)| change.apply(&mut content));
        content
    }

    pub(super) fn bytes_after_cut(&self, mood: Survival, rng: &mut Rng) -> Vec<u8> {
        let mut content = self.base.clone();
        let unsure = self.changes.iter().filter(|(_, state)| *state != State::Certain).count();
        let mut in_order = rng.below(unsure as u64 + 1);
        for (change, state) in &self.changes {
            if *state == State::Certain {
                change.apply(&mut content);
                continue;
            }
            match mood {
                Survival::Clean => {}
                Survival::Lucky => change.apply(&mut content),
                Survival::InOrder => match in_order {
                    0 => {}
                    1 => {
                        in_order = 0;
                        change.tear(&mut content, rng);
                    }
                    _ => {
                        in_order -= 1;
                        change.apply(&mut content);
                    }
                },
                Survival::Wild => match rng.below(3) {
                    0 => {}
                    1 => change.apply(&mut content),
                    _ => change.tear(&mut content, rng),
                },
            }
        }
        content
    }

    /// One more change makes it this.
    pub(super) fn adopt(&mut self, real: &[u8]) {
        let seen = self.current_bytes();
        if real.len() < seen.len() {
            self.change(Change::Truncate(real.len() as u64));
        }
        let differs = |at: &usize| seen.get(*at) != real.get(*at);
        let (first, last) = ((0..real.len()).find(differs), (0..real.len()).rev().find(differs));
        if let (Some(first), Some(last)) = (first, last) {
            self.change(Change::Write { at: first as u64, bytes: real[first..=last].to_vec() });
        }
    }
}
