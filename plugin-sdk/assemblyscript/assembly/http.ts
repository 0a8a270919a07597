// Requests to HTTP servers, as far as whoever runs the host grants them: Descriptor.http says beforehand whom. The plugin waits for the answer. It may ask in
// handle, reconcile, fire and synced; a call that fails takes back nothing that it sent.

import { AREA, mark, release } from "./abi/memory";
import { bytes as bytesAt, pairs as pairsAt, text as textAt } from "./abi/read";
import { bytes, pairs, text } from "./abi/write";
import { Json } from "./json/json";
import { Problem, Result } from "./problem";
import { utf8 } from "./utf8";

@external("informant:plugin/http@0.1.0", "send")
declare function hostSend(
  method: usize, methodLength: usize, url: usize, urlLength: usize, headers: usize, headersCount: usize, body: usize, bodyLength: usize,
  timeoutMs: u32, into: usize,
): void;

/** What is asked, and of whom. */
export class Request {
  /** Pairs, in their order. */
  headers: string[][] = [];
  body: Uint8Array = new Uint8Array(0);
  /** 0: as long as the call may wait. */
  timeoutMs: u32 = 0;

  /** `new Request("GET", "https://api.example.com/x")` */
  constructor(
    public method: string,
    public url: string,
  ) {}

  /** Adds a header. */
  header(name: string, value: string): Request {
    this.headers.push([name, value]);
    return this;
  }
  /** Sends a text, as UTF-8. */
  text(body: string): Request {
    this.body = utf8.encode(body);
    return this;
  }
  /** Sends JSON, and says so. */
  json(body: Json): Request {
    return this.header("content-type", "application/json").text(body.toString());
  }
  /** Bounds the wait. */
  timeout(ms: u32): Request {
    this.timeoutMs = ms;
    return this;
  }
}

/** An answer as it came. One that is an error of the server's, such as 500, is an answer. */
export class Response {
  constructor(
    public readonly status: i32,
    /** Pairs in their order; names are in small letters. */
    public readonly headers: string[][],
    public readonly body: Uint8Array,
  ) {}

  /** The value of a header, of several the first; null if there is none. The name in small letters. */
  header(name: string): string | null {
    for (let i = 0; i < this.headers.length; i++) {
      if (this.headers[i][0] == name) return this.headers[i][1];
    }
    return null;
  }
  /** The body as a text. */
  text(): string {
    return utf8.decode(this.body);
  }
  /** The body as JSON, or why it is none. */
  json(): Result<Json> {
    return Json.parseBytes(this.body);
  }
}

const KINDS: StaticArray<string> = ["not-granted", "not-leader", "invalid", "timed-out", "too-large", "transport"];
const NOT_LEADER = 1;

/** Requests over HTTP. */
export namespace http {
  /** Sends one and waits for its answer. */
  export function send(request: Request): Result<Response> {
    const before = mark();
    const method = text(request.method), url = text(request.url), headers = pairs(request.headers, "headers of a request"), body = bytes(request.body);
    hostSend(method.at, method.length, url.at, url.length, headers.at, headers.length, body.at, body.length, request.timeoutMs, AREA);
    const answer = answered();
    release(before);
    return answer;
  }
}

function answered(): Result<Response> {
  if (load<u8>(AREA) == 0) return Result.of<Response>(new Response(load<u16>(AREA, 4), pairsAt(AREA + 8), bytesAt(AREA + 16)));
  const number = load<u8>(AREA, 4);
  return Result.refused<Response>(new Problem("http", KINDS[number], number == NOT_LEADER ? "" : textAt(AREA + 8)));
}
