//! For which connections there is room: a synchronous cupboard.
//!
//! A connection waits, for a request or for the end of a probe's answer, or it is served. Of those that wait one
//! too many takes the place of another, so that whoever asks at once is always heard; a request for which there is
//! no place is refused, so that nobody stands in front of others.

use crate::metrics::RefusedCounts;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use tokio_util::sync::CancellationToken;

/// How many connections there may be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// That wait.
    pub(super) waiting_max: usize,
    /// Whose requests are answered; those of probes count as waiting.
    pub(super) served_max: usize,
    /// Of one peer among these.
    pub(super) served_of_peer_max: usize,
    /// The last so many of these are for peers that have none.
    pub(super) served_of_others: usize,
}

/// Where connections come from: an address, or the network of 64 bits of which one machine has all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Peer(IpAddr);

impl Peer {
    /// Whoever may open a socket that has a path.
    pub(super) const ONLY: Self = Self(IpAddr::V4(Ipv4Addr::LOCALHOST));
}

impl From<IpAddr> for Peer {
    fn from(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V6(address) => {
                let network = u128::from(address) >> 64 << 64;
                Self(Ipv6Addr::from(network).into())
            }
            v4 => Self(v4),
        }
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(address) = self;
        match address.is_ipv6() {
            true => write!(f, "{address}/64"),
            false => write!(f, "{address}"),
        }
    }
}

/// All places of a listener.
pub(super) struct Places {
    room: Room,
    taken: Mutex<Taken>,
    refused: Arc<RefusedCounts>,
}

#[derive(Default)]
struct Taken {
    /// Whoever has waited longest is the first.
    waiting: Vec<Waiting>,
    /// By peer; none is zero.
    served: HashMap<Peer, usize>,
    served_in_all: usize,
    /// The next connection's number.
    next: u64,
}

struct Waiting {
    number: u64,
    peer: Peer,
    leave: CancellationToken,
}

/// A connection's, until it is dropped.
pub(super) struct ConnectionPlace {
    places: Arc<Places>,
    number: u64,
    peer: Peer,
    leave: CancellationToken,
}

impl ConnectionPlace {
    pub(super) fn peer(&self) -> Peer {
        self.peer
    }
}

/// The connection is served until this is dropped.
pub(super) struct Served {
    places: Arc<Places>,
    peer: Peer,
    /// None any more where the connection ended first.
    place: Weak<ConnectionPlace>,
}

impl Places {
    pub(super) fn new(room: Room, refused: Arc<RefusedCounts>) -> Arc<Self> {
        Arc::new(Self { room, taken: Mutex::default(), refused })
    }

    /// A new connection waits. Where too many do, it takes the place of the one that has waited longest of the peer of
    /// which most do.
    pub(super) fn arrive(self: &Arc<Self>, peer: Peer) -> Arc<ConnectionPlace> {
        let mut taken = self.taken.lock();
        let (number, leave) = (taken.next, CancellationToken::new());
        taken.next += 1;
        taken.waiting.push(Waiting { number, peer, leave: leave.clone() });
        while taken.waiting.len() > self.room.waiting_max {
            taken.send_one_away();
            self.refused.connections.fetch_add(1, Ordering::Relaxed);
        }
        Arc::new(ConnectionPlace { places: self.clone(), number, peer, leave })
    }
}

impl ConnectionPlace {
    /// Once another connection has its place.
    pub(super) async fn lost(&self) {
        self.leave.cancelled().await;
    }

    /// Its request is answered if there is a place for that.
    pub(super) fn serve(self: &Arc<Self>) -> Option<Served> {
        let Room { served_max, served_of_peer_max, served_of_others, .. } = self.places.room;
        let mut taken = self.places.taken.lock();
        let of_peer = taken.served.get(&self.peer).copied().unwrap_or_default();
        let in_all_max = match of_peer {
            0 => served_max,
            _ => served_max.saturating_sub(served_of_others),
        };
        if taken.served_in_all >= in_all_max || of_peer >= served_of_peer_max {
            self.places.refused.requests.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        taken.served.insert(self.peer, of_peer + 1);
        taken.served_in_all += 1;
        taken.waiting.retain(|waiting| waiting.number != self.number);
        let place = Arc::downgrade(self);
        Some(Served { places: self.places.clone(), peer: self.peer, place })
    }
}

impl Drop for ConnectionPlace {
    fn drop(&mut self) {
        let number = self.number;
        self.places.taken.lock().waiting.retain(|waiting| waiting.number != number);
    }
}

/// The connection waits for its next request. It sends nobody away for that: there are never more connections than
/// places of both kinds.
impl Drop for Served {
    fn drop(&mut self) {
        let place = self.place.upgrade();
        let mut taken = self.places.taken.lock();
        taken.served_in_all -= 1;
        if let Some(of_peer) = taken.served.get_mut(&self.peer) {
            *of_peer -= 1;
            if *of_peer == 0 {
                taken.served.remove(&self.peer);
            }
        }
        if let Some(place) = &place {
            let (number, leave) = (place.number, place.leave.clone());
            taken.waiting.push(Waiting { number, peer: self.peer, leave });
        }
        // The last one to have the place gives it back, which takes the lock.
        drop(taken);
    }
}

impl Taken {
    fn send_one_away(&mut self) {
        let mut by_peer: HashMap<Peer, usize> = HashMap::new();
        self.waiting.iter().for_each(|one| *by_peer.entry(one.peer).or_default() += 1);
        let most = by_peer.values().copied().max();
        let place = self.waiting.iter().position(|one| by_peer.get(&one.peer).copied() == most);
        if let Some(place) = place {
            self.waiting.remove(place).leave.cancel();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: Room =
        Room { waiting_max: 3, served_max: 3, served_of_peer_max: 2, served_of_others: 0 };

    /// What comes of steps: `a1` is connection 1 of the peer a, which waits; `+1` asks for something, `-1` has its answer, `x1` ends. Shown are who
    /// waits, who is refused (`!1`) and who has lost the place (`x1`).
    #[track_caller]
    fn check(steps: &str, expect: &str) {
        check_in(ROOM, steps, expect);
    }

    #[track_caller]
    fn check_in(room: Room, steps: &str, expect: &str) {
        let refused = Arc::<RefusedCounts>::default();
        let places = Places::new(room, refused.clone());
        let mut connections: HashMap<&str, Arc<ConnectionPlace>> = HashMap::new();
        let mut served: HashMap<&str, Served> = HashMap::new();
        let mut shown = Vec::new();
        for step in steps.split(' ') {
            let (what, name) = step.split_at(1);
            match what {
                "+" => match connections[name].serve() {
                    Some(one) => _ = served.insert(name, one),
                    None => shown.push(format!("!{name}")),
                },
                "-" => _ = served.remove(name),
                "x" => _ = connections.remove(name),
                peer => {
                    let address = IpAddr::from([10, 0, 0, peer.as_bytes()[0]]);
                    connections.insert(name, places.arrive(address.into()));
                }
            }
        }
        let number_of = |name: &str| connections.get(name).map(|place| place.number);
        let mut names: Vec<&str> = connections.keys().copied().collect();
        names.sort_unstable();
        let lost = names.iter().filter(|name| connections[**name].leave.is_cancelled());
        shown.extend(lost.map(|name| format!("x{name}")));
        let [of_requests, of_connections] = ['!', 'x']
            .map(|what| shown.iter().filter(|text| text.starts_with(what)).count() as u64);
        assert_eq!(refused.requests.load(Ordering::Relaxed), of_requests, "{steps}");
        assert_eq!(refused.connections.load(Ordering::Relaxed), of_connections, "{steps}");
        let taken = places.taken.lock();
        shown.extend(taken.waiting.iter().filter_map(|waiting| {
            let name = names.iter().find(|name| number_of(name) == Some(waiting.number));
            name.map(|name| (*name).to_owned())
        }));
        assert_eq!(shown.join(" "), expect, "{steps}");
        let in_all: usize = taken.served.values().sum();
        assert_eq!((in_all, served.len()), (taken.served_in_all, taken.served_in_all));
    }

    #[test]
    fn one_that_waits_too_many_takes_the_place_of_the_oldest_of_the_busiest_peer() {
        check("a1 a2 a3", "1 2 3");
        check("a1 a2 a3 a4", "x1 2 3 4");
        check("b1 a2 a3 a4 a5", "x2 x3 1 4 5");
        check("a1 b2 c3 d4", "x1 2 3 4");
        check("a1 a2 a3 x2 a4", "1 3 4");
    }

    #[test]
    fn served_ones_are_bounded_in_all_and_of_a_peer_and_keep_their_places() {
        check("a1 a2 a3 +1 +2 +3", "!3 3");
        check("a1 a2 b3 +1 +2 +3 c4 +4", "!4 4");
        check("a1 a2 +1 +2 b3 b4 b5 b6", "x3 4 5 6");
        check("a1 a2 a3 +1 +2 -1 +3", "1");
    }

    #[test]
    fn the_last_places_are_for_peers_that_have_none() {
        let room = Room { served_max: 4, served_of_others: 2, waiting_max: 9, ..ROOM };
        check_in(room, "a1 a2 b3 b4 +1 +2 +3 +4", "!4 4");
        check_in(room, "a1 a2 b3 c4 d5 +1 +2 +3 +4 +5", "!5 5");
        check_in(room, "a1 b2 a3 +1 +2 +3 -2 +3", "!3 2");
    }

    #[test]
    fn one_that_was_served_waits_again_and_one_that_ends_meanwhile_does_not() {
        check("a1 +1 a2 -1", "2 1");
        check("a1 a2 +1 x1 -1", "2");
        check("a1 +1 a2 a3 a4 -1", "2 3 4 1");
        check("a1 +1 a2 a3 a4 -1 a5", "x2 x3 4 1 5");
    }

    #[track_caller]
    fn check_peers(one: &str, other: &str, same: bool) {
        let peer = |text: &str| Peer::from(text.parse::<IpAddr>().expect("an address"));
        assert_eq!(peer(one) == peer(other), same, "{one} {other}");
    }

    #[test]
    fn a_peer_is_an_address_or_a_network_of_64_bits() {
        check_peers("10.0.0.1", "10.0.0.2", false);
        check_peers("10.0.0.1", "::ffff:10.0.0.1", true);
        check_peers("2001:db8::1", "2001:db8::ffff:1", true);
        check_peers("2001:db8:0:1::1", "2001:db8:0:2::1", false);
    }
}
