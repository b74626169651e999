//! What has been declared out of date, and when.
//!
//! Nothing is searched for. Each drop gets the next number and writes it where the tool, or the scope, looks
//! it up; an answer whose work began under an earlier number is worthless, whether it is stored or still on
//! its way.
//!
//! Tools and scopes share a fixed number of pigeonholes, so this never grows. Two that share one are dropped
//! together, which costs a miss and nothing else. Who shares with whom is different in every process.

use std::hash::{BuildHasher, RandomState};

use super::key::Scope;

const HOLES: usize = 1024;

/// The pigeonholes of one scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Holes {
    pub(super) tenant: u16,
    tool: u16,
    scope: u16,
}

/// The number of the last drop that concerns an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Era(u64);

#[derive(Debug)]
pub(super) struct Drops {
    hasher: RandomState,
    latest: u64,
    all: u64,
    tools: Box<[u64]>,
    scopes: Box<[u64]>,
}

impl Drops {
    /// How many different values `Holes::tenant` has.
    pub(super) const TENANTS: usize = HOLES;

    pub(super) fn new() -> Self {
        Self {
            hasher: RandomState::new(),
            latest: 0,
            all: 0,
            tools: vec![0; HOLES].into(),
            scopes: vec![0; HOLES].into(),
        }
    }

    pub(super) fn holes(&self, scope: &Scope<'_>) -> Holes {
        Holes {
            tenant: self.hole(scope.tenant),
            tool: self.hole(scope.tool),
            scope: self.hole((scope.tenant, scope.tool, scope.id)),
        }
    }

    pub(super) fn era(&self, holes: Holes) -> Era {
        let tool = self.tools[usize::from(holes.tool)];
        let scope = self.scopes[usize::from(holes.scope)];
        Era(self.all.max(tool).max(scope))
    }

    pub(super) fn drop_all(&mut self) {
        self.all = self.next();
    }

    pub(super) fn drop_tool(&mut self, tool: &str) {
        let hole = self.hole(tool);
        self.tools[usize::from(hole)] = self.next();
    }

    pub(super) fn drop_scope(&mut self, scope: &Scope<'_>) {
        let hole = self.holes(scope).scope;
        self.scopes[usize::from(hole)] = self.next();
    }

    fn next(&mut self) -> u64 {
        self.latest += 1;
        self.latest
    }

    fn hole(&self, name: impl std::hash::Hash) -> u16 {
        (self.hasher.hash_one(name) % HOLES as u64) as u16
    }
}
