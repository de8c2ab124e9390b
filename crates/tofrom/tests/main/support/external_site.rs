//! An external web server that activities are imported from, and a demo that may fetch from it.

use super::demo::Demo;
use super::folder::Folder;
use test_server::{CannedResponse, Server};
use tokio::runtime::Runtime;

/// A server on 127.0.0.2 with a feed of thirteen articles and a page that links to it.
pub(crate) struct ExternalSite {
    server: Server,
    // After the server: its tasks run here.
    _runtime: Runtime,
    folder: Folder,
}

impl ExternalSite {
    pub(crate) fn open() -> ExternalSite {
        let runtime = Runtime::new().unwrap();
        let server = runtime.block_on(Server::at("127.0.0.2:0"));
        server.on("/feed", CannedResponse::feed(feed(&server.url("127.0.0.2", "/"))));
        ExternalSite { server, _runtime: runtime, folder: Folder::new() }
    }

    /// A demo that may fetch from this server and send hooks to it, and to no other on this machine; the page links to
    /// its profiles by `rel=me`. It runs on the cluster whose settings file `PAGES_CONFIG` names, or on one machine.
    pub(crate) fn demo(&self) -> Demo {
        let port = self.server.address().port().to_string();
        let settings = [
            ("TOFROM_SOURCES__NETWORKS", "127.0.0.2/32"),
            ("TOFROM_SOURCES__PORTS", port.as_str()),
            ("TOFROM_HOOKS__NETWORKS", "127.0.0.2/32"),
        ];
        match std::env::var("PAGES_CONFIG") {
            Ok(file) => Demo::start_by(&["--config", &file], "".as_ref(), &settings),
            Err(_) => Demo::start_with(self.folder.path(), &[], &settings),
        }
    }

    /// Sets the page, which names this account as its owner.
    pub(crate) fn belongs_to(&self, demo: &Demo, account: &str) {
        let me = format!("{}/user/{account}", demo.client.base);
        let page = format!(
            "<!doctype html><title>Low tide</title><link rel=alternate type=application/atom+xml href=/feed>\
             <a rel=me href=\"{me}\">tofrom</a>"
        );
        let answer = CannedResponse::feed(page).with("Content-Type", "text/html; charset=utf-8");
        self.server.on("/", answer);
    }

    pub(crate) fn page(&self) -> String {
        self.server.url("127.0.0.2", "/")
    }

    /// A photo, which only our server may ask for.
    pub(crate) fn photo(&self) -> String {
        let mut file = Vec::new();
        let red = image::RgbImage::from_pixel(64, 48, image::Rgb([200, 30, 30]));
        let format = image::ImageFormat::Png;
        image::DynamicImage::ImageRgb8(red).write_to(&mut std::io::Cursor::new(&mut file), format).unwrap();
        self.server.on("/photo.png", CannedResponse::page(file).retyped("image/png"));
        self.server.url("127.0.0.2", "/photo.png")
    }

    pub(crate) fn feed(&self) -> String {
        self.server.url("127.0.0.2", "/feed")
    }
}

fn feed(page: &str) -> String {
    let entry = |number: u32| {
        format!(
            "<entry><id>{page}{number}</id><title>Day {number} at the sea</title><link href=\"{page}{number}\"/>\
             <published>2026-11-{number:02}T08:00:00Z</published><updated>2026-11-{number:02}T08:00:00Z</updated>\
             <content type=\"text\">Wind, waves, and a walk.</content></entry>"
        )
    };
    let entries: String = (1..=13).rev().map(entry).collect();
    format!(
        "<feed xmlns=\"http://www.w3.org/2005/Atom\"><id>{page}</id><title>Low tide</title>\
         <provider xmlns=\"http://activitystrea.ms/service-provider\"><name xmlns=\"http://www.w3.org/2005/Atom\">Seaside\
         </name></provider><link rel=\"alternate\" href=\"{page}\"/><updated>2026-11-13T08:00:00Z</updated>{entries}</feed>"
    )
}
