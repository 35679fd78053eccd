/**
 * @file Names and values in the form that every MLflow server takes.
 */
import type { Metrics } from "../metrics.ts";
import type { KeyValue, LoggedMetric } from "./client.ts";

const LONGEST_KEY = 250;
const LONGEST_PARAM = 6000;
const LONGEST_TAG = 5000;

/** Letters, digits and _ - . / and spaces are allowed; anything else becomes _. */
function keyOf(name: string): string {
  const key = name.replace(/[^\p{L}\p{N}_\-./ ]/gu, "_").slice(0, LONGEST_KEY);
  // A key must be a path that leads nowhere else.
  return key.replace(/^\/+|\/+$/g, "_").replace(/(^|\/)\.{0,2}(?=\/|$)/g, "$1_");
}

export function metricsOf(step: number, metrics: Metrics, timestamp: number): LoggedMetric[] {
  return Object.entries(metrics).map(([name, value]) => ({
    key: keyOf(name),
    value: Number.isFinite(value) ? value : (String(value) as "NaN" | "Infinity" | "-Infinity"),
    timestamp,
    step,
  }));
}

export function paramsOf(params: Readonly<Record<string, unknown>>): KeyValue[] {
  return Object.entries(params).map(([name, value]) => ({
    key: keyOf(name),
    value: textOf(value).slice(0, LONGEST_PARAM),
  }));
}

export function tagsOf(tags: Readonly<Record<string, string>>): KeyValue[] {
  return Object.entries(tags).map(([name, value]) => ({
    key: keyOf(name),
    value: value.slice(0, LONGEST_TAG),
  }));
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? String(value));
}
