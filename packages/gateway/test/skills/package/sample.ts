/** A small skill as its author has it, and keys to sign it with. */
import { createPrivateKey } from 'node:crypto';
import { decodeKey, type SigningKey } from '../../../src/attest/key-files.ts';
import { packSkill, signPackage } from '../../../src/skills/package/pack.ts';
import type { Entries } from '../../../src/skills/package/skill-package.ts';

export const PALISADE = '0.1.0';

const MANIFEST = `skill_id = "acme.text"
name = "Text tools"
version = "1.2.0"
publisher = "acme"
description = "Counts and cuts text."
license = "Apache-2.0"

[[entrypoints.tools]]
id = "words"
name = "Count words"
description = "Counts the words of a text."
risk = "low"
module = "text.wasm"
export = "words"
input_schema = "schemas/words.input.json"
output_schema = { type = "object", properties = { words = { type = "integer" } } }

[[components]]
name = "tiny-words"
version = "3.1.0"
license = "MIT"

[build]
language = "assemblyscript"
modules = [{ source = "src/text.ts", module = "text.wasm" }]
`;

const PROSE = `---
name: text-tools
description: Counts and cuts text.
---

Use \`words\` to count the words of a text.
`;

const LOCK = {
  name: 'text',
  lockfileVersion: 3,
  packages: {
    '': { name: 'text', devDependencies: { assemblyscript: '0.28.9' } },
    'node_modules/@acme/trim': {
      version: '2.0.1',
      integrity: `sha512-${Buffer.alloc(64, 7).toString('base64')}`,
    },
    'node_modules/assemblyscript': { version: '0.28.9', dev: true },
    'node_modules/other/node_modules/tiny': { version: '1.0.0+build' },
    'node_modules/linked': { link: true, resolved: 'packages/linked' },
    'packages/linked': { version: '9.9.9' },
  },
};

/** The files of the folder, with others in their place. */
export function sampleFiles(changes: Readonly<Record<string, string | Uint8Array>> = {}): Entries {
  const files = {
    'skill.toml': MANIFEST,
    'SKILL.md': PROSE,
    'text.wasm': moduleBy('asc', '0.28.9'),
    'schemas/words.input.json': '{"type":"object"}',
    'src/text.ts': 'export function words(): void {}\n',
    'src/more/trim.ts': 'export function trim(): void {}\n',
    'package-lock.json': JSON.stringify(LOCK),
    'tests/words.json': '{"cases":[]}',
    ...changes,
  };
  return new Map(
    Object.entries(files).map(([path, contents]) => [path, new Uint8Array(Buffer.from(contents))]),
  );
}

export function unsignedSample(): Uint8Array {
  return packSkill(sampleFiles(), { palisade: PALISADE });
}

export function signedSample(key: SigningKey = keyFrom(1)): Uint8Array {
  return signPackage(unsignedSample(), key);
}

/** Always the same key for the same number. */
export function keyFrom(seed: number): SigningKey {
  const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), Buffer.alloc(32, seed)]);
  const pem = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }).export({
    type: 'pkcs8',
    format: 'pem',
  });
  return decodeKey(`created: 2026-01-02T03:04:05.000Z\n${pem}`);
}

/** An empty module that says which tool made it. */
export function moduleBy(tool: string, version: string): Buffer {
  const text = (value: string) => Buffer.concat([Buffer.from([value.length]), Buffer.from(value)]);
  const fields = [Buffer.from([1]), text('processed-by'), Buffer.from([1]), text(tool), text(version)];
  const section = Buffer.concat([text('producers'), ...fields]);
  return Buffer.concat([Buffer.from('\0asm\x01\0\0\0', 'latin1'), Buffer.from([0, section.length]), section]);
}
