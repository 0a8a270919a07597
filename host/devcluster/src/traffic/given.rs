//! Addresses and identifiers, as a network plugin and a container runtime assign them. Each follows from a seed.

use serde_json::Value;

use super::edit::fnv1a;
use super::fleet;
use super::world::World;

/// An address that no other pod of the node has: the node's own, or one from its range of 65,000.
pub(crate) fn address(world: &World, pod: &Value, seed: u64) -> String {
    let host = pod["status"]["hostIP"].as_str().unwrap_or_default();
    if pod["spec"]["hostNetwork"] == true {
        return host.to_owned();
    }
    let node = pod["spec"]["nodeName"].as_str().unwrap_or_default();
    let on_node = world.pods_on(node).filter_map(|key| world.get(key));
    let taken: Vec<&str> = on_node.filter_map(|pod| pod["status"]["podIP"].as_str()).collect();
    let range = fleet::address_range(node);
    let candidates = (0..=u16::MAX).map(|step| {
        let [third, fourth] = (seed as u16).wrapping_add(step).to_be_bytes();
        format!("10.{range}.{third}.{fourth}")
    });
    let mut free = candidates.filter(|address| !taken.contains(&address.as_str()));
    // If there are more pods than addresses, pods share an address.
    free.next().unwrap_or_else(|| format!("10.{range}.0.1"))
}

/// The identifier of an image: its repository and the digest of its content.
pub(crate) fn image_id(image: &str) -> String {
    format!("{}@sha256:{}", repository(image), digest(fnv1a(image.as_bytes())))
}

/// The identifier of a container after this number of restarts.
pub(crate) fn container_id(pod: u64, index: usize, restarts: u64) -> String {
    let seed = pod.wrapping_add(index as u64).wrapping_add(restarts << 8);
    format!("containerd://{}", digest(seed))
}

fn repository(image: &str) -> String {
    let start = image.rfind('/').map_or(0, |slash| slash + 1);
    let end = image[start..].find(':').map_or(image.len(), |colon| start + colon);
    let name = &image[..end];
    if name.contains('/') { name.to_owned() } else { format!("docker.io/library/{name}") }
}

/// 64 hexadecimal digits that follow from a number.
fn digest(seed: u64) -> String {
    let mut random = fastrand::Rng::with_seed(seed);
    (0..4).map(|_| format!("{:016x}", random.u64(..))).collect()
}
