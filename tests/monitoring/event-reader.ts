/**
 * @file A reader of TensorBoard's event files that shares nothing with our writer: sums bit by bit, any
 * protobuf message field by field.
 */

/** CRC-32C by its definition, a bit at a time. */
export function slowCrc32c(bytes: Uint8Array): number {
  let rest = 0xffffffffn;
  for (const byte of bytes) {
    rest ^= BigInt(byte);
    for (let bit = 0; bit < 8; bit++) rest = rest & 1n ? (rest >> 1n) ^ 0x82f63b78n : rest >> 1n;
  }
  return Number(rest ^ 0xffffffffn);
}

function masked(bytes: Uint8Array): number {
  const sum = BigInt(slowCrc32c(bytes));
  return Number((((sum >> 15n) | (sum << 17n)) + 0xa282ead8n) & 0xffffffffn);
}

type Message = Map<number, (bigint | Uint8Array)[]>;

/** Fields by number: whole numbers as they are, all others as their bytes. */
function parseMessage(bytes: Uint8Array): Message {
  const fields: Message = new Map();
  let place = 0;
  const varint = () => {
    let result = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[place++];
      if (byte === undefined) throw new Error("a number is cut off");
      result |= BigInt(byte & 127) << shift;
      if (byte < 128) return result;
    }
  };
  const take = (length: number) => {
    if (place + length > bytes.length) throw new Error("a field is cut off");
    place += length;
    return bytes.subarray(place - length, place);
  };
  while (place < bytes.length) {
    const key = Number(varint());
    const type = key & 7;
    const lengths: Record<number, () => bigint | Uint8Array> = {
      0: varint,
      1: () => take(8),
      2: () => take(Number(varint())),
      5: () => take(4),
    };
    const read = lengths[type];
    if (!read) throw new Error(`unknown type ${type}`);
    const values = fields.get(key >> 3) ?? [];
    values.push(read());
    fields.set(key >> 3, values);
  }
  return fields;
}

export interface ReadEvent {
  readonly time: number;
  readonly step: number | undefined;
  readonly version: string | undefined;
  readonly scalars: Readonly<Record<string, number>>;
}

const view = (bytes: Uint8Array) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
const text = (bytes: Uint8Array) => new TextDecoder("utf-8", { fatal: true }).decode(bytes);

/** Throws at the first wrong sum and at anything that is cut off. */
export function readEvents(file: Uint8Array): ReadEvent[] {
  const events: ReadEvent[] = [];
  for (let place = 0; place < file.length; ) {
    const header = file.subarray(place, place + 12);
    if (view(header).getUint32(8, true) !== masked(header.subarray(0, 8)))
      throw new Error(`wrong sum of a length at ${place}`);
    const length = Number(view(header).getBigUint64(0, true));
    const data = file.subarray(place + 12, place + 12 + length);
    const footer = file.subarray(place + 12 + length, place + 16 + length);
    if (view(footer).getUint32(0, true) !== masked(data)) throw new Error("wrong sum of data");
    events.push(eventOf(parseMessage(data)));
    place += 16 + length;
  }
  return events;
}

function eventOf(fields: Message): ReadEvent {
  const [time] = fields.get(1) as [Uint8Array];
  const [step] = (fields.get(2) ?? []) as bigint[];
  const [version] = (fields.get(3) ?? []) as Uint8Array[];
  const [summary] = (fields.get(5) ?? []) as Uint8Array[];
  const values = summary ? (parseMessage(summary).get(1) ?? []) : [];
  const scalars = values.map((value) => {
    const parts = parseMessage(value as Uint8Array);
    const tag = text((parts.get(1) as [Uint8Array])[0]);
    return [tag, view((parts.get(2) as [Uint8Array])[0]).getFloat32(0, true)];
  });
  return {
    time: view(time).getFloat64(0, true),
    step: step === undefined ? undefined : Number(step),
    version: version && text(version),
    scalars: Object.fromEntries(scalars) as Record<string, number>,
  };
}
