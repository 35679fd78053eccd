/**
 * @file Replaces the process's date by one that jumps: by a day, forwards or back, every few times that somebody asks for it.
 * To be imported before everything else. What measures time by the date measures nonsense then.
 */
const DAY = 86_400_000;
/** How often the date is asked for between two jumps. */
const STEADY = 3;

const Real = globalThis.Date;
let asked = 0;
let offset = 0;

function jumpingNow(): number {
  if (++asked % STEADY === 0) offset = offset > 0 ? -DAY : DAY;
  return Real.now() + offset;
}

class JumpingDate extends Real {
  constructor(...given: [] | [value: number | string | Date]) {
    super(...((given.length === 0 ? [jumpingNow()] : given) as [number]));
  }
  static override now(): number {
    return jumpingNow();
  }
}

globalThis.Date = JumpingDate as DateConstructor;
process.on("exit", () => console.log(`the date jumped ${Math.floor(asked / STEADY)} times`));
