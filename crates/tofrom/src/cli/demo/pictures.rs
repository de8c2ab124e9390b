//! The demo's own pictures: scenes, covers and icons, drawn from their address alone.
//!
//! The activities of the demo name pictures at the reserved host [`HOST`], which cannot exist elsewhere. The media proxy
//! of the demo calls [`draw`] in place of a fetch, because the address guard rightly refuses to connect to this machine.
//! Decoding, scaling and the cache are the same as for pictures of other sites.

use super::dataset::Random;
use image::codecs::png::PngEncoder;
use image::{ExtendedColorType, ImageEncoder, RgbaImage};
use media::LocalPictures;

const HOST: &str = "pictures.demo.invalid";

/// The demo's pictures, for the media proxy.
pub(super) const LOCAL: LocalPictures = LocalPictures { host: HOST, draw };

/// The address of the thumbnail of an object.
pub(super) fn address(kind: &str, number: i64) -> String {
    let style = match kind {
        "book" => "cover",
        "song" => "sleeve",
        "photo" | "photo-album" => "photo",
        _ => "still",
    };
    format!("https://{HOST}/{style}/{number}.png")
}

/// The address of the icon of a service.
pub(super) fn icon(name: &str) -> String {
    format!("https://{HOST}/icon/{name}.png")
}

/// The PNG file of a path.
fn draw(path: &str) -> Option<Vec<u8>> {
    let (style, _) = path.strip_prefix('/')?.strip_suffix(".png")?.split_once('/')?;
    let mut random = Random::seeded(path);
    let image = match style {
        "photo" => scene(&mut random, 600, 600),
        "still" => scene(&mut random, 640, 480),
        "cover" => cover(&mut random, 424, 640),
        "sleeve" => sleeve(&mut random, 600),
        "icon" => badge(&mut random, 64),
        _ => return None,
    };
    let mut file = Vec::new();
    let (width, height) = image.dimensions();
    PngEncoder::new(&mut file).write_image(&image, width, height, ExtendedColorType::Rgba8).ok()?;
    Some(file)
}

/// Red, green and blue from 0 to 1.
type Colour = [f32; 3];

const fn rgb(hex: u32) -> Colour {
    [(hex >> 16 & 0xff) as f32 / 255.0, (hex >> 8 & 0xff) as f32 / 255.0, (hex & 0xff) as f32 / 255.0]
}

/// The colours of a scene.
struct Palette {
    sky: Colour,
    horizon: Colour,
    sun: Colour,
    far: Colour,
    near: Colour,
}

const fn palette(sky: u32, horizon: u32, sun: u32, far: u32, near: u32) -> Palette {
    Palette { sky: rgb(sky), horizon: rgb(horizon), sun: rgb(sun), far: rgb(far), near: rgb(near) }
}

const PALETTES: [Palette; 8] = [
    palette(0x2b_3a_67, 0xf2_a3_7b, 0xff_e3_b0, 0x7a_5c_83, 0x2d_24_40),
    palette(0x4f_9b_d9, 0xcf_e9_f7, 0xff_f7_d6, 0x86_b2_9a, 0x2f_6b_4f),
    palette(0x1d_1e_3f, 0xc2_55_7a, 0xff_c0_6a, 0x5b_3a_6b, 0x1a_14_30),
    palette(0x0b_13_2b, 0x3a_50_6b, 0xf4_f1_de, 0x25_36_4f, 0x0a_11_20),
    palette(0x9f_c5_d8, 0xf6_e3_c5, 0xff_f1_c9, 0xc9_8a_4b, 0x6d_3b_24),
    palette(0x6b_b1_c9, 0xfb_e0_b8, 0xff_f6_da, 0xdf_9a_62, 0x8c_4a_2f),
    palette(0x8f_a9_c4, 0xee_f3_f7, 0xff_ff_ff, 0xb4_c4_d6, 0x4d_65_80),
    palette(0x7f_c8_c2, 0xf8_ed_d3, 0xff_e9_a8, 0x9c_c0_69, 0x3e_7b_4a),
];

fn mix(from: Colour, to: Colour, share: f32) -> Colour {
    let ([a, b, c], [d, e, f]) = (from, to);
    let one = |from: f32, to: f32| from + (to - from) * share;
    [one(a, d), one(b, e), one(c, f)]
}

/// A random number from `low` to `high`.
fn between(random: &mut Random, low: f32, high: f32) -> f32 {
    low + (high - low) * random.below(1_000) as f32 / 999.0
}

fn palette_of(random: &mut Random) -> &'static Palette {
    const DEFAULT: &Palette = &PALETTES[0];
    random.pick(&PALETTES).unwrap_or(DEFAULT)
}

/// A number from 0 to 1 for each cell.
fn noise(cell: f32, seed: f32) -> f32 {
    ((cell * 12.989_8 + seed * 78.233).sin() * 43_758.547).rem_euclid(1.0)
}

/// Paints each pixel. `shade` gets the coordinates in heights of the picture, and the size of a pixel; it returns a
/// colour and its opacity.
fn paint(width: u32, height: u32, shade: impl Fn(f32, f32, f32) -> (Colour, f32)) -> RgbaImage {
    let pixel = 1.0 / height as f32;
    RgbaImage::from_fn(width, height, |x, y| {
        let ([red, green, blue], opacity) = shade((x as f32 + 0.5) * pixel, (y as f32 + 0.5) * pixel, pixel);
        image::Rgba([red, green, blue, opacity].map(|part| (part * 255.0).round().clamp(0.0, 255.0) as u8))
    })
}

/// The covered part of a pixel that is `inside` a shape by this distance.
fn covered(inside: f32, pixel: f32) -> f32 {
    (inside / pixel + 0.5).clamp(0.0, 1.0)
}

/// A landscape: sky and sun, and in front of them hills, the sea, a city or a forest.
fn scene(random: &mut Random, width: u32, height: u32) -> RgbaImage {
    let colours = palette_of(random);
    let aspect = width as f32 / height as f32;
    let sun =
        (between(random, 0.15, 0.85) * aspect, between(random, 0.15, 0.42), between(random, 0.05, 0.12));
    let sky = move |x: f32, y: f32, pixel: f32| {
        let (sun_x, sun_y, radius) = sun;
        let away = (x - sun_x).hypot(y - sun_y);
        let glow = (1.0 - away * 1.6).max(0.0).powi(2) * 0.45;
        let ground = mix(colours.sky, colours.horizon, (y * 1.5).min(1.0));
        mix(mix(ground, colours.sun, glow), colours.sun, covered(radius - away, pixel))
    };
    match random.below(4) {
        0 => sea(random, colours, (width, height), sun, sky),
        1 => layers(random, colours, (width, height), sky, buildings),
        2 => layers(random, colours, (width, height), sky, firs),
        _ => layers(random, colours, (width, height), sky, hills),
    }
}

type Sun = (f32, f32, f32);

fn sea(
    random: &mut Random,
    colours: &Palette,
    (width, height): (u32, u32),
    (sun_x, _, radius): Sun,
    sky: impl Fn(f32, f32, f32) -> Colour,
) -> RgbaImage {
    let (horizon, phase) = (between(random, 0.5, 0.66), between(random, 0.0, 6.0));
    let sail = (between(random, 0.1, 1.2), between(random, 0.05, 0.12));
    paint(width, height, |x, y, pixel| {
        let depth = ((y - horizon) / (1.0 - horizon)).clamp(0.0, 1.0);
        // Waves are lower and closer to each other in the distance.
        let wave = ((depth.sqrt() * 60.0) + (x * (9.0 - 5.0 * depth) + phase).sin() * 1.4).sin();
        let water = mix(mix(colours.far, colours.horizon, 0.35), colours.near, depth * 0.8 + 0.08 * wave);
        let path = (1.0 - (x - sun_x).abs() / (radius * (1.0 + 2.0 * depth))).max(0.0);
        let water = mix(water, colours.sun, path * (0.35 + 0.3 * wave).clamp(0.0, 1.0));
        let (sail_x, size) = sail;
        let rise = horizon + 0.01 - y;
        let cloth = ((size - rise) * 0.55 - (x - sail_x).abs()).min(rise);
        let behind = mix(sky(x, y, pixel), water, covered(y - horizon, pixel));
        (mix(behind, mix(colours.sun, colours.near, 0.15), covered(cloth, pixel)), 1.0)
    })
}

/// The distance from a point down to the outline of a layer: `seed` varies it, `near` is from 0 (far) to 1.
type Outline = fn(x: f32, seed: f32, near: f32) -> f32;

fn hills(x: f32, seed: f32, near: f32) -> f32 {
    let slow = ((x * 2.6 + seed * 7.0).sin() + (x * 5.3 + seed * 13.0).sin() * 0.5) * 0.09;
    slow * (1.2 - near * 0.6) + (x * 17.0 + seed * 5.0).sin() * 0.008
}

fn buildings(x: f32, seed: f32, near: f32) -> f32 {
    let width = 0.05 + 0.05 * near;
    let cell = (x / width + seed * 10.0).floor();
    -noise(cell, seed) * 0.28 * (1.1 - near * 0.4)
}

fn firs(x: f32, seed: f32, near: f32) -> f32 {
    let width = 0.05 + 0.07 * near;
    let at = x / width + seed * 10.0;
    let tree = (1.0 - (at.rem_euclid(1.0) - 0.5).abs() * 2.0) * (0.5 + 0.5 * noise(at.floor(), seed));
    hills(x, seed, near) * 0.5 - tree * width * 1.7
}

/// Layers with an outline, from far to near.
fn layers(
    random: &mut Random,
    colours: &Palette,
    (width, height): (u32, u32),
    sky: impl Fn(f32, f32, f32) -> Colour,
    outline: Outline,
) -> RgbaImage {
    let count = 3 + random.below(3);
    let layers: Vec<(f32, f32)> =
        (0..count).map(|at| (at as f32 / (count - 1) as f32, between(random, 0.0, 1.0))).collect();
    paint(width, height, |x, y, pixel| {
        let behind = sky(x, y, pixel);
        let shown = layers.iter().fold(behind, |behind, (near, seed)| {
            let top = 0.56 + near * 0.32 + outline(x, *seed, *near);
            let colour = mix(colours.far, colours.near, *near);
            let haze = mix(colour, colours.horizon, ((y - top) * 1.2).clamp(0.0, 0.25) * (1.0 - near));
            mix(behind, haze, covered(y - top, pixel))
        });
        (shown, 1.0)
    })
}

/// The cover of a book: a figure between two lines of a title.
fn cover(random: &mut Random, width: u32, height: u32) -> RgbaImage {
    let (colours, other) = (palette_of(random), palette_of(random));
    let (figure, turn) = (random.below(4), between(random, -0.8, 0.8));
    let (title, author) = (between(random, 0.2, 0.28), between(random, 0.12, 0.2));
    let middle = width as f32 / height as f32 / 2.0;
    paint(width, height, |x, y, pixel| {
        let (dx, dy) = (x - middle, y - 0.55);
        let ground = mix(colours.sky, colours.near, y * 0.5);
        let inside = match figure {
            0 => 0.2 - dx.hypot(dy),
            1 => {
                0.028
                    - ((dx.hypot(dy) * 7.0).rem_euclid(0.5) - 0.25).abs() / 7.0
                        * (dx.hypot(dy) * 8.0).min(1.0)
            }
            2 => 0.03 - ((dx + dy * turn).rem_euclid(0.12) - 0.06).abs(),
            _ => 0.2 - dx.abs() - (dy * (1.0 + turn * 0.4)).abs(),
        };
        let band = (0.27 - dy.abs()).min(0.0);
        let with_figure = mix(ground, other.horizon, covered(inside.min(band + inside.abs()), pixel));
        let with_half = mix(with_figure, other.far, covered(inside.min(dy), pixel) * 0.6);
        let line = |at: f32, half: f32, thick: f32| (half - dx.abs()).min(thick - (y - at).abs());
        let text = line(0.1, title * 0.8, 0.016).max(line(0.15, title * 0.6, 0.016)).max(line(
            0.93,
            author * 0.8,
            0.008,
        ));
        // The spine on the left is a little darker.
        let shade = 0.18 * covered(0.025 - x, pixel);
        (mix(mix(with_half, colours.sun, covered(text, pixel)), [0.0; 3], shade), 1.0)
    })
}

/// The sleeve of a record: a pattern of quarter circles.
fn sleeve(random: &mut Random, size: u32) -> RgbaImage {
    let (colours, other) = (palette_of(random), palette_of(random));
    let (cells, seed) = ((2 + random.below(4)) as f32, between(random, 0.0, 9.0));
    let inks = [colours.far, colours.near, other.horizon, other.sky];
    paint(size, size, |x, y, pixel| {
        let cell = (x * cells).floor() + (y * cells).floor() * 7.0;
        let (u, v) = ((x * cells).rem_euclid(1.0), (y * cells).rem_euclid(1.0));
        let turned = (noise(cell, seed) * 4.0) as u32;
        let (u, v) = (if turned & 1 == 0 { u } else { 1.0 - u }, if turned & 2 == 0 { v } else { 1.0 - v });
        let ink = |at: f32| inks.get((at * 4.0) as usize).copied().unwrap_or(colours.sun);
        let ground = mix(colours.sun, ink(noise(cell, seed + 1.0)), 0.25);
        let away = u.hypot(v);
        let outer = mix(ground, ink(noise(cell, seed + 2.0)), covered((0.98 - away) / cells, pixel));
        let inner = covered((0.5 - away) / cells, pixel);
        (mix(outer, ink(noise(cell, seed + 3.0)), inner), 1.0)
    })
}

const ICON_COLOURS: [u32; 9] = [
    0xd6_3a_6a, 0x2f_8f_d0, 0x2f_6b_4f, 0xc1_3b_2e, 0xe0_5a_1f, 0x17_9b_b8, 0x6b_4a_2b, 0x3d_4f_78,
    0x44_3a_52,
];

/// The icon of a service: a simple shape on a rounded square, transparent around it.
fn badge(random: &mut Random, size: u32) -> RgbaImage {
    let ground = rgb(random.pick(&ICON_COLOURS).copied().unwrap_or_default());
    let (figure, turned) = (random.below(6), random.percent(50));
    paint(size, size, |x, y, pixel| {
        let (dx, dy) = (x - 0.5, y - 0.5);
        let corner = (dx.abs() - 0.26).max(0.0).hypot((dy.abs() - 0.26).max(0.0));
        let (u, v) = if turned { (dy, dx) } else { (dx, dy) };
        let inside = match figure {
            0 => 0.08 - ((u.hypot(v)) - 0.22).abs(),
            1 => (0.28 - u.abs()).min(0.055 - ((v + 0.3).rem_euclid(0.2) - 0.1).abs()).min(0.3 - v.abs()),
            2 => (0.26 - v.abs()).min((0.3 - v) * 0.5 - u.abs()),
            3 => 0.3 - u.abs() - v.abs(),
            4 => 0.12 - (u.abs() - 0.15).hypot(v),
            _ => (0.3 - u.abs().max(v.abs())).min(0.08 - u.abs().min(v.abs())),
        };
        (mix(ground, [1.0; 3], covered(inside, pixel)), covered(0.24 - corner, pixel))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn path_of(address: &str) -> &str {
        address.strip_prefix("https://pictures.demo.invalid").unwrap()
    }

    #[test]
    fn every_picture_is_deterministic_and_different() {
        let mut all = HashSet::new();
        for number in 0..6 {
            for kind in ["photo", "video", "book", "song"] {
                let address = address(kind, number);
                let file = draw(path_of(&address)).unwrap();
                assert_eq!(draw(path_of(&address)).unwrap(), file);
                let image = image::load_from_memory(&file).unwrap().into_rgb8();
                let colours: HashSet<_> = image.pixels().collect();
                assert!(colours.len() > 5, "{address}: {} colours", colours.len());
                assert!(all.insert(file), "{address}");
            }
        }
    }

    #[test]
    fn icons_are_transparent_around_their_shape() {
        let icons = ["flickr", "github", "vimeo"].map(|name| draw(path_of(&icon(name))).unwrap());
        for file in icons {
            let image = image::load_from_memory(&file).unwrap().into_rgba8();
            assert_eq!((image.get_pixel(0, 0)[3], image.get_pixel(8, 32)[3]), (0, 255));
        }
    }

    #[test]
    fn other_paths_have_no_picture() {
        for path in ["", "/", "/photo/1.jpg", "/other/1.png", "photo/1.png"] {
            assert_eq!(draw(path), None, "{path}");
        }
    }
}
