//! What has been declared out of date, and when.
//!
//! Nothing is searched for. Each invalidation gets the next number and writes it where the tool, or the scope, looks it
//! up; an answer whose work began under an earlier number is invalid, whether it is stored or still being made.
//!
//! Tools and scopes share a fixed number of buckets, so this never grows. Two that share one are invalidated together,
//! which costs a miss and nothing else. Which ones share is different in every process.

use std::hash::{BuildHasher, RandomState};

use super::key::Scope;

const BUCKETS: usize = 1024;

/// The buckets of one scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Buckets {
    pub(super) tenant: u16,
    tool: u16,
    scope: u16,
}

/// The number of the last invalidation that concerns an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Generation(u64);

#[derive(Debug)]
pub(super) struct Invalidations {
    hasher: RandomState,
    latest: u64,
    all: u64,
    tools: Box<[u64]>,
    scopes: Box<[u64]>,
}

impl Invalidations {
    /// How many different values `Buckets::tenant` has.
    pub(super) const TENANTS: usize = BUCKETS;

    pub(super) fn new() -> Self {
        Self {
            hasher: RandomState::new(),
            latest: 0,
            all: 0,
            tools: vec![0; BUCKETS].into(),
            scopes: vec![0; BUCKETS].into(),
        }
    }

    pub(super) fn buckets(&self, scope: &Scope<'_>) -> Buckets {
        Buckets {
            tenant: self.bucket_of(scope.tenant),
            tool: self.bucket_of(scope.tool),
            scope: self.bucket_of((scope.tenant, scope.tool, scope.id)),
        }
    }

    pub(super) fn generation(&self, buckets: Buckets) -> Generation {
        let tool = self.tools[usize::from(buckets.tool)];
        let scope = self.scopes[usize::from(buckets.scope)];
        Generation(self.all.max(tool).max(scope))
    }

    pub(super) fn invalidate_all(&mut self) {
        self.all = self.next_generation();
    }

    pub(super) fn invalidate_tool(&mut self, tool: &str) {
        let bucket = self.bucket_of(tool);
        self.tools[usize::from(bucket)] = self.next_generation();
    }

    pub(super) fn invalidate_scope(&mut self, scope: &Scope<'_>) {
        let bucket = self.buckets(scope).scope;
        self.scopes[usize::from(bucket)] = self.next_generation();
    }

    fn next_generation(&mut self) -> u64 {
        self.latest += 1;
        self.latest
    }

    fn bucket_of(&self, name: impl std::hash::Hash) -> u16 {
        (self.hasher.hash_one(name) % BUCKETS as u64) as u16
    }
}
