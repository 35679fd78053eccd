/**
 * @file TensorBoard's Event message in protobuf's wire format, as far as scalars need it:
 *
 *     Event   { double wall_time = 1; int64 step = 2; string file_version = 3; Summary summary = 5; }
 *     Summary { repeated Value value = 1; }
 *     Value   { string tag = 1; float simple_value = 2; }
 */
import type { Metrics } from "../metrics.ts";

/** A field's key is its number and how its value is written. */
const VARINT = 0;
const EIGHT_BYTES = 1;
const LENGTH_AND_BYTES = 2;
const FOUR_BYTES = 5;

/** The first event of a file. Time in seconds since 1970. */
export function versionEvent(time: number): Buffer {
  return Buffer.concat([double(1, time), bytesField(3, Buffer.from("brain.Event:2"))]);
}

/** Values are float32 in the file. Time in seconds since 1970. */
export function scalarsEvent(time: number, step: number, metrics: Metrics): Buffer {
  const values = Object.entries(metrics).map(([tag, value]) =>
    bytesField(1, Buffer.concat([bytesField(1, Buffer.from(tag)), float(2, value)])),
  );
  const stepField = Buffer.concat([key(2, VARINT), varint(step)]);
  return Buffer.concat([double(1, time), stepField, bytesField(5, Buffer.concat(values))]);
}

/** Undefined for an event that belongs to no step. Only for events that this file wrote. */
export function stepOfEvent(event: Buffer): number | undefined {
  // The wall time comes first: a key and eight bytes.
  if (event[9] !== key(2, VARINT)[0]) return undefined;
  let step = 0;
  for (let i = 10, scale = 1; i < event.length; i++, scale *= 128) {
    step += (event[i]! & 127) * scale;
    if (event[i]! < 128) return step;
  }
  return undefined;
}

function key(field: number, type: number): Buffer {
  return varint(field * 8 + type);
}

/** Seven bits per byte, lowest first; the eighth says that more follow. Divides, as steps pass 2³¹. */
function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  return Buffer.from([...bytes, rest]);
}

function bytesField(field: number, content: Buffer): Buffer {
  return Buffer.concat([key(field, LENGTH_AND_BYTES), varint(content.length), content]);
}

function double(field: number, value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(value);
  return Buffer.concat([key(field, EIGHT_BYTES), bytes]);
}

function float(field: number, value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeFloatLE(value);
  return Buffer.concat([key(field, FOUR_BYTES), bytes]);
}
