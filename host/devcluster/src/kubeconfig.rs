//! The file with which kubectl and all other clients find the embedded cluster.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use serde_json::json;

const NAME: &str = "informant-devcluster";

/// The text of the file: JSON, which is also YAML.
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

/// Writes the file in one step, so that no reader sees half of it. Only this user may read it, because the file gives
/// all rights in the cluster. A link at its place that another user has made is not followed.
pub fn write(path: &Path, address: SocketAddr) -> io::Result<()> {
    let mut aside = path.as_os_str().to_owned();
    aside.push(format!(".{}.tmp", std::process::id()));
    let aside = Path::new(&aside);
    let mut file = create(aside)?;
    file.write_all(text(address).as_bytes())?;
    file.sync_all()?;
    std::fs::rename(aside, path)
}

fn create(path: &Path) -> io::Result<File> {
    let create = || OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    match create() {
        // An earlier process with the same number has left the file.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            std::fs::remove_file(path)?;
            create()
        }
        created => created,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    #[test]
    fn a_kubeconfig_is_its_users_alone_and_follows_no_links() {
        let directory = tempfile::tempdir().expect("a directory");
        let at = |name: &str| directory.path().join(name);
        let (path, others) = (at("config"), at("others"));
        std::fs::write(&others, "others'").expect("a file");
        symlink(&others, &path).expect("a link");
        symlink(&others, at(&format!("config.{}.tmp", std::process::id()))).expect("a link");
        let address = "127.0.0.1:1".parse().expect("an address");
        write(&path, address).expect("it can be written");
        assert_eq!(std::fs::read_to_string(&others).expect("a file"), "others'");
        assert_eq!(std::fs::read_to_string(&path).expect("a file"), text(address));
        let metadata = std::fs::symlink_metadata(&path).expect("it is there");
        assert_eq!((metadata.is_file(), metadata.permissions().mode() & 0o777), (true, 0o600));
    }
}
