//! Pictures of accounts. An uploaded picture is converted to PNG in three sizes, and nothing else of it is kept. Accounts
//! without one get a generated picture.

mod drawing;

pub use drawing::drawn;

use image::codecs::png::{CompressionType, FilterType as Rows, PngEncoder};
use image::imageops::FilterType;
use image::{
    DynamicImage, ExtendedColorType, GenericImageView, ImageEncoder, ImageError, Rgba, Rgba32FImage,
    RgbaImage, imageops,
};
use media::DecodeLimits;
use model::PICTURE_SIZES;
use std::sync::{Arc, LazyLock};
use tokio::sync::Semaphore;

/// Each conversion takes a core, and as much memory as the largest picture.
const CONCURRENCY: usize = 2;

static PERMITS: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(CONCURRENCY)));

/// Converts a picture as [`read`] does, on a blocking thread and with limited concurrency.
pub async fn convert(bytes: Vec<u8>) -> Result<[Vec<u8>; 3], NotAPicture> {
    let permit = Arc::clone(&PERMITS).acquire_owned().await.map_err(|_| NotAPicture::Broken)?;
    let read = tokio::task::spawn_blocking(move || {
        // Held by the task and not by the request: when the client goes away, the work continues.
        let _held = permit;
        read(&bytes)
    });
    // Content that makes a decoder panic is not a picture.
    read.await.unwrap_or(Err(NotAPicture::Broken))
}

/// The maximum size of a file.
pub const MAX_BYTES: usize = 8 * 1024 * 1024;
/// The maximum width and height.
const MAX_SIDE: u32 = 10_000;
/// The memory is that of 40 million pixels of four bytes, with some room.
const LIMITS: DecodeLimits = DecodeLimits { side: MAX_SIDE, pixels: 40_000_000, memory: 192 * 1024 * 1024 };

/// The width of the intermediate square that all sizes are made from: large enough for each of them.
const INTERMEDIATE_SIZE: u32 = 800;

/// Why a file is not accepted as a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAPicture {
    /// The file is too large.
    #[error("the picture is too large: expected at most 8 MiB")]
    TooManyBytes,
    /// The format is not supported.
    #[error("unsupported picture format: expected a PNG, JPEG, WebP or GIF file")]
    UnknownFormat,
    /// It has too many pixels.
    #[error(
        "the picture is too large: expected at most {MAX_SIDE} pixels in width and height, and 40 million in total"
    )]
    TooLarge,
    /// It is damaged or truncated.
    #[error("the picture file is damaged")]
    Broken,
}

impl From<media::NotAPicture> for NotAPicture {
    fn from(error: media::NotAPicture) -> NotAPicture {
        match error {
            media::NotAPicture::UnknownFormat => NotAPicture::UnknownFormat,
            media::NotAPicture::TooLarge => NotAPicture::TooLarge,
            media::NotAPicture::Broken => NotAPicture::Broken,
        }
    }
}

impl From<ImageError> for NotAPicture {
    fn from(error: ImageError) -> NotAPicture {
        match error {
            ImageError::Limits(_) => NotAPicture::TooLarge,
            _ => NotAPicture::Broken,
        }
    }
}

/// The centre of a picture in each of [`PICTURE_SIZES`], as PNG. Of an animated GIF the first frame is used.
pub fn read(bytes: &[u8]) -> Result<[Vec<u8>; 3], NotAPicture> {
    let square = decode(bytes)?;
    let mut sizes = [const { Vec::new() }; 3];
    for (size, pixels) in sizes.iter_mut().zip(PICTURE_SIZES) {
        let resized = imageops::resize(&square, pixels, pixels, FilterType::Lanczos3);
        *size = encode(&resized)?;
    }
    Ok(sizes)
}

fn decode(bytes: &[u8]) -> Result<Rgba32FImage, NotAPicture> {
    if bytes.len() > MAX_BYTES {
        return Err(NotAPicture::TooManyBytes);
    }
    let (image, orientation) = media::decode(bytes, &LIMITS)?;
    let mut square = DynamicImage::ImageRgba32F(centre_square(&image));
    // The centre stays the centre, so that only the small square needs to be rotated.
    square.apply_orientation(orientation);
    Ok(square.into_rgba32f())
}

/// The square in the centre, at most [`INTERMEDIATE_SIZE`] wide. Each pixel is the mean of those that it covers. Colours
/// are multiplied by their opacity, so that transparent pixels do not bleed into the edges.
fn centre_square(image: &DynamicImage) -> Rgba32FImage {
    let (width, height) = image.dimensions();
    let side = width.min(height);
    let (left, top) = ((width - side) / 2, (height - side) / 2);
    let small = side.min(INTERMEDIATE_SIZE);
    let edge = |at: u32| u32::try_from(u64::from(at) * u64::from(side) / u64::from(small)).unwrap_or(side);
    Rgba32FImage::from_fn(small, small, |x, y| {
        let (mut sum, mut count) = ([0.0_f32; 4], 0.0_f32);
        for row in edge(y)..edge(y + 1) {
            for column in edge(x)..edge(x + 1) {
                let Rgba([red, green, blue, alpha]) = image.get_pixel(left + column, top + row);
                let opaque = f32::from(alpha) / 255.0;
                let colours = [red, green, blue].map(|colour| f32::from(colour) / 255.0 * opaque);
                let [r, g, b] = colours;
                for (sum, part) in sum.iter_mut().zip([r, g, b, opaque]) {
                    *sum += part;
                }
                count += 1.0;
            }
        }
        Rgba(sum.map(|part| part / count.max(1.0)))
    })
}

fn encode(square: &Rgba32FImage) -> Result<Vec<u8>, NotAPicture> {
    let (width, height) = square.dimensions();
    let plain = RgbaImage::from_fn(width, height, |x, y| {
        let Rgba([red, green, blue, opaque]) = *square.get_pixel(x, y);
        let colour = |part: f32| byte(if opaque > 0.0 { part / opaque } else { 0.0 });
        Rgba([colour(red), colour(green), colour(blue), byte(opaque)])
    });
    let is_opaque = plain.pixels().all(|Rgba([.., alpha])| *alpha == u8::MAX);
    let (pixels, colours) = if is_opaque {
        (DynamicImage::ImageRgba8(plain).into_rgb8().into_raw(), ExtendedColorType::Rgb8)
    } else {
        (plain.into_raw(), ExtendedColorType::Rgba8)
    };
    let mut png = Vec::new();
    PngEncoder::new_with_quality(&mut png, CompressionType::Default, Rows::Adaptive)
        .write_image(&pixels, width, height, colours)?;
    Ok(png)
}

/// A fraction as one of 256 steps.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is between 0 and 255")]
fn byte(part: f32) -> u8 {
    (part.clamp(0.0, 1.0) * 255.0).round() as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::ZlibEncoder;
    use image::{ImageFormat, Rgb, RgbImage};
    use std::io::{Cursor, Write};

    fn encoded(image: impl Into<DynamicImage>, format: ImageFormat) -> Vec<u8> {
        let mut bytes = Vec::new();
        image.into().write_to(&mut Cursor::new(&mut bytes), format).unwrap();
        bytes
    }

    /// A wide picture with a red square in the centre and blue on both sides.
    fn wide() -> RgbImage {
        RgbImage::from_fn(300, 100, |x, _| {
            Rgb(if (100..200).contains(&x) { [255, 0, 0] } else { [0, 0, 255] })
        })
    }

    fn chunk(kind: &[u8; 4], data: &[u8]) -> Vec<u8> {
        let mut checked = flate2::Crc::new();
        checked.update(kind);
        checked.update(data);
        let length = u32::try_from(data.len()).unwrap().to_be_bytes();
        [&length[..], kind, data, &checked.sum().to_be_bytes()].concat()
    }

    /// A hand-made PNG: colour type 2 is RGB, 6 RGBA.
    fn png(width: u32, height: u32, bits: u8, colour: u8, chunks: &[Vec<u8>]) -> Vec<u8> {
        let header = [&width.to_be_bytes()[..], &height.to_be_bytes(), &[bits, colour, 0, 0, 0]].concat();
        let begin = [&b"\x89PNG\r\n\x1a\n"[..], &chunk(b"IHDR", &header)].concat();
        [begin, chunks.concat(), chunk(b"IEND", &[])].concat()
    }

    /// This many zeros, compressed to a thousandth.
    fn zeros(megabytes: usize) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
        let block = vec![0; 1024 * 1024];
        (0..megabytes).for_each(|_| encoder.write_all(&block).unwrap());
        encoder.finish().unwrap()
    }

    #[test]
    fn the_centre_is_rendered_in_three_sizes() {
        for format in [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::WebP, ImageFormat::Gif] {
            let sizes = read(&encoded(wide(), format)).unwrap_or_else(|why| panic!("{format:?}: {why}"));
            for (bytes, pixels) in sizes.iter().zip(PICTURE_SIZES) {
                assert_eq!(image::guess_format(bytes).unwrap(), ImageFormat::Png);
                let shown = image::load_from_memory(bytes).unwrap().into_rgb8();
                assert_eq!(shown.dimensions(), (pixels, pixels));
                let Rgb([red, green, blue]) = *shown.get_pixel(pixels / 2, pixels / 2);
                assert!(red > 240 && green < 15 && blue < 15, "{format:?} {red} {green} {blue}");
            }
        }
    }

    #[test]
    fn only_pixels_are_kept() {
        let secret = b"Comment\0taken at home";
        let with = encoded(wide(), ImageFormat::Png);
        // Signature and header are 33 bytes.
        let with = [&with[..33], &chunk(b"tEXt", secret), &with[33..]].concat();
        for size in read(&with).unwrap() {
            assert!(!size.windows(4).any(|four| four == b"tEXt" || four == b"home"), "metadata was kept");
        }
    }

    #[test]
    fn transparency_is_preserved() {
        let image = RgbaImage::from_fn(50, 50, |x, _| Rgba(if x < 25 { [0, 0, 0, 0] } else { [255; 4] }));
        let [small, ..] = read(&encoded(image, ImageFormat::Png)).unwrap();
        let small = image::load_from_memory(&small).unwrap().into_rgba8();
        assert_eq!(small.get_pixel(5, 40).0[3], 0);
        assert_eq!(small.get_pixel(75, 40).0, [255; 4]);
        for Rgba([red, _, _, alpha]) in small.pixels().filter(|pixel| pixel.0[3] > 8) {
            assert!(*red > 240, "dark edge: {red} {alpha}");
        }
    }

    #[test]
    fn the_orientation_is_applied() {
        let upright = RgbImage::from_fn(100, 100, |_, y| Rgb([if y < 50 { 255 } else { 0 }, 0, 0]));
        let jpeg = encoded(upright, ImageFormat::Jpeg);
        // One entry in big-endian TIFF: orientation (0x112), a short, one value, 3: upside down.
        let tiff = b"MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x03\0\0\0\0\0\0";
        let exif = [&b"Exif\0\0"[..], tiff].concat();
        let length = u16::try_from(exif.len() + 2).unwrap().to_be_bytes();
        let turned = [&jpeg[..2], &[0xff, 0xe1], &length, &exif, &jpeg[2..]].concat();
        let top = |bytes: &[u8]| {
            let [small, ..] = read(bytes).unwrap();
            image::load_from_memory(&small).unwrap().into_rgb8().get_pixel(40, 10).0[0]
        };
        assert!(top(&jpeg) > 200 && top(&turned) < 50);
    }

    #[test]
    fn oversized_pictures_are_rejected_by_their_header() {
        for (width, height, bits, colour) in [
            (100_000, 100_000, 8, 2),
            (10_001, 1, 8, 2),
            (1, 10_001, 8, 2),
            (u32::MAX >> 1, 1, 8, 2),
            (6_400, 6_400, 8, 2),
            (6_000, 6_000, 16, 6),
        ] {
            let bytes = png(width, height, bits, colour, &[chunk(b"IDAT", &zeros(1))]);
            assert_eq!(read(&bytes), Err(NotAPicture::TooLarge), "{width} {height}");
        }
        assert_eq!(read(&vec![0; MAX_BYTES + 1]), Err(NotAPicture::TooManyBytes));
    }

    /// Compressed data that exceeds the pixels is not decompressed.
    #[test]
    fn decompression_bombs_are_harmless() {
        let bomb = zeros(256);
        let rows = chunk(b"IDAT", &zeros(1));
        let begun = std::time::Instant::now();
        let in_pixels = png(10, 10, 8, 2, &[chunk(b"IDAT", &bomb)]);
        let in_profile = png(10, 10, 8, 2, &[chunk(b"iCCP", &[&b"x\0\0"[..], &bomb].concat()), rows.clone()]);
        let in_text = png(10, 10, 8, 2, &[chunk(b"zTXt", &[&b"x\0\0"[..], &bomb].concat()), rows]);
        for bytes in [in_pixels, in_profile, in_text] {
            // Accepting and rejecting are both fine.
            let _ = read(&bytes);
        }
        assert!(begun.elapsed() < std::time::Duration::from_secs(20));
    }

    #[test]
    fn unsupported_and_truncated_files_are_rejected() {
        for bytes in [&b""[..], b"hello", b"<svg xmlns='http://www.w3.org/2000/svg'/>", b"BM\0\0\0\0\0\0\0\0"]
        {
            assert_eq!(read(bytes), Err(NotAPicture::UnknownFormat));
        }
        let whole = encoded(wide(), ImageFormat::Png);
        for length in [8, 20, 33, 40, whole.len() / 2] {
            assert_eq!(read(&whole[..length]), Err(NotAPicture::Broken), "{length}");
        }
        assert_eq!(read(&png(0, 5, 8, 2, &[])), Err(NotAPicture::Broken));
    }

    #[tokio::test]
    async fn conversion_runs_on_a_blocking_thread() {
        let sent = encoded(wide(), ImageFormat::Png);
        assert_eq!(convert(sent.clone()).await, read(&sent));
        assert_eq!(convert(Vec::new()).await, Err(NotAPicture::UnknownFormat));
    }
}
