//! Usage of accounts.

use super::{Engine, fresh};
use model::Millis;
use store::Usage;

const DAY: i64 = 24 * 60 * 60 * 1_000;

pub(crate) async fn usage_is_counted_by_day(store: Engine) {
    let ada = fresh::uid(&*store).await;
    assert_eq!(store.usage(ada, None).await.unwrap(), Usage::default());
    let first = fresh::acceptance(ada, "1", fresh::NOON);
    fresh::accept(&*store, &first).await;
    fresh::accept(&*store, &fresh::acceptance(ada, "2", fresh::NOON + DAY)).await;
    assert_eq!(store.usage(ada, None).await.unwrap(), Usage { activities: 2, bytes: 10 });
    let since = Some(Millis(fresh::NOON + DAY));
    assert_eq!(store.usage(ada, since).await.unwrap(), Usage { activities: 1, bytes: 5 });
    store.flush_usage().await.unwrap();
    assert_eq!(store.usage(ada, None).await.unwrap(), Usage { activities: 2, bytes: 10 });
    fresh::accept(&*store, &fresh::next(&first, "later", true)).await;
    assert_eq!(store.usage(ada, None).await.unwrap(), Usage { activities: 1, bytes: 11 });
    store.flush_usage().await.unwrap();
    assert_eq!(store.usage(ada, None).await.unwrap(), Usage { activities: 1, bytes: 11 });
}

pub(crate) async fn a_refused_version_does_not_count(store: Engine) {
    let ada = fresh::uid(&*store).await;
    let item = fresh::acceptance(ada, "1", fresh::NOON);
    fresh::accept(&*store, &item).await;
    store.accept(vec![fresh::acceptance(ada, "1", fresh::NOON + 1)]).await.unwrap();
    assert_eq!(store.usage(ada, None).await.unwrap(), Usage { activities: 1, bytes: 5 });
}
