// SPDX-License-Identifier: Apache-2.0
//
// Builds the template of the report page: one file, with script and style inside it and a content
// security policy that names the script by its hash. The program puts the data in later.
import { createHash } from "node:crypto";
import { defineConfig, type Plugin } from "vite";

// What the writer of the program replaces by the data.
const kMarker = "<!--plumb:data-->";

// `</script` and `<!--` would end or confuse the element they stand in.
function inlineable(code: string): string {
  return code.trim().replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
}

function policyFor(script: string): string {
  const hash = createHash("sha256").update(script, "utf8").digest("base64");
  return [
    "default-src 'none'",
    `script-src 'sha256-${hash}'`,
    "style-src 'unsafe-inline'",
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
}

function singleFile(): Plugin {
  return {
    name: "single-file",
    enforce: "post",
    generateBundle(_options, bundle) {
      let script = "";
      let style = "";
      for (const [name, item] of Object.entries(bundle)) {
        if (item.type === "chunk") script += inlineable(item.code);
        else if (name.endsWith(".css")) style += String(item.source).trim();
        else continue;
        delete bundle[name];
      }
      const page = bundle["index.html"];
      if (page?.type !== "asset") this.error("no index.html in the bundle");
      const html = String(page.source)
        .replace(/\s*<script type="module"[^>]*><\/script>/, "")
        .replace(/\s*<link rel="stylesheet"[^>]*>/, "")
        .replace("<!--plumb:policy-->", () => policy(policyFor(script)))
        .replace("<!--plumb:style-->", () => `<style>${style}</style>`)
        .replace("<!--plumb:script-->", () => `<script type="module">${script}</script>`);
      if (html.split(kMarker).length !== 2) this.error(`the page needs one ${kMarker}`);
      page.source = html;
      page.fileName = "report.html";
    },
  };
}

function policy(content: string): string {
  return `<meta http-equiv="Content-Security-Policy" content="${content}">`;
}

export default defineConfig({
  plugins: [singleFile()],
  build: {
    target: "es2022",
    modulePreload: false,
    cssMinify: true,
    cssCodeSplit: false,
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
});
