// SPDX-License-Identifier: Apache-2.0
//
// Makes the reports that the tests open.
import { makeAll } from "../tests/make.ts";

export default function setup(): void {
  makeAll("tests/made");
}
