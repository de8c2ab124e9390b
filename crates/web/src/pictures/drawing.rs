//! Default pictures: a flower in two colours, generated from the name alone. So it does not reveal whether the account
//! exists.

use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::{ExtendedColorType, ImageEncoder, Rgb, RgbImage};
use model::Fnv;
use moka::sync::Cache;
use std::sync::{Arc, LazyLock};

/// Background and foreground colours.
const COLOURS: [([u8; 3], [u8; 3]); 10] = [
    ([0xfd, 0xf0, 0xd5], [0xc1, 0x4a, 0x3a]),
    ([0xe3, 0xf2, 0xec], [0x2f, 0x7f, 0x6b]),
    ([0xe6, 0xee, 0xfa], [0x35, 0x5c, 0x9e]),
    ([0xf3, 0xe8, 0xf7], [0x7a, 0x4b, 0x94]),
    ([0xfb, 0xe6, 0xea], [0xb2, 0x3f, 0x66]),
    ([0xf1, 0xf3, 0xd9], [0x6b, 0x7a, 0x1f]),
    ([0x2e, 0x40, 0x57], [0xf2, 0xc1, 0x4e]),
    ([0x3c, 0x5a, 0x4a], [0xe9, 0xd8, 0xa6]),
    ([0x5b, 0x37, 0x58], [0xf4, 0xb6, 0xa6]),
    ([0x24, 0x5e, 0x73], [0xbf, 0xe3, 0xdd]),
];

/// The maximum number of cached pictures: some megabytes.
const MAX_CACHED: u64 = 2_000;

/// Cached pictures by name and size.
type PictureCache = Cache<(String, u32), Arc<[u8]>>;

static KNOWN: LazyLock<PictureCache> = LazyLock::new(|| Cache::new(MAX_CACHED));

/// The default picture of a name as PNG, in this width and height.
pub fn drawn(name: &str, size: u32) -> Vec<u8> {
    KNOWN.get_with((name.to_owned(), size), || draw(name, size).into()).to_vec()
}

/// A shape around the centre: its radius, the variation of it, and the number of petals. Lengths are fractions of half the
/// width.
#[derive(Clone, Copy)]
struct Rosette {
    reach: f32,
    varies: f32,
    petals: f32,
}

impl Rosette {
    /// How far inside the shape a point is, in the same unit; negative outside. Angles count from the vertical, so that left
    /// and right are symmetrical.
    fn inside(self, x: f32, y: f32) -> f32 {
        let (away, angle) = (x.hypot(y).max(0.001), x.atan2(-y));
        let wave = self.petals * angle;
        let beyond = self.reach + self.varies * wave.cos() - away;
        // The border is steeper where it does not run around the centre.
        let slope = self.varies * self.petals * wave.sin() / away;
        beyond / 1.0_f32.hypot(slope)
    }
}

/// Derives small numbers from a hash.
struct Choices(u64);

impl Choices {
    /// A number in `0..many`.
    fn one_of(&mut self, many: u8) -> u8 {
        let many = u64::from(many.max(1));
        let chosen = self.0 % many;
        self.0 /= many;
        u8::try_from(chosen).unwrap_or(0)
    }
}

fn draw(name: &str, size: u32) -> Vec<u8> {
    let hash = Fnv::new().text("picture").text(name).finish();
    // Hashed, because similar names differ in few bits only.
    let mut choices = Choices((hash ^ (hash >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 3);
    let pair = usize::from(choices.one_of(10));
    let (ground, figure) = COLOURS.get(pair).copied().unwrap_or(([0xff; 3], [0; 3]));
    let petals = f32::from(3 + choices.one_of(6));
    let outer = Rosette {
        reach: 0.52 + 0.03 * f32::from(choices.one_of(4)),
        varies: 0.10 + 0.03 * f32::from(choices.one_of(4)),
        petals,
    };
    let inner = Rosette {
        reach: 0.14 + 0.04 * f32::from(choices.one_of(4)),
        // Opposed to the outer shape, aligned with it, or round.
        varies: 0.045 * (f32::from(choices.one_of(3)) - 1.0),
        petals,
    };
    let seed = Rosette { reach: 0.05 * f32::from(choices.one_of(3)), varies: 0.0, petals: 0.0 };

    let image = RgbImage::from_fn(size, size, |x, y| {
        let half = as_f32(size) / 2.0;
        let (x, y) = ((as_f32(x) + 0.5) / half - 1.0, (as_f32(y) + 0.5) / half - 1.0);
        // The covered part of the pixel, as if the border were straight.
        let covered = |shape: Rosette| (shape.inside(x, y) * half + 0.5).clamp(0.0, 1.0);
        let shown = covered(outer) * (1.0 - covered(inner) * (1.0 - covered(seed)));
        Rgb(std::array::from_fn(|part| {
            let one = |colours: [u8; 3]| f32::from(colours.get(part).copied().unwrap_or(0));
            mixed(one(ground), one(figure), shown)
        }))
    });
    let mut png = Vec::new();
    let encoder = PngEncoder::new_with_quality(&mut png, CompressionType::Default, FilterType::Adaptive);
    // Writing to memory cannot fail.
    let _ = encoder.write_image(image.as_raw(), size, size, ExtendedColorType::Rgb8);
    png
}

#[allow(clippy::cast_precision_loss, reason = "a few hundred pixels")]
fn as_f32(pixels: u32) -> f32 {
    pixels as f32
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is between 0 and 255")]
fn mixed(ground: f32, figure: f32, shown: f32) -> u8 {
    (ground + (figure - ground) * shown).round().clamp(0.0, 255.0) as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn a_name_always_has_the_same_symmetrical_picture() {
        for size in [80, 120, 200] {
            let png = drawn("alice", size);
            assert_eq!(png, drawn("alice", size));
            assert_eq!(png, draw("alice", size));
            let shown = image::load_from_memory(&png).unwrap().into_rgb8();
            assert_eq!(shown.dimensions(), (size, size));
            let mirrored = image::imageops::flip_horizontal(&shown);
            let differ = |one: &Rgb<u8>, other: &Rgb<u8>| {
                one.0.iter().zip(other.0).map(|(one, other)| one.abs_diff(other)).max().unwrap()
            };
            assert!(shown.pixels().zip(mirrored.pixels()).all(|(one, other)| differ(one, other) < 3));
        }
    }

    #[test]
    fn similar_names_have_different_pictures() {
        let drawn: HashSet<Vec<u8>> = (0..200).map(|number| draw(&format!("user{number}"), 80)).collect();
        assert!(drawn.len() > 180, "{}", drawn.len());
    }
}
