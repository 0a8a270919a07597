// A change of one object, for one subscription.

import { optionalText, text } from "./abi/read";
import { Json } from "./json/json";

/** The kinds of changes. */
export namespace Change {
  export const Added: string = "added";
  export const Updated: string = "updated";
  export const Deleted: string = "deleted";
}

/** The reasons for an event. */
export namespace Reason {
  /** The object existed before the plugin subscribed. */
  export const Initial: string = "initial";
  /** The API server reported the change. */
  export const Watch: string = "watch";
  /** A relist found a difference that the watch had missed. */
  export const Relist: string = "relist";
  /** The subscription's period has passed; the object has not changed. */
  export const Resync: string = "resync";
  /** A new version of the plugin asked for its objects again. */
  export const Reload: string = "reload";
  /** A person sent a dead letter again. */
  export const Redrive: string = "redrive";
}

/** The kinds of deletions. */
export namespace Gone {
  export const Deleted: string = "deleted";
  /** The object exists, but no longer matches the subscription. */
  export const LeftView: string = "left-view";
  /** One of the two. */
  export const Unknown: string = "unknown";
}

const CHANGES: StaticArray<string> = [Change.Added, Change.Updated, Change.Deleted];
const REASONS: StaticArray<string> = [Reason.Initial, Reason.Watch, Reason.Relist, Reason.Resync, Reason.Reload, Reason.Redrive];
const GONE: StaticArray<string> = [Gone.Deleted, Gone.LeftView, Gone.Unknown];

/** An object's namespace and name. The namespace is empty if the object has none. */
export class Key {
  constructor(
    public readonly namespace: string,
    public readonly name: string,
  ) {}

  /** Parses `namespace/name`, or the name alone: a key of the queue that the host made from an object. */
  static of(text: string): Key {
    const slash = text.indexOf("/");
    return slash < 0 ? new Key("", text) : new Key(text.substring(0, slash), text.substring(slash + 1));
  }

  /** namespace/name, or the name alone. */
  toString(): string {
    return this.namespace == "" ? this.name : this.namespace + "/" + this.name;
  }
}

// The objects of an event are in the host's blocks, which are freed at the end of the call. The next event may have
// the same address, so events have numbers.
let inHand: u64 = 0;
let last: u64 = 0;

/** Ends the present event: its objects can no longer be read. */
export function endEvent(): void {
  inHand = 0;
}

/** A change of one object. Its objects can be read until handle returns. */
export class Event {
  /** Rises with every event. A retry keeps its number. */
  readonly seq: u64;
  /** The index in the descriptor's subscriptions. */
  readonly subscription: u32;
  /** Change.Added, Change.Updated or Change.Deleted. */
  readonly change: string;
  /** Reason.Watch or another Reason. */
  readonly reason: string;
  readonly key: Key;
  readonly uid: string;
  readonly resourceVersion: string;
  /** Gone.Deleted or another Gone; empty if the object exists. */
  readonly gone: string;
  /** The number of older events that this event replaces. */
  readonly coalesced: u32;
  /** 1 for the first delivery. */
  readonly attempt: u32;
  private readonly number: u64 = ++last;
  private readObject: Json | null = null;
  private readOld: Json | null = null;

  /** Reads the contract's record at this address. */
  constructor(private at: usize) {
    inHand = last;
    this.seq = load<u64>(at);
    this.subscription = load<u32>(at, 8);
    this.change = CHANGES[load<u8>(at, 12)];
    this.reason = REASONS[load<u8>(at, 13)];
    this.key = new Key(text(at + 16), text(at + 24));
    this.uid = text(at + 32);
    this.resourceVersion = text(at + 40);
    this.gone = load<u8>(at, 48) == 0 ? "" : GONE[load<u8>(at, 49)];
    this.coalesced = load<u32>(at, 52);
    this.attempt = load<u32>(at, 56);
  }

  /**
   * The new state, or the last state of a deleted object. Nothing with lazy delivery, which has eventData. Parsed
   * once, on its first use.
   */
  get object(): Json {
    const before = this.readObject;
    if (before !== null) return before;
    const place = this.place(60);
    const read = load<u8>(place) == 0 && this.change == Change.Deleted ? this.old : parsed(place);
    this.readObject = read;
    return read;
  }

  /**
   * The previous state: for every deletion, and for other events if the subscription has withOld. Nothing if there is
   * none.
   */
  get old(): Json {
    const before = this.readOld;
    if (before !== null) return before;
    const read = parsed(this.place(72));
    this.readOld = read;
    return read;
  }

  /** The object's JSON as it came, for another parser. Null if `object` is nothing. */
  get objectText(): string | null {
    const place = this.place(60);
    return load<u8>(place) == 0 && this.change == Change.Deleted ? this.oldText : optionalText(place);
  }

  /** The same for `old`. */
  get oldText(): string | null {
    return optionalText(this.place(72));
  }

  private place(offset: usize): usize {
    if (inHand != this.number) throw new Error("an event's objects are gone when handle has answered: read them before, and keep what was read");
    return this.at + offset;
  }
}

/**
 * The host sends valid JSON, but an object may be nested deeper than the reader goes. Such an object is logged and
 * cannot be handled.
 */
function parsed(place: usize): Json {
  if (load<u8>(place) == 0) return Json.NOTHING;
  const read = Json.parseAt(load<usize>(place, 4), load<usize>(place, 8));
  const problem = read.problem;
  if (problem !== null) throw new Error(`the object cannot be read, take eventData instead: ${problem.toString()}`);
  return read.value;
}
