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
import { type Drawing, type DrawingStep, drawingStep } from "./drawing.ts";
import { hasNativePass } from "./native-pass.ts";
import { planStep } from "./plan.ts";
import type { Completion, GenerationRequest, SampledToken, TextGenerator } from "./request.ts";
import { drawTokens } from "./sampling.ts";
import { type Quantization, type ShortWeights, shortWeights } from "./short-weights.ts";
import type { Guesser } from "./speculation/guess.ts";
import { Speculation } from "./speculation/speculation.ts";
import { forwardStep, rotaryTable } from "./step.ts";

export interface EngineOptions {
  /** Memory for the cache, in bytes. Default 1 GB. */
  cacheBytes?: number;
  /** Tokens that one step computes at most; longer prompts take several. Default 2048. */
  tokensPerStep?: number;
  /** Makes the cache's memory. Default: of this process alone. */
  newCache?: typeof newCacheStore | undefined;
  /** Needed for stop strings and choices. */
  tokenizer?: Tokenizer;
  /**
   * Next tokens are guessed, and several checked at once, where that is faster: answers are the same, bit
   * for bit. Only where the native pass computes (float32 on the CPU, no adapter). Default true;
   * "always": whatever it costs, for tests.
   */
  speculation?: boolean | "always";
  /**
   * Generates with a copy of the weights in fewer bytes, made anew when they change: faster where few
   * sequences decode at once, and of a slightly different distribution. Only where the native pass computes.
   */
  quantization?: Quantization | undefined;
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
  /** Tokens that were guessed and computed, and how many of them were right. */
  guessedTokens: number;
  acceptedTokens: number;
}

export interface Engine extends TextGenerator {
  readonly statistics: EngineStatistics;
  /** Pages of the cache that somebody uses now; others may still be found by what they hold. */
  readonly heldPages: number;
  /**
   * To be called when the weights have changed: nothing computed before is used again. `version` is
   * what completions say of them; default: one more than before.
   */
  weightsChanged(version?: number): void;
  /** Forgets the answers of a task, or all, that later ones are guessed by. */
  forgetAnswers(task?: string): void;
}

export function createEngine(model: Model, options: EngineOptions = {}): Engine {
  const { cacheBytes = 2 ** 30, tokensPerStep = 2048, speculation: wanted = true } = options;
  const { quantization } = options;
  if (!(cacheBytes > 0 && Number.isFinite(cacheBytes)))
    throw new RangeError(`createEngine: cacheBytes must be above 0, got ${cacheBytes}`);
  if (!(Number.isInteger(tokensPerStep) && tokensPerStep >= 1))
    throw new RangeError(
      `createEngine: tokensPerStep must be a whole number, 1 or more, got ${tokensPerStep}`,
    );
  const place = {
    device: model.device,
    dtype: model.parameters.get("model.embed_tokens.weight")!.dtype,
  };
  const pages = Math.max(1, Math.floor(cacheBytes / bytesPerPage(model.config, place)));
  const pool = new PagePool(pages, PAGE_SIZE);
  const table = rotaryTable(model);
  const statistics: EngineStatistics = {
    steps: 0,
    seconds: 0,
    computedTokens: 0,
    drawnTokens: 0,
    cachedTokens: 0,
    preemptions: 0,
    guessedTokens: 0,
    acceptedTokens: 0,
  };
  let cache: CacheStore | undefined;
  let short: ShortWeights | undefined;
  /** In order of arrival. */
  let running: Answer[] = [];
  /** Conversations between their turns, least recently used first. */
  const idle = new Map<string, CachedSequence>();
  const speculation = wanted === false ? null : new Speculation(wanted === "always");
  const guessers = new WeakMap<Answer, Guesser>();
  let weightsVersion = 0;
  /** Times that weights changed: a version may be given twice. */
  let changes = 0;
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
      try {
        await step();
      } catch (error) {
        const failed = running;
        running = [];
        for (const answer of failed) answer.fail(error);
      }
      await nextTurn();
    }
  }

  async function step(): Promise<void> {
    for (const answer of running) if (answer.aborted) settle(answer, "abort");
    running = running.filter((answer) => !answer.settled);
    if (running.length === 0) return;
    const { drawings } = timed(compute);
    const before = changes;
    let left = drawings;
    for (let place = 0; left.length > 0; place++) {
      // Between two tokens others have their turn, as they have without guesses.
      if (place > 0) await nextTurn();
      left = timed(() => left.filter((drawing) => takeNext(drawing, place, before)));
      running = running.filter((answer) => !answer.settled);
    }
    for (const { answer, guesses, checked, before: drawn } of drawings) {
      if (guesses.length > 0) answer.sequence.releaseSpare();
      if (checked) speculation?.learn(guesserOf(answer), checked.guess, answer.drawnSince(drawn));
    }
  }

  function timed<Value>(body: () => Value): Value {
    const begun = performance.now();
    try {
      return body();
    } finally {
      statistics.seconds += (performance.now() - begun) / 1000;
    }
  }

  /** Computes what is next, and draws. */
  function compute(): DrawingStep {
    const plan = planStep(running, {
      tokensPerStep,
      evictIdle: () => {
        const [oldest] = idle;
        if (!oldest) return false;
        oldest[1].evict();
        return idle.delete(oldest[0]);
      },
    });
    const speculating = speculation && hasNativePass(model) ? speculation : null;
    const step = drawingStep(
      plan,
      speculating && {
        ...{ speculation: speculating, guesserOf, running: running.length, tokensPerStep },
      },
    );
    const { work, drawings, tokens, onlyDrawing } = step;
    statistics.steps++;
    statistics.preemptions += plan.preempted;
    statistics.computedTokens += tokens;
    for (const { guesses } of drawings) statistics.guessedTokens += guesses.length;
    cache ??= (options.newCache ?? newCacheStore)(model.config, pages, place);
    const store = cache;
    // Not before the first step: an adapter is merged between the news of other weights and their use.
    if (quantization) short ??= shortWeights(requireNativePass(model), quantization);
    const begun = performance.now();
    // The logits never leave a scope: the garbage collector need not be told of them.
    tidy(() => {
      const logits = forwardStep(model, store, table, work, plan.wanted, short);
      if (logits === null) return;
      const rows = drawings.map(({ answer, guesses }) => answer.samplerRows(guesses));
      const drawn = drawTokens(logits, rows.flat());
      for (const [i, drawing] of drawings.entries())
        drawing.tokens = drawn.splice(0, rows[i]!.length);
    });
    const seconds = (performance.now() - begun) / 1000;
    if (onlyDrawing) speculating?.costs.addDrawing(tokens, seconds);
    else speculating?.costs.addPrompt(tokens, seconds);
    return step;
  }

  /** Takes the token of a place; says whether the next place's token follows from it. */
  function takeNext({ answer, guesses, tokens }: Drawing, place: number, before: number): boolean {
    if (place > 0) {
      // Of other weights, or no longer asked for: the next step begins where this answer is now.
      if (changes !== before || answer.settled || answer.aborted) return false;
      // The guess was right, and is in the cache.
      answer.sequence.markComputed(answer.sequence.computed + 1);
      statistics.acceptedTokens++;
    }
    const token = tokens[place]!;
    take(answer, token);
    if (answer.settled || token instanceof Error) return false;
    return place < guesses.length && guesses[place] === token.id;
  }

  function guesserOf(answer: Answer): Guesser {
    let guesser = guessers.get(answer);
    if (!guesser) {
      guesser = speculation!.guesser();
      guessers.set(answer, guesser);
    }
    return guesser;
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
    speculation?.history.add(answer.task, answer.sequence.ids, answer.promptLength);
    if (answer.kept) idle.set(answer.conversation!, answer.sequence);
    else answer.sequence.evict();
    answer.settle(finish, weightsVersion);
  }

  return {
    statistics,
    get heldPages() {
      return pages - pool.available;
    },
    generate,
    release(conversation) {
      idle.get(conversation)?.evict();
      idle.delete(conversation);
      for (const answer of running) if (answer.conversation === conversation) answer.kept = false;
    },
    weightsChanged(version = weightsVersion + 1) {
      weightsVersion = version;
      changes++;
      short?.dispose();
      short = undefined;
      pool.invalidate();
      for (const sequence of idle.values()) sequence.evict();
      for (const { sequence } of running) sequence.evict();
    },
    forgetAnswers(task) {
      speculation?.history.forget(task);
    },
    async close() {
      closed = true;
      const left = running;
      running = [];
      for (const answer of left) answer.fail(new Error("generate: the engine was closed"));
      await looping;
      cache?.dispose();
      short?.dispose();
      table.dispose();
    },
  };
}

/** Copies in fewer bytes are read by the native pass alone. */
function requireNativePass(model: Model): Model {
  if (hasNativePass(model)) return model;
  throw new Error(
    "quantization: bfloat16 and int8 copies of the weights are for float32 or bfloat16 models on the CPU " +
      "whose adapter, if they have one, is merged; leave quantization out for this model",
  );
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
