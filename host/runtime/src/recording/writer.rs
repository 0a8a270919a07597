//! The thread that writes recordings. What plugins' threads hand it waits in a queue with a bound: a recording for which there is no room ends.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use tracing::{error, info};

/// Lines that wait to be written, and their bytes.
pub(super) const WAITING_LINES_MAX: usize = 4_096;
pub(super) const WAITING_BYTES_MAX: usize = 64 << 20;

/// What the thread is told.
pub(super) enum Message {
    /// A recording begins; its number is new.
    Begin(u64, File, String),
    /// A line with its end.
    Line(u64, String),
    /// A recording has ended.
    End(u64),
    /// All of them have.
    Stop,
}

/// The way to the thread. Clones lead to the same.
#[derive(Clone)]
pub(super) struct Sender {
    messages: SyncSender<Message>,
    waiting: Arc<AtomicUsize>,
}

impl Sender {
    /// Never waits; answers whether there was room.
    pub(super) fn send(&self, message: Message) -> bool {
        let bytes = size(&message);
        if self.waiting.fetch_add(bytes, Relaxed) + bytes > WAITING_BYTES_MAX {
            self.waiting.fetch_sub(bytes, Relaxed);
            return false;
        }
        match self.messages.try_send(message) {
            Ok(()) => true,
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {
                self.waiting.fetch_sub(bytes, Relaxed);
                false
            }
        }
    }

    /// For what has to arrive, and from whoever may wait.
    pub(super) fn send_in_any_case(&self, message: Message) {
        self.waiting.fetch_add(size(&message), Relaxed);
        // A thread that is gone writes nothing.
        let _ = self.messages.send(message);
    }
}

fn size(message: &Message) -> usize {
    match message {
        Message::Line(_, line) => line.len(),
        Message::Begin(..) | Message::End(_) | Message::Stop => 0,
    }
}

/// Starts the thread.
pub(super) fn start() -> io::Result<(Sender, JoinHandle<()>)> {
    let (sender, receiver) = queue();
    let waiting = sender.waiting.clone();
    let run = move || write(&receiver, &waiting);
    let thread = std::thread::Builder::new().name("recordings".into()).spawn(run)?;
    Ok((sender, thread))
}

pub(super) fn queue() -> (Sender, Receiver<Message>) {
    let (messages, receiver) = sync_channel(WAITING_LINES_MAX);
    (Sender { messages, waiting: Arc::default() }, receiver)
}

/// A file that is being written; none if it could not be written any more, which was said.
type Open = (String, Option<BufWriter<File>>);

fn write(messages: &Receiver<Message>, waiting: &AtomicUsize) {
    let mut open: hashbrown::HashMap<u64, Open> = hashbrown::HashMap::new();
    while let Ok(message) = messages.recv() {
        waiting.fetch_sub(size(&message), Relaxed);
        match message {
            Message::Begin(number, file, name) => {
                open.insert(number, (name, Some(BufWriter::new(file))));
            }
            Message::Line(number, line) => {
                if let Some(open) = open.get_mut(&number) {
                    put(open, &line);
                }
            }
            Message::End(number) => {
                if let Some((name, Some(mut file))) = open.remove(&number) {
                    match file.flush() {
                        Ok(()) => info!("the recording {name} has ended"),
                        Err(problem) => cannot(&name, &problem),
                    }
                }
            }
            Message::Stop => break,
        }
    }
    for (name, file) in open.into_values() {
        if let Some(Err(problem)) = file.map(|mut file| file.flush()) {
            cannot(&name, &problem);
        }
    }
}

fn put((name, file): &mut Open, line: &str) {
    if let Some(Err(problem)) = file.as_mut().map(|file| file.write_all(line.as_bytes())) {
        cannot(name, &problem);
        *file = None;
    }
}

fn cannot(name: &str, problem: &io::Error) {
    error!("the recording {name} cannot be written any more: {problem}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_to_be_written_is_bounded() {
        let (sender, _receiver) = queue();
        let line = |bytes: usize| Message::Line(1, "x".repeat(bytes));
        assert!(sender.send(line(WAITING_BYTES_MAX)));
        assert!(!sender.send(line(1)), "one byte more");
        let (sender, _receiver) = queue();
        assert!((0..WAITING_LINES_MAX).all(|_| sender.send(line(1))));
        assert!(!sender.send(line(1)), "one line more");
    }

    #[test]
    fn lines_are_written_to_their_files_in_order() {
        let directory = tempfile::tempdir().expect("a directory");
        let (sender, thread) = start().expect("a thread");
        for number in [1, 2] {
            let name = directory.path().join(number.to_string());
            let file = File::create(&name).expect("a file");
            assert!(sender.send(Message::Begin(number, file, name.display().to_string())));
        }
        for (number, line) in [(1, "a\n"), (2, "b\n"), (1, "c\n")] {
            assert!(sender.send(Message::Line(number, line.to_owned())));
        }
        sender.send_in_any_case(Message::End(1));
        sender.send_in_any_case(Message::Stop);
        thread.join().expect("it ends");
        let text =
            |name: &str| std::fs::read_to_string(directory.path().join(name)).expect("a file");
        assert_eq!((text("1"), text("2")), ("a\nc\n".to_owned(), "b\n".to_owned()));
    }
}
