/**
 * @file The report's example episodes, as a dialogue.
 */
import { escapeMarkup } from "../escape.ts";
import { formatShort } from "../numbers.ts";
import type { ExampleEpisode, ExampleTurn } from "./report.ts";

export function episodeSection(episodes: readonly ExampleEpisode[]): string {
  if (episodes.length === 0) return "";
  return `<h2>Episodes</h2>\n${episodes.map(episodePart).join("\n")}`;
}

function episodePart({ title, turns, reward, success }: ExampleEpisode): string {
  const facts = [
    ...(success === undefined ? [] : [mark(success)]),
    ...(reward === undefined ? [] : [`reward ${formatShort(reward)}`]),
    `${turns.length} ${turns.length === 1 ? "turn" : "turns"}`,
  ];
  return `<details><summary>${escapeMarkup(title)}<span class="count">${facts.join(" · ")}</span></summary>
${turns.map(turnPart).join("\n")}</details>`;
}

function mark(success: boolean): string {
  return success ? `<span class="good">solved</span>` : `<span class="bad">not solved</span>`;
}

function turnPart({ prompt, reply, reward }: ExampleTurn, i: number): string {
  const gained = reward === undefined ? "" : ` · reward ${formatShort(reward)}`;
  return `<div class="turn"><div class="who">turn ${i + 1} · told</div><pre>${escapeMarkup(prompt)}</pre></div>
<div class="turn agent"><div class="who">turn ${i + 1} · agent${gained}</div><pre>${escapeMarkup(reply)}</pre></div>`;
}
