// Answers that come page by page. Only one page is in memory at a time, so the whole answer may be larger than the
// plugin's memory.

import { AREA, mark, release } from "../abi/memory";
import { bytes as bytesAt, optionalText as optionalTextAt, text as textAt } from "../abi/read";
import { Slice, optionalText, text } from "../abi/write";
import { Key } from "../event";
import { Json } from "../json/json";
import { Problem } from "../problem";
import { Failure } from "../failure";
import { hostByIndex, hostIndexKeys, hostIndexValues, hostList } from "./host";
import { refused } from "./refused";

/** The request. */
export class Under {
  constructor(
    public readonly resource: string,
    public readonly index: string,
    /** An index's value, or a label selector. */
    public readonly value: string,
    public readonly namespace: string | null,
  ) {}
}

// 0 means the host's page size: 500.
const LIMIT: u32 = 0;

/** Iterates over answers: `while (found.next()) use(found.item)`, and then `if (!found.ok) return found.failure()`. */
export abstract class Pages<T, Kept> {
  /** The reason for an early end. Null if all items were seen. */
  problem: Problem | null = null;
  private page: Kept[] = [];
  private place: i32 = -1;
  private cursor: string | null = null;
  private isLast: bool = false;

  constructor(protected readonly under: Under) {}

  /** Steps to the next item. False if there is none, or if a page was refused. */
  next(): bool {
    // A page may be empty and not the last.
    while (this.place + 1 >= this.page.length) {
      if (this.isLast || this.problem !== null) return false;
      this.turn();
    }
    this.place++;
    return true;
  }

  /** The present item. */
  get item(): T {
    if (this.place < 0 || this.place >= this.page.length) throw new Error("there is no item: ask next first, and read it while that is true");
    return this.read(this.page[this.place]);
  }

  /** Whether no page was refused. */
  get ok(): bool {
    return this.problem === null;
  }

  /** The problem as a result of handle and other calls. Null if there is none. */
  failure(): Failure | null {
    const problem = this.problem;
    return problem === null ? null : problem.failure();
  }

  private turn(): void {
    const before = mark();
    const under = this.under;
    this.ask(text(under.resource), text(under.index), text(under.value), this.cursor !== null, optionalText(this.cursor));
    this.page = [];
    this.place = -1;
    this.problem = refused(AREA, 4);
    if (this.problem === null) {
      const from = load<usize>(AREA, 4);
      const count = load<i32>(AREA, 8);
      for (let i = 0; i < count; i++) this.page.push(this.keep(from, i));
      this.cursor = optionalTextAt(AREA + 12);
      this.isLast = this.cursor === null;
    }
    release(before);
  }

  protected abstract ask(gvr: Slice, index: Slice, value: Slice, hasCursor: bool, cursor: Slice): void;
  /** Copies an element of a page. */
  protected abstract keep(from: usize, place: i32): Kept;
  protected abstract read(kept: Kept): T;
}

/** Objects. Each is parsed on its use. */
export class Objects extends Pages<Json, Uint8Array> {
  constructor(under: Under, private readonly isList: bool) {
    super(under);
  }
  protected ask(gvr: Slice, index: Slice, value: Slice, hasCursor: bool, cursor: Slice): void {
    if (this.isList) {
      const within = optionalText(this.under.namespace);
      const inOne = this.under.namespace !== null;
      hostList(gvr.at, gvr.length, inOne, within.at, within.length, value.at, value.length, LIMIT, hasCursor, cursor.at, cursor.length, AREA);
    } else {
      hostByIndex(gvr.at, gvr.length, index.at, index.length, value.at, value.length, LIMIT, hasCursor, cursor.at, cursor.length, AREA);
    }
  }
  protected keep(from: usize, place: i32): Uint8Array {
    return bytesAt(from + 8 * place);
  }
  protected read(kept: Uint8Array): Json {
    return Json.parseBytes(kept).value;
  }
}

/** Keys of objects. */
export class Keys extends Pages<Key, Key> {
  constructor(under: Under) {
    super(under);
  }
  protected ask(gvr: Slice, index: Slice, value: Slice, hasCursor: bool, cursor: Slice): void {
    hostIndexKeys(gvr.at, gvr.length, index.at, index.length, value.at, value.length, LIMIT, hasCursor, cursor.at, cursor.length, AREA);
  }
  protected keep(from: usize, place: i32): Key {
    return new Key(textAt(from + 16 * place), textAt(from + 16 * place + 8));
  }
  protected read(kept: Key): Key {
    return kept;
  }
}

/** Values of an index. */
export class Values extends Pages<string, string> {
  constructor(under: Under) {
    super(under);
  }
  protected ask(gvr: Slice, index: Slice, value: Slice, hasCursor: bool, cursor: Slice): void {
    hostIndexValues(gvr.at, gvr.length, index.at, index.length, LIMIT, hasCursor, cursor.at, cursor.length, AREA);
  }
  protected keep(from: usize, place: i32): string {
    return textAt(from + 8 * place);
  }
  protected read(kept: string): string {
    return kept;
  }
}
