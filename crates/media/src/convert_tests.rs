//! Tests of conversion: sizes, formats, and files that must be refused.

use super::*;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use image::{Rgb, RgbImage};
use std::io::Write;

fn encoded(image: impl Into<DynamicImage>, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Vec::new();
    image.into().write_to(&mut Cursor::new(&mut bytes), format).unwrap();
    bytes
}

/// Red on the left, blue on the right.
fn halves(width: u32, height: u32) -> RgbImage {
    RgbImage::from_fn(width, height, |x, _| Rgb(if x < width / 2 { [250, 0, 0] } else { [0, 0, 250] }))
}

fn chunk(kind: &[u8; 4], data: &[u8]) -> Vec<u8> {
    let mut checked = flate2::Crc::new();
    checked.update(kind);
    checked.update(data);
    let length = u32::try_from(data.len()).unwrap().to_be_bytes();
    [&length[..], kind, data, &checked.sum().to_be_bytes()].concat()
}

/// A hand-made PNG of one colour: colour type 2 is RGB, 6 RGBA.
fn png(width: u32, height: u32, bits: u8, colour: u8, megabytes: usize) -> Vec<u8> {
    let header = [&width.to_be_bytes()[..], &height.to_be_bytes(), &[bits, colour, 0, 0, 0]].concat();
    let mut data = ZlibEncoder::new(Vec::new(), Compression::best());
    (0..megabytes).for_each(|_| data.write_all(&vec![0; 1 << 20]).unwrap());
    let begin = [&b"\x89PNG\r\n\x1a\n"[..], &chunk(b"IHDR", &header)].concat();
    [begin, chunk(b"IDAT", &data.finish().unwrap()), chunk(b"IEND", &[])].concat()
}

#[test]
fn a_picture_is_scaled_down_to_each_width() {
    for format in [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::WebP, ImageFormat::Gif] {
        let file = encoded(halves(900, 600), format);
        for (picture, (width, height)) in
            convert(&file, [160, 320]).unwrap().iter().zip([(160, 107), (320, 213)])
        {
            let shown = image::load_from_memory(&picture.bytes).unwrap().into_rgb8();
            assert_eq!(shown.dimensions(), (width, height), "{format:?}");
            let [left, right] = [10, width - 10].map(|x| shown.get_pixel(x, height / 2).0);
            assert!(left[0] > 235 && left[2] < 20 && right[2] > 235 && right[0] < 20, "{left:?} {right:?}");
        }
    }
}

#[test]
fn a_small_picture_keeps_its_size_and_a_high_one_becomes_narrow() {
    for ((width, height), expected) in [
        ((20, 10), (20, 10)),
        ((160, 90), (160, 90)),
        ((1, 1), (1, 1)),
        ((100, 1_000), (32, 320)),
        ((1_000, 4_000), (80, 320)),
        ((2_000, 1), (160, 1)),
    ] {
        let [picture] = convert(&encoded(halves(width, height), ImageFormat::Png), [160]).unwrap();
        let shown = image::load_from_memory(&picture.bytes).unwrap();
        assert_eq!(shown.dimensions(), expected, "{width} x {height}");
    }
}

#[test]
fn transparency_is_kept_and_does_not_bleed() {
    // Transparent green on the left, opaque red on the right.
    let image =
        RgbaImage::from_fn(600, 600, |x, _| Rgba(if x < 300 { [0, 255, 0, 0] } else { [255, 0, 0, 255] }));
    let [picture] = convert(&encoded(image, ImageFormat::Png), [320]).unwrap();
    assert_eq!(picture.media_type, MediaType::WebP);
    let shown = image::load_from_memory(&picture.bytes).unwrap().into_rgba8();
    assert!(shown.pixels().all(|Rgba([_, green, _, alpha])| *green == 0 || *alpha == 0));
    assert_eq!((shown.get_pixel(2, 2)[3], shown.get_pixel(318, 2).0), (0, [255, 0, 0, 255]));
}

#[test]
fn the_mean_of_a_pattern_is_even() {
    let pattern = RgbImage::from_fn(997, 701, |x, y| Rgb([if (x + y) % 2 == 0 { 255 } else { 0 }; 3]));
    let small = scale(&DynamicImage::ImageRgb8(pattern), 32, 23);
    assert!(small.pixels().all(|pixel| pixel[0].abs_diff(128) < 6 && pixel[3] == 255));
}

#[test]
fn the_orientation_of_a_camera_is_applied_and_metadata_is_dropped() {
    // An Exif segment with the orientation 6: rotate by 90 degrees. It also names a place.
    let mut exif = b"Exif\0\0MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0".to_vec();
    exif.extend(b"a secret place");
    let jpeg = encoded(halves(400, 200), ImageFormat::Jpeg);
    let length = u16::try_from(exif.len() + 2).unwrap().to_be_bytes();
    let file = [&jpeg[..2], &[0xff, 0xe1], &length, &exif, &jpeg[2..]].concat();
    let [picture] = convert(&file, [160]).unwrap();
    let shown = image::load_from_memory(&picture.bytes).unwrap().into_rgb8();
    assert_eq!(shown.dimensions(), (160, 320));
    assert!(shown.get_pixel(80, 5)[0] > 200 && shown.get_pixel(80, 315)[2] > 200, "the left is on top");
    assert!(!picture.bytes.windows(6).any(|bytes| bytes == b"secret"));
}

#[test]
fn other_files_are_refused() {
    let svg =
        br#"<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><script>alert(1)</script></svg>"#;
    let jpeg = encoded(halves(300, 200), ImageFormat::Jpeg);
    for (file, why) in [
        (&b""[..], NotAPicture::UnknownFormat),
        (b"<html>no picture</html>", NotAPicture::UnknownFormat),
        (svg, NotAPicture::UnknownFormat),
        (b"BM\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", NotAPicture::UnknownFormat),
        (b"\0\0\x01\0\x01\0\x10\x10\0\0\x01\0\x20\0\x68\x04", NotAPicture::UnknownFormat),
        (b"\x89PNG\r\n\x1a\n", NotAPicture::Broken),
        (&jpeg[..20], NotAPicture::Broken),
        (&png(20_000, 20_000, 8, 2, 1), NotAPicture::TooLarge),
        (&png(9_000, 9_000, 8, 2, 1), NotAPicture::TooLarge),
        (&png(4_900, 4_900, 16, 6, 1), NotAPicture::TooLarge),
        (&vec![0; MAX_BYTES + 1], NotAPicture::TooLarge),
    ] {
        assert_eq!(convert(file, [160]).unwrap_err(), why, "{:?}", &file[..file.len().min(40)]);
    }
}

#[test]
fn a_cached_file_is_recognised() {
    let [picture] = convert(&encoded(halves(300, 200), ImageFormat::Jpeg), [160]).unwrap();
    assert_eq!(Picture::from_file(picture.bytes.to_vec()), Some(picture));
    assert_eq!(Picture::from_file(b"<html>".to_vec()), None);
}
