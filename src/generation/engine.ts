/**
 * @file The generation engine: many requests at once over one model in this process.
 *
 * Continuous batching: every step computes the next token of all running requests and a share of the
 * prompts that wait, in one pass; requests join and leave between steps. Whatever is in the cache is
 * not computed again.
 */
import type { Model, Tokenizer } from "../models/index.ts";
import { tidy } from "../torch/index.ts";
import { Answer } from "./answer.ts";
import { PagePool } from "./cache/pages.ts";
import { CachedSequence } from "./cache/sequence.ts";
import { bytesPerPage, type CacheStore, newCacheStore, PAGE_SIZE } from "./cache/store.ts";
import { planStep } from "./plan.ts";
import type { Completion, GenerationRequest, SampledToken, TextGenerator } from "./request.ts";
import { drawTokens } from "./sampling.ts";
import { forwardStep, rotaryTable } from "./step.ts";

export interface EngineOptions {
  /** Memory for the cache, in bytes. Default 1 GB. */
  cacheBytes?: number;
  /** Tokens that one step computes at most; longer prompts take several. Default 2048. */
  tokensPerStep?: number;
  /** Needed for stop strings and choices. */
  tokenizer?: Tokenizer;
}

export interface EngineStatistics {
  steps: number;
  /** Spent in steps: the model, the sampler, and what is planned around them. */
  seconds: number;
  /** Tokens that went through the model, prompts included. */
  computedTokens: number;
  drawnTokens: number;
  /** Prompt tokens that were found in the cache. */
  cachedTokens: number;
  /** Times that a running request lost its place in the cache and was computed again. */
  preemptions: number;
}

export interface Engine extends TextGenerator {
  readonly statistics: EngineStatistics;
  /**
   * To be called when the weights have changed: nothing computed before is used again. `version` is
   * what completions say of them; default: one more than before.
   */
  weightsChanged(version?: number): void;
}

export function createEngine(model: Model, options: EngineOptions = {}): Engine {
  const { cacheBytes = 2 ** 30, tokensPerStep = 2048 } = options;
  if (!(cacheBytes > 0 && Number.isFinite(cacheBytes)))
    throw new RangeError(`createEngine: cacheBytes must be above 0, got ${cacheBytes}`);
  if (!(Number.isInteger(tokensPerStep) && tokensPerStep >= 1))
    throw new RangeError(
      `createEngine: tokensPerStep must be a whole number, 1 or more, got ${tokensPerStep}`,
    );
  const pages = Math.max(1, Math.floor(cacheBytes / bytesPerPage(model.config)));
  const pool = new PagePool(pages, PAGE_SIZE);
  const table = rotaryTable(model);
  const statistics: EngineStatistics = {
    steps: 0,
    seconds: 0,
    computedTokens: 0,
    drawnTokens: 0,
    cachedTokens: 0,
    preemptions: 0,
  };
  let cache: CacheStore | undefined;
  /** In order of arrival. */
  let running: Answer[] = [];
  /** Conversations between their turns, least recently used first. */
  const idle = new Map<string, CachedSequence>();
  let weightsVersion = 0;
  let looping: Promise<void> | undefined;
  let closed = false;

  function generate(request: GenerationRequest): Promise<Completion> {
    return new Promise((resolve, reject) => {
      if (closed) throw new Error("generate: the engine is closed");
      const name = request.conversation;
      if (name !== undefined && running.some((other) => other.conversation === name))
        throw new Error(`generate: conversation ${name} has a request that is not answered yet`);
      const kept = name === undefined ? undefined : idle.get(name);
      const answer = new Answer(request, kept ?? new CachedSequence(pool), {
        model,
        tokenizer: options.tokenizer,
        capacity: pages * PAGE_SIZE,
        resolve,
        reject,
      });
      if (name !== undefined) idle.delete(name);
      running.push(answer);
      looping ??= loop().finally(() => {
        looping = undefined;
      });
    });
  }

  async function loop(): Promise<void> {
    // Requests made in the same turn of the event loop start together.
    await nextTurn();
    while (running.length > 0) {
      const begun = performance.now();
      try {
        step();
      } catch (error) {
        const failed = running;
        running = [];
        for (const answer of failed) answer.fail(error);
      }
      statistics.seconds += (performance.now() - begun) / 1000;
      await nextTurn();
    }
  }

  function step(): void {
    for (const answer of running) if (answer.aborted) settle(answer, "abort");
    running = running.filter((answer) => !answer.settled);
    if (running.length === 0) return;
    const { work, wanted, preempted } = planStep(running, {
      tokensPerStep,
      evictIdle: () => {
        const [oldest] = idle;
        if (!oldest) return false;
        oldest[1].evict();
        return idle.delete(oldest[0]);
      },
    });
    statistics.steps++;
    statistics.preemptions += preempted;
    for (const { tokens } of work) statistics.computedTokens += tokens;
    cache ??= newCacheStore(model.config, pages);
    const store = cache;
    const answers = wanted.map((i) => work[i]!.answer);
    let drawn: (SampledToken | Error)[] = [];
    // The logits never leave a scope: the garbage collector need not be told of them.
    tidy(() => {
      const logits = forwardStep(
        model,
        store,
        table,
        work.map(({ answer, tokens }) => ({ sequence: answer.sequence, tokens })),
        wanted,
      );
      if (logits === null) return;
      const rows = answers.map((answer) => answer.samplerRow());
      drawn = drawTokens(logits, rows);
    });
    for (const [i, token] of drawn.entries()) take(answers[i]!, token);
    running = running.filter((answer) => !answer.settled);
  }

  /** Whatever goes wrong here, a caller's onToken included, concerns this request alone. */
  function take(answer: Answer, token: SampledToken | Error): void {
    // An onToken of another request may have closed the engine.
    if (answer.settled) return;
    try {
      if (token instanceof Error) throw token;
      statistics.drawnTokens++;
      const finish = answer.take(token);
      if (finish && !answer.settled) settle(answer, finish);
    } catch (error) {
      answer.fail(error);
    }
  }

  function settle(answer: Answer, finish: Completion["finish"]): void {
    statistics.cachedTokens += answer.cachedTokens;
    if (answer.kept) idle.set(answer.conversation!, answer.sequence);
    else answer.sequence.evict();
    answer.settle(finish, weightsVersion);
  }

  return {
    statistics,
    generate,
    release(conversation) {
      idle.get(conversation)?.evict();
      idle.delete(conversation);
      for (const answer of running) if (answer.conversation === conversation) answer.kept = false;
    },
    weightsChanged(version = weightsVersion + 1) {
      weightsVersion = version;
      pool.invalidate();
      for (const sequence of idle.values()) sequence.evict();
      for (const { sequence } of running) sequence.evict();
    },
    async close() {
      closed = true;
      const left = running;
      running = [];
      for (const answer of left) answer.fail(new Error("generate: the engine was closed"));
      await looping;
      cache?.dispose();
      table.dispose();
    },
  };
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
