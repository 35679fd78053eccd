/**
 * @file A real browser, Debian's Chromium through playwright-core. Where there is none, tests are skipped, and the last line
 * of the run says so; in our CI it is there.
 */
import { appendFileSync, existsSync } from "node:fs";
import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, expect, inject } from "vitest";

const PROGRAM = ["/usr/bin/chromium", "/usr/bin/chromium-browser"].find((path) => existsSync(path));

export function isBrowserMissing(): boolean {
  if (PROGRAM !== undefined) return false;
  const file = expect.getState().testPath ?? "";
  appendFileSync(inject("skippedFile"), `a browser (chromium)\t${file.split("/tests/").at(-1)}\n`);
  return true;
}

let browser: Promise<Browser> | undefined;
afterAll(async () => (await browser)?.close());

/** A page, and everything that it should not have said or asked for. */
export interface WatchedPage {
  readonly page: Page;
  readonly complaints: string[];
}

export async function openPage(
  options: { readonly width?: number; readonly dark?: boolean } = {},
): Promise<WatchedPage> {
  browser ??= chromium.launch({
    executablePath: PROGRAM!,
    args: [
      ...["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"],
      ...["--disable-background-networking", "--disable-component-update"],
    ],
  });
  const page = await (await browser).newPage({
    viewport: { width: options.width ?? 1280, height: 900 },
    colorScheme: options.dark ? "dark" : "light",
  });
  page.setDefaultTimeout(60_000);
  const complaints: string[] = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("dialog", (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("request", (request) => {
    const { protocol, hostname } = new URL(request.url());
    if (!["file:", "data:"].includes(protocol) && hostname !== "127.0.0.1")
      complaints.push(`asked for ${request.url()}`);
  });
  return { page, complaints };
}
