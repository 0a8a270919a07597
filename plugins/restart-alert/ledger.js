// What is known of one owner's incidents: which have been seen, which wait to be told, and when which were told. It is a JSON value, which the plugin
// keeps in its state; nothing here asks the time.

/** Ends of containers that are remembered of one owner; of older ones only that their kind was told is known. */
const SEEN_MAX = 50;
/** Containers and kinds that one message is about. */
const WAITING_MAX = 8;
/** Pods that are named. */
export const PODS_MAX = 5;

export const empty = () => ({ seen: {}, waiting: {}, told: {} });

const seenAs = (pod, container) => `${pod.uid.slice(0, 8)}/${container}`;

/** Writes down what is new about a pod, and answers with that. What was told less than `repeatAfter` ago does not wait to be told again. */
export function note(record, pod, found, now, repeatAfter) {
  const fresh = found.filter(({ container, ended }) => ended > (record.seen[seenAs(pod, container)] ?? 0));
  for (const incident of fresh) {
    remember(record.seen, seenAs(pod, incident.container), incident.ended);
    const name = `${incident.container} ${incident.kind}`;
    if (now - (record.told[name] ?? -Infinity) < repeatAfter) continue;
    if (!(name in record.waiting) && Object.keys(record.waiting).length >= WAITING_MAX) continue;
    const before = record.waiting[name] ?? { pods: [], more: 0, restarts: 0 };
    const isNamed = before.pods.includes(pod.name);
    const hasRoom = before.pods.length < PODS_MAX;
    record.waiting[name] = {
      ...incident,
      pods: isNamed || !hasRoom ? before.pods : [...before.pods, pod.name],
      more: before.more + (isNamed || hasRoom ? 0 : 1),
      restarts: Math.max(before.restarts, incident.restarts),
    };
  }
  return fresh;
}

function remember(seen, key, ended) {
  // The one that was written last stands last.
  delete seen[key];
  seen[key] = ended;
  const keys = Object.keys(seen);
  for (const oldest of keys.slice(0, Math.max(0, keys.length - SEEN_MAX))) delete seen[oldest];
}

/** Forgets a pod that is gone; says whether anything was known of it. */
export function forget(record, pod) {
  const keys = Object.keys(record.seen).filter((key) => key.startsWith(seenAs(pod, "")));
  for (const key of keys) delete record.seen[key];
  return keys.length > 0;
}

export const isWaiting = (record) => Object.keys(record.waiting).length > 0;

/** What waits has been told. */
export function tell(record, now) {
  for (const name of Object.keys(record.waiting)) record.told[name] = now;
  record.waiting = {};
}

/** When something of it was told last. */
export const lastTold = (record) => Math.max(0, ...Object.values(record.told));

/** Whether nothing would be different without it, but for pods whose ends it has seen. */
export const isOver = (record, now, repeatAfter) => !isWaiting(record) && now - lastTold(record) >= repeatAfter;
