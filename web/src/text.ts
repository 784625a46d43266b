// SPDX-License-Identifier: Apache-2.0
//
// How names and numbers are written on the page. Names come from files of unknown origin: nothing in
// them may break a line, turn the direction of the text around it, or hide.

// Controls, marks without width, marks that turn the direction, variation and tag characters, halves
// of pairs: everything that changes a text without showing.
const kInvisible =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202f\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]|\udb40[\udc00-\udfff]/g;

// The text with what does not show written as \x1b or \u202e.
export function clean(text: string): string {
  return text.replace(kInvisible, (found) => {
    const code = found.codePointAt(0)!;
    return code < 256 ? `\\x${hex(code, 2)}` : `\\u${code > 0xffff ? `{${hex(code, 5)}}` : hex(code, 4)}`;
  });
}

const hex = (code: number, digits: number) => code.toString(16).padStart(digits, "0");

// At most `most` characters, the middle left out: the end of an operator's name tells the most.
export function shorten(text: string, most: number): string {
  const all = Array.from(text);
  if (all.length <= most) return text;
  const head = Math.max(1, Math.floor((most - 1) * 0.4));
  return `${all.slice(0, head).join("")}…${all.slice(all.length - (most - 1 - head)).join("")}`;
}

// A number for people: four significant digits, plain where that is short.
export function number(value: number): string {
  if (Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  if (Number.isInteger(value) && Math.abs(value) < 1e7) return String(value);
  const size = Math.abs(value);
  if (size < 1e-3 || size >= 1e6) return trimmed(value.toExponential(3));
  return trimmed(value.toPrecision(4));
}

// Sentences of the program, with large counts as people write them: 1.33e+03 as 1,330.
export function plain(text: string): string {
  return clean(text).replace(/(?<![\w.])(\d(?:\.\d+)?)e\+0?([2-8])(?![\w.])/g, (found) =>
    Number(found).toLocaleString("en-US"),
  );
}

// Near 1 (cosine) four digits would hide what matters: as many as show the distance from 1.
export function share(value: number): string {
  const gap = Math.abs(1 - value);
  if (!(gap > 0) || gap > 0.05) return number(value);
  const digits = Math.min(14, Math.ceil(-Math.log10(gap)) + 1);
  return trimmed(value.toFixed(digits));
}

function trimmed(text: string): string {
  const [mantissa, exponent] = text.split("e");
  const short = mantissa.includes(".") ? mantissa.replace(/\.?0+$/, "") : mantissa;
  return exponent === undefined ? short : `${short}e${exponent.replace("+", "")}`;
}

// Rounded down, so that 99.96 % never reads as all of it.
export function percent(value: number): string {
  return `${trimmed((Math.floor(value * 1000 + 1e-9) / 10).toFixed(1))} %`;
}

const kFew = 10;

// A share of a count: of a few as "3 of 4", as percent of one sample say nothing.
export function portion(value: number, of: number): string {
  return of > 0 && of < kFew ? `${Math.round(value * of)} of ${of}` : percent(value);
}

export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString("en-US")} ${count === 1 ? one : many}`;
}

// One word for a shell, whatever it holds.
export function shellQuoted(text: string): string {
  return /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
