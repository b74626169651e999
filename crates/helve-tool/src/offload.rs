//! Work that takes long enough to be in the way of others is done beside them.

use serde_json::Value;
use tokio::sync::Semaphore;

use crate::schema::{CompileBudget, Schema};

/// So much is done at a time; the rest waits in line and leaves it when its caller is gone.
const AT_A_TIME: usize = 2;

static DOORS: Semaphore = Semaphore::const_new(AT_A_TIME);

/// Does the work off the threads that serve everybody. None if it came to nothing: it panicked, or the server stops.
pub async fn run_on_pool<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let door = DOORS.acquire().await.ok()?;
    let work = move || {
        // Held until the work is done, also if its caller is gone.
        let _door = door;
        work()
    };
    tokio::task::spawn_blocking(work).await.ok()
}

/// Makes schemas ready in the background, so that the next caller finds them in the cache.
pub(crate) async fn compile_ahead(schemas: Vec<Value>) {
    _ = run_on_pool(move || {
        for schema in schemas {
            // A caller that takes the schema gets its error.
            _ = Schema::compile(&schema, &mut CompileBudget::default());
        }
    })
    .await;
}
