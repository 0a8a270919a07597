// A change of one object, as one subscription sees it.

import { optionalText, text } from "./abi/read";
import { Json } from "./json/json";

/** What happened to an object. */
export namespace Change {
  export const Added: string = "added";
  export const Updated: string = "updated";
  export const Deleted: string = "deleted";
}

/** Why the plugin hears of it now. */
export namespace Reason {
  /** The object was there before the plugin subscribed. */
  export const Initial: string = "initial";
  /** The API server reported it. */
  export const Watch: string = "watch";
  /** A relist found a difference that the watch had missed. */
  export const Relist: string = "relist";
  /** The subscription's period came round; nothing changed. */
  export const Resync: string = "resync";
  /** A new version of the plugin asked for its objects again. */
  export const Reload: string = "reload";
  /** Somebody sent a dead letter again. */
  export const Redrive: string = "redrive";
}

/** How an object went. */
export namespace Gone {
  export const Deleted: string = "deleted";
  /** It lives on, but no longer matches the subscription. */
  export const LeftView: string = "left-view";
  /** One of the two. */
  export const Unknown: string = "unknown";
}

const CHANGES: StaticArray<string> = [Change.Added, Change.Updated, Change.Deleted];
const REASONS: StaticArray<string> = [Reason.Initial, Reason.Watch, Reason.Relist, Reason.Resync, Reason.Reload, Reason.Redrive];
const GONE: StaticArray<string> = [Gone.Deleted, Gone.LeftView, Gone.Unknown];

/** An object's namespace, empty if it has none, and name. */
export class Key {
  constructor(
    public readonly namespace: string,
    public readonly name: string,
  ) {}

  /** From `namespace/name`, or the name alone: a key of the queue that the host made of an object. */
  static of(text: string): Key {
    const slash = text.indexOf("/");
    return slash < 0 ? new Key("", text) : new Key(text.substring(0, slash), text.substring(slash + 1));
  }

  /** namespace/name, or the name alone. */
  toString(): string {
    return this.namespace == "" ? this.name : this.namespace + "/" + this.name;
  }
}

// The objects of an event lie in the host's blocks, which are given back when the call has ended. The next event may lie in the same place: they are
// numbered.
let inHand: u64 = 0;
let last: u64 = 0;

/** The event in hand is done with: its objects cannot be read any more. */
export function endEvent(): void {
  inHand = 0;
}

/** A change of one object. Its objects can be read until handle has answered. */
export class Event {
  /** Rises with every event; one that comes again keeps its own. */
  readonly seq: u64;
  /** The place in the descriptor's subscriptions. */
  readonly subscription: u32;
  /** Change.Added, Change.Updated or Change.Deleted. */
  readonly change: string;
  /** Reason.Watch and its like. */
  readonly reason: string;
  readonly key: Key;
  readonly uid: string;
  readonly resourceVersion: string;
  /** Gone.Deleted and its like; empty while the object is there. */
  readonly gone: string;
  /** How many older events this one stands for. */
  readonly coalesced: u32;
  /** 1 for the first delivery. */
  readonly attempt: u32;
  private readonly number: u64 = ++last;
  private readObject: Json | null = null;
  private readOld: Json | null = null;

  /** From the contract's record in memory. */
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

  /** The new state, or the last one of an object that is gone; nothing with lazy delivery, for which there is eventData. It is read once, when asked for. */
  get object(): Json {
    const before = this.readObject;
    if (before !== null) return before;
    const place = this.place(60);
    const read = load<u8>(place) == 0 && this.change == Change.Deleted ? this.old : parsed(place);
    this.readObject = read;
    return read;
  }

  /** The state before: of a deletion always, else where the subscription says withOld. Nothing if there is none. */
  get old(): Json {
    const before = this.readOld;
    if (before !== null) return before;
    const read = parsed(this.place(72));
    this.readOld = read;
    return read;
  }

  /** The JSON of the object as it came, for a reader of one's own; null where `object` is nothing. */
  get objectText(): string | null {
    const place = this.place(60);
    return load<u8>(place) == 0 && this.change == Change.Deleted ? this.oldText : optionalText(place);
  }

  /** The same of `old`. */
  get oldText(): string | null {
    return optionalText(this.place(72));
  }

  private place(offset: usize): usize {
    if (inHand != this.number) throw new Error("an event's objects are gone when handle has answered: read them before, and keep what was read");
    return this.at + offset;
  }
}

/** What the host sends is JSON, unless an object lies deeper than the reader goes: that is for a log, and for nobody to handle. */
function parsed(place: usize): Json {
  if (load<u8>(place) == 0) return Json.NOTHING;
  const read = Json.parseAt(load<usize>(place, 4), load<usize>(place, 8));
  const problem = read.problem;
  if (problem !== null) throw new Error(`the object cannot be read, take eventData instead: ${problem.toString()}`);
  return read.value;
}
