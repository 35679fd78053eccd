/**
 * @file `openmanus-rl model push`: a model, or a run's best policy, to the Hub.
 */
import { audienceOf, push } from "../../../library/index.ts";
import { optionsAndWords, UsageError } from "../../arguments/usage.ts";
import { interruptible } from "../interrupt.ts";
import { print } from "../print.ts";

export const PUSH_USAGE =
  "openmanus-rl model push FOLDER|RUN NAME [--private] [--revision BRANCH] [--json]";

export async function pushCommand(given: readonly string[]): Promise<number> {
  const { values, words } = optionsAndWords(given, {
    private: { type: "boolean", default: false },
    revision: { type: "string" },
    json: { type: "boolean", default: false },
  });
  const [place, name, ...more] = words;
  if (place === undefined || name === undefined || more.length > 0)
    throw new UsageError(`push takes a folder and a name on the Hub: ${PUSH_USAGE}.`);
  const { say } = audienceOf({ progress: process.stderr });
  const found = await interruptible((signal) =>
    push(place, name, {
      ...{ isPrivate: values.private, revision: values.revision, signal },
      ...{ progress: process.stderr, say },
    }),
  );
  if (values.json) print(JSON.stringify(found, null, 2));
  else
    print(
      `${found.model}\n${found.url}\n${(found.sent / 1e6).toFixed(1)} of ${(found.bytes / 1e6).toFixed(1)} MB were ` +
        "sent; the rest was there",
    );
  return 0;
}
