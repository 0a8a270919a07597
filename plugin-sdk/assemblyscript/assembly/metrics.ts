// Series on the host's /metrics.

import { AREA, mark, release } from "./abi/memory";
import { text as textAt } from "./abi/read";
import { pairs, text } from "./abi/write";
import { Problem } from "./problem";

@external("informant:plugin/metrics@0.1.0", "counter-add")
declare function hostCounterAdd(name: usize, nameLength: usize, labels: usize, count: usize, value: f64, into: usize): void;
@external("informant:plugin/metrics@0.1.0", "gauge-set")
declare function hostGaugeSet(name: usize, nameLength: usize, labels: usize, count: usize, value: f64, into: usize): void;
@external("informant:plugin/metrics@0.1.0", "histogram-observe")
declare function hostHistogramObserve(name: usize, nameLength: usize, labels: usize, count: usize, value: f64, into: usize): void;

const COUNTER_ADD: u32 = 0;
const GAUGE_SET: u32 = 1;
const HISTOGRAM_OBSERVE: u32 = 2;

/** The function is known at compile time: a plugin imports only what it uses. */
// @ts-ignore: decorator
@inline
function counted(which: u32, name: string, labels: string[][], value: f64): Problem | null {
  const before = mark();
  const series = text(name);
  const named = pairs(labels, "labels of a series");
  if (which == COUNTER_ADD) hostCounterAdd(series.at, series.length, named.at, named.length, value, AREA);
  else if (which == GAUGE_SET) hostGaugeSet(series.at, series.length, named.at, named.length, value, AREA);
  else hostHistogramObserve(series.at, series.length, named.at, named.length, value, AREA);
  const problem: Problem | null = load<u8>(AREA) == 0 ? null : new Problem("metrics", "refused", textAt(AREA + 4));
  release(before);
  return problem;
}

/**
 * The plugin's series. Labels are pairs: `metrics.counterAdd("seen_total", [["kind", "pod"]])`. A refusal is returned
 * as a problem.
 */
export namespace metrics {
  /** Adds to a counter, and creates it if necessary. */
  export function counterAdd(name: string, labels: string[][] = [], value: f64 = 1): Problem | null {
    return counted(COUNTER_ADD, name, labels, value);
  }
  /** Sets a gauge. */
  export function gaugeSet(name: string, labels: string[][], value: f64): Problem | null {
    return counted(GAUGE_SET, name, labels, value);
  }
  /** Counts one value in a histogram. */
  export function histogramObserve(name: string, labels: string[][], value: f64): Problem | null {
    return counted(HISTOGRAM_OBSERVE, name, labels, value);
  }
}
