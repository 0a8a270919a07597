//! Values that all users of an informer share.

use super::SharedIndexInformer;
use parking_lot::Mutex;
use std::any::Any;
use std::sync::Arc;

/// One value of each type that a user asked for. A program has few such types.
#[derive(Default)]
pub(super) struct Companions {
    made: Mutex<Vec<Arc<dyn Any + Send + Sync>>>,
}

impl Companions {
    fn of<T: Default + Send + Sync + 'static>(&self) -> Arc<T> {
        let mut made = self.made.lock();
        let known = made.iter().find_map(|one| one.clone().downcast::<T>().ok());
        known.unwrap_or_else(|| {
            let one = Arc::<T>::default();
            made.push(one.clone());
            one
        })
    }
}

impl SharedIndexInformer {
    /// The value of this type that all users of the informer share. The first one makes it.
    pub fn companion<T: Default + Send + Sync + 'static>(&self) -> Arc<T> {
        self.shared.companions.of()
    }
}
