//! Random pages in all five representations, with activities that are hard to encode: any text that XML can carry, any
//! word for type and verb.

use super::chance::Chance;
use super::cursor_keys;
use super::random_data::{FIRST, RandomData, SPAN, any_body};
use domain::feed::{Feed, FeedLimits, Item};
use model::{
    Account, Activity, Clock, Collection, Facet, FeedQuery, Filter, Format, Kind, Millis, Order, Reader,
    ServiceName, Start, SyncToken, Verb, Version,
};
use std::collections::BTreeSet;
use store::AccountCache;
use web::render::{Links, PageView, Renderer};
use web::site::Site;

/// Random data, and a renderer for its pages.
pub(crate) struct PageFixture {
    pub(crate) data: RandomData,
    pub(crate) site: Site,
    feed: Feed,
    renderer: Renderer,
}

/// A page: its query, and its representations.
pub(crate) struct RenderedPage {
    pub(crate) owner: Account,
    pub(crate) query: FeedQuery,
    pub(crate) links: Links,
    pub(crate) items: Vec<Item>,
    pub(crate) xml: Vec<u8>,
    pub(crate) atom: Vec<u8>,
    pub(crate) json: Vec<u8>,
    pub(crate) fast_infoset: Vec<u8>,
    pub(crate) activity_streams: Vec<u8>,
}

impl RenderedPage {
    pub(crate) fn written(&self, format: Format) -> &[u8] {
        match format {
            Format::Xml => &self.xml,
            Format::Atom => &self.atom,
            Format::Json => &self.json,
            Format::FastInfoset => &self.fast_infoset,
            Format::ActivityStreams => &self.activity_streams,
        }
    }
}

impl PageFixture {
    pub(crate) async fn new(seed: u64, activities: usize) -> PageFixture {
        let mut data = RandomData::new(seed, 4, None).await;
        for number in 0..data.accounts.len() {
            if data.chance.one_in(2) {
                let (given, family) = (any_text(&mut data.chance), any_text(&mut data.chance));
                let account = &mut data.accounts[number];
                (account.given_name, account.family_name) = (Some(given), Some(family));
                let before = account.version;
                account.version = Version(before.0 + 1);
                assert!(store::Accounts::replace_account(&*data.store, before, account).await.unwrap());
            }
        }
        for _ in 0..activities {
            if data.chance.one_in(4) {
                data.write_random().await;
            } else {
                let activity = hard_activity(&mut data);
                data.store_and_deliver(activity, None).await;
            }
        }
        let site = Site::new("https://feed.example:8443/prefix", "feed.example", cursor_keys());
        let now = Clock::from(|| Millis(FIRST + i64::try_from(SPAN).unwrap()));
        let accounts = AccountCache::new(data.as_store());
        PageFixture {
            feed: Feed::new(data.as_store(), accounts, now, FeedLimits::default()),
            renderer: Renderer::new(site.clone()),
            site,
            data,
        }
    }

    /// The page of a random query.
    pub(crate) async fn any_page(&mut self) -> RenderedPage {
        let query = self.any_query();
        let owner = self.data.accounts.iter().find(|account| account.uid == query.owner).unwrap().clone();
        let page = self.feed.page(Reader::Owner, &query).await.unwrap();
        let to = |start: Start| self.site.collection_url(&owner.name, &query.from(start));
        let mut links = vec![("self", to(query.start.clone())), ("first", to(Start::Skip(0)))];
        links.extend(page.next.map(|next| ("next", to(next))));
        links.push(("updates", to(Start::Updates(page.sync_token))));
        let mut shown = RenderedPage {
            owner,
            query,
            links,
            items: page.items,
            xml: Vec::new(),
            atom: Vec::new(),
            json: Vec::new(),
            fast_infoset: Vec::new(),
            activity_streams: Vec::new(),
        };
        shown.xml = self.render(&self.renderer, &shown, Format::Xml).await;
        shown.atom = self.render(&self.renderer, &shown, Format::Atom).await;
        shown.json = self.render(&self.renderer, &shown, Format::Json).await;
        shown.fast_infoset = self.render(&self.renderer, &shown, Format::FastInfoset).await;
        shown.activity_streams = self.render(&self.renderer, &shown, Format::ActivityStreams).await;
        shown
    }

    /// Renders the page again with the renderer that rendered it before, and so from its cache.
    pub(crate) async fn render_cached(&self, shown: &RenderedPage, format: Format) -> Vec<u8> {
        self.render(&self.renderer, shown, format).await
    }

    /// Renders the page with a new renderer.
    pub(crate) async fn render_uncached(&self, shown: &RenderedPage, format: Format) -> Vec<u8> {
        self.render(&Renderer::new(self.site.clone()), shown, format).await
    }

    async fn render(&self, renderer: &Renderer, shown: &RenderedPage, format: Format) -> Vec<u8> {
        let mut items = shown.items.clone();
        let remembered = renderer.cached_fragments(&items, format);
        assert!(self.feed.hydrate(&mut items, |at| remembered[at].is_none()).await.unwrap());
        let view = PageView { owner: &shown.owner, collection: shown.query.collection, links: &shown.links };
        renderer.page(&view, &items, remembered, format)
    }

    fn any_query(&mut self) -> FeedQuery {
        let data = &mut self.data;
        let owner = data.accounts[data.chance.below(data.accounts.len())].uid;
        let words = |filtered: bool, words: [&str; 2]| -> BTreeSet<String> {
            if filtered { words.map(str::to_owned).into() } else { BTreeSet::new() }
        };
        let filter = Filter {
            services: words(data.chance.one_in(8), ["flickr", "i\u{307}ş & <co>"]),
            kinds: words(data.chance.one_in(8), ["song", "not a word"]),
            verbs: words(data.chance.one_in(8), ["like", "doff"]),
            ..Filter::default()
        };
        let start = match data.chance.below(6) {
            0 => Start::Updates(SyncToken::default()),
            1 => Start::Skip(u32::try_from(data.chance.below(20)).unwrap()),
            _ => Start::Skip(0),
        };
        FeedQuery {
            owner,
            collection: *data.chance.pick(&[Collection::To, Collection::From, Collection::ToFrom]),
            filter,
            order: *data.chance.pick(&[Order::Received, Order::Published]),
            start,
            count: *data.chance.pick(&[0, 1, 2, 5, 10]),
            format: *data.chance.pick(&[None, Some(Format::Atom), Some(Format::Json)]),
        }
    }
}

/// An activity that is hard to encode.
pub(crate) fn hard_activity(data: &mut RandomData) -> Activity {
    let mut activity = data.new_activity();
    let chance = &mut data.chance;
    let service = *chance.pick(&["Flickr", "Café ☕ <\"'&>", "İŞ & <co>", "]]>", "a\u{a0}b"]);
    let mut body = any_body(chance, service, activity.body.source_id.clone());
    body.title = any_text(chance);
    body.object.title = body.object.title.map(|_| any_text(chance));
    body.object.description = body.object.description.map(|_| any_text(chance));
    let description = body.object.description.as_ref();
    body.summary = body.summary.map(|_| any_text(chance)).filter(|own| description != Some(own));
    let kind = any_word(chance, &KINDS);
    let verb = any_word(chance, &VERBS);
    activity.state.facet = Facet {
        service: ServiceName::parse(service).unwrap().folded(),
        kind: Kind::parse(&kind).unwrap(),
        verb: Verb::parse(&verb).unwrap(),
    }
    .into();
    activity.body = body;
    activity
}

/// Known types, unknown types, types that cannot start an element name, types whose name is taken.
const KINDS: [&str; 22] = [
    "photo",
    "photo-album",
    "bookmark",
    "song",
    "service",
    "hat",
    "top-hat",
    "3d-model",
    "-",
    "--x",
    "title",
    "category",
    "verb",
    "type",
    "to",
    "visibility",
    "thumbnail",
    "activity",
    "sourceuser",
    "url",
    "xml",
    "0",
];

const VERBS: [&str; 12] = [
    "post",
    "like",
    "share",
    "at",
    "make-friend",
    "rsvp-yes",
    "doff",
    "doff-twice",
    "7up",
    "-",
    "title",
    "read",
];

fn any_word(chance: &mut Chance, from: &[&str]) -> String {
    const LETTERS: &[u8] = b"abcxyz059-";
    if chance.one_in(4) {
        let length = 1 + chance.below(64);
        return (0..length).map(|_| char::from(*chance.pick(LETTERS))).collect();
    }
    (*chance.pick(from)).to_owned()
}

const PIECES: [&str; 34] = [
    "&",
    "<",
    ">",
    "\"",
    "'",
    "]]>",
    "<![CDATA[",
    "<!--",
    "-->",
    "<?x?>",
    "&amp;",
    "&#13;",
    "&lt;b&gt;",
    "</Title>",
    "\t",
    "\n",
    "\r",
    "\r\n",
    " ",
    "\u{a0}",
    "\u{85}",
    "\u{2028}",
    "\u{7f}",
    "\u{9f}",
    "\u{feff}",
    "\u{fffd}",
    "\u{10fffd}",
    "\u{202e}",
    "e\u{301}",
    "☕",
    "😀",
    "日本語",
    "\\u0041",
    "\\",
];

/// Any text that is not blank and that XML can carry.
fn any_text(chance: &mut Chance) -> String {
    let text: String = match chance.below(4) {
        0 => (0..1 + chance.below(6)).map(|_| *chance.pick(&PIECES)).collect(),
        1 => (0..1 + chance.below(12)).map(|_| any_char(chance)).collect(),
        2 => {
            let (piece, times) = (*chance.pick(&PIECES), 1 + chance.below(150));
            piece.repeat(times)
        }
        _ => format!("{}plain{}", chance.pick(&PIECES), chance.pick(&PIECES)),
    };
    if text.trim().is_empty() { format!("{text}x{text}") } else { text }
}

fn any_char(chance: &mut Chance) -> char {
    let plane = *chance.pick(&[0x80, 0x800, 0x3000, 0x10000, 0x11_0000]);
    loop {
        let number = u32::try_from(chance.below(plane)).unwrap();
        if let Some(c) = char::from_u32(number).filter(|c| infoset::is_xml_char(*c)) {
            return c;
        }
    }
}
