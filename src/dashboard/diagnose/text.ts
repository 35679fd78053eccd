/**
 * @file A diagnosis for people. What episodes say is not made harmless here: whoever prints it does that.
 */
import type { Diagnosis, EpisodeExcerpt, Finding } from "./diagnose.ts";

const percent = (share: number): string => `${(100 * share).toFixed(0)} %`;

export function diagnosisText(diagnosis: Diagnosis): string {
  const { folder, state, iterations, success, findings, failures, notes } = diagnosis;
  const head = [
    `${folder}: ${state.name}, ${iterations} iterations` +
      (success ? `, success ${percent(success.first)} → ${percent(success.last)}` : ""),
    ...(state.reason === undefined ? [] : [`It ended because: ${state.reason}`]),
  ];
  const main =
    iterations === 0
      ? ["No iteration was finished: there is nothing to judge yet."]
      : findings.length === 0
        ? ["Nothing is wrong: no alarm is raised by its metrics."]
        : findings.map((finding, i) => findingText(finding, i + 1));
  const [usual] = failures;
  const looks =
    usual === undefined
      ? []
      : [
          `How lost episodes of the last iterations look: ${failures
            .slice(0, 3)
            .map(({ name, about, share }) => `${percent(share)} ${name} (${about})`)
            .join(", ")}.`,
        ];
  return [head.join("\n"), ...main, ...looks, ...notes.map((note) => `note: ${note}`)].join("\n\n");
}

function findingText(finding: Finding, number: number): string {
  const { name, from, until, evidence, means, tries, settings, episode } = finding;
  const when = until === undefined ? `since iteration ${from}` : `iterations ${from} to ${until}`;
  const changes = settings.map(({ path, now, to }) =>
    to === undefined ? `${path} (is ${now}): look at it` : `${path}=${to} (is ${now})`,
  );
  return [
    `${number}. ${name}, ${when}: ${evidence}.`,
    `   It means: ${means}.`,
    `   Try: ${tries}.`,
    ...changes.map((change) => `     ${change}`),
    ...(episode ? excerptLines(episode) : []),
  ].join("\n");
}

function excerptLines({ id, iteration, status, failure, turns }: EpisodeExcerpt): string[] {
  const line = (text: string) => text.replaceAll("\n", " ⏎ ");
  return [
    `   Episode ${id} of iteration ${iteration} (${status}: ${failure}):`,
    ...turns.flatMap(({ observation, reply }) => [
      `     saw   ${line(observation)}`,
      `     said  ${line(reply)}`,
    ]),
  ];
}
