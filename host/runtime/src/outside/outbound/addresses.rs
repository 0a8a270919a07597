//! The addresses that a request may connect to. Each resolved address is checked here, and the host connects only to
//! checked addresses.

use crate::enumerated::enumerated;
use std::collections::BTreeSet;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// A kind of address that a rule can grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AddressKind {
    /// In the internet.
    Public,
    /// In a private network, as a cluster's is: RFC 1918, RFC 6598, RFC 4193.
    Private,
    /// The host's own machine, or the other containers of its pod.
    Loopback,
}

/// The reason for which a request may not connect to an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AddressRefusal {
    /// The rule does not name this kind.
    Kind(AddressKind),
    /// No rule can grant the address; the text is its kind.
    Never(&'static str),
}

/// The kinds of addresses that a rule grants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddressKinds(BTreeSet<AddressKind>);

impl AddressKind {
    const ALL: [Self; 3] = [Self::Public, Self::Private, Self::Loopback];

    /// The kind of an address; `None` if no rule can grant it.
    pub(crate) fn of(address: IpAddr) -> Option<Self> {
        kind_of(address).ok()
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Private => "private",
            Self::Loopback => "loopback",
        }
    }
}

impl FromStr for AddressKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|kind| kind.name() == text);
        known.ok_or_else(|| {
            let known = Self::ALL.map(Self::name).join(", ");
            format!("has {text:?}, and may have {known}")
        })
    }
}

impl Default for AddressKinds {
    /// Only public addresses.
    fn default() -> Self {
        Self(BTreeSet::from([AddressKind::Public]))
    }
}

impl AddressKinds {
    /// A set of these kinds.
    pub fn new(kinds: impl IntoIterator<Item = AddressKind>) -> Self {
        Self(kinds.into_iter().collect())
    }

    /// Whether a request may connect to this address, whatever its name.
    #[must_use]
    pub fn allow(&self, address: IpAddr) -> bool {
        self.check(address).is_ok()
    }

    pub(crate) fn check(&self, address: IpAddr) -> Result<(), AddressRefusal> {
        let kind = kind_of(address).map_err(AddressRefusal::Never)?;
        if self.0.contains(&kind) { Ok(()) } else { Err(AddressRefusal::Kind(kind)) }
    }

    /// Whether all of these kinds are among the others.
    pub(crate) fn are_within(&self, others: &Self) -> bool {
        self.0.is_subset(&others.0)
    }

    /// The kinds in both sets.
    pub(crate) fn and(&self, others: &Self) -> Self {
        Self(self.0.intersection(&others.0).copied().collect())
    }

    /// The same kinds and this one.
    pub(crate) fn with(&self, kind: AddressKind) -> Self {
        let mut kinds = self.0.clone();
        kinds.insert(kind);
        Self(kinds)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = AddressKind> {
        self.0.iter().copied()
    }
}

/// `public and private`.
impl fmt::Display for AddressKinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.iter().map(AddressKind::name).collect();
        f.write_str(&enumerated(&names))
    }
}

/// The kind of an address; an error if no rule can grant it.
fn kind_of(address: IpAddr) -> Result<AddressKind, &'static str> {
    match address {
        IpAddr::V4(address) => kind_of_v4(address),
        IpAddr::V6(address) => kind_of_v6(address),
    }
}

const METADATA: &str = "the address of a cloud's metadata";
const RESERVED: &str = "a reserved address";
/// A translator's address in a private network: its target is unknown.
const TRANSLATED: &str = "a translated address of a network's own";

fn kind_of_v4(address: Ipv4Addr) -> Result<AddressKind, &'static str> {
    match address.octets() {
        // Metadata services of Alibaba, Azure and Oracle; those of others are link-local.
        [100, 100, 100, 200] | [168, 63, 129, 16] | [192, 0, 0, 192] => Err(METADATA),
        [0, ..] => Err("an unspecified address"),
        [127, ..] => Ok(AddressKind::Loopback),
        [169, 254, ..] => Err("a link-local address"),
        [10, ..] | [192, 168, ..] | [172, 16..=31, ..] | [100, 64..=127, ..] => {
            Ok(AddressKind::Private)
        }
        [192, 0, 0 | 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => Err(RESERVED),
        [198, 18 | 19, ..] | [192, 88, 99, _] => Err(RESERVED),
        [224..=239, ..] => Err("a multicast address"),
        [240..=255, ..] => Err(RESERVED),
        _ => Ok(AddressKind::Public),
    }
}

fn kind_of_v6(address: Ipv6Addr) -> Result<AddressKind, &'static str> {
    if let Some(mapped) = address.to_ipv4_mapped() {
        return kind_of_v4(mapped);
    }
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => Err("an unspecified address"),
        [0, 0, 0, 0, 0, 0, 0, 1] => Ok(AddressKind::Loopback),
        [0, 0, 0, 0, 0, 0, ..] => Err("an IPv4-compatible address"),
        // A translator's form of an IPv4 internet address, and of no other address.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            let bits = u32::from(high) << 16 | u32::from(low);
            match kind_of_v4(Ipv4Addr::from_bits(bits)) {
                Ok(AddressKind::Public) => Ok(AddressKind::Public),
                _ => Err("a translated address that is not public"),
            }
        }
        // RFC 8215: a private network's translator may lead into that network.
        [0x64, 0xff9b, 1, ..] => Err(TRANSLATED),
        // RFC 2765: the same without a prefix.
        [0, 0, 0, 0, 0xffff, 0, ..] => Err(TRANSLATED),
        // Translators may have any prefix: an address with this end never leads to an allowed target.
        [0x2000..=0x3fff, _, _, _, _, _, 0xa9fe, 0xa9fe] => Err(METADATA),
        // ISATAP: the target is the IPv4 address at the end.
        [_, _, _, _, 0 | 0x200, 0x5efe, ..] => Err("an ISATAP address"),
        [0x2002, ..] => Err("a 6to4 address"),
        [0x2001, 0, ..] => Err("a Teredo address"),
        [0x2001, 1..=0x1ff, ..] | [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => Err(RESERVED),
        [0xfd00, 0xec2, ..] | [0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254] => Err(METADATA),
        // Oracle's, Scaleway's and Akamai's, and those of other clouds that write 169.254.169.254 into their own
        // address.
        [0xfd00, 0xc1 | 0x42, ..] | [0xfd00, 0xa9fe, 0xa9fe, ..] => Err(METADATA),
        [0xfc00..=0xfdff, _, _, _, _, _, 0xa9fe, 0xa9fe] => Err(METADATA),
        [0xfc00..=0xfdff, ..] => Ok(AddressKind::Private),
        [0xfe80..=0xfebf, ..] => Err("a link-local address"),
        [0xff00..=0xffff, ..] => Err("a multicast address"),
        [0x2000..=0x3fff, ..] => Ok(AddressKind::Public),
        _ => Err(RESERVED),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kinds of these addresses.
    #[track_caller]
    fn check(addresses: &[&str], expect: Result<AddressKind, &'static str>) {
        for address in addresses {
            let parsed = address.parse().expect("an address");
            assert_eq!(kind_of(parsed), expect, "{address}");
        }
    }

    #[test]
    fn the_internet_is_public() {
        let v4 =
            ["1.1.1.1", "8.8.8.8", "100.63.255.255", "100.128.0.0", "172.15.0.1", "172.32.0.1"];
        check(&v4, Ok(AddressKind::Public));
        check(
            &["192.0.1.1", "198.17.0.1", "198.20.0.1", "223.255.255.255"],
            Ok(AddressKind::Public),
        );
        let v6 = ["2606:4700:4700::1111", "2001:4860:4860::8888", "2001:200::1", "3ffe::1"];
        check(&v6, Ok(AddressKind::Public));
    }

    #[test]
    fn networks_of_ones_own_are_private() {
        let v4 = ["10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1"];
        check(&v4, Ok(AddressKind::Private));
        check(&["fc00::1", "fd12:3456::1"], Ok(AddressKind::Private));
    }

    #[test]
    fn the_machine_itself_is_loopback() {
        check(&["127.0.0.1", "127.255.0.9", "::1"], Ok(AddressKind::Loopback));
    }

    #[test]
    fn nobody_is_asked_who_gives_machines_their_credentials() {
        let v4 = ["100.100.100.200", "168.63.129.16", "192.0.0.192"];
        check(&v4, Err(METADATA));
        check(&["fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254"], Err(METADATA));
        check(&["fd00:c1::a9fe:a9fe", "fd00:42::42", "fd00:a9fe:a9fe::1"], Err(METADATA));
        check(&["fd12::a9fe:a9fe"], Err(METADATA));
        let link_local = ["169.254.169.254", "169.254.170.23", "fe80::1", "febf::1"];
        check(&link_local, Err("a link-local address"));
    }

    #[test]
    fn what_leads_nowhere_is_refused() {
        check(&["0.0.0.0", "0.1.2.3", "::"], Err("an unspecified address"));
        check(&["224.0.0.1", "239.1.1.1", "ff02::1"], Err("a multicast address"));
        let v4 =
            ["192.0.0.8", "192.0.2.1", "198.51.100.1", "203.0.113.1", "198.18.0.1", "198.19.0.1"];
        check(&v4, Err(RESERVED));
        check(&["192.88.99.1", "240.0.0.1", "255.255.255.255"], Err(RESERVED));
        let v6 =
            ["2001:db8::1", "2001:2::1", "2001:20::1", "3fff::1", "100::1", "fec0::1", "4000::1"];
        check(&v6, Err(RESERVED));
    }

    #[test]
    fn an_address_within_another_is_what_it_is_by_itself() {
        check(&["::ffff:1.1.1.1", "64:ff9b::1.1.1.1"], Ok(AddressKind::Public));
        check(&["::ffff:127.0.0.1"], Ok(AddressKind::Loopback));
        check(&["::ffff:10.0.0.1"], Ok(AddressKind::Private));
        check(&["::ffff:169.254.169.254"], Err("a link-local address"));
        check(&["::ffff:0.0.0.0", "::ffff:0.1.2.3"], Err("an unspecified address"));
        let translated =
            ["64:ff9b::127.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b::169.254.169.254", "64:ff9b::"];
        check(&translated, Err("a translated address that is not public"));
        let own = ["64:ff9b:1::1.1.1.1", "64:ff9b:1:fffe::10.0.0.1", "::ffff:0:127.0.0.1"];
        check(&own, Err(TRANSLATED));
        check(&["2a00:1::169.254.169.254", "3ffe::a9fe:a9fe"], Err(METADATA));
        let isatap = ["2a00::5efe:127.0.0.1", "fd12::200:5efe:10.0.0.1", "fe80::5efe:1.1.1.1"];
        check(&isatap, Err("an ISATAP address"));
        check(&["::127.0.0.1", "::1.1.1.1", "::2"], Err("an IPv4-compatible address"));
        check(&["2002:7f00:1::", "2002:a9fe:a9fe::1", "2002::1"], Err("a 6to4 address"));
        check(&["2001::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2"], Err("a Teredo address"));
    }

    #[test]
    fn a_rule_grants_the_kinds_that_it_names() {
        let address = |text: &str| text.parse::<IpAddr>().expect("an address");
        let by_default = AddressKinds::default();
        assert!(by_default.allow(address("1.1.1.1")));
        let refused = by_default.check(address("10.0.0.1"));
        assert_eq!(refused, Err(AddressRefusal::Kind(AddressKind::Private)));
        let all = AddressKinds::new(AddressKind::ALL);
        for granted in ["1.1.1.1", "10.0.0.1", "127.0.0.1"] {
            assert!(all.allow(address(granted)), "{granted}");
        }
        let never = all.check(address("169.254.169.254"));
        assert_eq!(never, Err(AddressRefusal::Never("a link-local address")));
        assert_eq!(all.to_string(), "public, private and loopback");
        assert!(by_default.are_within(&all) && !all.are_within(&by_default));
        assert_eq!(by_default.and(&all), by_default);
        let private = AddressKinds::new([AddressKind::Private]);
        assert!(!private.and(&by_default).allow(address("10.0.0.1")));
        assert_eq!("lan".parse::<AddressKind>().expect_err("none").split(',').count(), 4);
    }
}
