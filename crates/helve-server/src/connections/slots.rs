//! Connection slots: how many connections are open, by address, and which idle one is closed for a new one.
//!
//! A connection is idle while it answers no request: before its first request, between two, and while a request is still
//! arriving. When all slots are taken, the connection that has been idle for longest is closed for the new one, so clients
//! that open connections and send nothing cannot keep others out.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// The connection slots of a server.
#[derive(Debug)]
pub(super) struct ConnectionSlots {
    all_max: usize,
    each_max: usize,
    taken: Mutex<SlotTable>,
    freed: Notify,
}

#[derive(Debug, Default)]
struct SlotTable {
    next: u64,
    open: HashMap<u64, Connection>,
    /// Idle connections in the order in which they became idle: sequence number to connection.
    idle: BTreeMap<u64, u64>,
    each: HashMap<IpAddr, AddressCount>,
    /// How many were asked to close and are still open.
    closing: usize,
}

#[derive(Debug)]
struct Connection {
    address: Option<IpAddr>,
    idle_since: Option<u64>,
    is_closing: bool,
    close: CancellationToken,
}

/// How many connections an address has.
#[derive(Debug, Default)]
struct AddressCount {
    open: usize,
    closing: usize,
}

/// The slot of one connection, released on drop.
#[derive(Debug)]
pub(super) struct ConnectionSlot {
    id: u64,
    close: CancellationToken,
    slots: Arc<ConnectionSlots>,
}

/// The address has as many connections as one address may have, and all of them are active.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AddressLimitReached;

enum Admission {
    Taken(u64, CancellationToken),
    /// Another connection must close first.
    Wait,
    AddressLimitReached,
}

impl ConnectionSlots {
    /// Slots for `all_max` connections, and `each_max` of one address, which never gets more than half of all.
    pub(super) fn new(all_max: usize, each_max: usize) -> Arc<Self> {
        let all_max = all_max.max(1);
        let each_max = each_max.min(all_max.div_ceil(2));
        Arc::new(Self { all_max, each_max, taken: Mutex::default(), freed: Notify::new() })
    }

    /// Waits for a slot. Without an address (behind a proxy) no limit by address applies.
    pub(super) async fn take_slot(
        self: &Arc<Self>,
        address: Option<IpAddr>,
    ) -> Result<ConnectionSlot, AddressLimitReached> {
        loop {
            let freed = self.freed.notified();
            match self.try_take(address) {
                Admission::Taken(id, close) => return Ok(ConnectionSlot { id, close, slots: self.clone() }),
                Admission::AddressLimitReached => return Err(AddressLimitReached),
                Admission::Wait => freed.await,
            }
        }
    }

    fn try_take(&self, address: Option<IpAddr>) -> Admission {
        let mut taken = self.lock_table();
        let share = address.and_then(|address| taken.each.get(&address));
        if share.is_some_and(|share| share.open - share.closing >= self.each_max) {
            return if taken.close_idle(|connection| connection.address == address) {
                Admission::Wait
            } else {
                Admission::AddressLimitReached
            };
        }
        if taken.open.len() >= self.all_max {
            if taken.open.len() - taken.closing >= self.all_max {
                taken.close_idle(|_| true);
            }
            return Admission::Wait;
        }
        let (id, close) = taken.add_connection(address);
        Admission::Taken(id, close)
    }

    fn lock_table(&self) -> MutexGuard<'_, SlotTable> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SlotTable {
    fn add_connection(&mut self, address: Option<IpAddr>) -> (u64, CancellationToken) {
        let id = self.next_number();
        let close = CancellationToken::new();
        let connection =
            Connection { address, idle_since: Some(id), is_closing: false, close: close.clone() };
        self.open.insert(id, connection);
        self.idle.insert(id, id);
        if let Some(address) = address {
            self.each.entry(address).or_default().open += 1;
        }
        (id, close)
    }

    /// Closes the longest idle connection that `fits`; returns whether there is one.
    fn close_idle(&mut self, fits: impl Fn(&Connection) -> bool) -> bool {
        let fits = |id: &u64| self.open.get(id).is_some_and(&fits);
        let Some((since, id)) = self.idle.iter().find(|(_, id)| fits(id)).map(|(since, id)| (*since, *id))
        else {
            return false;
        };
        self.idle.remove(&since);
        if let Some(connection) = self.open.get_mut(&id) {
            connection.is_closing = true;
            connection.idle_since = None;
            connection.close.cancel();
            if let Some(share) = connection.address.and_then(|address| self.each.get_mut(&address)) {
                share.closing += 1;
            }
        }
        self.closing += 1;
        true
    }

    fn remove_connection(&mut self, id: u64) {
        let Some(connection) = self.open.remove(&id) else { return };
        if let Some(since) = connection.idle_since {
            self.idle.remove(&since);
        }
        self.closing -= usize::from(connection.is_closing);
        let Some(address) = connection.address else { return };
        if let Some(share) = self.each.get_mut(&address) {
            share.open -= 1;
            share.closing -= usize::from(connection.is_closing);
            if share.open == 0 {
                self.each.remove(&address);
            }
        }
    }

    fn next_number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }
}

impl ConnectionSlot {
    /// Cancelled when the slot is needed for another connection.
    pub(super) fn closing_token(&self) -> &CancellationToken {
        &self.close
    }

    /// A request has arrived and is being answered.
    pub(super) fn mark_active(&self) {
        let mut taken = self.slots.lock_table();
        let since = taken.open.get_mut(&self.id).and_then(|connection| connection.idle_since.take());
        if let Some(since) = since {
            taken.idle.remove(&since);
        }
    }

    /// The response is complete.
    pub(super) fn mark_idle(&self) {
        let mut taken = self.slots.lock_table();
        let since = taken.next_number();
        let Some(connection) = taken.open.get_mut(&self.id) else { return };
        if connection.is_closing || connection.idle_since.is_some() {
            return;
        }
        connection.idle_since = Some(since);
        taken.idle.insert(since, self.id);
        drop(taken);
        // A waiting connection may now take this slot.
        self.slots.freed.notify_waiters();
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.slots.lock_table().remove_connection(self.id);
        self.slots.freed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    fn address(last: u8) -> Option<IpAddr> {
        Some(IpAddr::from([192, 0, 2, last]))
    }

    /// The result of asking for a slot if it is there at once.
    fn now(
        slots: &Arc<ConnectionSlots>,
        address: Option<IpAddr>,
    ) -> Option<Result<ConnectionSlot, AddressLimitReached>> {
        let asked = pin!(slots.take_slot(address));
        match asked.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(answer) => Some(answer),
            Poll::Pending => None,
        }
    }

    #[test]
    fn when_all_slots_are_taken_the_longest_idle_connection_is_closed_first() {
        let slots = ConnectionSlots::new(3, 3);
        let take = |last| now(&slots, address(last));
        let first = take(1).unwrap().unwrap();
        let second = take(2).unwrap().unwrap();
        let third = take(3).unwrap().unwrap();
        first.mark_active();
        first.mark_idle();
        second.mark_active();
        assert!(take(4).is_none(), "an idle connection closes first");
        assert!(take(4).is_none(), "only one is closed");
        let is_closed = |slot: &ConnectionSlot| slot.closing_token().is_cancelled();
        assert!(!is_closed(&first) && !is_closed(&second) && is_closed(&third));
        drop(third);
        let _fourth = take(4).unwrap().unwrap();
        assert!(take(5).is_none());
        assert!(is_closed(&first) && !is_closed(&second), "an active connection stays");
    }

    #[test]
    fn a_waiting_connection_gets_the_slot_of_one_that_becomes_idle() {
        let slots = ConnectionSlots::new(1, 1);
        let first = now(&slots, None).unwrap().unwrap();
        first.mark_active();
        let mut asked = pin!(slots.take_slot(None));
        let mut cx = Context::from_waker(Waker::noop());
        assert!(asked.as_mut().poll(&mut cx).is_pending());
        assert!(!first.closing_token().is_cancelled());
        first.mark_idle();
        assert!(asked.as_mut().poll(&mut cx).is_pending());
        assert!(first.closing_token().is_cancelled());
        drop(first);
        assert!(asked.as_mut().poll(&mut cx).is_ready());
    }

    #[test]
    fn an_address_gets_at_most_half_of_all_slots() {
        let slots = ConnectionSlots::new(6, 100);
        let mine: Vec<ConnectionSlot> = (0..3).map(|_| now(&slots, address(1)).unwrap().unwrap()).collect();
        mine.iter().for_each(ConnectionSlot::mark_active);
        assert_eq!(now(&slots, address(1)).unwrap().unwrap_err(), AddressLimitReached);
        assert!(now(&slots, address(2)).unwrap().is_ok(), "other addresses are not affected");
        mine[1].mark_idle();
        assert!(now(&slots, address(1)).is_none());
        assert!(mine[1].closing_token().is_cancelled(), "an idle connection of the same address is closed");
        drop(mine);
        let proxied: Vec<_> = (0..6).map(|_| now(&slots, None).unwrap().unwrap()).collect();
        assert_eq!(proxied.len(), 6, "connections without an address have no limit by address");
    }

    #[test]
    fn closed_connections_leave_nothing_behind() {
        let slots = ConnectionSlots::new(2, 2);
        for last in 0..100 {
            let slot = now(&slots, address(last)).unwrap().unwrap();
            slot.mark_active();
            slot.mark_idle();
        }
        let taken = slots.lock_table();
        assert!(taken.open.is_empty() && taken.idle.is_empty() && taken.each.is_empty());
        assert_eq!(taken.closing, 0);
    }
}
