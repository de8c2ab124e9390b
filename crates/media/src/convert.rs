//! Decodes a picture within limits, scales it down and encodes it again, without its metadata.

use image::codecs::jpeg::JpegEncoder;
use image::codecs::webp::WebPEncoder;
use image::metadata::Orientation;
use image::{
    DynamicImage, ExtendedColorType, GenericImageView, ImageDecoder, ImageError, ImageFormat, ImageReader,
    Limits, Rgba, RgbaImage,
};
use std::io::Cursor;
use std::sync::Arc;

/// The longest file of a picture, in bytes.
pub(crate) const MAX_BYTES: usize = 8 << 20;
/// Photos of most cameras and telephones are smaller. The memory is that of as many pixels of four bytes.
const LIMITS: DecodeLimits = DecodeLimits { side: 10_000, pixels: 25_000_000, memory: 100_000_000 };
/// The height may be this many times the width. Higher pictures become narrower.
const MAX_HEIGHT_RATIO: u32 = 2;
/// JPEG quality.
const QUALITY: u8 = 80;
/// Pictures with at most this many pixels are also encoded without loss, which is smaller for flat drawings.
const MAX_LOSSLESS_PIXELS: u32 = 320 * 320;

/// The format of a converted picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediaType {
    /// JPEG.
    Jpeg,
    /// WebP without loss.
    WebP,
}

impl MediaType {
    /// The value of `Content-Type`.
    pub fn as_str(self) -> &'static str {
        match self {
            MediaType::Jpeg => "image/jpeg",
            MediaType::WebP => "image/webp",
        }
    }
}

/// A converted picture. Clones share its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// Its format.
    pub media_type: MediaType,
    /// The file.
    pub bytes: Arc<[u8]>,
}

impl Picture {
    /// A picture from the cache.
    pub(crate) fn from_file(bytes: Vec<u8>) -> Option<Picture> {
        let media_type = match image::guess_format(&bytes).ok()? {
            ImageFormat::Jpeg => MediaType::Jpeg,
            ImageFormat::WebP => MediaType::WebP,
            _ => return None,
        };
        Some(Picture { media_type, bytes: bytes.into() })
    }
}

/// Why a file is not accepted as a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAPicture {
    /// The format is not supported.
    #[error("unsupported picture format: expected PNG, JPEG, WebP or GIF")]
    UnknownFormat,
    /// It has too many bytes or pixels.
    #[error("the picture is too large")]
    TooLarge,
    /// It is damaged or truncated.
    #[error("the picture is damaged")]
    Broken,
}

impl From<ImageError> for NotAPicture {
    fn from(error: ImageError) -> NotAPicture {
        match error {
            ImageError::Limits(_) => NotAPicture::TooLarge,
            _ => NotAPicture::Broken,
        }
    }
}

/// Converts a picture to each of these widths. A smaller picture keeps its size. Of an animation, the first frame
/// is used. Takes a core for some time: call it on a blocking thread.
pub fn convert<const N: usize>(file: &[u8], widths: [u32; N]) -> Result<[Picture; N], NotAPicture> {
    if file.len() > MAX_BYTES {
        return Err(NotAPicture::TooLarge);
    }
    let (image, orientation) = decode(file, &LIMITS)?;
    let turned = is_turned(orientation);
    let converted = widths.map(|width| {
        let (width, height) = fit(dimensions(&image, turned), width);
        let (width, height) = if turned { (height, width) } else { (width, height) };
        let mut small = DynamicImage::ImageRgba8(scale(&image, width, height));
        small.apply_orientation(orientation);
        encode(small.into_rgba8())
    });
    let mut pictures = Vec::with_capacity(N);
    for picture in converted {
        pictures.push(picture?);
    }
    pictures.try_into().map_err(|_| NotAPicture::Broken)
}

/// The limits of a picture that is decoded.
#[derive(Clone, Copy, Debug)]
pub struct DecodeLimits {
    /// The maximum width and height.
    pub side: u32,
    /// The maximum number of pixels.
    pub pixels: u64,
    /// The maximum number of bytes of the decoded picture.
    pub memory: u64,
}

/// Decodes a picture. Its size is checked before its pixels are read.
pub fn decode(file: &[u8], max: &DecodeLimits) -> Result<(DynamicImage, Orientation), NotAPicture> {
    // By content: a declared type is not trusted.
    let format = image::guess_format(file).map_err(|_| NotAPicture::UnknownFormat)?;
    if !matches!(format, ImageFormat::Png | ImageFormat::Jpeg | ImageFormat::WebP | ImageFormat::Gif) {
        return Err(NotAPicture::UnknownFormat);
    }
    let mut reader = ImageReader::with_format(Cursor::new(file), format);
    let mut limits = Limits::default();
    limits.max_image_width = Some(max.side);
    limits.max_image_height = Some(max.side);
    limits.max_alloc = Some(max.memory);
    reader.limits(limits);
    let mut decoder = reader.into_decoder()?;
    let (width, height) = decoder.dimensions();
    if width == 0 || height == 0 {
        return Err(NotAPicture::Broken);
    }
    let pixels = u64::from(width) * u64::from(height);
    if width.max(height) > max.side || pixels > max.pixels || decoder.total_bytes() > max.memory {
        return Err(NotAPicture::TooLarge);
    }
    // An invalid orientation is ignored.
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    Ok((DynamicImage::from_decoder(decoder)?, orientation))
}

/// Whether the orientation exchanges width and height.
fn is_turned(orientation: Orientation) -> bool {
    matches!(
        orientation,
        Orientation::Rotate90
            | Orientation::Rotate270
            | Orientation::Rotate90FlipH
            | Orientation::Rotate270FlipH
    )
}

fn dimensions(image: &DynamicImage, turned: bool) -> (u32, u32) {
    let (width, height) = image.dimensions();
    if turned { (height, width) } else { (width, height) }
}

/// The largest size with the same proportions that is at most this wide, at most [`MAX_HEIGHT_RATIO`] times as high,
/// and not larger than the picture.
fn fit((width, height): (u32, u32), max_width: u32) -> (u32, u32) {
    let scaled = |length: u32, part: u32, whole: u32| {
        let rounded = (u64::from(length) * u64::from(part) + u64::from(whole) / 2) / u64::from(whole.max(1));
        u32::try_from(rounded).unwrap_or(length).max(1)
    };
    let max_height = max_width * MAX_HEIGHT_RATIO;
    let (width, height) =
        if width > max_width { (max_width, scaled(height, max_width, width)) } else { (width, height) };
    if height > max_height { (scaled(width, max_height, height), max_height) } else { (width, height) }
}

/// The source pixels that a target pixel covers, on one axis. The first and the last may be covered in part.
struct Span {
    first: u32,
    weights: Vec<f32>,
}

#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "at most 10,000 pixels")]
fn spans(source: u32, target: u32) -> Vec<Span> {
    let ratio = f64::from(source) / f64::from(target);
    let span = |at: u32| {
        let (start, end) = (f64::from(at) * ratio, f64::from(at + 1) * ratio);
        let first = (start.floor() as u32).min(source - 1);
        let end_pixel = (end.ceil() as u32).clamp(first + 1, source);
        let overlap = |pixel: u32| (end.min(f64::from(pixel) + 1.0) - start.max(f64::from(pixel))).max(0.0);
        Span { first, weights: (first..end_pixel).map(|pixel| (overlap(pixel) / ratio) as f32).collect() }
    };
    (0..target).map(span).collect()
}

/// Scales down. Each pixel is the mean of the area that it covers. Colours are multiplied by their opacity, so that
/// transparent pixels do not bleed into the edges. It needs no memory but that of the result.
fn scale(image: &DynamicImage, width: u32, height: u32) -> RgbaImage {
    let (columns, rows) = (spans(image.width(), width), spans(image.height(), height));
    let mut scaled = RgbaImage::new(width, height);
    let mut sums = vec![[0.0_f32; 4]; columns.len()];
    for (row, target) in rows.iter().zip(scaled.rows_mut()) {
        sums.fill([0.0; 4]);
        for (y, row_weight) in (row.first..).zip(&row.weights) {
            for (column, sum) in columns.iter().zip(&mut sums) {
                for (x, weight) in (column.first..).zip(&column.weights) {
                    let Rgba([red, green, blue, alpha]) = image.get_pixel(x, y);
                    let weight = weight * row_weight;
                    let opaque = weight * f32::from(alpha) / 255.0;
                    let [r, g, b, a] = sum;
                    *r += f32::from(red) * opaque;
                    *g += f32::from(green) * opaque;
                    *b += f32::from(blue) * opaque;
                    *a += opaque;
                }
            }
        }
        for ([red, green, blue, opaque], pixel) in sums.iter().zip(target) {
            let colour = |sum: &f32| byte(if *opaque > 0.0 { sum / opaque } else { 0.0 });
            *pixel = Rgba([colour(red), colour(green), colour(blue), byte(opaque * 255.0)]);
        }
    }
    scaled
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is between 0 and 255")]
fn byte(value: f32) -> u8 {
    value.round().clamp(0.0, 255.0) as u8
}

/// The image crate writes WebP only without loss. So a transparent picture becomes WebP, an opaque one JPEG, or WebP if
/// that is smaller.
fn encode(image: RgbaImage) -> Result<Picture, NotAPicture> {
    let (width, height) = image.dimensions();
    let is_opaque = image.pixels().all(|Rgba([.., alpha])| *alpha == u8::MAX);
    let lossless = |pixels: &[u8], colours: ExtendedColorType| {
        let mut file = Vec::new();
        WebPEncoder::new_lossless(&mut file).encode(pixels, width, height, colours)?;
        Ok::<_, NotAPicture>(Picture { media_type: MediaType::WebP, bytes: file.into() })
    };
    if !is_opaque {
        return lossless(&image, ExtendedColorType::Rgba8);
    }
    let image = DynamicImage::ImageRgba8(image).into_rgb8();
    let mut file = Vec::new();
    JpegEncoder::new_with_quality(&mut file, QUALITY).encode(
        &image,
        width,
        height,
        ExtendedColorType::Rgb8,
    )?;
    let jpeg = Picture { media_type: MediaType::Jpeg, bytes: file.into() };
    if width * height <= MAX_LOSSLESS_PIXELS {
        let webp = lossless(&image, ExtendedColorType::Rgb8)?;
        if webp.bytes.len() < jpeg.bytes.len() {
            return Ok(webp);
        }
    }
    Ok(jpeg)
}

#[cfg(test)]
#[path = "convert_tests.rs"]
mod tests;
