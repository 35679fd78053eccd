/**
 * @file What the gateway counts, in the text that Prometheus reads.
 */
import { FORK_REASONS, type ForkReason } from "./conversation/branches.ts";

/** Seconds; the last bucket has everything. */
const BUCKETS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];

/** How often something took how long, in seconds. */
export class Histogram {
  readonly #counts = BUCKETS.map(() => 0);
  #sum = 0;
  #count = 0;

  add(seconds: number): void {
    this.#sum += seconds;
    this.#count++;
    for (const [i, bound] of BUCKETS.entries()) if (seconds <= bound) this.#counts[i]!++;
  }

  lines(name: string): string[] {
    return [
      `# TYPE ${name} histogram`,
      ...BUCKETS.map((bound, i) => `${name}_bucket{le="${bound}"} ${this.#counts[i]}`),
      `${name}_bucket{le="+Inf"} ${this.#count}`,
      `${name}_sum ${this.#sum}`,
      `${name}_count ${this.#count}`,
    ];
  }
}

export class GatewayMetrics {
  readonly #requests = new Map<string, number>();
  readonly #forks = new Map<ForkReason, number>(FORK_REASONS.map((reason) => [reason, 0]));
  readonly firstToken = new Histogram();
  readonly reply = new Histogram();
  promptTokens = 0;
  cachedTokens = 0;
  generatedTokens = 0;
  /** Replies that nobody waited for any more. */
  aborted = 0;
  /** Replies that are being drawn, or wait for it. */
  running = 0;

  request(path: string, status: number): void {
    const key = `path="${path}",status="${status}"`;
    this.#requests.set(key, (this.#requests.get(key) ?? 0) + 1);
  }

  fork(reason: ForkReason): void {
    this.#forks.set(reason, this.#forks.get(reason)! + 1);
  }

  /** How often branches were begun, and why. */
  get forks(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#forks);
  }

  text(sessions: number): string {
    const counter = (name: string, value: number) => [
      `# TYPE openmanus_${name} counter`,
      `openmanus_${name} ${value}`,
    ];
    const gauge = (name: string, value: number) => [
      `# TYPE openmanus_${name} gauge`,
      `openmanus_${name} ${value}`,
    ];
    return [
      "# TYPE openmanus_requests_total counter",
      ...[...this.#requests].map(([key, count]) => `openmanus_requests_total{${key}} ${count}`),
      ...counter("prompt_tokens_total", this.promptTokens),
      ...counter("cached_prompt_tokens_total", this.cachedTokens),
      ...counter("generated_tokens_total", this.generatedTokens),
      ...counter("aborted_replies_total", this.aborted),
      "# TYPE openmanus_branches_total counter",
      ...[...this.#forks].map(
        ([reason, count]) => `openmanus_branches_total{reason="${reason}"} ${count}`,
      ),
      ...gauge("running_replies", this.running),
      ...gauge("sessions", sessions),
      ...this.firstToken.lines("openmanus_first_token_seconds"),
      ...this.reply.lines("openmanus_reply_seconds"),
      "",
    ].join("\n");
  }
}
