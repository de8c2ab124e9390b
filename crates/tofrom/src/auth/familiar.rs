//! Browsers and networks of earlier sign-ins. While an account is guessed at from everywhere, a password for it is checked
//! only if it comes from a familiar browser or network: a browser shows a signed cookie, and the store knows networks from which the
//! password was right, by a keyed hash.
//!
//! Neither opens anything by itself, and both end after 90 days.

use super::AuthError;
use super::seal::SecretKeys;
use crate::clock::Clock;
use crate::network::{as_ipv6, subscriber_of};
use aws_lc_rs::hmac;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use model::{Millis, Uid};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use store::{KnownNetwork, Store, StoreError};

/// How long a browser or network is familiar.
pub const FAMILIAR_TTL: Duration = Duration::from_secs(90 * 24 * 60 * 60);
/// How exact the time of the last success of a network is.
const NOTED_EVERY: Duration = Duration::from_secs(24 * 60 * 60);
/// How many accounts a browser is familiar to.
const ACCOUNTS_PER_BROWSER: usize = 4;
/// No account has this number.
const NOBODY: Uid = Uid(i64::MIN);

/// Knows familiar browsers and networks.
pub(super) struct Familiar {
    store: Arc<dyn Store>,
    clock: Clock,
    /// The first makes, any recognises.
    browser_keys: Vec<hmac::Key>,
    network_keys: Vec<hmac::Key>,
    /// Networks that this process noted lately.
    noted: moka::sync::Cache<(Uid, IpAddr), ()>,
}

impl Familiar {
    pub(super) fn new(store: Arc<dyn Store>, clock: Clock, keys: &SecretKeys) -> Familiar {
        Familiar {
            store,
            clock,
            browser_keys: keys.derive("familiar browser"),
            network_keys: keys.derive("familiar network"),
            noted: moka::sync::Cache::builder().max_capacity(100_000).time_to_live(NOTED_EVERY).build(),
        }
    }

    /// Whether a sign-in to that account succeeded before from that network, or in the browser with this cookie.
    /// Where there is no account, the answer takes the same way.
    pub(super) async fn knows(
        &self,
        account: Option<Uid>,
        remote: IpAddr,
        cookie: Option<&str>,
    ) -> Result<bool, AuthError> {
        let (uid, now) = (account.unwrap_or(NOBODY), self.clock.now());
        let marks = cookie.into_iter().flat_map(marks_of);
        if marks.into_iter().any(|mark| mark.owner() == uid && self.counts(&mark, now)) {
            return Ok(true);
        }
        let hashes: Vec<_> = self.network_keys.iter().map(|key| network_hash(key, uid, remote)).collect();
        let known = self.store.networks_of(uid).await?;
        Ok(known.iter().any(|network| now < network.expires && hashes.contains(&network.hash)))
    }

    /// The cookie of a browser after a sign-in to that account. It keeps the marks of other accounts.
    pub(super) fn cookie(&self, uid: Uid, present: Option<&str>) -> String {
        let now = self.clock.now();
        let new = self.browser_keys.first().map(|key| Mark::new(key, uid, now).encoded());
        let others = present.into_iter().flat_map(marks_of);
        let others = others.filter(|mark| mark.owner() != uid && self.counts(mark, now));
        let all = new.into_iter().chain(others.map(|mark| mark.encoded()));
        all.take(ACCOUNTS_PER_BROWSER).collect::<Vec<_>>().join(".")
    }

    /// Notes that the password of that account was right from there, beside the request and once a day.
    pub(super) fn note(&self, uid: Uid, remote: IpAddr) {
        let key = (uid, subscriber_of(remote));
        if self.noted.contains_key(&key) || !self.noted.entry(key).or_insert(()).is_fresh() {
            return;
        }
        let Some(hash) = self.network_keys.first().map(|key| network_hash(key, uid, remote)) else { return };
        let network = KnownNetwork { hash, expires: self.clock.now().later(FAMILIAR_TTL) };
        let (store, noted) = (Arc::clone(&self.store), self.noted.clone());
        tokio::spawn(async move {
            if let Err(error) = note_daily(store.as_ref(), uid, &network).await {
                tracing::warn!(%error, "familiar network not noted");
                noted.invalidate(&key);
            }
        });
    }

    fn counts(&self, mark: &Mark, now: Millis) -> bool {
        now < mark.issued().later(FAMILIAR_TTL) && self.browser_keys.iter().any(|key| mark.is_signed(key))
    }
}

/// Notes a network, unless a process noted it within a day.
async fn note_daily(store: &dyn Store, uid: Uid, network: &KnownNetwork) -> Result<(), StoreError> {
    let known = store.networks_of(uid).await?;
    let lately =
        |one: &KnownNetwork| one.hash == network.hash && network.expires < one.expires.later(NOTED_EVERY);
    if known.iter().any(lately) {
        return Ok(());
    }
    store.note_network(uid, network).await
}

/// A network of an account as the store knows it: two accounts' hashes of one network have nothing in common.
fn network_hash(key: &hmac::Key, uid: Uid, remote: IpAddr) -> [u8; 16] {
    let network = as_ipv6(subscriber_of(remote)).octets();
    let tag = hmac::sign(key, &[uid.0.to_be_bytes().as_slice(), &network].concat());
    let mut hash = [0; 16];
    hash.iter_mut().zip(tag.as_ref()).for_each(|(to, from)| *to = *from);
    hash
}

/// What a browser has of one account: whose it is and since when, signed.
struct Mark {
    said: [u8; 16],
    tag: Vec<u8>,
}

impl Mark {
    fn new(key: &hmac::Key, uid: Uid, now: Millis) -> Mark {
        let said =
            (u128::from(uid.0.cast_unsigned()) << 64 | u128::from(now.0.cast_unsigned())).to_be_bytes();
        Mark { said, tag: hmac::sign(key, &said).as_ref().to_vec() }
    }

    fn owner(&self) -> Uid {
        Uid(half(u128::from_be_bytes(self.said) >> 64))
    }

    fn issued(&self) -> Millis {
        Millis(half(u128::from_be_bytes(self.said)))
    }

    fn is_signed(&self, key: &hmac::Key) -> bool {
        hmac::verify(key, &self.said, &self.tag).is_ok()
    }

    fn encoded(&self) -> String {
        BASE64_URL_SAFE_NO_PAD.encode([self.said.as_slice(), &self.tag].concat())
    }
}

/// The lower half of a number.
fn half(number: u128) -> i64 {
    u64::try_from(number & u128::from(u64::MAX)).unwrap_or_default().cast_signed()
}

/// The marks in a cookie; their signatures are not checked.
fn marks_of(cookie: &str) -> impl Iterator<Item = Mark> {
    cookie.split('.').take(ACCOUNTS_PER_BROWSER).filter_map(|text| {
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(text).ok()?;
        let (said, tag) = bytes.split_first_chunk::<16>()?;
        Some(Mark { said: *said, tag: tag.to_vec() })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicI64, Ordering};
    use store::Networks;
    use store::sqlite::{Options, SqliteStore};

    const DAY: i64 = 86_400_000;
    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
    const ELSEWHERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2));

    struct World {
        store: Arc<SqliteStore>,
        now: Arc<AtomicI64>,
        _folder: tempfolder::Folder,
    }

    mod tempfolder {
        pub(super) struct Folder(pub(super) std::path::PathBuf);

        impl Drop for Folder {
            fn drop(&mut self) {
                std::fs::remove_dir_all(&self.0).ok();
            }
        }
    }

    impl World {
        fn new() -> World {
            let name = crate::auth::random_text::<8>("tofrom-familiar-").unwrap();
            let folder = std::env::temp_dir().join(name.as_str());
            std::fs::create_dir(&folder).unwrap();
            let options = Options { synchronous_off: true, readers: 2, ..Options::default() };
            let store = Arc::new(SqliteStore::open(&folder.join("store"), options).unwrap());
            let now = Arc::new(AtomicI64::new(1_700_000_000_000));
            World { store, now, _folder: tempfolder::Folder(folder) }
        }

        fn with_keys(&self, keys: &[&str]) -> Familiar {
            let told = Arc::clone(&self.now);
            let clock = Clock::from(move || Millis(told.load(Ordering::Relaxed)));
            let keys = SecretKeys::parse(keys.iter().map(|byte| byte.repeat(32))).unwrap();
            Familiar::new(Arc::clone(&self.store) as Arc<dyn Store>, clock, &keys)
        }

        async fn noted(&self, uid: Uid, number: usize) -> Vec<KnownNetwork> {
            for _ in 0..400 {
                if self.store.networks_of(uid).await.unwrap().len() == number {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            self.store.networks_of(uid).await.unwrap()
        }
    }

    #[tokio::test]
    async fn a_browser_is_familiar_to_the_accounts_that_signed_in_there() {
        let world = World::new();
        let familiar = world.with_keys(&["00"]);
        let knows = async |familiar: &Familiar, uid: i64, cookie: &str| {
            familiar.knows(Some(Uid(uid)), HERE, Some(cookie)).await.unwrap()
        };
        let one = familiar.cookie(Uid(1), None);
        assert!(knows(&familiar, 1, &one).await && !knows(&familiar, 2, &one).await);
        assert!(!familiar.knows(None, HERE, Some(&one)).await.unwrap(), "nobody's browser");
        let both = familiar.cookie(Uid(-2), Some(&one));
        assert!(knows(&familiar, 1, &both).await && knows(&familiar, -2, &both).await);
        let many = (3..9).fold(both.clone(), |cookie, uid| familiar.cookie(Uid(uid), Some(&cookie)));
        assert_eq!(many.split('.').count(), 4);
        assert!(knows(&familiar, 8, &many).await && !knows(&familiar, 1, &many).await);
        assert_eq!(familiar.cookie(Uid(1), Some(&one)).split('.').count(), 1, "once for each account");

        let rotated = world.with_keys(&["11", "00"]);
        assert!(knows(&rotated, 1, &one).await, "any listed key recognises");
        assert!(!knows(&world.with_keys(&["11"]), 1, &one).await);
        let mut altered = BASE64_URL_SAFE_NO_PAD.decode(&one).unwrap();
        altered[7] ^= 3;
        for wrong in ["", ".", "x", &BASE64_URL_SAFE_NO_PAD.encode(altered), &one[..20]] {
            assert!(!knows(&familiar, 1, wrong).await && !knows(&familiar, 2, wrong).await, "{wrong}");
        }
        world.now.fetch_add(90 * DAY - 1, Ordering::Relaxed);
        assert!(knows(&familiar, 1, &one).await);
        world.now.fetch_add(1, Ordering::Relaxed);
        assert!(!knows(&familiar, 1, &one).await, "90 days are over");
    }

    #[tokio::test]
    async fn a_network_is_noted_once_a_day_and_known_to_every_process() {
        let world = World::new();
        let (familiar, uid) = (world.with_keys(&["00"]), Uid(7));
        familiar.note(uid, HERE);
        let first = world.noted(uid, 1).await;
        assert_eq!(first[0].expires.0, world.now.load(Ordering::Relaxed) + 90 * DAY);
        let other = world.with_keys(&["11", "00"]);
        assert!(other.knows(Some(uid), HERE, None).await.unwrap());
        assert!(!other.knows(Some(uid), ELSEWHERE, None).await.unwrap());
        assert!(!other.knows(Some(Uid(8)), HERE, None).await.unwrap());
        assert!(!other.knows(None, HERE, None).await.unwrap());

        // Another process notes it again only when a day is over.
        world.now.fetch_add(DAY - 1, Ordering::Relaxed);
        note_daily(
            world.store.as_ref(),
            uid,
            &KnownNetwork { expires: Millis(first[0].expires.0 + DAY - 1), ..first[0] },
        )
        .await
        .unwrap();
        assert_eq!(world.store.networks_of(uid).await.unwrap(), first);
        let later = KnownNetwork { expires: Millis(first[0].expires.0 + DAY), ..first[0] };
        note_daily(world.store.as_ref(), uid, &later).await.unwrap();
        assert_eq!(world.store.networks_of(uid).await.unwrap(), [later]);
        world.now.store(later.expires.0, Ordering::Relaxed);
        assert!(!familiar.knows(Some(uid), HERE, None).await.unwrap(), "90 days are over");
    }
}
