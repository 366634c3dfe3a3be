/** Small signed packages, and keys for them, as operators get them from publishers. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { documentOf, generateKey, type SigningKey } from '../../../src/attest/key-files.ts';
import { packSkill, signPackage } from '../../../src/skills/package/pack.ts';
import { ECHO, guest } from '../../tiers/a-wasm/guests.ts';

export type Sample = {
  readonly version?: string;
  readonly publisher?: string;
  /** Lines of skill.toml behind the tools. */
  readonly asks?: string;
  readonly description?: string;
  readonly prose?: string;
  readonly key?: SigningKey | null;
};

/** Storage that the second tool writes to, and reads not. */
export const STORAGE = `[capabilities.filesystem]
read_roots = ["notes/"]
write_roots = ["notes/"]
`;
/** A host that nothing of it reaches for: more than it needs, and a warning of every audit. */
export const EXCESS = `[capabilities]
http_egress_allowlist = ["api.example.com:443"]
`;

const SAVE = guest(
  `(call $print (call $storage_put (call $capability_handle (i32.const 3) (i32.const 0)) (i32.const 16) (i32.const 7)
    (local.get $at) (local.get $length) (f64.const -1)))`,
  ['notes/a'],
);
const SCHEMA =
  '{ type = "object", properties = { text = { type = "string", maxLength = 100 } }, additionalProperties = false }';

/** The bytes of a package of `PUBLISHER.text`. */
export function packageOf(sample: Sample = {}): Uint8Array {
  const { version = '1.0.0', publisher = 'acme', asks = STORAGE, description = 'Gives it back.' } = sample;
  const { prose = 'Use `echo` to get back what you gave.', key = KEY } = sample;
  const manifest = `skill_id = "${publisher}.text"
name = "Text tools"
version = "${version}"
publisher = "${publisher}"
description = "Gives back and keeps."

[[entrypoints.tools]]
id = "echo"
name = "Give back"
description = "${description}"
risk = "low"
module = "echo.wasm"
export = "tool"
input_schema = ${SCHEMA}
output_schema = ${SCHEMA}
${asks.includes('filesystem') ? SAVE_TOOL : ''}
${asks}`;
  const files = {
    'skill.toml': manifest,
    'SKILL.md': `---\nname: text-tools\ndescription: Gives back and keeps text.\n---\n\n${prose}\n`,
    'echo.wasm': guest(ECHO),
    ...(asks.includes('filesystem') ? { 'save.wasm': SAVE } : {}),
    'tests/echo.json': JSON.stringify({
      cases: [{ name: 'gives it back', tool: 'echo', input: { text: 'a' }, output: { text: 'a' } }],
    }),
  };
  const entries = new Map(
    Object.entries(files).map(([path, data]) => [path, new Uint8Array(Buffer.from(data))]),
  );
  const packed = packSkill(entries, { palisade: '0.1.0' });
  return key === null ? packed : signPackage(packed, key);
}

const SAVE_TOOL = `
[[entrypoints.tools]]
id = "save"
name = "Keep"
description = "Keeps a text."
risk = "medium"
module = "save.wasm"
export = "tool"
input_schema = ${SCHEMA}
output_schema = { type = "integer" }
`;

/** Of the publisher that most tests know. */
export const KEY = generateKey(Date.parse('2026-01-01T00:00:00Z'));
export const OTHER_KEY = generateKey(Date.parse('2026-02-01T00:00:00Z'));

/** Writes a package into a folder and gives its path. */
export function writePackage(folder: string, name: string, sample: Sample = {}): string {
  const path = join(folder, `${name}.skill`);
  writeFileSync(path, packageOf(sample));
  return path;
}

/** Writes the public document of a key into a folder and gives its path. */
export function writeKey(folder: string, name: string, key: SigningKey): string {
  const path = join(folder, `${name}.pub.json`);
  writeFileSync(path, documentOf(key, null));
  return path;
}
