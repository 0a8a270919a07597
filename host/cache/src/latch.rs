//! An event that happens once, and for which many tasks may wait.

use tokio_util::sync::CancellationToken;

/// Not set at first, then set for good.
#[derive(Debug, Default)]
pub(crate) struct Latch {
    token: CancellationToken,
}

impl Latch {
    pub(crate) fn set(&self) {
        self.token.cancel();
    }

    pub(crate) fn is_set(&self) -> bool {
        self.token.is_cancelled()
    }

    pub(crate) async fn wait(&self) {
        self.token.cancelled().await;
    }
}
