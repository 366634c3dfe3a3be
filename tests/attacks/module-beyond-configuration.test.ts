import { expect, test } from 'vitest';
import { ECHO, guest, listOf } from '../fixtures/modules/guest.ts';
import { openModules } from '../fixtures/modules/index.ts';
import { moduleTool } from '../fixtures/modules/tool.ts';

/* A module takes more than [wasm] of palisade.toml gives it. */

const table = (size: string) => guest(ECHO, { more: `(table $t ${size} funcref)` });
const GROWING = guest(listOf('(table.grow $t (ref.null func) (i32.const 5))', '(table.size $t)'), {
  more: '(table $t 6 funcref)',
});

test('tables have the elements of the configuration, at first and as they grow', async () => {
  const tools = [
    moduleTool('test.ten', table('10')),
    moduleTool('test.eleven', table('11')),
    moduleTool('test.growing', GROWING),
  ];
  const few = await openModules({ tools, config: '[wasm]\ntable_elements = 10\n' });
  expect(await few.call('test.ten')).toMatchObject({ code: 'ok' });
  expect(await few.call('test.eleven')).toMatchObject({
    code: 'tier/invalid-module',
    message: expect.stringContaining('tableElements'),
  });
  expect(await few.call('test.growing')).toMatchObject({ code: 'ok', output: [-1, 6] });
  const more = await openModules({ tools, config: '[wasm]\ntable_elements = 11\n' });
  expect(await more.call('test.eleven')).toMatchObject({ code: 'ok' });
  expect(await more.call('test.growing')).toMatchObject({ code: 'ok', output: [6, 11] });
});

test('as many run at once as the configuration permits, and all calls are served', async () => {
  const { call, gateway } = await openModules({
    tools: [moduleTool('test.echo', guest(ECHO))],
    config: '[wasm]\ninstances = 1\n',
  });
  const ends = await Promise.all(['a', 'b', 'c'].map((tenant) => call('test.echo', { tenant }, { tenant })));
  expect(ends.map(({ code }) => code)).toEqual(['ok', 'ok', 'ok']);
  expect(gateway.engines.census).toMatchObject({ size: 1, most: 1 });
});
