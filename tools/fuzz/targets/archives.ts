/**
 * @file Archives: zip, tar, tar.gz and tar.xz, unpacked or read file by file.
 */
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { ArchiveError } from "../../../src/environments/index.ts";
import { archivedFiles } from "../../../src/environments/archive/files.ts";
import { unpackZip } from "../../../src/environments/archive/unpack.ts";
import { tarBytes, tarSummed, xzSummed, zipBytes } from "../builders/archives.ts";
import { bytes, type Target, values } from "../target.ts";

const FILES = [
  [
    { path: "a/one.json", text: '{"a": 1}' },
    { path: "two.txt", text: "x".repeat(300) },
  ],
  [
    { path: "a.json", text: "stored", method: 0 },
    { path: "d/", text: "" },
  ],
];
const WORDS = ["../x", "/etc/x", "a/../../x", "C:\\x", "x\0y", "a/one.json", "./x", "..\\x"];
const LIMITS = { files: 100, bytesPerFile: 1_000_000, bytes: 4_000_000 };

const zip: Target = {
  name: "zip",
  words: [...WORDS, "PK\x03\x04", "PK\x01\x02", "PK\x05\x06", "PK\x06\x06", "PK\x06\x07"],
  errors: [ArchiveError],
  forms: () => [values(FILES, zipBytes), bytes(FILES.map(zipBytes))],
  open: (folder) => ({
    run(given) {
      const file = join(folder, "a.zip");
      const target = join(folder, "unpacked", "deep");
      writeFileSync(file, given);
      rmSync(join(folder, "unpacked"), { recursive: true, force: true });
      unpackZip(file, target, LIMITS);
    },
  }),
};

async function readAll(file: string): Promise<void> {
  for await (const { path } of archivedFiles(file, () => true, 1_000_000))
    if (typeof path !== "string") throw new Error("a file without a name");
}

const TAR_FILES = [
  ...FILES,
  [
    { path: "././@LongLink", kind: "L", text: "long/name.json" },
    { path: "x", text: "{}" },
  ],
  [
    { path: "pax", kind: "x", text: "21 path=other/a.json\n" },
    { path: "x", text: "{}" },
  ],
];

const tar: Target = {
  name: "tar",
  words: [...WORDS, "ustar", "21 path=../a.json\n", "777777777777", "././@LongLink", "size=5\n"],
  errors: [ArchiveError],
  forms: () => [
    values(TAR_FILES, tarBytes),
    bytes(TAR_FILES.map(tarBytes), tarSummed),
    bytes([gzipSync(tarBytes(FILES[0]))]),
  ],
  open: (folder) => ({
    async run(given) {
      const isGzip = given[0] === 0x1f && given[1] === 0x8b;
      const file = join(folder, isGzip ? "a.tar.gz" : "a.tar");
      writeFileSync(file, given);
      await readAll(file);
    },
  }),
};

/** Two files in a tar, and three hundred bytes that cannot be compressed: made by Python's lzma. */
const XZ = [
  "/Td6WFoAAAFpIt42AgAhARAAAACocI6G4Cf/AWJdADCLyecjtNif4PSy8RBvcr3FU3JuaZchgICS5HWxarzAYmn+Dn6W3Z+aolzUDNZIj6nTHZdxeemBzXPuO7ExDtcels+TioEaFfQYq8gwX4g0qcADEaqCVMv1XRfJfxwBUD+uJzlN71GbtbLZRfq/BeOLuBcZtKG6OLyao8YwlVdkUGwR0mzUAKozqMF9sZxBXrIUm+0lbLUSz1WdOpGFmRcV9u8M9qpSZLxp6WOPSkyvoFG6lBmgNp2JGhgQVHL5T8H4kXDPNqFAyXhbJRoBZXMxtAkAMQZ4mqc22ewbnofmqHK5k3tX8es/7UZDcYqlLFSfzk58R2RaGkcnXD9Vpsu0s22UKDNoX0jizE3THnHkOq0LXcIkp0QvoXyvsNkQ2WIN34a7dOYgN+9oF4Vm70hDGP9HL70mAV9FOCb5VJ/qXmjgbIZoFx5FUu6n4z0QPN7c917n03GYRIAlti+RWNjeAAAAAHcJwqMAAfoCgFAAAEkleYw+MA2LAgAAAAABWVo=",
  "/Td6WFoAAATm1rRGAgAhARYAAAB0L+WjAQErRCCCPP3m8cJrMPkOx90B5Ih1NKIPCw0Ew27YDnHg/XewdnDrlAvVM1+XParYYZuR/8kR9XzO1Fi7vyzgN1PJvfoP8BadyVdWdAZmds+wtOuJAsRCadoc9rpm0/i21LEAqeoOdVpcLoIQJCoI5wePf4k4XrCUI1VRglaLluik/vI6DJ/Fr9dghDeBa90KcwnLShJS5Npw5nIPyqTaHphAbBicJCeemFHVgUIEE2/rVxPBZrEyad1j/DXHl/8Ips2QCVBmp0Wt222IMcKw+HghFCtEVlVtiaqCvK2uOpV4+kU1pBTQJcJLQK46wSdyKYi6lzrqjTcXlwYHLtM6FGB611I75lV7UTTewZaB9KEzaqIUDQWXo+bIoMwgIKLpOYBu8LaEXWqdZX64KY8tAAWhPuCTzDoMAAHEAqwCAADMqdU3scRn+wIAAAAABFla",
].map((text) => Buffer.from(text, "base64"));

const xz: Target = {
  name: "xz",
  errors: [ArchiveError],
  forms: () => [bytes(XZ, xzSummed), bytes(XZ)],
  open: (folder) => ({
    async run(given) {
      const file = join(folder, "a.tar.xz");
      writeFileSync(file, given);
      await readAll(file);
    },
  }),
};

export const targets: readonly Target[] = [zip, tar, xz];
