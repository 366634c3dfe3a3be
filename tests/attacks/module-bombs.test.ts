import { describe, expect, test } from 'vitest';
import { BOMBS, BROKEN, HEAVY } from '../fixtures/modules/bombs.ts';
import { engines } from '../fixtures/modules/engines.ts';
import { ECHO, guest } from '../fixtures/modules/guest.ts';
import { sharedModules } from '../fixtures/modules/index.ts';
import { moduleTool } from '../fixtures/modules/tool.ts';

/* A module is made to cost whoever looks at it: it is refused within the time of its call, and others are served. */

const MIB = 1024 * 1024;
const limits = { wallMs: 10_000 };
const nameOf = (what: string) => `test.${what.replaceAll(/\W+/g, '-')}`;
const toolsOf = (modules: Readonly<Record<string, () => Uint8Array>>) =>
  Object.entries(modules).map(([what, make]) => moduleTool(nameOf(what), make(), { limits }));

const { call } = sharedModules(() => ({
  tools: [
    ...toolsOf({ ...BOMBS, ...BROKEN, ...HEAVY }),
    // A segment that lies outside is found when it is copied, which is before the tool is called.
    moduleTool('test.outside', guest(ECHO, { more: '(data (i32.const 524288) "x")' })),
    moduleTool('test.echo', guest(ECHO)),
  ],
}));

/** A call and, while it is under way, one of somebody else. */
async function beside(tool: string) {
  const [end, other] = await Promise.all([
    call(tool),
    call('test.echo', { still: 'here' }, { tenant: 'other' }),
  ]);
  expect(other).toMatchObject({ code: 'ok', output: { still: 'here' } });
  return end;
}

describe('a module with', () => {
  test.each(Object.keys(BOMBS))('%s is refused, and the others are served', async (what) => {
    const before = process.memoryUsage().rss;
    expect(await beside(nameOf(what))).toMatchObject({
      ...{ code: 'tier/invalid-module', output: null, usage: { fuel: 0 } },
    });
    expect(process.memoryUsage().rss - before).toBeLessThan(300 * MIB);
    for (const { peakBytes } of engines()) expect(peakBytes).toBeLessThan(700 * MIB);
  });

  test.each(Object.keys(HEAVY))('%s is still one that runs', async (what) => {
    expect(await call(nameOf(what), { a: 1 })).toMatchObject({ code: 'ok', output: { a: 1 } });
  });

  test('a segment outside of its memory never begins', async () => {
    expect(await beside('test.outside')).toMatchObject({ code: 'tier/trapped', output: null });
  });
});

test.each(Object.keys(BROKEN))('%s is refused as a module, and the others are served', async (what) => {
  const end = await beside(nameOf(what));
  expect(end).toMatchObject({ code: 'tier/invalid-module', output: null, usage: { fuel: 0 } });
});
