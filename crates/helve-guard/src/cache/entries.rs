//! The stored answers, bounded by bytes: what was not used for longest goes first.
//!
//! Two orders run through the same entries, one over all of them and one for each tenant, so that a tenant
//! who reaches its share makes room among its own. Judges neither freshness nor validity.

use std::collections::HashMap;

use tokio::time::Instant;

use super::{
    CacheSettings,
    invalidation::{Buckets, Generation, Invalidations},
    key::CacheKey,
};

/// What an entry costs besides its value: the entry, its place in the index, and what allocation rounds up.
pub(super) const ENTRY_BYTES: usize = 256;

/// The end of a list.
const NONE: u32 = u32::MAX;

#[derive(Debug)]
pub(super) struct EntryStore<V> {
    settings: CacheSettings,
    index: HashMap<CacheKey, u32>,
    nodes: Vec<EntryNode<V>>,
    unused: Vec<u32>,
    everyone: EvictionOrder,
    tenants: Box<[EvictionOrder]>,
}

#[derive(Debug)]
pub(super) struct CacheEntry<V> {
    pub(super) key: CacheKey,
    pub(super) value: V,
    /// What the value weighs.
    pub(super) bytes: usize,
    pub(super) buckets: Buckets,
    pub(super) generation: Generation,
    pub(super) stored_at: Instant,
    pub(super) keep_until: Instant,
}

#[derive(Debug)]
struct EntryNode<V> {
    entry: Option<CacheEntry<V>>,
    links: [Links; 2],
}

/// Which of a node's links belong to which order.
const EVERYONE: usize = 0;
const TENANT: usize = 1;

#[derive(Debug, Clone, Copy)]
struct Links {
    newer: u32,
    older: u32,
}

#[derive(Debug, Clone, Copy)]
struct EvictionOrder {
    newest: u32,
    oldest: u32,
    bytes: usize,
}

const EMPTY: EvictionOrder = EvictionOrder { newest: NONE, oldest: NONE, bytes: 0 };

impl<V> EntryStore<V> {
    pub(super) fn new(settings: CacheSettings) -> Self {
        Self {
            settings,
            index: HashMap::new(),
            nodes: Vec::new(),
            unused: Vec::new(),
            everyone: EMPTY,
            tenants: vec![EMPTY; Invalidations::TENANTS].into(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.index.len()
    }

    /// What all entries cost, their overhead included.
    pub(super) fn bytes(&self) -> usize {
        self.everyone.bytes
    }

    #[cfg(test)]
    pub(super) fn tenant_bytes(&self) -> impl Iterator<Item = usize> {
        self.tenants.iter().map(|order| order.bytes)
    }

    /// The entry of this key, if it is `wanted`; then it also counts as used just now.
    pub(super) fn get_if(
        &mut self,
        key: &CacheKey,
        wanted: impl FnOnce(&CacheEntry<V>) -> bool,
    ) -> Option<&CacheEntry<V>> {
        let at = *self.index.get(key)?;
        let tenant = self.nodes[at as usize].entry.as_ref().filter(|entry| wanted(entry))?.buckets.tenant;
        if self.everyone.newest != at {
            self.unlink(at, tenant);
            self.link_newest(at, tenant);
        }
        self.nodes[at as usize].entry.as_ref()
    }

    /// Stores an entry in the place of what had its key, and makes room for it. Entries that had to go are
    /// returned, to be dropped when no lock is held. One too large for its bounds comes back itself.
    pub(super) fn insert(&mut self, entry: CacheEntry<V>, now: Instant) -> Vec<CacheEntry<V>> {
        let mut gone = Vec::new();
        let (cost, tenant) = (entry_cost(&entry), entry.buckets.tenant);
        gone.extend(self.remove(&entry.key));
        let CacheSettings { bytes_max, tenant_bytes_max, entry_bytes_max, .. } = self.settings;
        if entry.bytes > entry_bytes_max || cost > bytes_max.min(tenant_bytes_max) || entry.keep_until <= now
        {
            gone.push(entry);
            return gone;
        }
        while self.tenants[usize::from(tenant)].bytes + cost > tenant_bytes_max {
            gone.extend(self.evict(self.tenants[usize::from(tenant)].oldest));
        }
        while self.everyone.bytes + cost > bytes_max || self.is_oldest_expired(now) {
            gone.extend(self.evict(self.everyone.oldest));
        }
        let key = entry.key;
        let node = EntryNode { entry: Some(entry), links: [Links { newer: NONE, older: NONE }; 2] };
        let at = match self.unused.pop() {
            Some(at) => {
                self.nodes[at as usize] = node;
                at
            }
            None => {
                self.nodes.push(node);
                (self.nodes.len() - 1) as u32
            }
        };
        self.everyone.bytes += cost;
        self.tenants[usize::from(tenant)].bytes += cost;
        self.link_newest(at, tenant);
        self.index.insert(key, at);
        gone
    }

    pub(super) fn remove(&mut self, key: &CacheKey) -> Option<CacheEntry<V>> {
        let at = *self.index.get(key)?;
        self.evict(at)
    }

    /// Removes and returns all that `keep` does not want.
    pub(super) fn retain(&mut self, keep: impl Fn(&CacheEntry<V>) -> bool) -> Vec<CacheEntry<V>> {
        let unwanted: Vec<u32> = (0u32..)
            .zip(&self.nodes)
            .filter(|(_, node)| node.entry.as_ref().is_some_and(|entry| !keep(entry)))
            .map(|(at, _)| at)
            .collect();
        unwanted.into_iter().filter_map(|at| self.evict(at)).collect()
    }

    fn is_oldest_expired(&self, now: Instant) -> bool {
        let oldest = self.nodes.get(self.everyone.oldest as usize).and_then(|node| node.entry.as_ref());
        oldest.is_some_and(|entry| entry.keep_until <= now)
    }

    fn evict(&mut self, at: u32) -> Option<CacheEntry<V>> {
        let entry = self.nodes.get_mut(at as usize)?.entry.take()?;
        let (cost, tenant) = (entry_cost(&entry), entry.buckets.tenant);
        self.unlink(at, tenant);
        self.everyone.bytes -= cost;
        self.tenants[usize::from(tenant)].bytes -= cost;
        self.index.remove(&entry.key);
        self.unused.push(at);
        Some(entry)
    }

    fn unlink(&mut self, at: u32, tenant: u16) {
        unlink(&mut self.nodes, &mut self.everyone, EVERYONE, at);
        unlink(&mut self.nodes, &mut self.tenants[usize::from(tenant)], TENANT, at);
    }

    fn link_newest(&mut self, at: u32, tenant: u16) {
        link_newest(&mut self.nodes, &mut self.everyone, EVERYONE, at);
        link_newest(&mut self.nodes, &mut self.tenants[usize::from(tenant)], TENANT, at);
    }
}

fn entry_cost<V>(entry: &CacheEntry<V>) -> usize {
    entry.bytes.saturating_add(ENTRY_BYTES)
}

fn unlink<V>(nodes: &mut [EntryNode<V>], order: &mut EvictionOrder, which: usize, at: u32) {
    let Links { newer, older } = nodes[at as usize].links[which];
    match nodes.get_mut(newer as usize) {
        Some(node) => node.links[which].older = older,
        None => order.newest = older,
    }
    match nodes.get_mut(older as usize) {
        Some(node) => node.links[which].newer = newer,
        None => order.oldest = newer,
    }
}

fn link_newest<V>(nodes: &mut [EntryNode<V>], order: &mut EvictionOrder, which: usize, at: u32) {
    nodes[at as usize].links[which] = Links { newer: NONE, older: order.newest };
    match nodes.get_mut(order.newest as usize) {
        Some(node) => node.links[which].newer = at,
        None => order.oldest = at,
    }
    order.newest = at;
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tokio::time::Duration;

    use super::*;
    use crate::cache::key::{KeyParts, Scope};

    const SETTINGS: CacheSettings = CacheSettings {
        bytes_max: 10 * ENTRY_BYTES,
        entry_bytes_max: 3 * ENTRY_BYTES,
        tenant_bytes_max: 5 * ENTRY_BYTES,
    };

    #[derive(Debug, Clone)]
    enum Step {
        Insert { tenant: u8, key: u8, bytes: usize },
        Get { tenant: u8, key: u8 },
        Remove { tenant: u8, key: u8 },
        RetainLarge,
    }

    fn any_step() -> impl Strategy<Value = Step> {
        let name = || (0u8..3, 0u8..8);
        prop_oneof![
            6 => (name(), 0..4 * ENTRY_BYTES)
                .prop_map(|((tenant, key), bytes)| Step::Insert { tenant, key, bytes }),
            4 => name().prop_map(|(tenant, key)| Step::Get { tenant, key }),
            1 => name().prop_map(|(tenant, key)| Step::Remove { tenant, key }),
            1 => Just(Step::RetainLarge),
        ]
    }

    fn entry(
        invalidations: &Invalidations,
        now: Instant,
        tenant: u8,
        key: u8,
        bytes: usize,
    ) -> CacheEntry<usize> {
        let (tenant, key) = (tenant.to_string(), key.to_string());
        let scope = Scope { tenant: &tenant, tool: "t", id: "" };
        let parts = KeyParts { scope, tool_version: &[0; 32], identity: &[0; 32], arguments: &key };
        let buckets = invalidations.buckets(&scope);
        CacheEntry {
            key: parts.to_key(),
            value: bytes,
            bytes,
            buckets,
            generation: invalidations.generation(buckets),
            stored_at: now,
            keep_until: now + Duration::from_secs(1),
        }
    }

    /// The same rules over a plain list, what was used last at its end.
    #[derive(Default)]
    struct Naive(Vec<(CacheKey, u16, usize)>);

    impl Naive {
        fn insert(&mut self, key: CacheKey, tenant: u16, bytes: usize) {
            self.0.retain(|it| it.0 != key);
            if bytes > SETTINGS.entry_bytes_max {
                return;
            }
            self.0.push((key, tenant, bytes));
            let cost = |it: &(_, _, usize)| it.2 + ENTRY_BYTES;
            while self.0.iter().filter(|it| it.1 == tenant).map(cost).sum::<usize>()
                > SETTINGS.tenant_bytes_max
            {
                let oldest = self.0.iter().position(|it| it.1 == tenant).unwrap();
                self.0.remove(oldest);
            }
            while self.0.iter().map(cost).sum::<usize>() > SETTINGS.bytes_max {
                self.0.remove(0);
            }
        }

        fn get(&mut self, key: CacheKey) -> Option<usize> {
            let at = self.0.iter().position(|it| it.0 == key)?;
            let found = self.0.remove(at);
            self.0.push(found);
            Some(found.2)
        }
    }

    proptest! {
        #[test]
        fn the_shelf_holds_what_a_plain_list_would(steps in proptest::collection::vec(any_step(), 0..100)) {
            let (invalidations, now) = (Invalidations::new(), Instant::now());
            let (mut entries, mut naive) = (EntryStore::new(SETTINGS), Naive::default());
            for step in steps {
                match step {
                    Step::Insert { tenant, key, bytes } => {
                        let entry = entry(&invalidations, now, tenant, key, bytes);
                        naive.insert(entry.key, entry.buckets.tenant, bytes);
                        entries.insert(entry, now);
                    }
                    Step::Get { tenant, key } => {
                        let key = entry(&invalidations, now, tenant, key, 0).key;
                        let found = entries.get_if(&key, |_| true).map(|entry| entry.value);
                        prop_assert_eq!(found, naive.get(key));
                    }
                    Step::Remove { tenant, key } => {
                        let key = entry(&invalidations, now, tenant, key, 0).key;
                        entries.remove(&key);
                        naive.0.retain(|it| it.0 != key);
                    }
                    Step::RetainLarge => {
                        entries.retain(|entry| entry.bytes > 100);
                        naive.0.retain(|it| it.2 > 100);
                    }
                }
                let mut order = Vec::new();
                let mut at = entries.everyone.oldest;
                while let Some(node) = entries.nodes.get(at as usize) {
                    order.extend(node.entry.as_ref().map(|it| (it.key, it.buckets.tenant, it.bytes)));
                    at = node.links[EVERYONE].newer;
                }
                prop_assert_eq!(&order, &naive.0);
                prop_assert_eq!(entries.len(), order.len());
                prop_assert_eq!(entries.bytes(), order.iter().map(|it| it.2 + ENTRY_BYTES).sum::<usize>());
            }
        }
    }

    #[test]
    fn what_is_over_goes_before_its_place_is_needed() {
        let (invalidations, now) = (Invalidations::new(), Instant::now());
        let mut entries = EntryStore::new(SETTINGS);
        entries.insert(entry(&invalidations, now, 0, 0, 1), now);
        entries.insert(entry(&invalidations, now, 0, 1, 1), now);
        let later = now + Duration::from_secs(1);
        assert_eq!(entries.insert(entry(&invalidations, later, 0, 2, 1), later).len(), 2);
        assert_eq!(entries.len(), 1);
    }
}
