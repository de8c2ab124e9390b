//! Compares the guard with a second implementation: every form of an embedded address as a value and a mask,
//! parsed from text.

use fetcher::is_public;
use proptest::prelude::*;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const PRIVATE_V4: &str = "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 \
    192.0.2.0/24 192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4";
/// The last ones cover all of 2001::/23 except Teredo.
const PRIVATE_V6: &str = "::/128 ::1/128 fc00::/7 fe80::/10 fec0::/10 ff00::/8 100::/64 2001:db8::/32 3fff::/20 \
    5f00::/16 64:ff9b:1::/48 2001:1::/32 2001:2::/31 2001:4::/30 2001:8::/29 2001:10::/28 2001:20::/27 2001:40::/26 \
    2001:80::/25 2001:100::/24";
const OPEN: &str = "2000::/3 ::ffff:0.0.0.0/96 ::/96 64:ff9b::/96";

#[derive(Clone, Copy)]
struct Pattern {
    value: u128,
    mask: u128,
}

impl Pattern {
    fn matches(self, address: u128) -> bool {
        address & self.mask == self.value
    }
}

fn mask(bits: u32) -> u128 {
    if bits == 0 { 0 } else { u128::MAX << (128 - bits) }
}

fn v6(list: &str) -> Vec<Pattern> {
    let pattern = |text: &str| {
        let (address, bits) = text.split_once('/').unwrap();
        let mask = mask(bits.parse().unwrap());
        Pattern { value: u128::from(address.parse::<Ipv6Addr>().unwrap()) & mask, mask }
    };
    list.split_whitespace().map(pattern).collect()
}

/// All forms of one address, or of one network by its mask.
fn forms(value: u32, mask: u32) -> Vec<Pattern> {
    let (value, mask) = (u128::from(value), u128::from(mask));
    let low = u128::from(u32::MAX);
    let prefix = |text: &str| u128::from(text.parse::<Ipv6Addr>().unwrap());
    let at_end = |text: &str| Pattern { value: prefix(text) | value, mask: !low | mask };
    let mut forms = vec![at_end("::"), at_end("::ffff:0:0"), at_end("64:ff9b::")];
    let six_to_four = (0x2002_u128 << 112) | (value << 80);
    forms.push(Pattern { value: six_to_four, mask: (0xffff << 112) | (mask << 80) });
    let teredo = 0x2001_0000_u128 << 96;
    forms.push(Pattern { value: teredo | (value << 64), mask: (low << 96) | (mask << 64) });
    forms.push(Pattern { value: teredo | (!value & low & mask), mask: (low << 96) | mask });
    forms.push(Pattern { value: (0x5efe << 32) | value, mask: (0xfcff_ffff << 32) | mask });
    forms
}

fn expected(address: IpAddr) -> bool {
    let bits = match address {
        IpAddr::V4(address) => u128::from(address.to_ipv6_mapped()),
        IpAddr::V6(address) => u128::from(address),
    };
    let networks = PRIVATE_V4.split_whitespace().flat_map(|text| {
        let (address, length) = text.split_once('/').unwrap();
        let mask = u32::MAX << (32 - length.parse::<u32>().unwrap());
        forms(u32::from(address.parse::<Ipv4Addr>().unwrap()), mask)
    });
    let forbidden = networks.chain(v6(PRIVATE_V6)).any(|pattern| pattern.matches(bits));
    !forbidden && v6(OPEN).iter().any(|pattern| pattern.matches(bits))
}

/// IPv4 addresses, often at the edge of a network.
fn some_v4() -> impl Strategy<Value = Ipv4Addr> {
    let edges: Vec<u32> = PRIVATE_V4
        .split_whitespace()
        .flat_map(|text| {
            let (address, length) = text.split_once('/').unwrap();
            let first = u32::from(address.parse::<Ipv4Addr>().unwrap());
            let last = first | u32::MAX.checked_shr(length.parse().unwrap()).unwrap_or(0);
            [first.wrapping_sub(1), first, first + 1, last, last.wrapping_add(1)]
        })
        .collect();
    prop_oneof![any::<u32>(), prop::sample::select(edges)].prop_map(Ipv4Addr::from)
}

/// IPv6 addresses, often at the edge of a network, or with an embedded IPv4 address.
fn some_v6() -> impl Strategy<Value = Ipv6Addr> {
    let networks = v6(PRIVATE_V6).into_iter().chain(v6(OPEN));
    let edges: Vec<u128> = networks
        .flat_map(|Pattern { value, mask }| {
            [value.wrapping_sub(1), value, value + 1, value | !mask, (value | !mask).wrapping_add(1)]
        })
        .collect();
    let carrying = (some_v4(), any::<u128>(), 0_usize..7).prop_map(|(address, noise, form)| {
        let Pattern { value, mask } = forms(address.into(), u32::MAX)[form];
        value | (noise & !mask)
    });
    prop_oneof![
        any::<u128>(),
        any::<u128>().prop_map(|bits| bits >> 3 | 1 << 125),
        prop::sample::select(edges),
        carrying
    ]
    .prop_map(Ipv6Addr::from)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn both_implementations_agree_on_ipv4(address in some_v4()) {
        prop_assert_eq!(is_public(address.into()), expected(address.into()));
    }

    #[test]
    fn both_implementations_agree_on_ipv6(address in some_v6()) {
        prop_assert_eq!(is_public(address.into()), expected(address.into()), "{}", address);
    }

    #[test]
    fn an_address_is_refused_in_all_forms_or_none(address in some_v4()) {
        let public = is_public(address.into());
        // The other embedded addresses are public, so they do not affect the result.
        let noise = u128::from("2a00:1450:808:808::".parse::<Ipv6Addr>().unwrap()) | u128::from(!0x0808_0808_u32);
        for (form, Pattern { value, mask }) in forms(address.into(), u32::MAX).into_iter().enumerate() {
            let carrying = Ipv6Addr::from(value | (noise & !mask));
            prop_assert_eq!(is_public(carrying.into()), public, "form {}: {}", form, carrying);
        }
    }
}
