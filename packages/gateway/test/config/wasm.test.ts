import { CEILINGS, DEFAULT_LIMITS } from '@palisade/wasm';
import { describe, expect, it } from 'vitest';
import { CONFIG_KEYS } from '../../src/config/config.table.ts';
import { configOf } from '../../src/config/load.ts';
import { showConfig } from '../../src/config/show.ts';

function load(text: string) {
  return configOf({ name: 'palisade.toml', path: '/palisade.toml', text });
}

async function shown(text: string, key: string) {
  const rows = await showConfig(await load(text), { path: '/state', origin: 'default' });
  const row = rows.find((each) => each.key === key);
  return [row?.value, row?.origin];
}

describe('[wasm]', () => {
  it.each([
    ['wasm.fuel', DEFAULT_LIMITS.fuel, CEILINGS.fuel],
    ['wasm.memory_bytes', DEFAULT_LIMITS.memoryBytes, CEILINGS.memoryBytes],
    ['wasm.table_elements', DEFAULT_LIMITS.tableElements, CEILINGS.tableElements],
  ])('%s has the default of the engine, and goes as far as the engine can count', (key, value, max) => {
    expect(CONFIG_KEYS.find((row) => row.key === key)).toMatchObject({ default: value, max });
  });

  it.each([
    ['wasm.fuel = 5', { fuel: 5 }],
    ['limits.fuel = 5', { fuel: 5 }],
    ['limits.memory_bytes = 65536', { memoryBytes: 65_536 }],
    ['limits.wall_ms = 5', { wallMs: 5 }],
    ['limits.wall_ms = 5\nwasm.wall_ms = 7', { wallMs: 7 }],
    ['ceilings.fuel = 5', { fuel: 5 }],
  ])('%j is read as %j, also by what asks for the limits of a call', async (text, expected) => {
    const { wasm, limits } = await load(text);
    expect(wasm).toMatchObject(expected);
    expect([limits.fuel, limits.memoryBytes]).toEqual([wasm.fuel, wasm.memoryBytes]);
  });

  it.each([
    [
      'wasm.fuel = 1000000000001',
      ':1:13: Cannot use wasm.fuel: it is 1000000000001, expected an integer from 1 to 1000000000000',
    ],
    [
      'wasm.table_elements = 10000001',
      ':1:23: Cannot use wasm.table_elements: it is 10000001, expected an integer from 0 to 10000000',
    ],
    [
      'wasm.memory_bytes = 4294967297',
      ':1:21: Cannot use wasm.memory_bytes: it is 4294967297, expected an integer from 65536 to 4294967296',
    ],
    ['wasm.instances = 0', ':1:18: Cannot use wasm.instances: it is 0, expected an integer from 1 to 4096'],
    [
      'ceilings.fuel = 10\nwasm.fuel = 11',
      ':2:13: Cannot use wasm.fuel: it is 11, expected at most its ceiling of 10, or a higher ceilings.fuel',
    ],
    [
      'wasm.fuel = 5\nlimits.fuel = 6',
      ':2:15: Cannot use limits.fuel: it is 6 and wasm.fuel is 5, expected wasm.fuel alone',
    ],
    [
      'limits.fuel = 2000000000000',
      ':1:15: Cannot use limits.fuel: it is 2000000000000, expected an integer from 1 to 1000000000000',
    ],
    ['wasm.fule = 1', ':1:6: Cannot use the key "wasm.fule": it is unknown'],
  ])('%j is refused with its line and what to write', async (text, message) => {
    await expect(load(text)).rejects.toThrow(message);
  });

  it('is shown with the line that decides, whatever name it has there', async () => {
    expect(await shown('limits.fuel = 5', 'wasm.fuel')).toEqual([5, 'palisade.toml:1']);
    expect(await shown('wasm.fuel = 5', 'limits.fuel')).toEqual([5, 'palisade.toml:1']);
    expect(await shown('', 'wasm.fuel')).toEqual([10_000_000, 'default']);
  });
});
