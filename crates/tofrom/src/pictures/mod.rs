//! Pictures of accounts: what somebody sends becomes PNG in three sizes, and nothing else of it is kept; for everybody
//! else one is drawn.

mod drawing;
mod reading;

pub use drawing::drawn;
pub use reading::{MAX_BYTES, NotAPicture, read};

use std::sync::Arc;
use std::sync::LazyLock;
use tokio::sync::Semaphore;

/// Each takes a core, and as much memory as the largest picture.
const CONCURRENCY: usize = 2;

static TURNS: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(CONCURRENCY)));

/// Reads a picture as [`read`] does, off the request threads and few at once.
pub async fn read_in_turn(bytes: Vec<u8>) -> Result<[Vec<u8>; 3], NotAPicture> {
    let turn = Arc::clone(&TURNS).acquire_owned().await.map_err(|_| NotAPicture::Broken)?;
    let read = tokio::task::spawn_blocking(move || {
        // Held here and not by the request: when the client goes away, the work goes on.
        let _held = turn;
        read(&bytes)
    });
    // Whatever makes a decoder panic is no picture.
    read.await.unwrap_or(Err(NotAPicture::Broken))
}
