import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { CONFIG_KEYS } from '../../src/config/config.table.ts';
import { makeScratch } from './scratch.ts';

const { load } = makeScratch();
const EXAMPLE = readFileSync(new URL('../../../../examples/palisade.toml', import.meta.url), 'utf8');
/** The example with every key switched on: `#key = …` and `#[table]` are keys, `# …` is prose. */
const SWITCHED_ON = EXAMPLE.replace(/^#(?=[a-z[])/gm, '');

describe('examples/palisade.toml', () => {
  it('changes nothing as it is', async () => {
    const { file: _, ...example } = await load(EXAMPLE);
    const { file: __, ...defaults } = await load('');
    expect(example).toEqual(defaults);
  });

  it('shows the real default of every key', async () => {
    const { file: _, groups, secrets, upstreams, registries, budgets, ...example } = await load(SWITCHED_ON);
    const {
      file: __,
      groups: ___,
      secrets: none,
      upstreams: noServers,
      registries: noRegistries,
      budgets: defaultBudgets,
      ...defaults
    } = await load('');
    expect(example).toEqual(defaults);
    expect(budgets.slice(0, defaultBudgets.length)).toEqual(defaultBudgets);
    expect(groups.size).toBeGreaterThan(0);
    expect([none.length, secrets.length]).toEqual([0, 1]);
    expect([noServers.length, upstreams.length]).toEqual([0, 1]);
    expect([noRegistries.length, registries.length]).toEqual([0, 1]);
  });

  it.each(CONFIG_KEYS.map(({ key, sentence }) => [key, sentence]))('names %s', (key, sentence) => {
    const [table = '', name = ''] = key.split('.');
    const header = table.endsWith('[]') ? `[[${table.slice(0, -2)}]]` : `[${table}]`;
    const start = SWITCHED_ON.indexOf(`\n${header}\n`);
    expect(start).toBeGreaterThanOrEqual(0);
    const body = SWITCHED_ON.slice(start);
    expect(body).toMatch(name === 'NAME' ? /^\w+ = \["agent:/m : new RegExp(`^${name} = `, 'm'));
    expect(EXAMPLE).toContain(sentence);
  });
});
