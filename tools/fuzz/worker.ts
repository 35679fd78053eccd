/**
 * @file The process that reads hostile bytes, for one target. Mutates, runs, judges, and keeps what reaches new code. It may
 * die or hang of an input: `watch.ts` sees to that.
 */
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Corpus, type Entry, openCorpus } from "./corpus.ts";
import { type CoverageMeter, startCoverage } from "./coverage.ts";
import { type Judge, judgeFor, type Outcome } from "./judge.ts";
import { minimised } from "./minimise.ts";
import { type Message, openCurrent, type Work } from "./protocol.ts";
import { fuzzRandom } from "./random.ts";
import type { Form } from "./target.ts";

/** Inputs between two looks at what was reached. */
const BATCH = 64;
const MOST_FINDS = 20;

const work = JSON.parse(process.argv[2]!) as Work;
const meter = startCoverage(isMeasured);
const send = (message: Message) => void process.send?.(message);
const current = openCurrent(join(work.scratch, "current"));

process.on("uncaughtException", die);
process.on("unhandledRejection", die);

/** Ours, and the packages that read for us; not Node, not this folder. */
function isMeasured(url: string): boolean {
  return (
    /\/src\//.test(url) || /node_modules\/(@huggingface|hyparquet|yaml|hono|ws|zod)\//.test(url)
  );
}

function die(error: unknown): void {
  console.error(`outside of the reader's calls: ${error instanceof Error ? error.stack : error}`);
  process.exit(70);
}

// After the counters have begun: what is loaded before them is counted by functions only.
const { targetNamed } = await import("./targets/index.ts");
const target = await targetNamed(work.target);
const folder = join(work.scratch, "box", "inside");
mkdirSync(folder, { recursive: true });
const opened = await target.open(folder);
const judge = judgeFor(target, opened, folder);

if (work.replay !== undefined) await replay(judge, work.replay);
else await fuzz();
await opened.close?.();
send({ kind: "done" });
process.disconnect?.();
// A target may have left something open that no longer matters.
setTimeout(() => process.exit(0), 200).unref();

async function replay({ judge: judged }: Judge, file: string): Promise<void> {
  const bytes = readFileSync(file);
  current.write(bytes);
  const { find, shape } = await judged(bytes);
  if (find) send({ kind: "find", ...find, base64: bytes.toString("base64") });
  else console.log(`no find: ${shape}`);
}

async function fuzz(): Promise<void> {
  const forms = await target.forms();
  meter.begin();
  const words = target.words ?? [];
  const corpus = openCorpus(forms, words, work.corpus);
  const random = fuzzRandom(work.seed);
  const end = performance.now() + work.seconds * 1000;
  const mostFinds = work.isFirstEnough ? 1 : MOST_FINDS;
  const shapes = new Set<string>();
  const finds = new Set<string>();
  let inputs = 0;
  const count = () =>
    send({
      kind: "count",
      ...{ inputs, blocks: meter.blocks, functions: meter.functions, corpus: corpus.size },
    });
  const seeds = forms.flatMap((form, i) => form.seeds.map((bytes) => ({ form: i, bytes })));
  let queue: Entry[] = seeds;
  let told = 0;
  while (inputs < work.inputs && performance.now() < end && finds.size < mostFinds) {
    const batch = queue.length > 0 ? queue.splice(0, BATCH) : [];
    while (batch.length < Math.min(BATCH, work.inputs - inputs)) batch.push(corpus.next(random));
    for (const entry of batch) {
      const bytes = bytesOf(forms, entry);
      const outcome = await run(bytes);
      inputs++;
      if (outcome.find) await report(bytes, outcome, finds);
      if (finds.size >= mostFinds) break;
      if (!outcome.find && !shapes.has(outcome.shape)) {
        // A sentence that was never said: the reader came to another place.
        shapes.add(outcome.shape);
        corpus.add(entry);
      }
    }
    await keepWhatIsNew(batch, forms, corpus, meter);
    await new Promise((resolve) => setImmediate(resolve));
    if (performance.now() - told > 500) {
      told = performance.now();
      count();
    }
  }
  queue = [];
  count();
}

function bytesOf(forms: readonly Form[], { form, bytes }: Entry): Buffer {
  return forms[form]!.toBytes?.(bytes) ?? bytes;
}

function run(bytes: Buffer): Promise<Outcome> {
  current.write(bytes);
  return judge.judge(bytes);
}

/** Looks for the inputs by halves: mostly none of a batch, or one, has reached something new. */
async function keepWhatIsNew(
  batch: readonly Entry[],
  forms: readonly Form[],
  corpus: Corpus,
  coverage: CoverageMeter,
): Promise<void> {
  const found = coverage.newBlocks();
  if (found.length === 0) return;
  const search = async (entries: readonly Entry[]): Promise<void> => {
    if (entries.length === 1) {
      for (const entry of entries) corpus.add(entry);
      return;
    }
    const middle = entries.length >> 1;
    for (const half of [entries.slice(0, middle), entries.slice(middle)]) {
      for (const entry of half) await run(bytesOf(forms, entry));
      const blocks = coverage.newBlocks();
      if (blocks.length > 0) await search(half);
      coverage.know(blocks);
    }
  };
  await search(batch);
  // What no second run reached again depends on more than the input.
  coverage.know(found);
}

async function report(bytes: Buffer, { find }: Outcome, finds: Set<string>): Promise<void> {
  const { signature, report: text } = find!;
  if (finds.has(signature)) return;
  finds.add(signature);
  const small = await minimised(bytes, async (other) => {
    return (await run(other)).find?.signature === signature;
  });
  send({ kind: "find", signature, report: text, base64: small.toString("base64") });
}
