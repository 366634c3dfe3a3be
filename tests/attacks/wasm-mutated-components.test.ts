import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { SkillPackage } from '../../packages/gateway/src/skills/package/skill-package.ts';
import { audit, gravely, packageWith } from '../../packages/gateway/test/skills/audit/sample.ts';
import { component, ECHO, skillImport } from '../fixtures/components/guest.ts';
import { volume } from '../volume/volume.ts';

const base = packageWith({ asks: { log: true } });
const COMPONENT = component(ECHO, { imports: [skillImport('log.write')] });

function withModule(bytes: Uint8Array): SkillPackage {
  const entries = new Map([...base.entries, ['text.wasm', bytes] as const]);
  return { ...base, entries };
}

const RUNS = volume(2_000, 400);

/** What the bill of materials says is of the module before. */
const ofModules = (bytes: Uint8Array) =>
  gravely(audit(withModule(bytes))).filter((id) => id.startsWith('module/'));

test('a component as it was built has nothing to be refused for', () => {
  expect(ofModules(COMPONENT)).toEqual([]);
});

test('a component that was tampered with is audited to the end, whatever it became', () => {
  const edits = fc.array(fc.tuple(fc.nat(COMPONENT.length - 9), fc.nat(255)), { minLength: 1, maxLength: 4 });
  let refused = 0;
  fc.assert(
    fc.property(edits, (changes) => {
      const bytes = new Uint8Array(COMPONENT);
      for (const [at, byte] of changes) bytes[8 + at] = byte;
      refused += ofModules(bytes).length > 0 ? 1 : 0;
    }),
    { numRuns: RUNS },
  );
  expect(refused).toBeGreaterThan(RUNS / 2);
});

test('a component that is cut anywhere is refused', () => {
  for (let length = 8; length < COMPONENT.length; length += 1)
    expect(ofModules(COMPONENT.slice(0, length)), `after ${length} bytes`).toContain('module/unreadable');
});
