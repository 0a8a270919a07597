// JSON that plugins parse and create.

import assert from "node:assert/strict";
import test from "node:test";
import { Host } from "../testing/index.js";
import { check, ECHO } from "./echo.js";

test("what is JSON is read, and written without spaces", async () => {
  for (const text of ["null", "true", "false", "0", "-0", "12.50", "1e5", "-1.5E-7", '""', "[]", "{}", '[1,[2,{"a":[]}]]', '{"a":1,"b":{"c":"d"},"a":2}']) {
    await check(`read ${text}`, text);
  }
  await check('read  [ 1 ,\t2\r\n, { "a" : null } ] ', '[1,2,{"a":null}]');
  await check("read 12345678901234567890.12345678901234567890", "12345678901234567890.12345678901234567890");
});

test("texts keep their characters, whatever they are escaped as", async () => {
  await check(String.raw`read "\u0041\"\\\/\b\f\n\r\t\u20ac\ud835\udcb3é€𝒳"`, String.raw`"A\"\\/\u0008\u000c\n\r\t€𝒳é€𝒳"`);
  await check(String.raw`read {"\u0061\n": "\u0000"}`, String.raw`{"a\n":"\u0000"}`);
  // Half a character has no UTF-8.
  await check(String.raw`read "\ud835"`, '"\ufffd"');
});

test("what is no JSON is a problem that says where", async () => {
  const all = {
    "": "the end where a value is missing at byte 0 of 0",
    " ": "the end where a value is missing at byte 1 of 1",
    nul: "something that is no value at byte 0 of 3",
    trux: "something that is no value at byte 0 of 4",
    "1 2": "something behind the value at byte 2 of 3",
    "01": "a number that begins with 0 at byte 2 of 2",
    "-": "something that is no value at byte 1 of 1",
    "+1": "something that is no value at byte 0 of 2",
    "1.": "a number without digits behind its point at byte 2 of 2",
    ".5": "something that is no value at byte 0 of 2",
    "1e+": "a number without digits in its exponent at byte 3 of 3",
    NaN: "something that is no value at byte 0 of 3",
    "'a'": "something that is no value at byte 0 of 3",
    '"a': "the end in a text at byte 2 of 2",
    '"a\nb"': "a control character in a text at byte 2 of 5",
    '"\\x"': "an escape that there is not at byte 2 of 4",
    '"\\': "an escape that there is not at byte 2 of 2",
    '"\\u12': "an escape without four digits at byte 5 of 5",
    '"\\u12g4"': "an escape without four digits at byte 5 of 8",
    "[1": "something where a comma or the array's end is missing at byte 2 of 2",
    "[1,]": "something that is no value at byte 3 of 4",
    "[": "the end where a value is missing at byte 1 of 1",
    "[1}": "something where a comma or the array's end is missing at byte 2 of 3",
    "{": "something where a name is missing at byte 1 of 1",
    "{a:1}": "something where a name is missing at byte 1 of 5",
    '{"a"}': "something where a colon is missing at byte 4 of 5",
    '{"a":}': "something that is no value at byte 5 of 6",
    '{"a":1,}': "something where a name is missing at byte 7 of 8",
    '{"a":1]': "something where a comma or the object's end is missing at byte 6 of 7",
  };
  for (const [text, problem] of Object.entries(all)) await check(`read ${text}`, `json: malformed: ${problem}`);
});

test("depth is bounded", async () => {
  await check("deep 200", "400");
  await check("deep 201", "json: malformed: more than 200 arrays and objects in each other at byte 200 of 402");
  await check("deep 100000", "json: malformed: more than 200 arrays and objects in each other at byte 200 of 200000");
});

test("a pointer leads to one value, or to nothing", async () => {
  const json = '{"a":{"b/c":[1,{"d~e":"x"}],"":2},"a2":null,"~1":3,"0":4}';
  const all = {
    "/a/b~1c/0": "1", "/a/b~1c/1/d~0e": '"x"', "/a/": "2", "/a2": "null", "/~01": "3", "/0": "4", "/a/b~1c/2": "null", "/a/b~1c/01": "null", "/a/b~1c/-": "null",
    "/a/b~1c/": "null", "/none/deeper": "null", a: "null", "/a/b~1c/4294967296": "null",
  };
  for (const [pointer, value] of Object.entries(all)) await check(`at ${pointer} ${json}`, value);
  await check(`at  ${json}`, json);
});

test("a value is what it is, and nothing else", async () => {
  await check('value "5"', "text: 5 -1.0 -1 true 0 ");
  await check("value 5", "number integer: - 5.0 5 true 0 ");
  await check("value 5.0", "number: - 5.0 -1 true 0 ");
  await check("value 1e2", "number: - 100.0 -1 true 0 ");
  await check("value -9223372036854775808", "number integer: - -9223372036854776000.0 -9223372036854775808 true 0 ");
  await check("value 9223372036854775807", "number integer: - 9223372036854776000.0 9223372036854775807 true 0 ");
  await check("value 9223372036854775808", "number: - 9223372036854776000.0 -1 true 0 ");
  await check("value 100000000000000000000", "number: - 100000000000000000000.0 -1 true 0 ");
  await check("value false", "boolean: - -1.0 -1 false 0 ");
  await check("value null", "null: - -1.0 -1 true 0 ");
  await check('value ["a",2]', "array: - -1.0 -1 true 2 ");
  await check('value {"a":1,"b":2}', "object: - -1.0 -1 true 2 a,b");
});

test("every kind of value can be made", async () => {
  const line = await check("made ");
  const made = JSON.parse(line);
  assert.deepEqual(made, {
    text: 'a "b"\\\n\r\t\b\u0001\u001fé€𝒳/', none: null, whole: 3, small: 7, large: 18446744073709552000, least: -9223372036854775808, real: 1.5, integral: 2,
    huge: 1e300, nan: null, single: 0.5, yes: true, no: false, null: null, nothing: null, texts: ["a", "b"], numbers: [1, 2], lists: [[1], [2]],
    object: {}, array: ["a", 1, { b: 2 }], raw: { as: "it stands" }, twice: 2,
  });
  // To an API server 2.0 is not an integer, and these numbers have more digits than a double.
  for (const part of ['"integral":2,', '"large":18446744073709551615,', '"least":-9223372036854775808,', '"raw":{ "as": "it stands" }']) {
    assert.ok(line.includes(part), `${part} is not in ${line}`);
  }
});

test("a value that is not there ends the instance, with the problem in the log", async () => {
  const host = await Host.start(ECHO);
  host.keys.push("value-of-problem [");
  assert.throws(() => host.reconcile(), /unreachable/);
  const words = "value of a result that has none, ask ok first: json: malformed: the end where a value is missing at byte 1 of 1";
  assert.match(host.lines.at(-1), new RegExp(`^error ${words} at=.*problem.ts:`));
});
