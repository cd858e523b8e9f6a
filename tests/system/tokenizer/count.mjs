// SPDX-License-Identifier: BSD-2-Clause
// Tokens of each text of a JSON array on the standard input, by two real encoders.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const modules = `${process.argv[2]}/node_modules/gpt-tokenizer/esm/encoding`;
const texts = JSON.parse(readFileSync(0, "utf8"));
const counts = {};
for (const name of ["o200k_base", "cl100k_base"]) {
  const { encode } = await import(pathToFileURL(`${modules}/${name}.js`).href);
  counts[name] = texts.map((text) => encode(text, { disallowedSpecial: new Set() }).length);
}
console.log(JSON.stringify(counts));
