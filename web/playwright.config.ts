// SPDX-License-Identifier: Apache-2.0
import { defineConfig } from "@playwright/test";

export default defineConfig({
  testDir: "e2e",
  globalSetup: "./e2e/setup.ts",
  testIgnore: [
    ...(process.env.PLUMB_SHOTS ? [] : ["**/shots.spec.ts"]),
    ...(process.env.PLUMB_PICTURES ? [] : ["**/pictures.spec.ts"]),
  ],
  workers: 2,
  reporter: [["list"]],
  timeout: 120_000,
  expect: { timeout: 20_000 }, // also on a busy machine
  use: {
    viewport: { width: 1440, height: 900 },
    launchOptions: {
      executablePath: process.env.PLUMB_CHROMIUM ?? "/usr/bin/chromium",
      args: ["--no-sandbox", "--disable-gpu", "--force-color-profile=srgb"],
    },
  },
});
