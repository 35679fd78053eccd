/**
 * @file The calculator as a tool.
 */
import type { Tool } from "../tool.ts";
import { calculate } from "./expression.ts";

export function calculatorTool(): Tool {
  return {
    name: "calculator",
    description:
      "Calculates an expression exactly where that is possible: + - * / % ^ !, parentheses, and " +
      "functions such as sqrt, round(x, digits), min, max, mean, log, sin, factorial, comb.",
    parameters: {
      type: "object",
      properties: { expression: { type: "string", description: "such as (12.5 + 3) * 4" } },
      required: ["expression"],
      additionalProperties: false,
    },
    execute: ({ expression }) => calculate(String(expression)),
  };
}
