//! Recognises browsers and networks of earlier sign-ins. While an account is guessed at from everywhere, a password
//! for it is checked only if it comes from a familiar browser or network. A browser shows a signed cookie; the store
//! keeps keyed hashes of networks from which the password was right.
//!
//! Neither is a credential, and both expire after 90 days.

use super::AuthError;
use aws_lc_rs::hmac;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use model::network::{as_ipv6, subscriber_of};
use model::{Clock, Millis, Uid};
use seal::SecretKeys;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use store::{KnownNetwork, Store, StoreError};

/// How long a browser or network is familiar.
pub const FAMILIAR_TTL: Duration = Duration::from_secs(90 * 24 * 60 * 60);
/// Interval at which a network's last success is recorded.
const RECORD_INTERVAL: Duration = Duration::from_secs(24 * 60 * 60);
/// Maximum number of accounts in a browser's cookie.
const ACCOUNTS_PER_BROWSER: usize = 4;
/// No account has this number.
const NO_ACCOUNT: Uid = Uid(i64::MIN);

/// Familiar browsers and networks.
pub(super) struct Familiar {
    store: Arc<dyn Store>,
    clock: Clock,
    /// The first key signs, any key verifies.
    browser_keys: Vec<hmac::Key>,
    network_keys: Vec<hmac::Key>,
    /// Networks that this process recorded recently.
    recent: moka::sync::Cache<(Uid, IpAddr), ()>,
}

impl Familiar {
    pub(super) fn new(store: Arc<dyn Store>, clock: Clock, keys: &SecretKeys) -> Familiar {
        Familiar {
            store,
            clock,
            browser_keys: keys.derive("familiar browser"),
            network_keys: keys.derive("familiar network"),
            recent: moka::sync::Cache::builder().max_capacity(100_000).time_to_live(RECORD_INTERVAL).build(),
        }
    }

    /// Whether a sign-in to that account succeeded before from that network, or in the browser with this cookie.
    /// Without an account, the check takes the same steps.
    pub(super) async fn knows(
        &self,
        account: Option<Uid>,
        remote: IpAddr,
        cookie: Option<&str>,
    ) -> Result<bool, AuthError> {
        let (uid, now) = (account.unwrap_or(NO_ACCOUNT), self.clock.now());
        let marks = cookie.into_iter().flat_map(marks_of);
        if marks.into_iter().any(|mark| mark.owner() == uid && self.is_valid(&mark, now)) {
            return Ok(true);
        }
        let hashes: Vec<_> = self.network_keys.iter().map(|key| network_hash(key, uid, remote)).collect();
        let known = self.store.networks_of(uid).await?;
        Ok(known.iter().any(|network| now < network.expires && hashes.contains(&network.hash)))
    }

    /// The cookie of a browser after a sign-in to that account. It keeps the marks of other accounts.
    pub(super) fn cookie(&self, uid: Uid, present: Option<&str>) -> String {
        let now = self.clock.now();
        let new = self.browser_keys.first().map(|key| BrowserMark::new(key, uid, now).encoded());
        let others = present.into_iter().flat_map(marks_of);
        let others = others.filter(|mark| mark.owner() != uid && self.is_valid(mark, now));
        let all = new.into_iter().chain(others.map(|mark| mark.encoded()));
        all.take(ACCOUNTS_PER_BROWSER).collect::<Vec<_>>().join(".")
    }

    /// Records that the account's password was right from that network: in the background, at most once a day.
    pub(super) fn record(&self, uid: Uid, remote: IpAddr) {
        let key = (uid, subscriber_of(remote));
        if self.recent.contains_key(&key) || !self.recent.entry(key).or_insert(()).is_fresh() {
            return;
        }
        let Some(hash) = self.network_keys.first().map(|key| network_hash(key, uid, remote)) else { return };
        let network = KnownNetwork { hash, expires: self.clock.now().later(FAMILIAR_TTL) };
        let (store, recent) = (Arc::clone(&self.store), self.recent.clone());
        tokio::spawn(async move {
            if let Err(error) = record_daily(store.as_ref(), uid, &network).await {
                tracing::warn!(%error, "familiar network not recorded");
                recent.invalidate(&key);
            }
        });
    }

    fn is_valid(&self, mark: &BrowserMark, now: Millis) -> bool {
        now < mark.issued().later(FAMILIAR_TTL) && self.browser_keys.iter().any(|key| mark.is_signed(key))
    }
}

/// Records a network, unless a process recorded it within a day.
async fn record_daily(store: &dyn Store, uid: Uid, network: &KnownNetwork) -> Result<(), StoreError> {
    let known = store.networks_of(uid).await?;
    let is_recent = |known: &KnownNetwork| {
        known.hash == network.hash && network.expires < known.expires.later(RECORD_INTERVAL)
    };
    if known.iter().any(is_recent) {
        return Ok(());
    }
    store.note_network(uid, network).await
}

/// The stored hash of an account's network. It depends on the account, so hashes of one network cannot be correlated.
fn network_hash(key: &hmac::Key, uid: Uid, remote: IpAddr) -> [u8; 16] {
    let network = as_ipv6(subscriber_of(remote)).octets();
    let tag = hmac::sign(key, &[uid.0.to_be_bytes().as_slice(), &network].concat());
    let mut hash = [0; 16];
    hash.iter_mut().zip(tag.as_ref()).for_each(|(to, from)| *to = *from);
    hash
}

/// One account's part of a browser's cookie: the account and the time of the sign-in, signed.
struct BrowserMark {
    payload: [u8; 16],
    tag: Vec<u8>,
}

impl BrowserMark {
    fn new(key: &hmac::Key, uid: Uid, now: Millis) -> BrowserMark {
        let payload =
            (u128::from(uid.0.cast_unsigned()) << 64 | u128::from(now.0.cast_unsigned())).to_be_bytes();
        BrowserMark { payload, tag: hmac::sign(key, &payload).as_ref().to_vec() }
    }

    fn owner(&self) -> Uid {
        Uid(low_bits(u128::from_be_bytes(self.payload) >> 64))
    }

    fn issued(&self) -> Millis {
        Millis(low_bits(u128::from_be_bytes(self.payload)))
    }

    fn is_signed(&self, key: &hmac::Key) -> bool {
        hmac::verify(key, &self.payload, &self.tag).is_ok()
    }

    fn encoded(&self) -> String {
        BASE64_URL_SAFE_NO_PAD.encode([self.payload.as_slice(), &self.tag].concat())
    }
}

/// The lower 64 bits.
fn low_bits(number: u128) -> i64 {
    u64::try_from(number & u128::from(u64::MAX)).unwrap_or_default().cast_signed()
}

/// The marks in a cookie, with unchecked signatures.
fn marks_of(cookie: &str) -> impl Iterator<Item = BrowserMark> {
    cookie.split('.').take(ACCOUNTS_PER_BROWSER).filter_map(|text| {
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(text).ok()?;
        let (payload, tag) = bytes.split_first_chunk::<16>()?;
        Some(BrowserMark { payload: *payload, tag: tag.to_vec() })
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

    struct Fixture {
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

    impl Fixture {
        fn new() -> Fixture {
            let name = seal::random_text::<8>("tofrom-familiar-").unwrap();
            let folder = std::env::temp_dir().join(name.as_str());
            std::fs::create_dir(&folder).unwrap();
            let options = Options { synchronous_off: true, readers: 2, ..Options::default() };
            let store = Arc::new(SqliteStore::open(&folder.join("store"), options).unwrap());
            let now = Arc::new(AtomicI64::new(1_700_000_000_000));
            Fixture { store, now, _folder: tempfolder::Folder(folder) }
        }

        fn with_keys(&self, keys: &[&str]) -> Familiar {
            let current = Arc::clone(&self.now);
            let clock = Clock::from(move || Millis(current.load(Ordering::Relaxed)));
            let keys = SecretKeys::parse(keys.iter().map(|byte| byte.repeat(32))).unwrap();
            Familiar::new(Arc::clone(&self.store) as Arc<dyn Store>, clock, &keys)
        }

        async fn recorded(&self, uid: Uid, number: usize) -> Vec<KnownNetwork> {
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
    async fn a_browser_is_familiar_to_accounts_that_signed_in_with_it() {
        let fixture = Fixture::new();
        let familiar = fixture.with_keys(&["00"]);
        let knows = async |familiar: &Familiar, uid: i64, cookie: &str| {
            familiar.knows(Some(Uid(uid)), HERE, Some(cookie)).await.unwrap()
        };
        let one = familiar.cookie(Uid(1), None);
        assert!(knows(&familiar, 1, &one).await && !knows(&familiar, 2, &one).await);
        assert!(
            !familiar.knows(None, HERE, Some(&one)).await.unwrap(),
            "an unknown account has no familiar browser"
        );
        let both = familiar.cookie(Uid(-2), Some(&one));
        assert!(knows(&familiar, 1, &both).await && knows(&familiar, -2, &both).await);
        let many = (3..9).fold(both.clone(), |cookie, uid| familiar.cookie(Uid(uid), Some(&cookie)));
        assert_eq!(many.split('.').count(), 4);
        assert!(knows(&familiar, 8, &many).await && !knows(&familiar, 1, &many).await);
        assert_eq!(familiar.cookie(Uid(1), Some(&one)).split('.').count(), 1, "one mark per account");

        let rotated = fixture.with_keys(&["11", "00"]);
        assert!(knows(&rotated, 1, &one).await, "any listed key verifies");
        assert!(!knows(&fixture.with_keys(&["11"]), 1, &one).await);
        let mut altered = BASE64_URL_SAFE_NO_PAD.decode(&one).unwrap();
        altered[7] ^= 3;
        for wrong in ["", ".", "x", &BASE64_URL_SAFE_NO_PAD.encode(altered), &one[..20]] {
            assert!(!knows(&familiar, 1, wrong).await && !knows(&familiar, 2, wrong).await, "{wrong}");
        }
        fixture.now.fetch_add(90 * DAY - 1, Ordering::Relaxed);
        assert!(knows(&familiar, 1, &one).await);
        fixture.now.fetch_add(1, Ordering::Relaxed);
        assert!(!knows(&familiar, 1, &one).await, "expired after 90 days");
    }

    #[tokio::test]
    async fn a_network_is_recorded_once_a_day_and_shared_by_all_processes() {
        let fixture = Fixture::new();
        let (familiar, uid) = (fixture.with_keys(&["00"]), Uid(7));
        familiar.record(uid, HERE);
        let first = fixture.recorded(uid, 1).await;
        assert_eq!(first[0].expires.0, fixture.now.load(Ordering::Relaxed) + 90 * DAY);
        let other = fixture.with_keys(&["11", "00"]);
        assert!(other.knows(Some(uid), HERE, None).await.unwrap());
        assert!(!other.knows(Some(uid), ELSEWHERE, None).await.unwrap());
        assert!(!other.knows(Some(Uid(8)), HERE, None).await.unwrap());
        assert!(!other.knows(None, HERE, None).await.unwrap());

        // Another process records it again only after a day.
        fixture.now.fetch_add(DAY - 1, Ordering::Relaxed);
        record_daily(
            fixture.store.as_ref(),
            uid,
            &KnownNetwork { expires: Millis(first[0].expires.0 + DAY - 1), ..first[0] },
        )
        .await
        .unwrap();
        assert_eq!(fixture.store.networks_of(uid).await.unwrap(), first);
        let later = KnownNetwork { expires: Millis(first[0].expires.0 + DAY), ..first[0] };
        record_daily(fixture.store.as_ref(), uid, &later).await.unwrap();
        assert_eq!(fixture.store.networks_of(uid).await.unwrap(), [later]);
        fixture.now.store(later.expires.0, Ordering::Relaxed);
        assert!(!familiar.knows(Some(uid), HERE, None).await.unwrap(), "expired after 90 days");
    }
}
