//! The faults of an answer's bytes on their way: they are cut, delayed or repeated, with invalid lines between them.
//! They always come in other chunks than the server sent.
//!
//! Only a cut removes bytes of the server, except for the end bookmark of a watch-list: a client could not notice a
//! lost event. Events of one watch keep their order, as the API promises.

use super::{OpenList, Server};
use crate::faults::Fault;
use crate::signal::SignalListener;
use bytes::Bytes;
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use http_body::{Body, Frame};
use http_body_util::{BodyExt, StreamBody};
use informant_apimachinery::Status;
use informant_apimachinery::watch::{INITIAL_EVENTS_END, WatchEventType, encode_event};
use std::collections::VecDeque;
use std::io;
use std::time::Duration;

/// A body in the form that kube's client accepts.
pub(super) type WireBody = StreamBody<BoxStream<'static, Result<Frame<Bytes>, io::Error>>>;

/// The server, and the random faults on the way to the client.
pub(super) struct Way {
    pub(super) server: Server,
    pub(super) random: fastrand::Rng,
    /// Set for a list, until its last byte is read or the client drops it.
    pub(super) list: Option<OpenList>,
}

/// The next piece on the wire.
enum Piece {
    Bytes(Bytes),
    Pause(Duration),
    /// Half-open: no more bytes come, and no error.
    Silence,
    Break,
    End,
}

/// The pieces of a body, with their faults.
struct Flow {
    pieces: VecDeque<Piece>,
    /// The source of further pieces. `None` for a list, which is complete.
    source: Option<Source>,
    server: Server,
    random: fastrand::Rng,
    cut: SignalListener,
    over: bool,
    _list: Option<OpenList>,
}

struct Source {
    chunks: BoxStream<'static, Bytes>,
    /// Whether this is a watch-list whose end bookmark has not come.
    initial: bool,
}

/// A body without faults.
pub(super) fn whole<B>(body: B) -> WireBody
where
    B: Body<Data = Bytes> + Send + 'static,
{
    StreamBody::new(chunks(body).map(|bytes| Ok(Frame::data(bytes))).boxed())
}

fn chunks<B>(body: B) -> BoxStream<'static, Bytes>
where
    B: Body<Data = Bytes> + Send + 'static,
{
    body.into_data_stream().filter_map(|chunk| std::future::ready(chunk.ok())).boxed()
}

pub(super) fn watch<B>(body: B, way: Way, initial: bool) -> WireBody
where
    B: Body<Data = Bytes> + Send + 'static,
{
    let source = Some(Source { chunks: chunks(body), initial });
    flow(VecDeque::new(), source, way)
}

pub(super) async fn list<B>(body: B, mut way: Way) -> WireBody
where
    B: Body<Data = Bytes> + Send + 'static,
{
    let body: Vec<Bytes> = chunks(body).collect().await;
    let pieces = list_pieces(body.concat(), &mut way);
    flow(pieces, None, way)
}

fn flow(pieces: VecDeque<Piece>, source: Option<Source>, way: Way) -> WireBody {
    let Way { server, random, list } = way;
    let cut = server.shared.cut.listen();
    let flow = Flow { pieces, source, server, random, cut, over: false, _list: list };
    StreamBody::new(
        stream::unfold(flow, |mut flow| async { Some((flow.next().await?, flow)) }).boxed(),
    )
}

fn list_pieces(body: Vec<u8>, way: &mut Way) -> VecDeque<Piece> {
    let Way { server, random, .. } = way;
    let rate = server.state().temper.line_fault;
    let faults = &server.shared.faults;
    let mut body = body;
    if random.f64() < rate {
        faults.meet(Fault::Malformed);
        insert_item(&mut body, br#"{"metadata":{"uid":"nameless"}}"#);
    }
    let mut pieces = VecDeque::new();
    let mut rest = Bytes::from(body);
    let cut = (random.f64() < rate).then(|| random.usize(..=rest.len().saturating_sub(1)));
    if let Some(cut) = cut {
        faults.meet(Fault::CutWithinList);
        rest.truncate(cut);
    }
    while !rest.is_empty() {
        let chunk = rest.split_to(random.usize(1..=rest.len()));
        pieces.push_back(Piece::Bytes(chunk));
        if random.f64() < rate {
            faults.meet(Fault::Slow);
            pieces.push_back(Piece::Pause(Duration::from_millis(random.u64(10..70_000))));
        }
    }
    match cut {
        Some(_) if random.bool() => pieces.push_back(Piece::Break),
        Some(_) if random.u32(..4) == 0 => {
            faults.meet(Fault::Stall);
            pieces.push_back(Piece::Silence);
        }
        _ => pieces.push_back(Piece::End),
    }
    pieces
}

/// Inserts an item before the other items.
fn insert_item(list: &mut Vec<u8>, item: &[u8]) {
    let items = br#""items":["#;
    let Some(at) = list.windows(items.len()).position(|window| window == items) else { return };
    let at = at + items.len();
    let comma: &[u8] = if list.get(at) == Some(&b']') { b"" } else { b"," };
    list.splice(at..at, [item, comma].concat());
}

impl Flow {
    async fn next(&mut self) -> Option<Result<Frame<Bytes>, io::Error>> {
        loop {
            if self.over {
                return None;
            }
            match self.pieces.pop_front() {
                Some(Piece::Bytes(bytes)) => return Some(Ok(Frame::data(bytes))),
                Some(Piece::Pause(time)) => {
                    // A cut takes effect even if no more bytes would come.
                    tokio::select! {
                        biased;
                        () = self.cut.sent() => self.cut_now(),
                        () = tokio::time::sleep(time) => {}
                    }
                }
                Some(Piece::Silence) => std::future::pending().await,
                Some(Piece::Break) => {
                    self.over = true;
                    return Some(Err(io::Error::from(io::ErrorKind::ConnectionReset)));
                }
                Some(Piece::End) => return None,
                None => self.more().await,
            }
        }
    }

    /// Gets the next pieces.
    async fn more(&mut self) {
        let Some(source) = &mut self.source else {
            self.over = true;
            return;
        };
        // A cut takes effect before the bytes that would still come.
        let chunk = tokio::select! {
            biased;
            () = self.cut.sent() => None,
            chunk = source.chunks.next() => Some(chunk),
        };
        match chunk {
            None => self.cut_now(),
            Some(None) => self.over = true,
            Some(Some(chunk)) => self.send(&chunk),
        }
    }

    /// Breaks the connection. Bytes on their way are lost.
    fn cut_now(&mut self) {
        self.cut.notice();
        self.pieces.clear();
        let fault = if self.source.as_ref().is_some_and(|source| source.initial) {
            Fault::CutWithinInitialEvents
        } else if self.source.is_none() {
            Fault::CutWithinList
        } else {
            Fault::CutCleanly
        };
        let breaks = self.random.bool();
        let fault = if breaks && fault == Fault::CutCleanly { Fault::CutWithError } else { fault };
        self.server.shared.faults.meet(fault);
        self.pieces.push_back(if breaks { Piece::Break } else { Piece::End });
    }

    /// Sends lines of a watch.
    fn send(&mut self, chunk: &Bytes) {
        let rate = self.server.state().temper.line_fault;
        let mut lines: Vec<Bytes> = chunk
            .split_inclusive(|byte| *byte == b'\n')
            .map(|line| chunk.slice_ref(line))
            .collect();
        let initial = self.source.as_ref().is_some_and(|source| source.initial);
        if initial && lines.len() > 2 && self.random.f64() < rate.max(0.1) {
            let added =
                lines.iter().take_while(|line| line.starts_with(br#"{"type":"ADDED""#)).count();
            self.random.shuffle(&mut lines[..added]);
            self.server.shared.faults.meet(Fault::Reordered);
        }
        if initial && self.random.f64() < rate {
            self.insert_false_end(&mut lines);
        }
        for line in lines {
            let is_end = is_end(&line);
            let failed = self.random.f64() < if is_end { rate * 2.0 } else { rate };
            let goes_on = match (failed, is_end) {
                (false, _) => self.send_line(&line),
                (true, true) => self.spoil_end(&line),
                (true, false) => self.spoil(&line),
            };
            if let Some(source) = &mut self.source {
                source.initial &= !is_end;
            }
            if !goes_on {
                return;
            }
        }
    }

    /// Inserts a bookmark into the initial events whose annotation says that they go on.
    fn insert_false_end(&mut self, lines: &mut Vec<Bytes>) {
        let Some(end) = lines.iter().find(|line| is_end(line)) else { return };
        let line = with_false_end(end);
        lines.insert(self.random.usize(..lines.len()), line);
        self.meet(Fault::FalseEndBookmark);
    }

    /// Sends the unchanged line, in one chunk or two.
    fn send_line(&mut self, line: &Bytes) -> bool {
        if self.random.u32(..8) == 0 {
            let (one, two) = line.split_at(self.random.usize(..line.len()));
            self.pieces.extend([one, two].map(|part| Piece::Bytes(line.slice_ref(part))));
        } else {
            self.pieces.push_back(Piece::Bytes(line.clone()));
        }
        true
    }

    fn spoil_end(&mut self, line: &Bytes) -> bool {
        if self.random.bool() {
            self.meet(Fault::NoEndBookmark);
        } else {
            self.meet(Fault::FalseEndBookmark);
            self.pieces.push_back(Piece::Bytes(with_false_end(line)));
        }
        true
    }

    /// Adds a fault at this line. Returns whether the watch goes on.
    fn spoil(&mut self, line: &Bytes) -> bool {
        match self.random.u32(..12) {
            0 | 1 => {
                self.meet(Fault::Duplicate);
                self.send_line(line) && self.send_line(line)
            }
            2 => {
                self.meet(Fault::Garbage);
                const GARBAGE: [&str; 3] = [
                    "no json\n",
                    "{\"type\":\"ADDED\",\"obj\n",
                    "{\"type\":\"PATCHED\",\"object\":{}}\n",
                ];
                let garbage = GARBAGE[self.random.usize(..GARBAGE.len())];
                self.pieces.push_back(Piece::Bytes(Bytes::from_static(garbage.as_bytes())));
                self.send_line(line)
            }
            3 => {
                self.meet(Fault::Malformed);
                let nameless = "{\"type\":\"MODIFIED\",\"object\":{\"kind\":\"A\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"99999999\"}}}\n";
                self.pieces.push_back(Piece::Bytes(Bytes::from_static(nameless.as_bytes())));
                self.send_line(line)
            }
            4 => self.end_with(line, Fault::CutCleanly, Piece::End),
            5 => {
                let half = line.slice(..self.random.usize(..line.len()));
                self.end_with(&half, Fault::CutWithError, Piece::Break)
            }
            6 => self.error(Fault::ExpiredInStream, &Status::too_old_resource_version(1, 2)),
            7 => self.error(Fault::InternalErrorInStream, &Status::internal_error("etcd")),
            8 => {
                let status = Status::too_many_requests("slow down", self.random.u32(1..5));
                self.error(Fault::TooManyRequestsInStream, &status)
            }
            9 => {
                self.meet(Fault::Stall);
                let seconds = self.random.u64(10..400);
                let forever = self.random.bool();
                let pause = Piece::Pause(Duration::from_secs(seconds));
                self.pieces.push_back(if forever { Piece::Silence } else { pause });
                self.send_line(line)
            }
            _ => {
                self.meet(Fault::Slow);
                let time = Duration::from_millis(self.random.u64(10..5000));
                self.pieces.push_back(Piece::Pause(time));
                self.send_line(line)
            }
        }
    }

    fn end_with(&mut self, bytes: &Bytes, fault: Fault, piece: Piece) -> bool {
        let initial = self.source.as_ref().is_some_and(|source| source.initial);
        self.meet(if initial { Fault::CutWithinInitialEvents } else { fault });
        self.pieces.push_back(Piece::Bytes(bytes.clone()));
        self.pieces.push_back(piece);
        false
    }

    fn error(&mut self, fault: Fault, status: &Status) -> bool {
        self.meet(fault);
        let line = encode_event(WatchEventType::Error, &status.to_json());
        self.pieces.extend([Piece::Bytes(line), Piece::End]);
        false
    }

    fn meet(&self, fault: Fault) {
        self.server.shared.faults.meet(fault);
    }
}

/// Whether this is the bookmark that ends the initial events.
fn is_end(line: &[u8]) -> bool {
    let text = format!("\"{INITIAL_EVENTS_END}\":\"true\"");
    line.windows(text.len()).any(|window| window == text.as_bytes())
}

fn with_false_end(line: &[u8]) -> Bytes {
    let text = String::from_utf8_lossy(line);
    let yes = format!("\"{INITIAL_EVENTS_END}\":\"true\"");
    let no = format!("\"{INITIAL_EVENTS_END}\":\"false\"");
    text.replace(&yes, &no).into()
}
