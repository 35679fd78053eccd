/**
 * @file An episode for people: in words, or token by token.
 */
import type { Tokenizer } from "../../models/index.ts";
import type { Trajectory, Turn } from "../../rollout/index.ts";
import { visible } from "../../spelling/index.ts";

/** What the agent saw, said and got, turn by turn. */
export function episodeText(trajectory: Trajectory): string {
  const turns = trajectory.turns.map((turn, i) => {
    const facts = [
      turn.action === null ? "not read" : `action: ${turn.action}`,
      ...(turn.admissible === false ? ["not admissible"] : []),
      ...(turn.tool ? [`tool ${turn.tool.name}${turn.tool.failed ? " failed" : ""}`] : []),
      ...(turn.reward !== 0 ? [`reward ${signed(turn.reward)}`] : []),
      ...turn.problems.map(({ message }) => message),
    ];
    return [
      `── turn ${i + 1} ──`,
      ...turn.messages.map(({ role, content }) => `[${role}] ${content}`),
      `[reply] ${turn.reply.text}`,
      `  → ${facts.join("; ")}`,
    ].join("\n");
  });
  return [heading(trajectory), ...turns, ending(trajectory)].join("\n\n");
}

/** Token by token, as the model had it. With colours it may be shown as it is. */
export function tokenText(
  trajectory: Trajectory,
  tokenizer: Tokenizer | undefined,
  colours: boolean,
): string {
  const paint = colours ? painted : bracketed;
  const turns = trajectory.turns.map((turn, i) =>
    [
      `── turn ${i + 1} ──`,
      paint.prompt(textOf(turn.promptIds, tokenizer)) + replyTokens(turn, tokenizer, paint),
      visible(`  → ${replyFacts(turn)}`),
    ].join("\n"),
  );
  const legend = tokenizer
    ? []
    : ["(Ids only: --model FOLDER names the tokenizer that has their texts.)"];
  const [beginning, end] = [visible(heading(trajectory)), visible(ending(trajectory))];
  return [beginning, ...legend, ...turns, end].join("\n\n");
}

function heading({ id, task, format, context, seed, attempts }: Trajectory): string {
  const kind = task.type === undefined ? "" : ` (${task.type})`;
  const again = attempts > 1 ? `, begun ${attempts} times` : "";
  return `${id}: ${task.environment} ${task.id}${kind}, format ${format}, context ${context}, seed ${seed}${again}`;
}

function ending({ status, error, lastObservation, reward, score, turns, rewards }: Trajectory) {
  const parts = Object.entries(rewards ?? {}).map(([name, value]) => `${name} ${signed(value)}`);
  return [
    `At the end it saw: ${lastObservation}`,
    `${status} after ${turns.length} turns, reward ${signed(reward)}, score ${score}` +
      (parts.length > 0 ? ` (${parts.join(", ")})` : "") +
      (error === undefined ? "" : `: ${error}`),
  ].join("\n");
}

function replyFacts({ reply, reward, action }: Turn): string {
  const { ids, logprobs, source, finish, weightsVersion } = reply;
  const sum = logprobs.reduce((total, value) => total + value, 0);
  const likely = Number.isNaN(sum)
    ? "log p unknown"
    : `log p ${sum.toFixed(3)} (${(sum / Math.max(1, ids.length)).toFixed(3)} each)`;
  return [
    `${ids.length} tokens, ${likely}`,
    `reward ${signed(reward)}`,
    `${source}, ${finish}, weights ${weightsVersion}`,
    action === null ? "not read" : `action: ${action}`,
  ].join("; ");
}

/** Each drawn token with its log-probability; the step's reward stands on the last one. */
function replyTokens({ reply, reward }: Turn, tokenizer: Tokenizer | undefined, paint: Paint) {
  const last = reply.ids.length - 1;
  return reply.ids
    .map((id, i) => {
      const remark = i === last && reward !== 0 ? `, reward ${signed(reward)}` : "";
      return paint.drawn(textOf([id], tokenizer), reply.logprobs[i]!, remark);
    })
    .join("");
}

function textOf(ids: readonly number[], tokenizer: Tokenizer | undefined): string {
  return tokenizer ? visible(tokenizer.decode(ids)) : `${ids.join(" ")} `;
}

interface Paint {
  prompt(text: string): string;
  drawn(text: string, logprob: number, remark: string): string;
}

const bracketed: Paint = {
  prompt: (text) => text,
  drawn: (text, logprob, remark) => `[${text}|${shortLogprob(logprob)}${remark}]`,
};

/** What was given is dim; what was drawn is green where it was likely, over yellow to red. */
const painted: Paint = {
  prompt: (text) => `\x1b[2m${text}\x1b[22m`,
  drawn(text, logprob, remark) {
    const probability = Math.exp(logprob);
    const colour = Number.isNaN(probability)
      ? 36
      : probability > 0.5
        ? 32
        : probability > 0.1
          ? 33
          : 31;
    return `\x1b[${colour}m${text}\x1b[39m\x1b[2m${shortLogprob(logprob)}${remark}\x1b[22m`;
  },
};

function shortLogprob(logprob: number): string {
  return Number.isNaN(logprob) ? "?" : logprob.toFixed(2);
}

function signed(value: number): string {
  return `${value > 0 ? "+" : ""}${Number(value.toFixed(4))}`;
}
