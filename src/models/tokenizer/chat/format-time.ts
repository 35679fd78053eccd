/**
 * @file Python's strftime, as far as chat templates use it, in English and UTC on every machine.
 */

const MONTHS = [
  ...["January", "February", "March", "April", "May", "June", "July", "August", "September"],
  ...["October", "November", "December"],
];
const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/** The time in the given form; an unknown code is an error. */
export function formatTime(time: Date, form: string): string {
  const two = (value: number): string => String(value).padStart(2, "0");
  const month = MONTHS[time.getUTCMonth()]!;
  const day = DAYS[time.getUTCDay()]!;
  const codes: Record<string, string> = {
    Y: String(time.getUTCFullYear()),
    m: two(time.getUTCMonth() + 1),
    d: two(time.getUTCDate()),
    b: month.slice(0, 3),
    B: month,
    a: day.slice(0, 3),
    A: day,
    H: two(time.getUTCHours()),
    M: two(time.getUTCMinutes()),
    S: two(time.getUTCSeconds()),
    "%": "%",
  };
  return form.replace(/%(.)/g, (code, letter: string) => {
    const text = codes[letter];
    if (text === undefined) throw new Error(`strftime_now: the code ${code} is not supported`);
    return text;
  });
}
