import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import * as sdk from '../../src/index.ts';

const page = readFileSync(new URL('../../../../docs/sdk.md', import.meta.url), 'utf8');
const examples = readFileSync(new URL('./examples.ts', import.meta.url), 'utf8').replaceAll(/^ {2}/gm, '');
const blocks = [...page.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = '']) => code);
const { PalisadeClient } = sdk;

describe('docs/sdk.md', () => {
  test('shows only code that is compiled', () => {
    expect(blocks.length).toBeGreaterThan(5);
    for (const block of blocks) {
      const [, names = '', code = ''] =
        /^(?:import \{([^}]*)\} from '@palisade\/sdk';\n\n)?(.*)$/s.exec(block) ?? [];
      expect(examples).toContain(code);
      for (const name of names.split(',').map((each) => each.trim())) {
        if (name !== '') expect(Object.keys(sdk)).toContain(name);
      }
    }
  });

  test('has a row for every part of the client, with every method', () => {
    const client = new PalisadeClient({ url: 'http://127.0.0.1:1', token: 'none' });
    for (const [group, methods] of Object.entries(client)) {
      const row = page.split('\n').find((line) => line.startsWith(`| \`${group}\` |`)) ?? '';
      const named = [...row.matchAll(/`(\w+)`/g)].map(([, name]) => name);
      expect(named, group).toEqual([group, ...Object.keys(methods)]);
    }
  });
});
