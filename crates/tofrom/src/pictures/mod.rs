//! Pictures of accounts. An uploaded picture is converted to PNG in three sizes, and nothing else of it is kept. Accounts
//! without one get a generated picture.

mod drawing;
mod reading;

pub use drawing::drawn;
pub use reading::{MAX_BYTES, NotAPicture, read};

use std::sync::Arc;
use std::sync::LazyLock;
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
