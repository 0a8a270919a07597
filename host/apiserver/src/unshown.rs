//! The objects of one state that a long answer has yet to show.
//!
//! A source makes them in batches. What an answer keeps of the objects after a batch is the source's view of the state, which
//! answers share, so hundreds of clients may read a long list at once.
//!
//! A client may take minutes to read them. Once they have changed, they are old states that nothing else has, another one
//! for each moment at which a client began. So an answer of several pieces keeps them as long as their source keeps the
//! changes since their state, and no longer. A watch without these changes would end with 410 at its first change in any
//! case. The objects are dropped by a task: the answer of a client that reads nothing is not asked for its next piece.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::vec;

use futures::future::BoxFuture;
use informant_apimachinery::Status;
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

/// The further objects of a state, in order.
pub trait ObjectBatches: Send {
    /// The next objects, at least one; none after the last.
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<Arc<ApiObject>>>, Status>>;
}

impl fmt::Debug for dyn ObjectBatches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ObjectBatches")
    }
}

/// The objects of one state that an answer has yet to show, in order.
#[derive(Debug)]
pub struct UnshownObjects {
    /// None once their state is forgotten.
    left: Arc<Mutex<Option<Left>>>,
    /// None for a source that keeps the objects in any case, and once it is waited for.
    kept_until: Option<KeptUntil>,
    _forgetting: Option<AbortOnDropHandle<()>>,
}

/// The objects of a state after the shown ones.
#[derive(Debug)]
struct Left {
    at_hand: vec::IntoIter<Arc<ApiObject>>,
    /// None if those at hand are the last.
    more: Option<Box<dyn ObjectBatches>>,
}

/// Why the next object is not at hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotAtHand {
    /// The source has yet to make it ([`UnshownObjects::fill`]).
    Yet,
    /// The objects were dropped, because their source has forgotten their state.
    StateForgotten,
}

impl UnshownObjects {
    /// All objects of a state; none of them is shown. `more`: those after `objects`.
    pub fn new(
        objects: Vec<Arc<ApiObject>>,
        more: Option<Box<dyn ObjectBatches>>,
        kept_until: Option<KeptUntil>,
    ) -> Self {
        let left = Left { at_hand: objects.into_iter(), more };
        Self { left: Arc::new(Mutex::new(Some(left))), kept_until, _forgetting: None }
    }

    /// Lets the source make the next objects, if none is at hand.
    pub async fn fill(&mut self) -> Result<(), Status> {
        let is_empty = |left: &&mut Left| left.at_hand.as_slice().is_empty();
        let more = lock(&self.left).as_mut().filter(is_empty).and_then(|left| left.more.take());
        let Some(mut more) = more else { return Ok(()) };
        let Some(objects) = more.next().await? else { return Ok(()) };
        // The state may be forgotten by now.
        if let Some(left) = lock(&self.left).as_mut() {
            *left = Left { at_hand: objects.into_iter(), more: Some(more) };
        }
        Ok(())
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
    pub fn take_next(&mut self) -> Result<Option<Arc<ApiObject>>, NotAtHand> {
        let mut left = lock(&self.left);
        let left = left.as_mut().ok_or(NotAtHand::StateForgotten)?;
        match left.at_hand.next() {
            None if left.more.is_some() => Err(NotAtHand::Yet),
            next => Ok(next),
        }
    }

    /// A look at the next object; none after the last one.
    pub fn peek<T>(&self, look: impl FnOnce(&ApiObject) -> T) -> Result<Option<T>, NotAtHand> {
        let left = lock(&self.left);
        let left = left.as_ref().ok_or(NotAtHand::StateForgotten)?;
        match left.at_hand.as_slice().first() {
            None if left.more.is_some() => Err(NotAtHand::Yet),
            next => Ok(next.map(|object| look(object))),
        }
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

    /// Batches, the first one last.
    struct Batches(Vec<Vec<Arc<ApiObject>>>);

    impl ObjectBatches for Batches {
        fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<Arc<ApiObject>>>, Status>> {
            Box::pin(std::future::ready(Ok(self.0.pop())))
        }
    }

    fn objects() -> (Vec<Arc<ApiObject>>, Weak<ApiObject>) {
        let object =
            |name| Arc::new(ApiObject::from_value(&json!({"metadata": {"name": name}}), &[]));
        let objects = vec![object("a"), object("b"), object("c")];
        let last = Arc::downgrade(&objects[2]);
        (objects, last)
    }

    fn next(unshown: &mut UnshownObjects) -> Result<Option<String>, NotAtHand> {
        unshown.take_next().map(|object| object.map(|object| object.name().to_owned()))
    }

    #[tokio::test]
    async fn objects_of_a_forgotten_state_are_dropped_though_the_client_reads_nothing() {
        let (objects, last) = objects();
        let (keep, kept) = oneshot::channel::<()>();
        let kept_until = KeptUntil::when(async { drop(kept.await) });
        let mut unshown = UnshownObjects::new(objects, None, Some(kept_until));
        assert_eq!(next(&mut unshown), Ok(Some("a".to_owned())));
        unshown.wait_for_client();
        unshown.wait_for_client();
        tokio::task::yield_now().await;
        assert_eq!(next(&mut unshown), Ok(Some("b".to_owned())));
        drop(keep);
        while last.strong_count() > 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(next(&mut unshown), Err(NotAtHand::StateForgotten));
        assert_eq!(unshown.peek(|_| ()), Err(NotAtHand::StateForgotten));
    }

    #[tokio::test]
    async fn objects_of_an_answer_of_one_piece_are_kept_without_a_task() {
        let (objects, last) = objects();
        let kept_until = KeptUntil::when(std::future::ready(()));
        let mut unshown = UnshownObjects::new(objects, None, Some(kept_until));
        tokio::task::yield_now().await;
        assert_eq!(unshown.peek(|object| object.name() == "a"), Ok(Some(true)));
        while let Ok(Some(_)) = unshown.take_next() {}
        assert_eq!((next(&mut unshown), last.strong_count()), (Ok(None), 0));
    }

    #[tokio::test]
    async fn batches_are_made_one_after_the_other_until_the_state_is_forgotten() {
        let (mut objects, last) = objects();
        let second = objects.split_off(1);
        let (keep, kept) = oneshot::channel::<()>();
        let kept_until = KeptUntil::when(async { drop(kept.await) });
        let more: Box<dyn ObjectBatches> = Box::new(Batches(vec![second]));
        let mut unshown = UnshownObjects::new(objects, Some(more), Some(kept_until));
        unshown.fill().await.expect("one is at hand");
        assert_eq!(next(&mut unshown), Ok(Some("a".to_owned())));
        assert_eq!(next(&mut unshown), Err(NotAtHand::Yet));
        assert_eq!(unshown.peek(|_| ()), Err(NotAtHand::Yet));
        unshown.fill().await.expect("there are more");
        assert_eq!(next(&mut unshown), Ok(Some("b".to_owned())));
        unshown.wait_for_client();
        drop(keep);
        while last.strong_count() > 0 {
            tokio::task::yield_now().await;
        }
        unshown.fill().await.expect("there is nothing to make");
        assert_eq!(next(&mut unshown), Err(NotAtHand::StateForgotten));
    }

    #[tokio::test]
    async fn after_the_last_batch_nothing_comes() {
        let (objects, _) = objects();
        let more: Box<dyn ObjectBatches> = Box::new(Batches(vec![objects]));
        let mut unshown = UnshownObjects::new(Vec::new(), Some(more), None);
        let mut names = String::new();
        loop {
            unshown.fill().await.expect("it lists");
            match next(&mut unshown) {
                Ok(Some(name)) => names += &name,
                Ok(None) => break,
                Err(not_at_hand) => assert_eq!(not_at_hand, NotAtHand::Yet),
            }
        }
        assert_eq!(names, "abc");
    }
}
