//! The objects of one state that a long answer has yet to show.
//!
//! A client may take minutes to read them. Once they have changed, they are old states that nothing else has, another one
//! for each moment at which a client began. So an answer of several pieces keeps them as long as their source keeps the
//! changes since their state, and no longer. A watch without these changes would end with 410 at its first change in any
//! case. The objects are dropped by a task: the answer of a client that reads nothing is not asked for its next piece.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::vec;

use futures::future::BoxFuture;
use tokio_util::task::AbortOnDropHandle;

use crate::ApiObject;
use crate::aside::aside;

/// The moment from which a source does not have all changes since a state any more.
pub struct KeptUntil(BoxFuture<'static, ()>);

impl KeptUntil {
    /// It has come when the future ends.
    pub fn when(moment: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(Box::pin(moment))
    }
}

impl fmt::Debug for KeptUntil {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeptUntil")
    }
}

/// The objects of one state that an answer has yet to show, in order.
#[derive(Debug)]
pub struct UnshownObjects {
    /// None once their state is forgotten.
    left: Arc<Mutex<Option<vec::IntoIter<Arc<ApiObject>>>>>,
    /// None for a source that keeps the objects in any case, and once it is waited for.
    kept_until: Option<KeptUntil>,
    _forgetting: Option<AbortOnDropHandle<()>>,
}

/// The objects were dropped, because their source has forgotten their state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateForgotten;

impl UnshownObjects {
    /// All objects of a state; none of them is shown.
    pub fn new(objects: Vec<Arc<ApiObject>>, kept_until: Option<KeptUntil>) -> Self {
        let left = Arc::new(Mutex::new(Some(objects.into_iter())));
        Self { left, kept_until, _forgetting: None }
    }

    /// From now on, in the client's time: the objects are dropped once their state is forgotten. Without effect from the
    /// second call on.
    pub fn wait_for_client(&mut self) {
        let Some(kept_until) = self.kept_until.take() else { return };
        let left = Arc::clone(&self.left);
        let forget = async move {
            kept_until.0.await;
            let objects = lock(&left).take();
            // Thousands of objects, some of them the last of their state.
            aside(move || drop(objects)).await;
        };
        self._forgetting = Some(AbortOnDropHandle::new(tokio::spawn(forget)));
    }

    /// The next object; none after the last one.
    pub fn take_next(&mut self) -> Result<Option<Arc<ApiObject>>, StateForgotten> {
        lock(&self.left).as_mut().map(Iterator::next).ok_or(StateForgotten)
    }

    /// A look at the next object; none after the last one.
    pub fn peek<T>(&self, look: impl FnOnce(&ApiObject) -> T) -> Result<Option<T>, StateForgotten> {
        let left = lock(&self.left);
        let next = left.as_ref().ok_or(StateForgotten)?.as_slice().first();
        Ok(next.map(|object| look(object)))
    }
}

fn lock<T>(left: &Mutex<T>) -> MutexGuard<'_, T> {
    // No lock is held where something could panic.
    left.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::sync::Weak;
    use tokio::sync::oneshot;

    fn objects() -> (Vec<Arc<ApiObject>>, Weak<ApiObject>) {
        let object =
            |name| Arc::new(ApiObject::from_value(&json!({"metadata": {"name": name}}), &[]));
        let objects = vec![object("a"), object("b"), object("c")];
        let last = Arc::downgrade(&objects[2]);
        (objects, last)
    }

    fn next(unshown: &mut UnshownObjects) -> Result<Option<String>, StateForgotten> {
        unshown.take_next().map(|object| object.map(|object| object.name().to_owned()))
    }

    #[tokio::test]
    async fn objects_of_a_forgotten_state_are_dropped_though_the_client_reads_nothing() {
        let (objects, last) = objects();
        let (keep, kept) = oneshot::channel::<()>();
        let kept_until = KeptUntil::when(async { drop(kept.await) });
        let mut unshown = UnshownObjects::new(objects, Some(kept_until));
        assert_eq!(next(&mut unshown), Ok(Some("a".to_owned())));
        unshown.wait_for_client();
        unshown.wait_for_client();
        tokio::task::yield_now().await;
        assert_eq!(next(&mut unshown), Ok(Some("b".to_owned())));
        drop(keep);
        while last.strong_count() > 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(next(&mut unshown), Err(StateForgotten));
        assert_eq!(unshown.peek(|_| ()), Err(StateForgotten));
    }

    #[tokio::test]
    async fn objects_of_an_answer_of_one_piece_are_kept_without_a_task() {
        let (objects, last) = objects();
        let kept_until = KeptUntil::when(std::future::ready(()));
        let mut unshown = UnshownObjects::new(objects, Some(kept_until));
        tokio::task::yield_now().await;
        assert_eq!(unshown.peek(|object| object.name() == "a"), Ok(Some(true)));
        while let Ok(Some(_)) = unshown.take_next() {}
        assert_eq!((next(&mut unshown), last.strong_count()), (Ok(None), 0));
    }
}
