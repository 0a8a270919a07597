//! The content of each file over time, and the ends of recordings.

use super::super::queue::Sender;
use super::*;
use jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::{Map, json};

/// A file in memory on a disk with so much room.
#[derive(Clone)]
struct File(Arc<Mutex<(Vec<u8>, usize)>>);

impl Write for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut file = self.0.lock();
        let taken = bytes.len().min(file.1 - file.0.len());
        file.0.extend_from_slice(&bytes[..taken]);
        if taken == 0 { Err(io::ErrorKind::StorageFull.into()) } else { Ok(taken) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl File {
    fn new(room: usize) -> Self {
        Self(Arc::new(Mutex::new((Vec::new(), room))))
    }

    fn text(&self) -> String {
        String::from_utf8(self.0.lock().0.clone()).expect("it is text")
    }

    /// The lines after the first: the result of a call, or the reason of the end.
    fn lines(&self) -> Vec<String> {
        let text = self.text();
        let lines =
            text.lines().skip(1).map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        let shown =
            |line: Value| line["answer"].as_str().or(line["why"].as_str()).map(str::to_owned);
        lines.filter_map(shown).collect()
    }
}

const ROOM: usize = 1 << 20;

fn recorded(number: u64) -> Arc<Recorded> {
    Arc::new(Recorded::new(number, "p".parse().expect("a name"), format!("{number}.rec").into()))
}

fn head() -> RecordingHead {
    RecordingHead::new("p", "1", [0, 1], Timestamp::UNIX_EPOCH, Vec::new())
}

fn head_bytes() -> usize {
    value(&head()).to_string().len() + 1
}

fn asked(function: &str, with: Value, answer: &str) -> PendingLine {
    PendingLine::Asked(RecordedHostCall {
        function: function.to_owned(),
        with,
        answer: answer.into(),
    })
}

fn text(answer: &str) -> PendingLine {
    asked("state.get", json!({}), answer)
}

fn text_bytes(answer: &str) -> usize {
    let line = RecordingLine::Asked(RecordedHostCall {
        function: "state.get".into(),
        with: json!({}),
        answer: answer.into(),
    });
    value(&line).to_string().len() + 1
}

/// A writer with one recording, and its file.
fn one(room: usize, bytes_max: u64, now: Instant) -> (RecordingWriter, Arc<Recorded>, File) {
    let (mut writer, of, file) = (RecordingWriter::default(), recorded(1), File::new(room));
    writer.begin(of.clone(), Box::new(file.clone()), bytes_max, &head(), now);
    (writer, of, file)
}

#[test]
fn a_recording_ends_before_it_has_too_many_bytes_and_says_so() {
    let room_for_two = (head_bytes() + 2 * text_bytes("a")) as u64 + LAST_LINE_BYTES;
    for (bytes_max, is_over, expect) in [
        (room_for_two, false, vec!["a", "a"]),
        (room_for_two - 1, true, vec!["a", "it has as many bytes as it may have"]),
    ] {
        let now = Instant::now();
        let (mut writer, of, file) = one(ROOM, bytes_max, now);
        (0..2).for_each(|_| writer.write(&of, text("a"), now));
        assert_eq!(of.is_over(), is_over, "its tape knows");
        writer.flush_all();
        assert_eq!(file.lines(), expect);
        assert!(file.text().len() as u64 <= bytes_max);
    }
}

/// Checks how many of four lines of 3,000 bytes are complete in the file, on a disk with this room.
#[track_caller]
fn check_full(room: usize, whole: usize) {
    let now = Instant::now();
    let (mut writer, of, file) = one(room, 1 << 20, now);
    let other = (recorded(2), File::new(ROOM));
    writer.begin(other.0.clone(), Box::new(other.1.clone()), 1 << 20, &head(), now);
    let long = "x".repeat(3_000);
    for of in [&of, &other.0] {
        (0..4).for_each(|_| writer.write(of, text(&long), now));
    }
    writer.flush_due(now + FLUSH_AFTER);
    assert!(of.is_over(), "its tape knows");
    assert!(!writer.open.contains_key(&1), "it is written no more, so it is said once");
    let text = file.text();
    assert_eq!(text.len(), room, "what was left is not written at the end");
    assert_eq!(text.matches("\n").count(), whole + 1);
    assert!(!other.0.is_over() && other.1.lines().len() == 4, "those beside it go on");
}

#[test]
fn a_full_disk_ends_the_recording_that_is_on_it() {
    check_full(head_bytes() + 2 * text_bytes(&"x".repeat(3_000)), 2);
    check_full(head_bytes() + 2 * text_bytes(&"x".repeat(3_000)) + 100, 2);
    check_full(head_bytes() + 4 * text_bytes(&"x".repeat(3_000)) - 1, 3);
}

#[test]
fn an_end_that_cannot_be_written_is_no_end_like_others() {
    let now = Instant::now();
    let (mut writer, of, file) = one(head_bytes(), 1 << 20, now);
    writer.end(&of, EndReason::Stopped);
    assert!(of.is_over());
    assert_eq!(file.text().len(), head_bytes());
}

#[test]
fn a_line_waits_a_second_for_others_and_no_longer() {
    let begin = Instant::now();
    let at = |milliseconds| begin + Duration::from_millis(milliseconds);
    let (mut writer, of, file) = one(ROOM, 1 << 20, at(0));
    assert_eq!(writer.next_flush, Some(at(1_000)));
    writer.flush_due(at(1_000));
    assert_eq!((file.text().lines().count(), writer.next_flush), (1, None));
    writer.write(&of, text("a"), at(5_000));
    writer.write(&of, text("b"), at(5_900));
    writer.flush_due(at(5_999));
    assert_eq!(file.lines(), [""; 0]);
    writer.flush_due(at(6_000));
    assert_eq!((file.lines(), writer.next_flush), (vec!["a".to_owned(), "b".to_owned()], None));
    writer.write(&of, text("c"), at(6_100));
    assert_eq!(writer.next_flush, Some(at(7_100)), "it waits for its own second");
    writer.end(&of, EndReason::Stopped);
    assert_eq!(file.lines(), ["a", "b", "c", "the plugin was stopped"]);
    writer.write(&of, text("d"), at(7_100));
    writer.flush_due(at(9_000));
    assert_eq!(file.lines().len(), 4, "what comes after the end is not written");
}

/// Runs the thread with two recordings of one plugin.
fn threads(tell: impl FnOnce(&Sender, &Arc<Recorded>, &Arc<Recorded>)) -> [File; 2] {
    let (sender, thread) = start().expect("a thread");
    let [first, second] = [1, 2].map(recorded);
    let files = [ROOM; 2].map(File::new);
    for (of, file) in [&first, &second].into_iter().zip(&files) {
        let (of, file) = (of.clone(), Box::new(file.clone()));
        let begin = Message::Begin { of, file, bytes_max: 1 << 20, head: head() };
        assert_eq!(sender.send(begin), Ok(()));
    }
    tell(&sender, &first, &second);
    for of in [first, second] {
        assert_eq!(sender.send(Message::End(of, EndReason::Stopped)), Ok(()));
    }
    assert_eq!(sender.send(Message::Stop), Ok(()));
    thread.join().expect("it ends");
    files
}

#[test]
fn lines_are_written_to_their_files_in_order() {
    let files = threads(|sender, first, second| {
        for (of, answer) in [(first, "a"), (second, "b"), (first, "c")] {
            assert_eq!(sender.tell(of, text(answer)), Ok(()));
        }
    });
    let [first, second] = files.map(|file| file.lines());
    assert_eq!(first, ["a", "c", "the plugin was stopped"]);
    assert_eq!(second, ["b", "the plugin was stopped"]);
}

/// A value that one shard has seen is hidden in the other's recording from the next line on.
#[test]
fn what_was_shown_before_is_hidden_in_all_recordings_of_the_plugin() {
    let secret = json!({ "kind": "Secret", "metadata": {}, "data": { "a": "aHVudGVyLTQy" } });
    let files = threads(|sender, first, second| {
        assert_eq!(sender.tell(second, text("hunter-42")), Ok(()));
        let shown = json!({ "ok": secret.to_string() });
        let get = RecordedHostCall {
            function: "indexer.get".into(),
            with: json!({ "resource": "v1/secrets" }),
            answer: shown,
        };
        assert_eq!(sender.tell(first, PendingLine::Asked(get)), Ok(()));
        for of in [second, first] {
            assert_eq!(sender.tell(of, text("it is hunter-42")), Ok(()));
        }
    });
    let [first, second] = files;
    assert!(!first.text().contains("hunter"), "{}", first.text());
    let expect = ["hunter-42", "it is REDACTED", "the plugin was stopped"];
    assert_eq!(second.lines(), expect, "nobody knew when the first was written");
}

#[test]
fn nothing_of_a_plugin_is_written_once_it_was_shown_too_much() {
    let now = Instant::now();
    let (mut writer, first, file) = one(ROOM, 1 << 20, now);
    let (second, other) = (recorded(2), File::new(ROOM));
    writer.begin(second.clone(), Box::new(other.clone()), 1 << 20, &head(), now);
    let secret = |numbers: std::ops::Range<usize>| {
        let data = numbers.map(|it| (it.to_string(), format!("secret-{it}").into()));
        let secret =
            json!({ "kind": "Secret", "metadata": {}, "stringData": Map::from_iter(data) });
        let answer = json!({ "ok": secret.to_string() });
        let with = json!({ "resource": "v1/secrets" });
        PendingLine::Asked(RecordedHostCall { function: "indexer.get".into(), with, answer })
    };
    writer.write(&first, secret(0..10_000), now);
    writer.write(&first, secret(10_000..10_001), now);
    writer.write(&second, text("xxx"), now);
    let why = "the plugin was shown more Secrets than a recording keeps out";
    assert_eq!(file.lines(), [why], "its last line");
    assert_eq!(other.lines(), [why], "nor by another shard");
}
