// Facts about the host and this instance.

import { AREA, mark, release } from "./abi/memory";
import { text } from "./abi/read";

@external("informant:plugin/host-info@0.1.0", "is-leader")
declare function hostIsLeader(): u32;
@external("informant:plugin/host-info@0.1.0", "plugin-name")
declare function hostPluginName(into: usize): void;
@external("informant:plugin/host-info@0.1.0", "shard")
declare function hostShard(into: usize): void;
@external("informant:plugin/host-info@0.1.0", "host-version")
declare function hostHostVersion(into: usize): void;

/** The number of this instance among the plugin's instances. */
export class Shard {
  constructor(
    /** From 0. */
    public readonly number: u32,
    /** The number of instances. */
    public readonly count: u32,
  ) {}
}

/** Facts about the host and this instance. */
export namespace hostInfo {
  /** Whether this host leads. */
  export function isLeader(): bool {
    return hostIsLeader() != 0;
  }
  /** The plugin file's name without `.wasm`. */
  export function pluginName(): string {
    const before = mark();
    hostPluginName(AREA);
    const name = text(AREA);
    release(before);
    return name;
  }
  /** This instance's number, and the number of instances. */
  export function shard(): Shard {
    hostShard(AREA);
    return new Shard(load<u32>(AREA), load<u32>(AREA, 4));
  }
  /** The version of the host's program. */
  export function hostVersion(): string {
    const before = mark();
    hostHostVersion(AREA);
    const version = text(AREA);
    release(before);
    return version;
  }
}
