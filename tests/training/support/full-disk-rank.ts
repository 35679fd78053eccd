/**
 * @file A rank of a run on a small disk (DISK), which is full from the moment at which rank FULL_AT_RANK writes to a file that
 * fits FULL_AT. The arguments are settings.
 */
import { atWrite, ballastOf, fillDisk } from "../../support/writes.ts";

const { DISK, FULL_AT, FULL_AT_RANK, RANK } = process.env;
if (FULL_AT && RANK === FULL_AT_RANK)
  atWrite(
    new RegExp(FULL_AT),
    () => {
      console.log("the disk is full");
      fillDisk(ballastOf(DISK!));
    },
    () => {},
  );
await import("./run.ts");
