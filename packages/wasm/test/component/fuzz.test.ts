import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { volume } from '../../../../tests/volume/volume.ts';
import { linkComponent } from '../../src/component/link-component.ts';
import { meter } from '../../src/meter/meter.ts';
import { refusalOf } from '../fixture/refusal.ts';
import { mutate } from '../fuzz/mutate.ts';
import { randomFrom } from '../fuzz/random.ts';
import { FIXTURES, fixture } from './linked.ts';
import { worldFor } from './worlds.ts';

/** Links and meters; gives the code of the refusal. Anything but a WasmError goes through. */
function judge(bytes: Uint8Array, name: (typeof FIXTURES)[number]): string {
  const refusal = refusalOf(() => {
    // A world that knows all interfaces, so that broken names get further.
    const linked = linkComponent(bytes, { ...worldFor(name), knows: () => true });
    meter(linked.bytes);
  });
  return refusal?.code ?? 'accepted';
}

describe('linkComponent() refuses with a WasmError or returns a module for the meter', () => {
  it.each(FIXTURES)('whatever is cut off the end of "%s"', (name) => {
    const whole = fixture(name);
    const codes = new Set<string>();
    for (let length = 0; length < whole.length; length += 1)
      codes.add(judge(whole.subarray(0, length), name));
    expect(judge(whole, name)).toBe('accepted');
    expect([...codes].sort()).toEqual(['link', 'malformed']);
  });

  it.each(FIXTURES)('whichever byte of "%s" is another', (name) => {
    const whole = fixture(name);
    const seen = new Map<string, number>();
    for (let at = 8; at < whole.length; at += 1) {
      for (const change of [0x01, 0x80]) {
        const changed = whole.slice();
        changed[at] = (changed[at] ?? 0) ^ change;
        const code = judge(changed, name);
        seen.set(code, (seen.get(code) ?? 0) + 1);
      }
    }
    // Without enough of each it would have proved little.
    expect(seen.get('malformed')).toBeGreaterThan(200);
    expect(seen.get('link')).toBeGreaterThan(20);
    expect(seen.get('accepted')).toBeGreaterThan(40);
  });

  it('whatever is done to any of them', () => {
    const counts = new Map<string, number>();
    const random = randomFrom(7);
    const runs = volume(2_000, 500);
    for (let left = runs; left > 0; left -= 1) {
      const name = random.pick(FIXTURES);
      const code = judge(mutate(random, fixture(name), fixture(random.pick(FIXTURES))), name);
      counts.set(code, (counts.get(code) ?? 0) + 1);
    }
    expect(counts.get('accepted')).toBeGreaterThan(runs / 40);
    expect(counts.get('malformed')).toBeGreaterThan(runs / 7);
  });

  it('whatever bytes follow the header', () => {
    const header = [0x00, 0x61, 0x73, 0x6d, 0x0d, 0x00, 0x01, 0x00];
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (rest) => {
        judge(Uint8Array.from([...header, ...rest]), 'shim');
      }),
      { numRuns: volume(2_000, 300) },
    );
  });
});
