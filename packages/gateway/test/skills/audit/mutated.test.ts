import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { volume } from '../../../../../tests/volume/volume.ts';
import { CHECKS } from '../../../src/skills/audit/audit.ts';
import type { SkillPackage } from '../../../src/skills/package/skill-package.ts';
import { wat } from '../../fixture/wat.ts';
import { withSection } from './modules.trials.ts';
import { audit, HONEST, packageWith } from './sample.ts';

const ROOT = resolve(import.meta.dirname, '../../../../..');
const IDS: ReadonlySet<string> = new Set(CHECKS.map(({ id }) => id));

const MODULES: readonly Uint8Array[] = [
  HONEST,
  withSection('name', new Uint8Array([0, 5, 4, ...Buffer.from('text')])),
  ...['words', 'visits'].map((name) =>
    wat(readFileSync(join(ROOT, `examples/skills/wat/${name}.wat`), 'utf8')),
  ),
  ...['hello', 'greet', 'count'].map(
    (name) => new Uint8Array(readFileSync(join(ROOT, `examples/wasm/${name}.wasm`))),
  ),
];
/** A large real one, of which only the beginning and some bytes are changed. */
const MARKDOWN = new Uint8Array(readFileSync(join(ROOT, 'node_modules/md4w/js/md4w-small.wasm')));

/** A place as a part of the whole, and what happens there. */
type Edit = { readonly at: number; readonly kind: 'set' | 'cut' | 'copy' | 'insert'; readonly byte: number };

const edit: fc.Arbitrary<Edit> = fc.record({
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  kind: fc.constantFrom('set' as const, 'set' as const, 'cut' as const, 'copy' as const, 'insert' as const),
  byte: fc.nat(255),
});

function mutated(bytes: Uint8Array, edits: readonly Edit[]): Uint8Array {
  let content = Buffer.from(bytes);
  for (const { at, kind, byte } of edits) {
    // The header stays: what has another one is no module to begin with.
    const place = 8 + Math.floor(at * Math.max(0, content.length - 9));
    const [before, after] = [content.subarray(0, place), content.subarray(place)];
    if (kind === 'set') content[place] = byte;
    else if (kind === 'cut') content = Buffer.concat([before, after.subarray(byte % 16)]);
    else if (kind === 'copy') content = Buffer.concat([before, after.subarray(0, byte), after]);
    else content = Buffer.concat([before, Buffer.from([byte]), after]);
  }
  return new Uint8Array(content);
}

const base = packageWith();

function withModule(bytes: Uint8Array): SkillPackage {
  return { ...base, entries: new Map([...base.entries, ['text.wasm', bytes]]) };
}

function expectReport(bytes: Uint8Array): void {
  for (const { id, sentence, remedy } of audit(withModule(bytes))) {
    if (!IDS.has(id) || sentence === '' || remedy === '') throw new Error(`Cannot use the finding ${id}`);
  }
}

describe('auditPackage() of a module that was tampered with', () => {
  test('ends with findings of the table, whatever the module became', () => {
    const small = fc.constantFrom(...MODULES);
    fc.assert(
      fc.property(small, fc.array(edit, { minLength: 1, maxLength: 6 }), (module, edits) => {
        expectReport(mutated(module, edits));
      }),
      { numRuns: volume(3_000, 30) },
    );
  });

  test('does so for a large one', () => {
    fc.assert(
      fc.property(fc.array(edit, { minLength: 1, maxLength: 3 }), (edits) =>
        expectReport(mutated(MARKDOWN, edits)),
      ),
      { numRuns: volume(200, 30) },
    );
  });

  test('does so for bytes that only have the header of a module or of a component', () => {
    const header = fc.constantFrom([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0], [0, 0x61, 0x73, 0x6d, 0x0d, 0, 1, 0]);
    fc.assert(
      fc.property(header, fc.uint8Array({ maxLength: 200 }), (head, rest) =>
        expectReport(new Uint8Array([...head, ...rest])),
      ),
      { numRuns: volume(1_000, 30) },
    );
  });

  test('finds the module as it was beyond reproach', () => {
    expect(audit(withModule(HONEST)).map(({ id }) => id)).toEqual([]);
  });
});
