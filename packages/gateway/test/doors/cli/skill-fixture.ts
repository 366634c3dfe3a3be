import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ECHO, guest } from '../../tiers/a-wasm/guests.ts';

/** The manifest of a skill with one tool that gives back what it gets. */
export const ECHO_MANIFEST = `skill_id = "acme.echo"
name = "Echo"
version = "1.2.0"
publisher = "acme"
description = "Gives back what it gets."

[[entrypoints.tools]]
id = "echo"
name = "Echo"
description = "Gives back what it gets."
risk = "low"
module = "echo.wasm"
export = "tool"
input_schema = "schemas/any.json"
output_schema = "schemas/any.json"
`;

export const ECHO_CASES = {
  cases: [
    { name: 'gives back an object', tool: 'echo', input: { a: 1 }, output: { a: 1 } },
    { name: 'takes no list', tool: 'echo', input: [1], code: 'registry/invalid-input' },
  ],
};

const FILES: Readonly<Record<string, string | Uint8Array>> = {
  'skill.toml': ECHO_MANIFEST,
  'SKILL.md': '---\nname: echo\ndescription: Gives back what it gets.\n---\n\nCall it with anything.\n',
  'echo.wasm': guest(ECHO),
  'schemas/any.json': '{ "type": "object", "maxProperties": 8 }\n',
  'tests/echo.json': JSON.stringify(ECHO_CASES),
};

export type Changes = Readonly<Record<string, string | Uint8Array | null>>;

/** Writes a skill that can be packed and tested, but for these files: others, or null for none. Gives its folder. */
export function writeSkill(folder: string, changes: Changes = {}): string {
  for (const [path, content] of Object.entries({ ...FILES, ...changes })) {
    if (content === null) continue;
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
  return folder;
}
