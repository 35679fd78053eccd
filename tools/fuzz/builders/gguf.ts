/**
 * @file A GGUF file of a header that is a value, however odd, and of data.
 */

const TYPES: Readonly<Record<string, number>> = {
  ...{ F32: 0, F16: 1, Q4_0: 2, Q4_1: 3, Q5_0: 6, Q5_1: 7, Q8_0: 8, Q2_K: 10, Q3_K: 11 },
  ...{ Q4_K: 12, Q5_K: 13, Q6_K: 14, BF16: 30 },
};
const [FLOAT32, BOOL, STRING, ARRAY, UINT32, FLOAT64] = [6, 7, 8, 9, 4, 12];

export function ggufBytes(header: unknown, data: Buffer): Buffer {
  const { version, metadata, tensors } = fieldsOf(header);
  const entries = listOf(metadata).map(fieldsOf);
  const described = listOf(tensors).map(fieldsOf);
  const parts = [
    Buffer.from("GGUF"),
    uint(version, 4),
    uint(described.length, 8),
    uint(entries.length, 8),
    ...entries.flatMap(({ key, value }) => [text(key), ...typed(value)]),
    ...described.flatMap(({ name, type, shape, offset }) => [
      ...[text(name), uint(listOf(shape).length, 4)],
      ...listOf(shape).map((size) => uint(size, 8)),
      ...[
        uint(TYPES[String(typeof type === "object" ? "" : type).toUpperCase()] ?? type, 4),
        uint(offset, 8),
      ],
    ]),
  ];
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  return Buffer.concat([...parts, Buffer.alloc((32 - (length % 32)) % 32), data]);
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

function uint(value: unknown, width: 4 | 8): Buffer {
  const whole = BigInt.asUintN(8 * width, BigInt(Math.trunc(finite(value))));
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(whole);
  return bytes.subarray(0, width);
}

const finite = (value: unknown): number =>
  typeof value === "number" && Number.isFinite(value) ? value : 0;

function text(value: unknown): Buffer {
  const bytes = Buffer.from(typeof value === "string" ? value : JSON.stringify(value ?? null));
  return Buffer.concat([uint(bytes.length, 8), bytes]);
}

function float(value: unknown, width: 4 | 8): Buffer {
  const bytes = Buffer.alloc(width);
  if (width === 4) bytes.writeFloatLE(finite(value));
  else bytes.writeDoubleLE(finite(value));
  return bytes;
}

function typed(value: unknown): Buffer[] {
  if (Array.isArray(value)) {
    const isTexts = typeof value[0] === "string";
    const items = value.map((item) => (isTexts ? text(item) : float(item, 4)));
    return [uint(ARRAY, 4), uint(isTexts ? STRING : FLOAT32, 4), uint(items.length, 8), ...items];
  }
  if (typeof value === "string") return [uint(STRING, 4), text(value)];
  if (typeof value === "boolean") return [uint(BOOL, 4), Buffer.from([value ? 1 : 0])];
  if (Number.isInteger(value)) return [uint(UINT32, 4), uint(value, 4)];
  return [uint(FLOAT64, 4), float(value, 8)];
}
