// The newest states of the host, and the rates between them. Counters begin anew with a host: then there is no rate.

const KEPT = 150;

export class History {
  #samples = [];

  push(at, plugins, informers) {
    const sample = { at, plugins: new Map(), informers: new Map() };
    for (const plugin of plugins) sample.plugins.set(plugin.name, numbersOf(plugin));
    for (const informer of informers) sample.informers.set(informer.resource, eventsOf(informer));
    this.#samples.push(sample);
    if (this.#samples.length > KEPT) this.#samples.shift();
  }

  // The increase of one number of a plugin by the second, between the last two samples.
  pluginRate(name, number) {
    return this.#last((sample) => sample.plugins.get(name)?.[number]);
  }

  informerRate(resource) {
    return this.#last((sample) => sample.informers.get(resource));
  }

  // The seconds of a call, of the calls between the last two samples.
  callSeconds(name) {
    const [calls, seconds] = [this.pluginRate(name, 'calls'), this.pluginRate(name, 'seconds')];
    return calls > 0 ? seconds / calls : null;
  }

  // The time from a change to the end of its call, of a share of the events between the last two samples: 0.5 is half
  // of them.
  latency(name, share) {
    const [before, now] = this.#samples.slice(-2).map((sample) => sample.plugins.get(name)?.latency);
    return now && before ? quantile(bucketsSince(before, now), share) : null;
  }

  // The same over all samples, as a series.
  latencies(name, share) {
    const of = (sample) => sample.plugins.get(name)?.latency;
    return this.#samples.slice(1).map((sample, number) => {
      const [before, now] = [of(this.#samples[number]), of(sample)];
      return { at: sample.at, value: now && before ? quantile(bucketsSince(before, now), share) : null };
    });
  }

  // Times and values of a series over all samples. `of` takes a sample; `isRate`: its increase by the second.
  series(of, isRate) {
    if (!isRate) return this.#samples.map((sample) => ({ at: sample.at, value: of(sample) ?? null }));
    return this.#samples.slice(1).map((sample, before) => ({
      at: sample.at,
      value: increase(of, this.#samples[before], sample),
    }));
  }

  #last(of) {
    const [before, now] = this.#samples.slice(-2);
    return now ? increase(of, before, now) : null;
  }
}

function increase(of, before, now) {
  const [from, to] = [of(before), of(now)];
  if (from === undefined || to === undefined || to < from) return null;
  return (to - from) / Math.max(0.001, (now.at - before.at) / 1000);
}

// What a histogram counted since an older state of it: pairs of an upper bound and a number.
function bucketsSince(before, now) {
  const was = new Map(before);
  return now.map(([bound, number]) => [bound, number - (was.get(bound) ?? 0)]);
}

// The value below which a share of the observations is, within its bucket by their number; null without observations.
// The last bucket has no bound: the value is at least that of the bucket before.
export function quantile(buckets, share) {
  const all = buckets.reduce((sum, [, number]) => sum + number, 0);
  if (!(all > 0) || buckets.some(([, number]) => number < 0)) return null;
  let [left, lower] = [share * all, 0];
  for (const [bound, number] of buckets) {
    if (bound === null) return lower;
    if (left <= number) return lower + (bound - lower) * (left / number);
    [left, lower] = [left - number, bound];
  }
  return lower;
}

// The sum of one number over all plugins of a sample.
export function ofAllPlugins(number) {
  return (sample) => {
    let sum = 0;
    for (const numbers of sample.plugins.values()) sum += numbers[number];
    return sum;
  };
}

export function ofAllInformers(sample) {
  let sum = 0;
  for (const events of sample.informers.values()) sum += events;
  return sum;
}

// Events, keys and firings that wait for a call.
export function waitingOf({ queue, workqueue, timers }) {
  return queue.depth + workqueue.waiting + timers.waiting;
}

function numbersOf(plugin) {
  const { counters: c, account, deadLetters } = plugin;
  return {
    calls: c.ok + c.retry + c.dead + c.keysOk + c.keysRetry + c.keysDead + c.firings + c.firingsRetry + c.firingsDead,
    failed: c.retry + c.dead + c.keysRetry + c.keysDead + c.firingsRetry + c.firingsDead,
    seconds: account.seconds.guest + account.seconds.hostFunctions,
    processor: account.processorSeconds,
    memory: account.memoryBytes,
    waiting: waitingOf(plugin),
    deadLetters,
    latency: plugin.eventLatency,
  };
}

function eventsOf({ events }) {
  return events.added + events.modified + events.deleted;
}
