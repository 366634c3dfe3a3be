import { createEngine } from '@palisade/wasm';
import { describe, expect, it } from 'vitest';
import { ABI_ALLOC } from '../../../../src/tiers/a-wasm/engine/abi.table.ts';
import { hostTableOf, newCallContext } from '../../../../src/tiers/a-wasm/engine/handlers.ts';
import { guest, packed } from '../guests.ts';
import { sampleHead } from '../sample-engine.ts';
import { ALL_FUNCTIONS, callComponent, Gateway } from './component-call.ts';

const CONFIG = { city: 'Oslo' };

/** Runs the body of a core module against the same kind of gateway. */
async function callModule(body: string, texts: readonly string[], gateway: Gateway) {
  const context = newCallContext(sampleHead({ functions: ALL_FUNCTIONS, config: CONFIG }), gateway.pipe);
  const hosts = hostTableOf(ALL_FUNCTIONS);
  const engine = createEngine({ deterministic: true });
  const compiled = await engine.compile(guest(body, texts), { hosts });
  const pool = engine.pool(compiled, { size: 1, hosts });
  try {
    return pool.exchange({ room: ABI_ALLOC, work: 'tool' }, Buffer.from('{}'), { context }).bytes;
  } finally {
    pool.close();
  }
}

const number = (call: string) => `(call $print ${call})`;
const key = '(i32.const 16) (i32.const 1)';
const value = '(i32.const 1040) (i32.const 1)';

describe('a module and a component', () => {
  it.each([
    ['secret_read', number('(call $secret_read (i32.const 20000))'), 'read', ['20000']],
    ['storage_get', number(`(call $storage_get (i32.const 30000) ${key})`), 'get', ['30000', 'k']],
    [
      'storage_put',
      number(`(call $storage_put (i32.const 30000) ${key} ${value} (f64.const 7))`),
      'put',
      ['30000', 'k', 'v', '2', '7'],
    ],
    [
      'storage_list',
      number(`(call $storage_list (i32.const 30000) ${key} ${value} (i32.const 5))`),
      'keys',
      ['30000', 'k', 'v', '5'],
    ],
    [
      'channel_publish',
      number(`(call $channel_publish (i32.const 40000) ${key})`),
      'publish',
      ['40000', 'k'],
    ],
    [
      'channel_receive',
      number('(call $channel_receive (i32.const 40000) (i32.const 50))'),
      'receive',
      ['40000', '50'],
    ],
  ] as const)('ask the gateway the same by %s', async (name, body, tool, args) => {
    const [ofModule, ofComponent] = [new Gateway({ result: -2 }), new Gateway({ result: -2 })];
    expect(Buffer.from(await callModule(body, ['k', 'v'], ofModule)).toString()).toBe('-2');
    await callComponent('skill', tool, args, { gateway: ofComponent });
    expect(ofModule.asked).toMatchObject([{ name }]);
    expect(ofComponent.asked).toEqual(ofModule.asked);
  });

  it('write the same line to the log', async () => {
    const [ofModule, ofComponent] = [new Gateway(), new Gateway()];
    await callModule(`(call $log (i32.const 3) ${key}) (call $print (i32.const 0))`, ['k'], ofModule);
    await callComponent('skill', 'log', ['3', 'k'], { gateway: ofComponent });
    expect(ofModule.lines).toEqual([[3, 'k']]);
    expect(ofComponent.lines).toEqual(ofModule.lines);
  });

  it('have the same random bytes and the same configuration', async () => {
    const random = `(call $random (i32.const 0) (i32.const 8)) ${packed('(i32.const 0)', '(i32.const 8)')}`;
    const bytes = await callModule(random, [], new Gateway());
    expect(await callComponent('skill', 'random', ['8'])).toMatchObject({ output: [...bytes] });
    const config = `(drop (call $config_get (i32.const 16) (i32.const 4)))
      ${packed('(i32.const 4096)', '(call $result_read (i32.const 4096) (i32.const 64))')}`;
    const reported = await callModule(config, ['city'], new Gateway());
    expect(Buffer.from(reported).toString()).toBe('Oslo');
    expect(await callComponent('skill', 'config', ['city'], { config: CONFIG })).toMatchObject({
      output: 'Oslo',
    });
  });
});
