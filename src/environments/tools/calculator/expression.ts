/**
 * @file Reads an expression and calculates it: + − × ÷ %, powers, factorials, parentheses, functions.
 */
import { nearest } from "../../../spelling/index.ts";
import { CONSTANTS, FUNCTIONS, factorial } from "./functions.ts";
import {
  add,
  divide,
  exact,
  modulo,
  multiply,
  negate,
  power,
  shown,
  type Value,
} from "./rational.ts";
import { CalculationError, metered } from "./work.ts";

const LONGEST = 5000;
const DEEPEST = 200;

interface Token {
  readonly kind: "number" | "name" | "sign" | "end";
  readonly text: string;
  readonly at: number;
}

/** The value as text. Throws CalculationError with what is wrong. */
export function calculate(expression: string): string {
  if (expression.length > LONGEST)
    throw new CalculationError(`the expression is longer than ${LONGEST} characters`);
  const reader = new Reader(tokensOf(expression));
  return metered(() => {
    const value = reader.sum(0);
    reader.expectEnd();
    return shown(value);
  });
}

const TOKEN =
  /\s*(?:(?<number>(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?<name>[A-Za-z]\w*)|(?<sign>\*\*|[-+*/%^!(),]))/y;

function tokensOf(expression: string): Token[] {
  const text = expression
    .replaceAll("×", "*")
    .replaceAll("·", "*")
    .replaceAll("÷", "/")
    .replaceAll("−", "-")
    .trimEnd();
  const tokens: Token[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.length) {
    const at = TOKEN.lastIndex;
    const match = TOKEN.exec(text);
    if (!match) {
      const rest = text.slice(at).trimStart();
      throw new CalculationError(`cannot read ${JSON.stringify(rest.slice(0, 20))}`);
    }
    const { number, name, sign } = match.groups!;
    const kind = number !== undefined ? "number" : name !== undefined ? "name" : "sign";
    tokens.push({ kind, text: (number ?? name ?? sign)!, at });
  }
  tokens.push({ kind: "end", text: "the end", at: text.length });
  return tokens;
}

class Reader {
  readonly #tokens: readonly Token[];
  #place = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  sum(depth: number): Value {
    let value = this.#product(depth);
    for (;;) {
      if (this.#take("+")) value = add(value, this.#product(depth));
      else if (this.#take("-")) value = add(value, negate(this.#product(depth)));
      else return value;
    }
  }

  expectEnd(): void {
    const token = this.#token();
    if (token.kind === "end") return;
    throw new CalculationError(
      token.text === ","
        ? 'a comma stands only between arguments of a function; write 1000, not "1,000"'
        : `expected an operator, found "${token.text}"`,
    );
  }

  #product(depth: number): Value {
    let value = this.#signed(depth);
    for (;;) {
      if (this.#take("*")) value = multiply(value, this.#signed(depth));
      else if (this.#take("/")) value = divide(value, this.#signed(depth));
      else if (this.#isPercent()) value = divide(value, exact(100n));
      else if (this.#take("%")) value = modulo(value, this.#signed(depth));
      else return value;
    }
  }

  /** A % with nothing to divide by after it means hundredths: 15% * 80. */
  #isPercent(): boolean {
    const [sign, next] = [this.#token(), this.#tokens[this.#place + 1]];
    if (sign.text !== "%" || !next) return false;
    const isOperand = next.kind === "number" || next.kind === "name" || next.text === "(";
    if (!isOperand) this.#place++;
    return !isOperand;
  }

  /** −2^2 is −4: a sign binds less than a power. */
  #signed(depth: number): Value {
    let isNegative = false;
    for (;;) {
      if (this.#take("-")) isNegative = !isNegative;
      else if (!this.#take("+")) break;
    }
    const value = this.#power(depth);
    return isNegative ? negate(value) : value;
  }

  /** 2^3^2 is 2^9: from the right. */
  #power(depth: number): Value {
    if (depth > DEEPEST) throw new CalculationError("the expression is nested too deeply");
    let value = this.#operand(depth);
    while (this.#take("!")) value = factorial(value);
    if (this.#take("^") || this.#take("**")) return power(value, this.#signed(depth + 1));
    return value;
  }

  #operand(depth: number): Value {
    const token = this.#token();
    this.#place++;
    if (token.kind === "number") return numberOf(token.text);
    if (token.kind === "name") return this.#named(token.text, depth);
    if (token.text === "(") {
      const value = this.sum(depth + 1);
      this.#expect(")");
      return value;
    }
    throw new CalculationError(`expected a number, found ${quoted(token)}`);
  }

  #named(name: string, depth: number): Value {
    const known = name.toLowerCase();
    if (Object.hasOwn(CONSTANTS, known)) return CONSTANTS[known]!;
    if (!Object.hasOwn(FUNCTIONS, known)) {
      const names = [...Object.keys(FUNCTIONS), ...Object.keys(CONSTANTS)];
      const guess = nearest(name, names);
      throw new CalculationError(
        `there is no "${name.slice(0, 40)}"${guess ? `; did you mean ${guess}?` : `; there are ${names.join(", ")}`}`,
      );
    }
    const { least, most, calculate } = FUNCTIONS[known]!;
    this.#expect("(");
    const values: Value[] = [];
    if (this.#token().text !== ")")
      do {
        values.push(this.sum(depth + 1));
      } while (this.#take(",") && values.length <= most);
    this.#expect(")");
    if (values.length < least || values.length > most)
      throw new CalculationError(
        `${known} takes ${least === most ? least : `${least} to ${most}`} arguments, got ${values.length}`,
      );
    return calculate(...values);
  }

  #token(): Token {
    return this.#tokens[this.#place]!;
  }

  #take(sign: string): boolean {
    const token = this.#token();
    if (token.kind !== "sign" || token.text !== sign) return false;
    this.#place++;
    return true;
  }

  #expect(sign: string): void {
    if (!this.#take(sign))
      throw new CalculationError(`expected "${sign}", found ${quoted(this.#token())}`);
  }
}

function quoted({ kind, text }: Token): string {
  return kind === "end" ? text : `"${text}"`;
}

/** Decimals are exact: 0.1 is a tenth. */
function numberOf(text: string): Value {
  const [digits, exponent = "0"] = text.replaceAll("_", "").toLowerCase().split("e");
  const [before = "", after = ""] = digits!.split(".");
  const value = exact(BigInt(`${before}${after}` || "0"), 10n ** BigInt(after.length));
  const scale = Number(exponent);
  if (Math.abs(scale) > 1000) throw new CalculationError("the number becomes too large");
  return multiply(value, power(exact(10n), exact(BigInt(scale))));
}
