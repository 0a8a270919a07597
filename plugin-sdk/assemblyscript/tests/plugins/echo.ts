// Logs the SDK's results for a text: the key is a word, a space and the text. Each result is one line of the log.

import {
  Config, Descriptor, Enqueue, Failure, Json, Key, Reconciled, Subscription, again, done, failed, log, utf8,
} from "informant-plugin-assemblyscript";

export function describe(config: Config): Descriptor {
  if (config.bool("refuse", false)) return Descriptor.refused("asked to refuse");
  return new Descriptor("1")
    .subscribe(
      new Subscription("v1/pods").name("mine").namespaces(["a", "b"]).namespaceSelector("t=u").labelSelector("x=y").fieldSelector("spec.nodeName=n").types(["added"])
        .replay("never").delivery("lazy").withOld().onlyIfChanged(["/spec"]).filter("true").resyncPeriod("10m")
        .enqueue(Enqueue.self()).enqueue(Enqueue.owner("apps/v1/ReplicaSet").namespace("none")).enqueue(Enqueue.pointer("/a").prefix("p/")),
    )
    .index("v1/pods", "app", "/metadata/labels/app")
    .read("v1/nodes").read("v1/secrets", ["a"])
    .write("v1/pods/status", ["patch"], ["a"])
    .http(["https://a.example"], ["GET"]).http(["https://b.example"], ["POST"], ["/x"], ["private"])
    .cron("hourly", "0 * * * *").every("soon", "30s")
    .shards(2);
}

export function start(config: Config): Failure | null {
  config.bool("refuse", false);
  const texts = config.texts("texts", ["none"]).join("+");
  log.info(`${config.text("text", "none")} ${config.number("number", 1.5)} ${config.integer("integer", -1)} ${config.get("any").toString()} ${texts}`);
  return config.failure();
}

/** A value of every kind of JSON. */
function made(): string {
  const none: string | null = null;
  const small: u8 = 7;
  return Json.object()
    .set("text", "a \"b\"\\\n\r\t\b\u0001\u001fé€𝒳/")
    .set("none", none)
    .set("whole", 3).set("small", small).set("large", <u64>18446744073709551615).set("least", <i64>-9223372036854775808)
    .set("real", 1.5).set("integral", 2.0).set("huge", 1e300).set("nan", NaN).set("single", <f32>0.5)
    .set("yes", true).set("no", false).set("null", Json.null()).set("nothing", Json.NOTHING)
    .set("texts", ["a", "b"]).set("numbers", [1, 2]).set("lists", [[1], [2]])
    .set("object", Json.object()).set("array", Json.array().push("a").push(1).push(Json.object().set("b", 2)))
    .set("raw", Json.raw("{ \"as\": \"it stands\" }"))
    .set("twice", 1).set("twice", 2)
    .toString();
}

function kinds(json: Json): string {
  const is: string[] = [];
  if (json.isNothing) is.push("nothing");
  if (json.isNull) is.push("null");
  if (json.isText) is.push("text");
  if (json.isNumber) is.push("number");
  if (json.isInteger) is.push("integer");
  if (json.isBoolean) is.push("boolean");
  if (json.isArray) is.push("array");
  if (json.isObject) is.push("object");
  return is.join(" ");
}

function valued(json: Json): string {
  return `${kinds(json)}: ${json.asText("-")} ${json.asNumber(-1)} ${json.asInteger(-1)} ${json.asBool(true)} ${json.length} ${json.names.join(",")}`;
}

function read(text: string): string {
  const json = Json.parse(text);
  const problem = json.problem;
  return problem === null ? json.value.toString() : problem.toString();
}

/** `/pointer JSON` */
function pointed(text: string): string {
  const space = text.indexOf(" ");
  return Json.parse(text.substring(space + 1)).value.at(text.substring(0, space)).toString();
}

/** Bytes as numbers with commas. */
function decoded(text: string): string {
  const numbers = text.split(",");
  const bytes = new Uint8Array(numbers.length);
  for (let i = 0; i < numbers.length; i++) bytes[i] = <u8>U32.parseInt(numbers[i]);
  const json = Json.parseBytes(bytes).problem;
  return utf8.decode(bytes) + (json === null ? " json" : "");
}

/** Half a character, which UTF-8 does not have, in texts for the host. */
function halved(): string {
  return "a" + String.fromCharCode(0xd800) + "b" + utf8.encode(String.fromCharCode(0xdc00)).toString();
}

/** JSON that is nested this deeply. */
function deep(levels: i32): string {
  const json = Json.parse("[".repeat(levels) + "]".repeat(levels));
  const problem = json.problem;
  return problem === null ? json.value.toString().length.toString() : problem.toString();
}

/** Parses and writes a document again and again. Returns how often the result was the same. */
function hammer(times: i32): string {
  let same = 0;
  for (let i = 0; i < times; i++) {
    const text = `{"a":[${i},"${"x".repeat(i % 1000)}é"],"b":{"c\\n":null}}`;
    const value = Json.parse(text).value;
    same += i32(value.toString() == text && value.at("/a/0").asInteger() == i);
  }
  return same.toString();
}

export function reconcile(key: string, attempt: u32): Reconciled {
  const space = key.indexOf(" ");
  const word = key.substring(0, space);
  const text = key.substring(space + 1);
  if (word == "again") return again(I64.parseInt(text));
  if (word == "failed") return failed(Failure.backoff(text));
  let line = "";
  if (word == "read") line = read(text);
  else if (word == "at") line = pointed(text);
  else if (word == "value") line = valued(Json.parse(text).value);
  else if (word == "made") line = made();
  else if (word == "bytes") line = decoded(text);
  else if (word == "half") line = halved();
  else if (word == "deep") line = deep(I32.parseInt(text));
  else if (word == "hammer") line = hammer(I32.parseInt(text));
  else if (word == "key") line = `${Key.of(text).namespace}|${Key.of(text).name}|${Key.of(text).toString()}`;
  else if (word == "pair") log.info("bad", [[text]]);
  else if (word == "value-of-problem") Json.parse(text).value.toString();
  else throw new Error(`echo knows no ${word}`);
  log.info(line);
  return done();
}
