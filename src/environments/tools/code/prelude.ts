/**
 * @file What the code finds in its interpreter beside the language: print and console.log, which keep
 * text inside, and a Math.random and a Date that are the same in every run: time stands still at
 * 1970-01-01T00:00:00Z, and random numbers always begin with the same.
 *
 * It is JavaScript as text because it runs inside. It holds on to the built-in functions that it
 * needs: the code may replace them, and would only deceive itself.
 */
export const PRELUDE = `function (limit) {
  const { stringify } = JSON;
  const { slice } = String.prototype;
  const { apply } = Reflect;
  const cut = (text) => apply(slice, text, [0, limit]);
  const describe = (value) => {
    if (value instanceof Error) return cut(String(value.name) + ": " + String(value.message));
    if (typeof value === "object" && value !== null) {
      try {
        const json = stringify(value, (key, part) => {
          if (typeof part === "bigint") return String(part);
          if (part instanceof Map || part instanceof Set) part = [...part];
          return part;
        });
        if (typeof json === "string") return cut(json);
      } catch (error) {
        return "(an object that cannot be shown: " + cut(String(error && error.message)) + ")";
      }
    }
    return cut(String(value));
  };
  const lines = [];
  let size = 0;
  const print = (...values) => {
    if (size > limit) return;
    const text = values.map(describe).join(" ");
    size += text.length + 1;
    lines.push(text);
  };
  globalThis.print = print;
  globalThis.console = { log: print, info: print, warn: print, error: print, debug: print };
  let state = 1;
  Math.random = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 4294967296;
  };
  const RealDate = Date;
  const { construct, ownKeys, getOwnPropertyDescriptor, defineProperty } = Reflect;
  // A function of its own and no subclass: the real one must not be found above it.
  const StillDate = function Date(...parts) {
    if (new.target === undefined) return new StillDate().toString();
    return construct(RealDate, parts.length === 0 ? [0] : parts, new.target);
  };
  for (const key of ownKeys(RealDate))
    defineProperty(StillDate, key, getOwnPropertyDescriptor(RealDate, key));
  StillDate.now = () => 0;
  RealDate.prototype.constructor = StillDate;
  globalThis.Date = StillDate;
  // As JSON, because a text on its way out ends at its first character 0.
  return {
    describe: (value) => stringify(describe(value)),
    printed: () => stringify(cut(lines.join("\\n"))),
  };
}`;
