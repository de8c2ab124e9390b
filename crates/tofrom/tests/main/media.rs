//! The media proxy: pictures of other sites through our listener, from well-behaved and hostile servers.

use super::support::browser::Browser;
use super::support::client::Answer;
use super::support::demo::Demo;
use super::support::folder::Folder;
use image::{DynamicImage, ImageFormat, Rgb, RgbImage};
use media::Sealer;
use seal::SecretKeys;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use test_server::{Behaviour, CannedResponse, Server};
use tokio::runtime::Runtime;

const MIB: u64 = 1 << 20;
/// The timeout of a fetch is 10 s.
const FETCH_TIMEOUT: Duration = Duration::from_secs(10);

/// A server on 127.0.0.2, and a demo that may fetch from it.
struct PictureSite {
    server: Server,
    // After the server: its tasks run here.
    _runtime: Runtime,
    folder: Folder,
}

impl PictureSite {
    fn open() -> PictureSite {
        let runtime = Runtime::new().unwrap();
        let server = runtime.block_on(Server::at("127.0.0.2:0"));
        PictureSite { server, _runtime: runtime, folder: Folder::new() }
    }

    /// With an argument, because the folder then stays after the demo.
    fn demo(&self, settings: &[(&str, &str)]) -> Demo {
        let port = self.server.address().port().to_string();
        let guard = [("TOFROM_SOURCES__NETWORKS", "127.0.0.2/32"), ("TOFROM_SOURCES__PORTS", port.as_str())];
        let settings = [&guard[..], settings].concat();
        Demo::start_with(self.folder.path(), &["--admin", "127.0.0.1:0"], &settings)
    }

    fn on(&self, path: &str, behaviour: impl Into<Behaviour>) {
        self.server.on(path, behaviour);
    }

    fn url(&self, path: &str) -> String {
        self.server.url("127.0.0.2", path)
    }

    /// The path of a picture at our server, as a page would print it.
    fn sealed(&self, path: &str, width: u32) -> String {
        format!("/media/{}", self.sealer().seal(&self.url(path), width).unwrap())
    }

    fn sealer(&self) -> Sealer {
        let keys = SecretKeys::load_or_create(&self.folder.path().join("secret.key")).unwrap();
        Sealer::new(keys.derive("media address"))
    }

    /// How often a path was requested.
    fn requests(&self, path: &str) -> usize {
        self.server.requests().iter().filter(|request| request.path == path).count()
    }

    fn files(&self) -> Vec<PathBuf> {
        files_below(&self.folder.path().join("media"))
    }
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

fn image_file(body: Vec<u8>, content_type: &str) -> CannedResponse {
    CannedResponse::page(body).retyped(content_type)
}

fn encoded(image: RgbImage, format: ImageFormat) -> Vec<u8> {
    let mut file = Vec::new();
    DynamicImage::ImageRgb8(image).write_to(&mut std::io::Cursor::new(&mut file), format).unwrap();
    file
}

/// A picture that compresses badly, different for each seed.
fn noisy(width: u32, height: u32, seed: u32) -> RgbImage {
    RgbImage::from_fn(width, height, |x, y| {
        let mixed =
            (x.wrapping_mul(2_654_435_761) ^ y.wrapping_mul(40_503) ^ seed).wrapping_mul(2_246_822_519);
        Rgb([(mixed >> 24) as u8, (mixed >> 16) as u8, (mixed >> 8) as u8])
    })
}

fn photo(seed: u32) -> CannedResponse {
    image_file(encoded(noisy(400, 300, seed), ImageFormat::Jpeg), "image/jpeg")
}

/// The PNG of one colour with 20,000 pixels a side: 1.2 GB if it were decoded.
fn bomb() -> Vec<u8> {
    let chunk = |kind: &[u8; 4], data: &[u8]| {
        let mut checked = flate2::Crc::new();
        checked.update(kind);
        checked.update(data);
        let length = u32::try_from(data.len()).unwrap().to_be_bytes();
        [&length[..], kind, data, &checked.sum().to_be_bytes()].concat()
    };
    let side = 20_000_u32.to_be_bytes();
    let header = [&side[..], &side, &[8, 2, 0, 0, 0]].concat();
    let mut data = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    let row = vec![0; 1 + 3 * 20_000];
    (0..20_000).for_each(|_| data.write_all(&row).unwrap());
    let parts =
        [chunk(b"IHDR", &header), chunk(b"IDAT", &data.finish().unwrap()), chunk(b"IEND", &[])].concat();
    [&b"\x89PNG\r\n\x1a\n"[..], &parts].concat()
}

fn dimensions(answer: &Answer) -> (u32, u32) {
    assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
    let image = image::load_from_memory(&answer.body).unwrap();
    (image.width(), image.height())
}

fn signed_in(demo: &Demo, name: &str) -> Browser {
    let mut browser = Browser::new(&demo.client, &demo.client.base);
    let form = browser.visit(&format!("{}/sign-in", demo.client.base)).form("username").unwrap();
    browser.submit(&form, &[("username", name), ("password", demo.password(name))]);
    browser
}

/// The `src` of all pictures of other sites on a page.
fn pictures(html: &str) -> Vec<String> {
    let parts = html.split(" src=\"").skip(1).map(|part| part.split('"').next().unwrap().to_owned());
    parts.filter(|path| path.starts_with("/media/")).collect()
}

#[test]
fn a_picture_of_another_site_is_shown_from_our_origin() {
    let site = PictureSite::open();
    let demo = site.demo(&[]);
    site.on("/tide.jpg", photo(1));
    let activity = format!(
        "{{\"Title\":\"Alice posted a photo\",\"Verb\":\"post\",\"Type\":\"photo\",\"Photo\":{{\"Title\":\"Low tide\",\
         \"Url\":\"https://example.org/tide\",\"Thumbnail\":{{\"Url\":\"{}\",\"Width\":\"120\",\"Height\":\"90\"}}}}}}",
        site.url("/tide.jpg")
    );
    let headers = [("ServicePSK", demo.key("alice")), ("Content-Type", "application/json")];
    let target = "/200909/activity/alice/from/Flickr/tide";
    let put = demo.client.send("PUT", target, &headers, activity.as_bytes());
    assert_eq!(put.status, 201, "{}", put.text());

    let page = signed_in(&demo, "alice").visit(&format!("{}/feed", demo.client.base));
    let policy = page.answer.header("content-security-policy").unwrap();
    assert!(policy.contains("img-src 'self';"), "{policy}");
    let shown = pictures(page.html());
    assert!(!page.html().contains("src=\"http"), "nothing is loaded from elsewhere");
    assert_eq!(site.server.connections(), 0, "the page itself asks for nothing");
    assert_eq!(shown.first(), Some(&site.sealed("/tide.jpg", 640)));
    // All others are the demo's own pictures, and none of them is broken.
    assert!(shown.len() > 3, "{shown:?}");
    for path in &shown {
        let answer = demo.client.get(path, &[]);
        let (width, height) = dimensions(&answer);
        assert!(width <= 640 && height <= 1_280, "{width} x {height}");
    }
    assert_eq!(site.requests("/tide.jpg"), 1);

    let answer = demo.client.get(&shown[0], &[]);
    assert_eq!(dimensions(&answer), (400, 300), "never scaled up");
    for (name, value) in [
        ("content-type", "image/jpeg"),
        ("cache-control", "public, max-age=604800, immutable"),
        ("x-content-type-options", "nosniff"),
        ("content-security-policy", "default-src 'none'; frame-ancestors 'none'"),
        ("cross-origin-resource-policy", "same-origin"),
    ] {
        assert_eq!(answer.header(name), Some(value), "{name}");
    }
    let tag = answer.header("etag").unwrap();
    assert_eq!(demo.client.get(&shown[0], &[("If-None-Match", tag)]).status, 304);
    let head = demo.client.send("HEAD", &shown[0], &[], &[]);
    assert_eq!((head.status, head.header("etag"), head.body.len()), (200, Some(tag), 0));
    assert_eq!(dimensions(&demo.client.get(&site.sealed("/tide.jpg", 1_280), &[])), (400, 300));
    assert_eq!(site.requests("/tide.jpg"), 1, "double density comes from the same fetch");
    assert_eq!(dimensions(&demo.client.get(&site.sealed("/tide.jpg", 160), &[])), (160, 120));
    assert_eq!(dimensions(&demo.client.get(&site.sealed("/tide.jpg", 320), &[])), (320, 240));
    assert_eq!(site.requests("/tide.jpg"), 2);

    let request = &site.server.requests()[0];
    for name in ["cookie", "referer", "authorization", "servicepsk", "x-forwarded-for", "if-none-match"] {
        assert_eq!(request.header(name), None, "{name}");
    }
    assert!(request.header("user-agent").unwrap().contains(&demo.client.base));
}

#[test]
fn only_addresses_that_a_page_printed_are_fetched() {
    let site = PictureSite::open();
    let demo = site.demo(&[]);
    site.on("/a.jpg", photo(1));
    let path = site.sealed("/a.jpg", 160);
    let parts: Vec<&str> = path.split('/').collect();
    let (mac, address) = (parts[3], parts[4]);
    let other = site.sealed("/b.jpg", 160);
    for wrong in [
        format!("/media/160/{}/{address}", "A".repeat(22)),
        format!("/media/160/{}/{address}", &mac[1..]),
        format!("/media/160//{address}"),
        format!("/media/320/{mac}/{address}"),
        format!("/media/161/{mac}/{address}"),
        format!("/media/160/{mac}/{}", other.split('/').nth(4).unwrap()),
        format!("/media/160/{mac}/{address}A"),
        format!("/media/160/{mac}/{}", site.url("/a.jpg").replace('/', "%2F")),
        "/media/160/".to_owned(),
    ] {
        assert_eq!(demo.client.get(&wrong, &[]).status, 404, "{wrong}");
    }
    assert_eq!(site.server.connections(), 0);
    assert_eq!(demo.client.get(&path, &[]).status, 200);
}

#[test]
fn hostile_pictures_are_refused_in_bounded_time_and_memory() {
    let site = PictureSite::open();
    let demo = site.demo(&[]);
    let port = site.server.address().port();
    let svg = "<svg xmlns=\"http://www.w3.org/2000/svg\"><script>alert(1)</script></svg>";
    let small = encoded(noisy(200, 200, 7), ImageFormat::Png);
    let bomb = bomb();
    eprintln!("the bomb has {} KiB", bomb.len() >> 10);
    assert!(bomb.len() < 8 << 20, "short enough to be fetched");
    site.on("/good.png", image_file(small.clone(), "image/png"));
    site.on("/bomb.png", image_file(bomb, "image/png"));
    site.on("/loop.png", CannedResponse::redirect(302, "/loop.png"));
    site.on("/loopback.png", CannedResponse::redirect(302, format!("http://127.0.0.1:{port}/good.png")));
    site.on("/metadata.png", CannedResponse::redirect(301, "http://169.254.169.254/latest"));
    site.on("/file.png", CannedResponse::redirect(302, "file:///etc/passwd"));
    site.on("/drawing.svg", image_file(svg.into(), "image/svg+xml"));
    site.on("/text.png", image_file(b"this is text".to_vec(), "image/png"));
    site.on("/page.jpg", image_file(b"<!doctype html><script>alert(1)</script>".to_vec(), "image/jpeg"));
    site.on("/cut.png", image_file(small[..small.len() / 2].to_vec(), "image/png"));
    site.on("/empty.png", image_file(b"".to_vec(), "image/png"));
    site.on("/endless.png", Behaviour::Endless);
    site.on("/long.png", image_file(vec![0; (8 << 20) + 1], "image/png"));
    site.on("/hangs-up.png", Behaviour::HangsUp);
    site.on("/silent.png", Behaviour::Silent);
    site.on("/slow.png", Behaviour::Slow(image_file(small, "image/png"), Duration::from_millis(50)));
    assert_eq!(demo.client.get(&site.sealed("/good.png", 160), &[]).status, 200);
    let before = demo.resident_bytes();
    for path in [
        "/bomb.png",
        "/loop.png",
        "/loopback.png",
        "/metadata.png",
        "/file.png",
        "/drawing.svg",
        "/text.png",
        "/page.jpg",
        "/cut.png",
        "/empty.png",
        "/endless.png",
        "/long.png",
        "/hangs-up.png",
        "/missing.png",
        "/silent.png",
        "/slow.png",
    ] {
        let sealed = site.sealed(path, 160);
        let began = Instant::now();
        let mut most = 0;
        let answer = std::thread::scope(|scope| {
            let asked = scope.spawn(|| demo.client.get(&sealed, &[]));
            while !asked.is_finished() {
                most = most.max(demo.resident_bytes());
                std::thread::sleep(Duration::from_millis(5));
            }
            asked.join().unwrap()
        });
        let (took, more) = (began.elapsed(), most.saturating_sub(before));
        eprintln!("{path}: {} after {took:?}, {} MiB more memory", answer.status, more / MIB);
        assert_eq!(answer.status, 404, "{path}");
        assert!(took < FETCH_TIMEOUT + Duration::from_secs(8), "{path}: {took:?}");
        assert!(more < 100 * MIB, "{path}: {} MiB", more / MIB);
        let asked = site.requests(path);
        assert_eq!(demo.client.get(&sealed, &[]).status, 404, "{path}");
        assert_eq!(site.requests(path), asked, "{path}: a failure is remembered");
    }
    assert_eq!(site.requests("/good.png"), 1, "a redirect to this machine is not followed");
    for private in
        ["http://127.0.0.1/a.png", "http://localhost/a.png", "http://[::1]/a.png", "http://10.0.0.1/a.png"]
    {
        let sealed = format!("/media/{}", site.sealer().seal(private, 160).unwrap());
        assert_eq!(demo.client.get(&sealed, &[]).status, 404, "{private}");
    }
    assert_eq!(site.files().len(), 2, "only the good one is stored");
}

#[test]
fn many_requests_for_one_picture_make_one_fetch() {
    let site = PictureSite::open();
    let demo = site.demo(&[]);
    let file = encoded(noisy(8, 8, 3), ImageFormat::Png);
    // Slow enough that all requests wait for it.
    let pause = Duration::from_secs(1) / u32::try_from(file.len()).unwrap();
    site.on("/slow.jpg", Behaviour::Slow(image_file(file, "image/png"), pause));
    for number in 0..20 {
        site.on(&format!("/{number}.jpg"), photo(number));
    }
    let [single, double] = [160, 320].map(|width| site.sealed("/slow.jpg", width));
    let bodies: Vec<Vec<u8>> = std::thread::scope(|scope| {
        let ask = |number: usize| {
            let path = if number.is_multiple_of(2) { &single } else { &double };
            scope.spawn(|| demo.client.get(path, &[]))
        };
        let asked: Vec<_> = (0..50).map(ask).collect();
        asked
            .into_iter()
            .map(|asked| asked.join().unwrap())
            .map(|answer| {
                assert_eq!(answer.status, 200);
                answer.body
            })
            .collect()
    });
    assert!(bodies.iter().all(|body| *body == bodies[0]), "the picture is smaller than both widths");
    assert_eq!(site.requests("/slow.jpg"), 1);

    // Different pictures of one host come through a few connections.
    std::thread::scope(|scope| {
        for number in 0..20 {
            let path = site.sealed(&format!("/{number}.jpg"), 160);
            let client = &demo.client;
            scope.spawn(move || assert_eq!(client.get(&path, &[]).status, 200, "{path}"));
        }
    });
    let host = site.server.address().to_string();
    assert!(site.server.max_concurrent_requests(&host) <= 4);
}

#[test]
fn the_cache_has_a_size_limit_and_survives_a_restart() {
    let site = PictureSite::open();
    let settings = [("TOFROM_MEDIA__MAX_BYTES", "1MiB")];
    let demo = site.demo(&settings);
    for number in 0..12 {
        site.on(&format!("/{number}.jpg"), photo(number));
        assert_eq!(demo.client.get(&site.sealed(&format!("/{number}.jpg"), 640), &[]).status, 200);
        let stored: u64 = site.files().iter().map(|file| file.metadata().unwrap().len()).sum();
        assert!(stored <= MIB, "{stored}");
    }
    let files = site.files();
    let (stored, pictures) =
        (files.iter().map(|file| file.metadata().unwrap().len()).sum::<u64>(), files.len());
    eprintln!("{pictures} files with {stored} bytes after 12 pictures in two widths");
    assert!(stored > MIB / 3 && pictures < 24, "{pictures} files, {stored} bytes");
    for file in &files {
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(file.file_name().unwrap().len(), 64, "a hash: {file:?}");
    }
    let newest = site.sealed("/11.jpg", 640);
    let before = demo.client.get(&newest, &[]);
    drop(demo);
    let demo = site.demo(&settings);
    let after = demo.client.get(&newest, &[]);
    assert_eq!((after.status, &after.body, after.header("etag")), (200, &before.body, before.header("etag")));
    assert_eq!(site.requests("/11.jpg"), 1, "from the disk");
    assert_eq!(demo.client.get(&site.sealed("/0.jpg", 640), &[]).status, 200);
    assert_eq!(site.requests("/0.jpg"), 2, "it was removed");

    // A damaged file is fetched again.
    for file in site.files() {
        std::fs::write(file, b"damaged").unwrap();
    }
    assert_eq!(demo.client.get(&newest, &[]).body, before.body);
    assert_eq!(site.requests("/11.jpg"), 2);
}

#[test]
fn without_the_proxy_pages_show_drawings() {
    let site = PictureSite::open();
    let demo = site.demo(&[("TOFROM_MEDIA__PROXY", "false")]);
    site.on("/a.jpg", photo(1));
    assert_eq!(demo.client.get(&site.sealed("/a.jpg", 160), &[]).status, 404);
    let page = signed_in(&demo, "alice").visit(&format!("{}/feed", demo.client.base));
    assert!(pictures(page.html()).is_empty() && page.html().contains("<span class=\"art "));
    assert!(!page.html().contains("pictures.demo.invalid"));
    assert!(!site.folder.path().join("media").exists());
    assert_eq!(site.server.connections(), 0);
}
