// HTTP requests, if the host's operator has granted them: Descriptor.http declares them. The plugin waits for the
// answer. Requests are possible in handle, reconcile, fire and synced. A failed call does not undo its requests.

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

/** A request to a server. */
export class Request {
  /** Pairs of name and value, in their order. */
  headers: string[][] = [];
  body: Uint8Array = new Uint8Array(0);
  /** 0 means the call's own time. */
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
  /** Sets a text as the body, encoded as UTF-8. */
  text(body: string): Request {
    this.body = utf8.encode(body);
    return this;
  }
  /** Sets JSON as the body, and its Content-Type. */
  json(body: Json): Request {
    return this.header("content-type", "application/json").text(body.toString());
  }
  /** Bounds the wait. */
  timeout(ms: u32): Request {
    this.timeoutMs = ms;
    return this;
  }
}

/** The unchanged answer. An error of the server, such as 500, is an answer, too. */
export class Response {
  constructor(
    public readonly status: i32,
    /** Pairs in their order. Names are in lower case. */
    public readonly headers: string[][],
    public readonly body: Uint8Array,
  ) {}

  /** The first value of a header, with the name in lower case. Null if there is none. */
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
  /** The body as JSON, or the reason why it is not JSON. */
  json(): Result<Json> {
    return Json.parseBytes(this.body);
  }
}

const KINDS: StaticArray<string> = ["not-granted", "not-leader", "invalid", "timed-out", "too-large", "transport"];
const NOT_LEADER = 1;

/** HTTP requests. */
export namespace http {
  /** Sends a request and waits for its answer. */
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
