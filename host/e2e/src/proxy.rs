//! The way between a client and a cluster, to be cut and opened at will while others go on talking to the cluster
//! directly. It passes bytes on and knows nothing of TLS or HTTP.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use anyhow::Context;
use kube::config::Kubeconfig;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

/// What is let through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Everything.
    Open,
    /// Nothing: connections end at once.
    Closed,
    /// Nothing, and nobody is told.
    Silent,
}

/// The way as it is. Connections end when it closes, and at each cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Gate {
    way: Way,
    /// Rises with each cut.
    cuts: u64,
}

/// A port that leads to another one. It lives on the runtime that it was started on; dropping it closes both.
pub struct Proxy {
    address: SocketAddr,
    gate: watch::Sender<Gate>,
    task: JoinHandle<()>,
    /// Where the kubeconfigs are.
    dir: tempfile::TempDir,
}

impl Proxy {
    /// Leads to the server that a kubeconfig names.
    pub async fn start(kubeconfig: &Path) -> anyhow::Result<Self> {
        let target = server_address(&read(kubeconfig)?)?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.context("find a port")?;
        let address = listener.local_addr()?;
        let (gate, state) = watch::channel(Gate { way: Way::Open, cuts: 0 });
        let task = tokio::spawn(accept(listener, target, state));
        let dir = tempfile::Builder::new().prefix("informant-e2e-").tempdir()?;
        Ok(Self { address, gate, task, dir })
    }

    /// The same kubeconfig by this way: the same credentials, another port.
    pub fn kubeconfig(&self, direct: &Path) -> anyhow::Result<PathBuf> {
        let mut config = read(direct)?;
        let target = server_address(&config)?;
        let cluster = config.clusters.iter_mut().find_map(|named| named.cluster.as_mut());
        let server = cluster.and_then(|cluster| cluster.server.as_mut()).context("no server")?;
        *server = server.replace(&target.to_string(), &self.address.to_string());
        let path = self.dir.path().join(direct.file_name().context("a file's path")?);
        std::fs::write(&path, serde_json::to_vec(&config)?).context("write the kubeconfig")?;
        Ok(path)
    }

    /// Breaks every connection; new ones are let through.
    pub fn cut(&self) {
        self.gate.send_modify(|gate| gate.cuts += 1);
    }

    /// Breaks every connection, and every new one at once, until [`Proxy::open`].
    pub fn close(&self) {
        self.gate.send_modify(|gate| *gate = Gate { way: Way::Closed, cuts: gate.cuts + 1 });
    }

    /// Connections stay, and so do new ones, but nothing comes through any more until [`Proxy::open`]: what was on its way is lost then,
    /// and its connections are broken.
    pub fn silence(&self) {
        self.gate.send_modify(|gate| gate.way = Way::Silent);
    }

    /// Lets connections through again.
    pub fn open(&self) {
        self.gate.send_modify(|gate| {
            gate.cuts += u64::from(gate.way == Way::Silent);
            gate.way = Way::Open;
        });
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn read(kubeconfig: &Path) -> anyhow::Result<Kubeconfig> {
    Kubeconfig::read_from(kubeconfig).with_context(|| format!("read {}", kubeconfig.display()))
}

fn server_address(config: &Kubeconfig) -> anyhow::Result<SocketAddr> {
    let cluster = config.clusters.iter().find_map(|named| named.cluster.as_ref());
    let server = cluster.and_then(|cluster| cluster.server.as_deref()).context("no server")?;
    let (_, address) = server.split_once("://").context("the server has no scheme")?;
    address.parse().with_context(|| format!("{server} is no loopback address with a port"))
}

/// Owns the port and the connections, which end with it.
async fn accept(listener: TcpListener, target: SocketAddr, gate: watch::Receiver<Gate>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            // Ended connections first, so that they do not pile up under a storm of new ones.
            biased;
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
            accepted = listener.accept() => {
                if let Ok((client, _)) = accepted {
                    connections.spawn(connection(client, target, gate.clone()));
                }
            }
        }
    }
}

async fn connection(mut client: TcpStream, target: SocketAddr, mut gate: watch::Receiver<Gate>) {
    let begun = *gate.borrow_and_update();
    if begun.way == Way::Closed {
        return;
    }
    let through = async {
        let Ok(mut server) = TcpStream::connect(target).await else { return };
        // Without it events wait for the acknowledgement of earlier ones.
        let _ = (client.set_nodelay(true), server.set_nodelay(true));
        // A broken connection is what its ends see; there is nobody to tell here.
        let _ = copy_bidirectional(&mut client, &mut server).await;
    };
    tokio::pin!(through);
    loop {
        let Gate { way, cuts } = *gate.borrow_and_update();
        if way == Way::Closed || cuts != begun.cuts {
            return;
        }
        tokio::select! {
            // A cut counts even where bytes are waiting.
            biased;
            changed = gate.changed() => if changed.is_err() { return },
            () = &mut through, if way == Way::Open => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    /// Sends back what it is sent.
    async fn echo() -> SocketAddr {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let (mut read, mut write) = stream.split();
                    let _ = tokio::io::copy(&mut read, &mut write).await;
                });
            }
        });
        address
    }

    /// A proxy before an echo, and a stream to it that has been through.
    async fn through() -> (Proxy, TcpStream) {
        let target = echo().await;
        let dir = tempfile::tempdir().unwrap();
        let direct = dir.path().join("kubeconfig");
        let text = format!(
            r#"{{"clusters": [{{"name": "x", "cluster": {{"server": "https://{target}"}}}}]}}"#
        );
        std::fs::write(&direct, text).unwrap();
        let proxy = Proxy::start(&direct).await.unwrap();
        let changed = read(&proxy.kubeconfig(&direct).unwrap()).unwrap();
        assert_eq!(server_address(&changed).unwrap(), proxy.address);
        let stream = connect(&proxy).await.expect("it is open");
        (proxy, stream)
    }

    /// None where nothing comes back.
    async fn connect(proxy: &Proxy) -> Option<TcpStream> {
        let mut stream = TcpStream::connect(proxy.address).await.ok()?;
        stream.write_all(b"x").await.ok()?;
        stream.read_u8().await.ok()?;
        Some(stream)
    }

    #[tokio::test]
    async fn cut_ends_what_is_open_and_lets_new_ones_through() {
        let (proxy, mut stream) = through().await;
        proxy.cut();
        assert!(stream.read_u8().await.is_err(), "it was cut");
        assert!(connect(&proxy).await.is_some());
    }

    #[tokio::test]
    async fn closed_way_lets_nothing_through_until_it_is_opened() {
        let (proxy, mut stream) = through().await;
        proxy.close();
        assert!(stream.read_u8().await.is_err(), "it was cut");
        assert!(connect(&proxy).await.is_none());
        proxy.open();
        assert!(connect(&proxy).await.is_some());
    }

    #[tokio::test]
    async fn silent_way_keeps_connections_and_loses_what_was_on_its_way() {
        let (proxy, mut stream) = through().await;
        proxy.silence();
        stream.write_all(b"y").await.unwrap();
        let mut other = TcpStream::connect(proxy.address).await.unwrap();
        other.write_all(b"z").await.unwrap();
        let hears = tokio::time::timeout(Duration::from_millis(50), stream.read_u8()).await;
        assert!(hears.is_err(), "nobody answers and nobody hangs up: {hears:?}");
        proxy.open();
        assert!(stream.read_u8().await.is_err(), "it was cut");
        assert!(other.read_u8().await.is_err(), "it was cut");
        assert!(connect(&proxy).await.is_some());
    }
}
