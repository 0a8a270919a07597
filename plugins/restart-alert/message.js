// What is sent: JSON as Slack's incoming webhooks and `chat.postMessage` take it, and Mattermost, Rocket.Chat and others after them.

const WHAT = { "oom-kill": "was killed for memory", "crash-loop": "keeps crashing" };

/** Slack reads these three as its own. */
const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

const times = (count) => (count === 1 ? "once" : `${count} times`);

function line({ container, kind, pods, more, restarts, exit, reason, words }) {
  const where = more > 0 ? `${pods.join(", ")} and ${more} more` : pods.join(", ");
  const details = [
    restarts > 0 ? `restarted ${times(restarts)}` : "not restarted",
    ...(exit === null ? [] : [`exit code ${exit}${reason ? ` (${reason})` : ""}`]),
  ];
  const last = words === "" ? "" : `: ${words.replaceAll(/\s+/g, " ")}`;
  return `${container} ${WHAT[kind]} in ${where} (${details.join(", ")})${last}`;
}

/** The text for one owner, `Deployment shop/web`, and all that waits to be told of it. */
export function text(owner, waiting) {
  const lines = Object.values(waiting).map(line);
  return lines.length === 1 ? `${owner}: ${lines[0]}` : [`${owner}:`, ...lines.map((one) => `• ${one}`)].join("\n");
}

export const body = (owner, waiting, channel) => ({ text: escaped(text(owner, waiting)), ...(channel === "" ? {} : { channel }) });
