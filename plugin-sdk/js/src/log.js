// The plugin's log, also as `console` if the runtime has none.

import { enabled, log as write } from "informant:plugin/log@0.1.0";

const shown = (value) => (typeof value === "string" ? value : (JSON.stringify(value) ?? String(value)));

const isFields = (value) => value !== null && typeof value === "object" && Object.getPrototypeOf(value) === Object.prototype;

/** A function that logs its values as one line. If the last value is an object, it contains the fields. */
function at(level) {
  return (...values) => {
    if (!enabled(level)) return;
    const fields = values.length > 1 && isFields(values.at(-1)) ? Object.entries(values.pop()) : [];
    write(level, values.map(shown).join(" "), fields.map(([name, value]) => [name, shown(value)]));
  };
}

/** `log.info("pod added", { pod: event.key })` */
export const log = { trace: at("trace"), debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };

if (typeof console === "undefined") globalThis.console = { ...log, log: log.info };
