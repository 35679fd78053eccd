/**
 * @file Reading pages of the web as a tool. It is off unless somebody turns it on.
 */
import { cut, type Tool } from "../tool.ts";
import { isPrivate } from "./addresses.ts";
import { pageText } from "./page-text.ts";
import { type FetchLimits, getPage } from "./request.ts";

export const FETCH_LIMITS: FetchLimits = {
  ...{ time: 15_000, size: 2_000_000, redirects: 5, isForbidden: isPrivate },
};

const SHOWN = 10_000;

export function fetchTool(limits: Partial<FetchLimits> = {}): Tool {
  return {
    name: "fetch",
    description: "Gets a page of the web by its address and shows its text.",
    parameters: {
      type: "object",
      properties: {
        url: { type: "string", description: "http://… or https://…", maxLength: 4000 },
      },
      required: ["url"],
      additionalProperties: false,
    },
    async execute({ url }, signal) {
      const page = await getPage(String(url), { ...FETCH_LIMITS, ...limits }, signal);
      const isHtml = /html/i.test(page.type) || /^\s*<(!doctype|html)/i.test(page.body);
      const text = cut(isHtml ? pageText(page.body) : page.body.trim(), SHOWN);
      const notes = [
        ...(page.status >= 400 ? [`(the server answered with status ${page.status})`] : []),
        ...(page.isCut ? ["(the page is longer than what was read)"] : []),
      ];
      return [...notes, text === "" ? "(the page is empty)" : text].join("\n");
    },
  };
}
