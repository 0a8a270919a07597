//! The file that lets kubectl and every other client find the embedded cluster.

use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::Path;

use serde_json::json;

const NAME: &str = "informant-devcluster";

/// The text: JSON, which is YAML.
pub fn text(address: SocketAddr) -> String {
    let document = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": NAME,
        "clusters": [{"name": NAME, "cluster": {"server": format!("http://{address}")}}],
        "users": [{"name": NAME, "user": {}}],
        "contexts": [{"name": NAME, "context": {"cluster": NAME, "user": NAME, "namespace": "default"}}],
    });
    format!("{document:#}\n")
}

/// Writes the file in one step, so that nobody reads half of it.
pub fn write(path: &Path, address: SocketAddr) -> io::Result<()> {
    let mut aside = path.as_os_str().to_owned();
    aside.push(format!(".{}.tmp", std::process::id()));
    let aside = Path::new(&aside);
    let mut file = std::fs::File::create(aside)?;
    file.write_all(text(address).as_bytes())?;
    file.sync_all()?;
    std::fs::rename(aside, path)
}
