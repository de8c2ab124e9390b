//! Avatars, and what no caller may learn from them.

use super::program::succeed;
use super::support::client::Answer;
use super::support::demo::Demo;
use super::support::folder::Folder;
use model::{AccountName, Picture, Version};
use store::sqlite::{Options, SqliteStore};
use store::{Accounts, Store};

const SENT: [&[u8]; 3] = [b"small", b"medium", b"large"];

/// Every header that could distinguish two answers.
fn headers(answer: &Answer) -> [Option<&str>; 5] {
    ["content-type", "cache-control", "content-security-policy", "vary", "content-disposition"]
        .map(|name| answer.header(name))
}

async fn give_pictures(folder: &Folder, names: &[&str]) {
    let store = SqliteStore::open(&folder.path().join("tofrom.db"), Options::default()).unwrap();
    store.ping().await.unwrap();
    for name in names {
        let account = store.account_by_name(&AccountName::parse(name).unwrap()).await.unwrap().unwrap();
        let sizes = SENT.map(<[u8]>::to_vec);
        store.put_picture(account.uid, &Picture { version: Version(1), sizes }).await.unwrap();
    }
}

#[test]
fn avatars_are_shown_of_public_accounts_only() {
    let folder = Folder::new();
    let demo = Demo::start(folder.path(), &[]);
    for (name, shown) in [
        ("open", "--public"),
        ("plain", "--public"),
        ("hidden", ""),
        ("gone", "--public"),
        ("barred", "--public"),
    ] {
        let add: Vec<&str> = ["account", "add", name, "--no-password", shown]
            .into_iter()
            .filter(|word| !word.is_empty())
            .collect();
        succeed(&folder, &add, "");
    }
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(give_pictures(&folder, &["open", "hidden", "gone", "barred"]));
    succeed(&folder, &["account", "remove", "gone"], "");
    succeed(&folder, &["account", "set", "barred", "--disabled"], "");

    for (size, sent) in ["80", "120", "200"].into_iter().zip(SENT) {
        let get = |name: &str| demo.client.get(&format!("/user/{name}/avatar/{size}.png"), &[]);
        let open = get("open");
        assert_eq!((open.status, open.body.as_slice()), (200, sent));
        for name in ["hidden", "nobody", "gone", "barred", "plain"] {
            let answer = get(name);
            let drawn = web::pictures::drawn(name, size.parse().unwrap());
            assert_eq!((answer.status, answer.body.as_slice()), (200, drawn.as_slice()), "{name}");
            assert_eq!(headers(&answer), headers(&open), "{name}");
        }
        assert_eq!(headers(&open)[..2], [Some("image/png"), Some("public, max-age=300")]);
        for name in ["open", "nobody"] {
            let tag = get(name).header("etag").unwrap().to_owned();
            let target = format!("/user/{name}/avatar/{size}.png");
            let known = demo.client.get(&target, &[("If-None-Match", &tag)]);
            assert_eq!((known.status, known.body.len()), (304, 0));
            assert_eq!(known.header("etag"), Some(tag.as_str()));
            assert_eq!(demo.client.get(&target, &[("If-None-Match", "\"other\"")]).status, 200);
        }
    }
    for wrong in [
        "/user/open/avatar/81.png",
        "/user/open/avatar/080.png",
        "/user/open/avatar/80",
        "/user/-/avatar/80.png",
    ] {
        assert_eq!(demo.client.get(wrong, &[]).status, 404, "{wrong}");
    }
}
