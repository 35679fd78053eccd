/**
 * @file How the Hub says no, and what can be done about it.
 */
import { type Answer, oneLine } from "../../network/index.ts";
import type { Hub } from "./client.ts";
import { HubError } from "./errors.ts";
import { shownEndpoint } from "./settings.ts";

/** Bytes of an answer that are looked at for a reason. */
const BEGINNING = 4096;

/** An answer that is no success, as a sentence. */
export async function refusal(
  hub: Hub,
  subject: string,
  answer: Answer,
  isHub: boolean,
): Promise<HubError> {
  const { status, headers } = answer;
  const code = headers.get("x-error-code") ?? "";
  const said = await reasonIn(answer);
  const reason = said === "" ? `${status}` : `${status}: ${said}`;
  if (status === 429 || status >= 500) return later(hub, subject, answer, reason);
  // Where files are kept, nobody knows of tokens: the address that the Hub gave is too old, or wrong.
  if (!isHub)
    return new HubError(
      "unreachable",
      `${subject}: where its files are kept, the answer was ${reason}.`,
    );
  return new HubError("refused", `${subject}: ${sentence(hub, subject, status, code, reason)}`);
}

function sentence(hub: Hub, subject: string, status: number, code: string, reason: string): string {
  const place = shownEndpoint(hub.endpoint);
  const page = `${place}/${subject.split(/[@,]/)[0]!}`;
  if (code === "GatedRepo")
    return `it is gated (${reason}): ask for access at ${page}, and put a token into the variable HF_TOKEN.`;
  if (status === 401) return stranger(hub, place);
  if (status === 403)
    return (
      `${place} does not let you have it (${reason}). Its page, ${page}, says who may. For what is written, the token ` +
      "must be one that may write."
    );
  if (code === "RevisionNotFound")
    return `there is no such revision at ${place}. Its page, ${page}, lists its branches and tags.`;
  if (code === "EntryNotFound")
    return `${place} lists the file and does not have it. Take another revision.`;
  if (status === 404)
    return (
      `there is no such model at ${place}, nor a folder of that name here. Is it spelled as on its page? (One that is ` +
      "private is not there for whoever may not see it: set HF_TOKEN.)"
    );
  return `${place} answered ${reason}.`;
}

/** A hub does not tell a stranger whether something is private or not there. */
function stranger({ token }: Hub, place: string): string {
  const tokens = `${place}/settings/tokens`;
  return token === undefined
    ? `there is no such model at ${place}, nor a folder of that name here; or it is private or gated and needs a token. ` +
        `Is it spelled as on its page? A token is made at ${tokens}; put it into the variable HF_TOKEN.`
    : `${place} does not take your token (HF_TOKEN, or the token file), or there is no such model. Make a new one at ` +
        `${tokens}.`;
}

function later(hub: Hub, subject: string, { status, headers }: Answer, reason: string): HubError {
  const place = shownEndpoint(hub.endpoint);
  const seconds = Number(headers.get("retry-after") ?? "");
  const wait = Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : undefined;
  return new HubError(
    "unreachable",
    status === 429
      ? `${subject}: ${place} was asked too often and wants to be left alone (429). Wait some minutes` +
          `${hub.token === undefined ? ", or set HF_TOKEN: who has one may ask more often" : ""}; then run the command again.`
      : `${subject}: ${place} has trouble of its own (${reason}). Run the command again later; it goes on where it stopped.`,
    wait === undefined ? {} : { wait },
  );
}

async function reasonIn(answer: Answer): Promise<string> {
  const header = answer.headers.get("x-error-message");
  if (header) return oneLine(header, 200);
  const { bytes } = await answer.beginning(BEGINNING);
  const text = bytes.toString("utf8");
  try {
    const { error, message } = JSON.parse(text) as { error?: unknown; message?: unknown };
    const found = [error, message].find((part) => typeof part === "string");
    return found === undefined ? "" : oneLine(found as string, 200);
  } catch {
    return text.trimStart().startsWith("<") ? "" : oneLine(text, 200);
  }
}
