//! Throws requests at both of the host's ports, from several addresses of loopback.

use super::ground::Ground;
use super::input::{AttackKind, Input};
use super::requests::{self, Attempt, Manner};
use crate::host::Host;
use socket2::{Domain, Socket, Type};
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Callers at once.
const CALLERS: usize = 6;
/// Connections that each of them holds without reading.
const HELD_MAX: usize = 40;
/// How long one of those is held.
const HELD_FOR: Duration = Duration::from_secs(8);
/// What is waited for an answer: an informer's first list takes 10 s at most.
const ANSWER_MAX: Duration = Duration::from_secs(12);
/// Pieces of a slow request.
const PIECES: usize = 8;
/// Of an answer this much is read.
const ANSWER_BYTES_MAX: u64 = 4 << 20;

/// The threads that call, where requests are wanted.
pub(super) fn start(ground: &Arc<Ground>, host: &Host) -> Vec<JoinHandle<()>> {
    if !ground.options.kinds.contains(&AttackKind::Requests) {
        return Vec::new();
    }
    let addresses: Vec<SocketAddr> =
        [Some(host.address()), host.metrics_address()].into_iter().flatten().collect();
    let call = |_| {
        let (ground, addresses) = (ground.clone(), addresses.clone());
        std::thread::spawn(move || {
            let mut held = VecDeque::new();
            while let Some(input) = ground.next(AttackKind::Requests) {
                throw(input, &addresses, &ground, &mut held);
            }
        })
    };
    (0..CALLERS).map(call).collect()
}

/// Statuses as they are counted.
const NAMES: [(&str, &str); 11] = [
    ("200", "ok"),
    ("400", "bad request"),
    ("403", "forbidden"),
    ("404", "not found"),
    ("405", "method not allowed"),
    ("414", "target too long"),
    ("431", "head too large"),
    ("502", "bad gateway"),
    ("503", "no place"),
    ("504", "gateway timeout"),
    ("505", "version not supported"),
];

/// Connections with the time at which they may go.
type HeldConnections = VecDeque<(Instant, TcpStream)>;

fn throw(input: Input, addresses: &[SocketAddr], ground: &Ground, held: &mut HeldConnections) {
    let attempt = requests::attempt(&mut input.rng(ground.options.seed));
    ground.begin(input, &attempt.bytes);
    let address = addresses[input.number as usize % addresses.len()];
    let outcome = match carry_out(&attempt, address, ground, held) {
        Ok(outcome) => outcome,
        Err(error) => format!("{:?}", error.kind()),
    };
    ground.end(input, &format!("{:?}: {outcome}", attempt.manner));
    while held.front().is_some_and(|(until, _)| held.len() > HELD_MAX || *until < Instant::now()) {
        held.pop_front();
    }
}

fn carry_out(
    attempt: &Attempt,
    address: SocketAddr,
    ground: &Ground,
    held: &mut HeldConnections,
) -> io::Result<String> {
    let Attempt { manner, bytes, pause, times, peer } = attempt;
    let connect = || connect(*peer, address, *manner == Manner::NeverReads);
    if *manner == Manner::Crowds {
        let mut crowd: Vec<TcpStream> = (0..*times).map_while(|_| connect().ok()).collect();
        for stream in &mut crowd {
            // One that was sent away has been there.
            let _ = stream.write_all(bytes);
        }
        ground.pause(*pause);
        return Ok(format!("{} connections", crowd.len().next_power_of_two()));
    }
    let mut stream = connect()?;
    match manner {
        Manner::Slow => {
            for piece in bytes.chunks(bytes.len().div_ceil(PIECES).max(1)) {
                stream.write_all(piece)?;
                ground.pause(*pause / PIECES as u32);
            }
        }
        Manner::Pipelines => {
            let mut reader = stream.try_clone()?;
            let read = std::thread::spawn(move || status(&mut reader));
            let sent = (0..*times).map_while(|_| stream.write_all(bytes).ok()).count();
            stream.shutdown(Shutdown::Write)?;
            let status = read.join().unwrap_or_else(|_| Ok("a panic".to_owned()))?;
            return Ok(format!("{status}, {} sent", sent.next_power_of_two()));
        }
        Manner::HalfCloses => {
            stream.write_all(bytes)?;
            stream.shutdown(Shutdown::Write)?;
        }
        Manner::NeverReads => {
            stream.set_write_timeout(Some(Duration::from_millis(300)))?;
            let sent = (0..*times).map_while(|_| stream.write_all(bytes).ok()).count();
            held.push_back((Instant::now() + HELD_FOR, stream));
            return Ok(format!("{} sent", sent.next_power_of_two()));
        }
        _ => stream.write_all(bytes)?,
    }
    match manner {
        Manner::Leaves => Ok("left".to_owned()),
        _ => status(&mut stream),
    }
}

fn connect(peer: u8, address: SocketAddr, is_small: bool) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.bind(&SocketAddr::from(([127, 0, 0, peer], 0)).into())?;
    if is_small {
        socket.set_recv_buffer_size(4 << 10)?;
    }
    socket.connect_timeout(&address.into(), ANSWER_MAX)?;
    let stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(ANSWER_MAX))?;
    stream.set_write_timeout(Some(ANSWER_MAX))?;
    Ok(stream)
}

/// The first status that is answered; what follows is read and forgotten.
fn status(stream: &mut TcpStream) -> io::Result<String> {
    let mut head = [0; 12];
    let mut length = 0;
    while length < head.len() {
        match stream.read(&mut head[length..])? {
            0 => return Ok("closed without an answer".to_owned()),
            more => length += more,
        }
    }
    // Connections that are kept alive are not waited for.
    stream.set_read_timeout(Some(Duration::from_millis(50)))?;
    let _ = io::copy(&mut stream.take(ANSWER_BYTES_MAX), &mut io::sink());
    let status = String::from_utf8_lossy(&head[9..]).into_owned();
    let named = NAMES.iter().find(|(number, _)| *number == status);
    Ok(named.map_or_else(|| format!("{head:?}"), |(_, name)| (*name).to_owned()))
}
