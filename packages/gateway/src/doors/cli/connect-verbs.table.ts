import type { Verb } from './verb.ts';

/** The verbs that connect agents to this gateway; a part of the table of verbs. */

const NAME = {
  name: 'name',
  value: 'NAME',
  sentence: 'The name of the entry in the file (default: palisade).',
};
const PROJECT = {
  name: 'project',
  value: null,
  sentence: 'Use the file of the project in the current folder, instead of your own.',
};
const FILE = {
  name: 'file',
  value: 'PATH',
  sentence: 'Use this file, instead of the one that the client reads.',
};
const DRY_RUN = {
  name: 'dry-run',
  value: null,
  sentence: 'Show what would change in the file, and write nothing.',
};

export const CONNECT_VERBS: readonly Verb[] = [
  {
    words: 'init',
    args: [],
    flags: [
      { name: 'yes', value: null, sentence: 'Connect every client that is found, without a question.' },
      {
        name: 'client',
        value: 'CLIENT',
        repeats: true,
        sentence: 'Connect this client and no other; may be repeated.',
      },
      { name: 'demo', value: null, sentence: 'Show the demo at the end.' },
    ],
    sentence:
      'Start here: make the state directory, check the machine, connect your agents, and make a first call.',
    examples: ['palisade init', 'palisade init --yes --client claude-code', 'palisade init --yes --demo'],
    load: async () => (await import('./connect/init.ts')).run,
  },
  {
    words: 'connect',
    args: ['[CLIENT]'],
    flags: [
      {
        name: 'http',
        value: null,
        sentence: 'Connect to the address of `palisade serve`, with a token of its own.',
      },
      PROJECT,
      NAME,
      {
        name: 'as',
        value: 'PRINCIPAL',
        sentence: 'The principal of the client: agent:NAME (default: agent:CLIENT).',
      },
      DRY_RUN,
      FILE,
      {
        name: 'wrap',
        value: 'SERVER',
        sentence: 'Run this server of the file through the gateway, instead of adding an entry.',
      },
      {
        name: 'workspace',
        value: 'DIR',
        sentence:
          'With --wrap: the one directory that it may write to (default: where the client starts it).',
      },
      { name: 'list', value: null, sentence: 'List the clients, as without CLIENT.' },
    ],
    sentence:
      'Connect an MCP client to this gateway: add an entry to its configuration and change nothing else.',
    examples: [
      'palisade connect',
      'palisade connect claude-code',
      'palisade connect cursor --project --dry-run',
      'palisade connect codex --http',
      'palisade connect claude-desktop --wrap filesystem --workspace ~/work',
    ],
    load: async () => (await import('./connect/connect.ts')).run,
  },
  {
    words: 'disconnect',
    args: ['CLIENT'],
    flags: [PROJECT, NAME, DRY_RUN, FILE],
    sentence:
      'Remove the entry, give wrapped servers their own command back, and revoke the token of the entry.',
    examples: ['palisade disconnect claude-code', 'palisade disconnect cursor --project --dry-run'],
    load: async () => (await import('./connect/disconnect.ts')).run,
  },
];
