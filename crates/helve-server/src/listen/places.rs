//! The places of connections: how many there are, who has them, and who gives one up for another.
//!
//! A connection is idle while no request of it is answered: before its first request, between two, and while a request is
//! still arriving. Where all places are taken, the connection that has been idle for the longest is closed for a new one,
//! so whoever opens connections and says nothing takes nobody's place for long.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// The places of a server.
#[derive(Debug)]
pub(super) struct Places {
    all_max: usize,
    each_max: usize,
    taken: Mutex<Taken>,
    freed: Notify,
}

#[derive(Debug, Default)]
struct Taken {
    next: u64,
    holders: HashMap<u64, Holder>,
    /// Who is idle, those first who have been it for longest, by a number that grows.
    idle: BTreeMap<u64, u64>,
    each: HashMap<IpAddr, Share>,
    /// Who was told to go and has not gone yet.
    leaving: usize,
}

#[derive(Debug)]
struct Holder {
    address: Option<IpAddr>,
    idle_since: Option<u64>,
    is_leaving: bool,
    close: CancellationToken,
}

/// What the connections of an address take up.
#[derive(Debug, Default)]
struct Share {
    holders: usize,
    leaving: usize,
}

/// A connection's place, given back when it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    id: u64,
    close: CancellationToken,
    places: Arc<Places>,
}

/// An address has its share of the connections, and all of them are at work.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct HasItsShare;

enum Turn {
    Taken(u64, CancellationToken),
    /// Somebody has to be gone first.
    Wait,
    HasItsShare,
}

impl Places {
    /// Places for so many, and for so many of one address, which never gets more than half of all.
    pub(super) fn new(all_max: usize, each_max: usize) -> Arc<Self> {
        let all_max = all_max.max(1);
        let each_max = each_max.min(all_max.div_ceil(2));
        Arc::new(Self { all_max, each_max, taken: Mutex::default(), freed: Notify::new() })
    }

    /// A place, once there is one. Without an address none is counted: a proxy has the connections of many.
    pub(super) async fn take(self: &Arc<Self>, address: Option<IpAddr>) -> Result<Place, HasItsShare> {
        loop {
            let freed = self.freed.notified();
            match self.try_take(address) {
                Turn::Taken(id, close) => return Ok(Place { id, close, places: self.clone() }),
                Turn::HasItsShare => return Err(HasItsShare),
                Turn::Wait => freed.await,
            }
        }
    }

    fn try_take(&self, address: Option<IpAddr>) -> Turn {
        let mut taken = self.taken();
        let share = address.and_then(|address| taken.each.get(&address));
        if share.is_some_and(|share| share.holders - share.leaving >= self.each_max) {
            return if taken.send_away(|holder| holder.address == address) {
                Turn::Wait
            } else {
                Turn::HasItsShare
            };
        }
        if taken.holders.len() >= self.all_max {
            if taken.holders.len() - taken.leaving >= self.all_max {
                taken.send_away(|_| true);
            }
            return Turn::Wait;
        }
        let (id, close) = taken.enter(address);
        Turn::Taken(id, close)
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Taken {
    fn enter(&mut self, address: Option<IpAddr>) -> (u64, CancellationToken) {
        let id = self.number();
        let close = CancellationToken::new();
        let holder = Holder { address, idle_since: Some(id), is_leaving: false, close: close.clone() };
        self.holders.insert(id, holder);
        self.idle.insert(id, id);
        if let Some(address) = address {
            self.each.entry(address).or_default().holders += 1;
        }
        (id, close)
    }

    /// Closes the connection that has been idle for the longest of those that fit; whether there is one.
    fn send_away(&mut self, fits: impl Fn(&Holder) -> bool) -> bool {
        let fits = |id: &u64| self.holders.get(id).is_some_and(&fits);
        let Some((since, id)) = self.idle.iter().find(|(_, id)| fits(id)).map(|(since, id)| (*since, *id))
        else {
            return false;
        };
        self.idle.remove(&since);
        if let Some(holder) = self.holders.get_mut(&id) {
            holder.is_leaving = true;
            holder.idle_since = None;
            holder.close.cancel();
            if let Some(share) = holder.address.and_then(|address| self.each.get_mut(&address)) {
                share.leaving += 1;
            }
        }
        self.leaving += 1;
        true
    }

    fn leave(&mut self, id: u64) {
        let Some(holder) = self.holders.remove(&id) else { return };
        if let Some(since) = holder.idle_since {
            self.idle.remove(&since);
        }
        self.leaving -= usize::from(holder.is_leaving);
        let Some(address) = holder.address else { return };
        if let Some(share) = self.each.get_mut(&address) {
            share.holders -= 1;
            share.leaving -= usize::from(holder.is_leaving);
            if share.holders == 0 {
                self.each.remove(&address);
            }
        }
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }
}

impl Place {
    /// Told when the place is wanted for somebody else.
    pub(super) fn close(&self) -> &CancellationToken {
        &self.close
    }

    /// A request has arrived and is answered from now on.
    pub(super) fn is_at_work(&self) {
        let mut taken = self.places.taken();
        let since = taken.holders.get_mut(&self.id).and_then(|holder| holder.idle_since.take());
        if let Some(since) = since {
            taken.idle.remove(&since);
        }
    }

    /// The answer is said.
    pub(super) fn is_idle(&self) {
        let mut taken = self.places.taken();
        let since = taken.number();
        let Some(holder) = taken.holders.get_mut(&self.id) else { return };
        if holder.is_leaving || holder.idle_since.is_some() {
            return;
        }
        holder.idle_since = Some(since);
        taken.idle.insert(since, self.id);
        drop(taken);
        // Whoever waits may send this one away.
        self.places.freed.notify_waiters();
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.taken().leave(self.id);
        self.places.freed.notify_waiters();
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

    /// What comes of asking for a place, without waiting for one.
    fn now(places: &Arc<Places>, address: Option<IpAddr>) -> Option<Result<Place, HasItsShare>> {
        let asked = pin!(places.take(address));
        match asked.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(answer) => Some(answer),
            Poll::Pending => None,
        }
    }

    #[test]
    fn a_full_house_closes_who_has_been_idle_for_longest_and_waits_until_it_is_gone() {
        let places = Places::new(3, 3);
        let take = |last| now(&places, address(last));
        let first = take(1).unwrap().unwrap();
        let second = take(2).unwrap().unwrap();
        let third = take(3).unwrap().unwrap();
        first.is_at_work();
        first.is_idle();
        second.is_at_work();
        assert!(take(4).is_none(), "somebody has to go first");
        assert!(take(4).is_none(), "one is enough");
        let told = |place: &Place| place.close().is_cancelled();
        assert!(!told(&first) && !told(&second) && told(&third));
        drop(third);
        let _fourth = take(4).unwrap().unwrap();
        assert!(take(5).is_none());
        assert!(told(&first) && !told(&second), "who is at work stays");
    }

    #[test]
    fn who_waits_for_a_place_gets_it_when_somebody_becomes_idle() {
        let places = Places::new(1, 1);
        let first = now(&places, None).unwrap().unwrap();
        first.is_at_work();
        let mut asked = pin!(places.take(None));
        let mut cx = Context::from_waker(Waker::noop());
        assert!(asked.as_mut().poll(&mut cx).is_pending());
        assert!(!first.close().is_cancelled());
        first.is_idle();
        assert!(asked.as_mut().poll(&mut cx).is_pending());
        assert!(first.close().is_cancelled());
        drop(first);
        assert!(asked.as_mut().poll(&mut cx).is_ready());
    }

    #[test]
    fn an_address_has_its_share_and_no_more_than_half() {
        let places = Places::new(6, 100);
        let mine: Vec<Place> = (0..3).map(|_| now(&places, address(1)).unwrap().unwrap()).collect();
        mine.iter().for_each(Place::is_at_work);
        assert_eq!(now(&places, address(1)).unwrap().unwrap_err(), HasItsShare);
        assert!(now(&places, address(2)).unwrap().is_ok(), "others have theirs");
        mine[1].is_idle();
        assert!(now(&places, address(1)).is_none());
        assert!(mine[1].close().is_cancelled(), "it gives up one of its own");
        drop(mine);
        let proxied: Vec<_> = (0..6).map(|_| now(&places, None).unwrap().unwrap()).collect();
        assert_eq!(proxied.len(), 6, "whose address says nothing is not counted by it");
    }

    #[test]
    fn nothing_is_kept_of_who_has_left() {
        let places = Places::new(2, 2);
        for last in 0..100 {
            let place = now(&places, address(last)).unwrap().unwrap();
            place.is_at_work();
            place.is_idle();
        }
        let taken = places.taken();
        assert!(taken.holders.is_empty() && taken.idle.is_empty() && taken.each.is_empty());
        assert_eq!(taken.leaving, 0);
    }
}
