//! The media proxy: pictures of other sites, fetched, converted and cached by this server. So the reader's browser asks
//! only this server, and other sites do not learn who reads.
//!
//! - [`Sealer`] makes the addresses that pages print. A MAC covers the picture's address and its width, so the server
//!   fetches no other address.
//! - [`MediaProxy`] answers such an address: from the cache, or by fetching the picture with the address guard of
//!   `fetcher`. There is one fetch at a time for an address, and limits on everything that waits or runs.
//! - A fetched picture is decoded within limits, scaled down and encoded again. Nothing else of it is kept.
//! - [`DiskCache`] keeps the results below a size limit. Without a folder, a small cache in memory does.

mod cache;
mod convert;
mod disk;
mod proxy;
mod sealed;

pub use convert::{DecodeLimits, MediaType, NotAPicture, Picture, convert, decode};
pub use disk::DiskCache;
pub use proxy::{LocalPictures, MediaError, MediaProxy, Settings, describe_metrics, rules};
pub use sealed::{MediaRequest, Sealer, WIDTHS, Width};
