//! The threads that guests run on: few, dedicated, apart from the informers'.
//!
//! A plugin's actor stays on the thread it was given, so that what it allocates is freed where it was
//! allocated and a busy plugin can only slow the plugins of its own thread.

use parking_lot::Mutex;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// The pool. Dropping it ends the threads, and with them every actor that was not stopped before.
pub(crate) struct GuestThreads {
    threads: Vec<GuestThread>,
}

struct GuestThread {
    handle: Handle,
    actors: Arc<AtomicUsize>,
    stop: Mutex<Option<oneshot::Sender<()>>>,
    thread: Mutex<Option<std::thread::JoinHandle<()>>>,
}

impl GuestThreads {
    pub(crate) fn start(count: usize) -> std::io::Result<Self> {
        let threads = (0..count).map(GuestThread::start).collect::<std::io::Result<_>>()?;
        Ok(Self { threads })
    }

    /// Runs an actor on the thread that has the fewest.
    pub(crate) fn spawn<F>(&self, actor: F) -> JoinHandle<()>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let load = |thread: &&GuestThread| thread.actors.load(Ordering::Relaxed);
        let thread = self.threads.iter().min_by_key(load).expect("there is at least one thread");
        let actors = thread.actors.clone();
        actors.fetch_add(1, Ordering::Relaxed);
        thread.handle.spawn(async move {
            actor.await;
            actors.fetch_sub(1, Ordering::Relaxed);
        })
    }
}

impl GuestThread {
    fn start(number: usize) -> std::io::Result<Self> {
        // A guest that runs long yields at every tick. By default the runtime would look at timers and at
        // what other threads woke only after 31 such turns; here after each, so that neighbours wait for one.
        let mut builder = Builder::new_current_thread();
        let runtime = builder.enable_time().event_interval(1).global_queue_interval(1).build()?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel();
        let run = move || {
            // An error means that the pool was dropped, which is the same request.
            let _ = runtime.block_on(stopped);
        };
        let thread = std::thread::Builder::new().name(format!("guests-{number}")).spawn(run)?;
        Ok(Self {
            handle,
            actors: Arc::default(),
            stop: Mutex::new(Some(stop)),
            thread: Mutex::new(Some(thread)),
        })
    }
}

impl Drop for GuestThreads {
    fn drop(&mut self) {
        for thread in &self.threads {
            drop(thread.stop.lock().take());
        }
        for thread in &self.threads {
            if let Some(thread) = thread.thread.lock().take() {
                // A panic on a guest thread has been reported by the panic hook.
                let _ = thread.join();
            }
        }
    }
}
