import { anyText, list, object } from '../../core/json-shape.ts';
import { accept } from '../../core/result.ts';
import { flag as flagShape } from '../../core/shape.ts';
import { flagIn, isSet, tablesIn, textOf } from '../manifest/checked.ts';
import { flag, MOST_ASKED, required, tables, within } from '../manifest/key-rows.ts';
import { type Capability, parseNameAndMode, report } from './capability.ts';

const CHANNELS = list(object({ name: anyText, publish: flagShape, receive: flagShape }));
const USES = ['publish', 'receive'] as const;
const VERBS = { publish: 'publishes to', receive: 'receives from' } as const;

/** One channel between calls of a tenant, to publish to or receive from. */
export const channels: Capability = {
  kind: 'channel',
  isReaching: true,
  manifestKey: 'channels',
  keys: within(tables('channels[]', 0, MOST_ASKED, 'Channels between skills.'), [
    required('name', 'capability-name', 'news', 'The name of the channel.'),
    flag('publish', false, 'It sends messages.'),
    flag('receive', false, 'It receives messages.'),
  ]),
  check: (asks, context) => {
    for (const [i, channel] of tablesIn(asks, 'channels').entries()) {
      if (flagIn(channel, 'publish') !== false || flagIn(channel, 'receive') !== false) continue;
      const is = 'it neither publishes nor receives';
      report(context, ['channels', i], { is, expected: 'publish or receive to be true' });
    }
  },
  readAsks: (asks) => ({
    channels: tablesIn(asks, 'channels').map((channel) => ({
      name: textOf(channel, 'name'),
      publish: isSet(channel, 'publish'),
      receive: isSet(channel, 'receive'),
    })),
  }),
  shapes: { asks: { channels: CHANNELS }, grants: { channels: CHANNELS } },

  describe: (asks) =>
    asks.channels.flatMap((channel) =>
      USES.filter((use) => channel[use]).map((use) => {
        const spelling = `channel=${channel.name}:${use}`;
        return { spelling, sentence: `${VERBS[use]} the channel "${channel.name}"`, terms: [spelling] };
      }),
    ),
  withholdings: (asks) => asks.channels.map(({ name }) => `channel=${name}`),
  grantAll: ({ channels }) => ({ channels }),
  withhold: (grants, word) => ({
    channels: grants.channels.map((channel) => {
      const spelling = `channel=${channel.name}`;
      const isLeft = (use: (typeof USES)[number]) =>
        channel[use] && word !== spelling && word !== `${spelling}:${use}`;
      return { name: channel.name, publish: isLeft('publish'), receive: isLeft('receive') };
    }),
  }),
  usable: (grants, imports) => ({
    channels: grants.channels.map(({ name, publish, receive }) => ({
      name,
      publish: publish && imports.has('channel_publish'),
      receive: receive && imports.has('channel_receive'),
    })),
  }),
  openOnly: (grants) => ({
    channels: grants.channels.filter(({ publish, receive }) => publish || receive),
  }),
  terms: (grants) =>
    grants.channels.flatMap((channel) =>
      USES.filter((use) => channel[use]).map((use) => `channel=${channel.name}:${use}`),
    ),

  form: 'channel=NAME[:publish|:receive]',
  sentence: 'A channel, to publish to and receive from, or only one of the two.',
  parseGrant: (value) => {
    const named = parseNameAndMode(value, USES);
    if (!named.ok) return named;
    const { name, mode } = named.value;
    const may = (use: string) => mode === null || mode === use;
    const channel = { name, publish: may('publish'), receive: may('receive') };
    return accept({
      what: `channel ${name}`,
      addTo: (grants) => ({ channels: [...grants.channels, channel] }),
    });
  },
  spellGrants: (grants) =>
    grants.channels.map(({ name, publish, receive }) => {
      const only = publish ? ':publish' : ':receive';
      return `channel=${name}${publish && receive ? '' : only}`;
    }),
};
