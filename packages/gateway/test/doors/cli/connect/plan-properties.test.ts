import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { volume } from '../../../../../../tests/volume/volume.ts';
import { CLIENTS, type McpClient } from '../../../../src/doors/cli/connect/clients.table.ts';
import { entryFor, plain } from '../../../../src/doors/cli/connect/entry.ts';
import { planConnect, planDisconnect, planWrap } from '../../../../src/doors/cli/connect/plan.ts';
import {
  readSource,
  type Source,
  same,
  serverNamed,
  serversIn,
} from '../../../../src/doors/cli/connect/servers.ts';
import { contentFor, textFor } from './random-files.ts';
import { OWN_ENTRY, STDIO, WRAPPER } from './samples.ts';

const OFTEN = { numRuns: volume(150, 8) };

/** One client for each way of writing; the others differ in keys alone. */
const WAYS = ['cursor', 'amp', 'opencode', 'goose', 'continue', 'codex', 'mistral-vibe'];
const clients = CLIENTS.filter(({ id }) => WAYS.includes(id)).map((client) => [client.id, client] as const);

/** Not one of these files is left to its owner: what has to be refused is in the tests of cases. */
function sources(client: McpClient) {
  return contentFor(client)
    .chain((content) => textFor(client, content))
    .map((text) => ({ client, name: 'file', text, toString: () => JSON.stringify(text) }));
}

/** The document without its servers, and the servers by name. */
function partsOf(source: Source, besides = '') {
  const { [source.client.key]: _, ...rest } = readSource(source);
  return {
    rest,
    servers: serversIn(source).flatMap(({ name, value }) => (name === besides ? [] : [[name, value]])),
  };
}

/** The comments that random files have. */
function commentsIn({ text }: { readonly text: string }): readonly string[] {
  return text.match(/\/\/ (why|on a line)|\/\* \{ \*\/|# (a comment|the end|indented|cut)/g) ?? [];
}

describe.each(clients)('of any file of %s', (_, client) => {
  test('planConnect() adds the entry and changes nothing else', () => {
    fc.assert(
      fc.property(sources(client), (source) => {
        const after = { ...source, text: planConnect(source, OWN_ENTRY, STDIO)?.text ?? '' };
        expect(plain(serverNamed(after, 'palisade')?.value)).toEqual(entryFor(client, 'palisade', STDIO));
        expect(same(partsOf(after, 'palisade'), partsOf(source))).toBe(true);
        expect(commentsIn(after)).toEqual(commentsIn(source));
        expect(planConnect(after, OWN_ENTRY, STDIO)).toBeNull();
      }),
      OFTEN,
    );
  });

  test('planDisconnect() brings back the very bytes that it had before', () => {
    fc.assert(
      fc.property(sources(client), (source) => {
        const text = planConnect(source, OWN_ENTRY, STDIO)?.text ?? '';
        const undone = planDisconnect({ ...source, text }, OWN_ENTRY, ['{"other": 1}', source.text]);
        expect(undone).toMatchObject({ text: source.text, isRestored: true, removed: 'palisade', kept: [] });
      }),
      OFTEN,
    );
  });

  test('planDisconnect() leaves the document equal where no backup fits', () => {
    fc.assert(
      fc.property(sources(client), (source) => {
        const text = planConnect(source, OWN_ENTRY, STDIO)?.text ?? '';
        const earlier = ['not = { this', source.text.replaceAll('x', 'y')];
        const undone = planDisconnect({ ...source, text }, OWN_ENTRY, earlier);
        expect(same(partsOf({ ...source, text: undone?.text ?? '' }), partsOf(source))).toBe(true);
        expect(undone).toMatchObject({ removed: 'palisade', kept: [] });
        expect(commentsIn({ text: undone?.text ?? '' })).toEqual(commentsIn(source));
      }),
      OFTEN,
    );
  });

  test('planWrap() of every server and planDisconnect() leave the document equal', () => {
    fc.assert(
      fc.property(sources(client), fc.boolean(), (source, isUnchanged) => {
        const names = serversIn(source).map(({ name }) => name);
        fc.pre(names.length > 0);
        let { text } = source;
        for (const name of names) text = planWrap({ ...source, text }, name, WRAPPER)?.text ?? text;
        const undone = planDisconnect({ ...source, text }, OWN_ENTRY, isUnchanged ? [source.text] : ['{}']);
        expect(undone).toMatchObject({ unwrapped: names, removed: null, kept: [] });
        const after = { ...source, text: undone?.text ?? '' };
        expect(same(readSource(after), readSource(source))).toBe(true);
        expect(isUnchanged ? after.text : source.text).toBe(source.text);
      }),
      OFTEN,
    );
  });
});
