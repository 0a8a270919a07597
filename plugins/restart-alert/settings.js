// The settings, as in restart-alert.yaml.

import { never } from "informant-plugin";

const UNITS = { s: 1_000, m: 60_000, h: 3_600_000 };
const ADDRESSES = ["public", "private", "loopback"];

const DEFAULTS = {
  url: "", channel: "", addresses: "public", namespaces: [], restarts: 3, groupWait: "30s", repeatAfter: "1h", messagesPerMinute: 6,
};

function wrong(key, found, wanted) {
  return never(new Error(`\`${key}\` is ${JSON.stringify(found)}: it is ${wanted}`));
}

function duration(key, text, least, most) {
  const [, number, unit] = /^(\d{1,6})([smh])$/.exec(text) ?? [];
  const found = Number(number) * UNITS[unit];
  if (!(found >= UNITS.s * least && found <= UNITS.s * most)) throw wrong(key, text, `a time from ${least}s to ${most}s, as 30s, 5m or 2h`);
  return found;
}

function number(key, found, most) {
  if (!Number.isInteger(found) || found < 1 || found > most) throw wrong(key, found, `a number from 1 to ${most}`);
  return found;
}

/** The webhook's origin, and the first step of its path: what follows may be a token, which descriptors show to everybody. */
function webhook(url) {
  const [, origin, first] = /^(https?:\/\/[^/?#@\s]+)(?=[/?]|$)(\/[^/?#\s]*)?[^#\s]*$/i.exec(url) ?? [];
  if (origin === undefined) throw never(new Error("`url` is no URL such as https://hooks.slack.com/services/...; leave it out to have messages in the log"));
  return { origin, path: first === undefined || first === "/" ? null : first };
}

/** The configuration with the defaults, times in milliseconds; throws what is wrong with it. */
export function settings(config) {
  for (const key of Object.keys(config)) {
    if (!Object.hasOwn(DEFAULTS, key)) throw never(new Error(`\`${key}\` is no setting: there are ${Object.keys(DEFAULTS).join(", ")}`));
  }
  const found = { ...DEFAULTS, ...config };
  if (!ADDRESSES.includes(found.addresses)) throw wrong("addresses", found.addresses, `one of ${ADDRESSES.join(", ")}`);
  if (!Array.isArray(found.namespaces)) throw wrong("namespaces", found.namespaces, "a list of namespaces");
  return {
    ...found,
    webhook: found.url === "" ? null : webhook(found.url),
    restarts: number("restarts", found.restarts, 1_000),
    groupWait: duration("groupWait", found.groupWait, 1, 600),
    repeatAfter: duration("repeatAfter", found.repeatAfter, 1, 7 * 24 * 3_600),
    messagesPerMinute: number("messagesPerMinute", found.messagesPerMinute, 600),
  };
}
