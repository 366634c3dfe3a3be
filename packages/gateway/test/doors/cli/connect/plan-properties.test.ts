import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CodedError } from '../../../../src/core/coded-error.ts';
import type { Client } from '../../../../src/doors/cli/connect/client.ts';
import { CLIENTS } from '../../../../src/doors/cli/connect/clients.table.ts';
import { valueFor } from '../../../../src/doors/cli/connect/entry.ts';
import * as plan from '../../../../src/doors/cli/connect/plan.ts';
import { placeFor, readSource, serversIn } from '../../../../src/doors/cli/connect/servers.ts';
import { plain, same, withoutAt } from '../../../../src/doors/cli/connect/values.ts';
import { contentFor, textFor } from './random-files.ts';

const AIM = { server: 'palisade', url: 'http://127.0.0.1:7433/mcp' };
const PROGRAM = ['/usr/bin/node', '/opt/palisade/bin/palisade.js'];
const ENTRY = { kind: 'stdio', words: [...PROGRAM, 'mcp', '--as', 'agent:x', '--state', '/s'] } as const;
const LEAD = { program: PROGRAM, flags: ['mcp', 'wrap', '--name', 'n', '--state', '/s'] };
const OFTEN = { numRuns: 150 };

/** YAML text that keeps the empty lines behind it: taking out what follows would add to it, so such a file is left to its owner. */
const KEEPS_LINES = /[|>][0-9]?\+/;

/** Leaves out a file that is refused for that reason, and for no other. */
function edited<Words extends readonly [{ readonly text: string }, ...unknown[]], Plan>(
  make: (...words: Words) => Plan,
): (...words: Words) => Plan {
  return (...words) => {
    try {
      return make(...words);
    } catch (error) {
      const isRefused =
        error instanceof CodedError && error.message.includes('more would change than the entry');
      fc.pre(!(isRefused && KEEPS_LINES.test(words[0].text)));
      throw error;
    }
  };
}

const planConnect = edited(plan.planConnect);
const planDisconnect = edited(plan.planDisconnect);
const planWrap = edited(plan.planWrap);

/** One client for each way of writing; the others differ in words alone. */
const WAYS = ['cursor', 'amp', 'opencode', 'goose', 'continue', 'codex', 'mistral-vibe'];
const clients = CLIENTS.filter(({ id }) => WAYS.includes(id)).map((client) => [client.id, client] as const);

function sources(client: Client) {
  return contentFor(client)
    .chain((content) => textFor(client, content))
    .map((text) => ({ client, name: 'file', text, toString: () => JSON.stringify(text) }));
}

describe.each(clients)('of any file of %s', (_, client) => {
  test('planConnect() adds the entry and changes nothing else', () => {
    fc.assert(
      fc.property(sources(client), (source) => {
        const text = planConnect(source, AIM, ENTRY)?.text ?? '';
        const after = { ...source, text };
        const { path, value } = placeFor(after, 'palisade');
        expect(plain(value)).toEqual(valueFor(client, 'palisade', ENTRY));
        const rest = serversIn(after).length === 1 ? client.key : path;
        const before =
          serversIn(source).length === 0 ? withoutAt(readSource(source), client.key) : readSource(source);
        expect(same(withoutAt(readSource(after), rest), before)).toBe(true);
        expect(planConnect(after, AIM, ENTRY)).toBeNull();
      }),
      OFTEN,
    );
  });

  test('planDisconnect() brings back the very bytes that it had before', () => {
    fc.assert(
      fc.property(sources(client), (source) => {
        const text = planConnect(source, AIM, ENTRY)?.text ?? '';
        const undone = planDisconnect({ ...source, text }, AIM, ['{"other": 1}', source.text]);
        expect(undone).toEqual({ text: source.text, removed: 'palisade', restored: [], token: null });
      }),
      OFTEN,
    );
  });

  test('planDisconnect() leaves the document equal where the file was changed since', () => {
    fc.assert(
      fc.property(sources(client), (source) => {
        const text = planConnect(source, AIM, ENTRY)?.text ?? '';
        const undone = planDisconnect({ ...source, text }, AIM, [
          'not = { this',
          source.text.replaceAll('x', 'y'),
        ]);
        const after = { ...source, text: undone?.text ?? '' };
        const trim = (value: unknown) =>
          serversIn(source).length === 0 ? withoutAt(value, client.key) : value;
        expect(same(trim(readSource(after)), trim(readSource(source)))).toBe(true);
      }),
      OFTEN,
    );
  });

  test('planWrap() of every server and planDisconnect() leave the document equal', () => {
    fc.assert(
      fc.property(sources(client), fc.boolean(), (source, isUnchanged) => {
        const servers = serversIn(source).filter(({ value }) => value !== undefined);
        let text = source.text;
        for (const { name } of servers) text = planWrap({ ...source, text }, name, LEAD)?.text ?? text;
        fc.pre(servers.length > 0);
        const undone = planDisconnect({ ...source, text }, AIM, isUnchanged ? [source.text] : ['{}']);
        expect(undone?.restored).toEqual(servers.map(({ name }) => name));
        const after = { ...source, text: undone?.text ?? '' };
        expect(same(readSource(after), readSource(source))).toBe(true);
        expect(isUnchanged ? after.text : source.text).toBe(source.text);
      }),
      OFTEN,
    );
  });
});
