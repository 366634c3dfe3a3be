import type { Verb } from './verb.ts';

/** The words by which agents come to this gateway; a part of the table of verbs. */

const NAME = {
  name: 'name',
  value: 'NAME',
  sentence: 'What the entry is called in the file (default: palisade).',
};
const PROJECT = {
  name: 'project',
  value: null,
  sentence: 'The file of the project that you are in, instead of yours.',
};
const FILE = { name: 'file', value: 'PATH', sentence: 'This file, instead of where the client has it.' };
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
      { name: 'yes', value: null, sentence: 'Do not ask; connect every client that is found.' },
      {
        name: 'client',
        value: 'CLIENT',
        repeats: true,
        sentence: 'Connect this client and no other; may be repeated.',
      },
      { name: 'demo', value: null, sentence: 'Show the demo at the end.' },
    ],
    sentence:
      'Begin here: make what is needed, check it, connect your agents, and make a first call with a receipt.',
    examples: ['palisade init', 'palisade init --yes --client claude-code', 'palisade init --yes --demo'],
    load: async () => (await import('./verbs/init.ts')).run,
  },
  {
    words: 'connect',
    args: ['[CLIENT]'],
    flags: [
      { name: 'http', value: null, sentence: 'By the address of `palisade serve`, with a token of its own.' },
      PROJECT,
      NAME,
      { name: 'as', value: 'PRINCIPAL', sentence: 'Whom it acts as: agent:NAME (default: agent:CLIENT).' },
      DRY_RUN,
      FILE,
      {
        name: 'wrap',
        value: 'SERVER',
        sentence: 'Run a server that the file has through the gateway, instead of adding an entry.',
      },
      {
        name: 'workspace',
        value: 'DIR',
        sentence:
          'With --wrap: the one directory that it may write to (default: where the client starts it).',
      },
      { name: 'list', value: null, sentence: 'List the clients; so does no CLIENT.' },
    ],
    sentence:
      'Connect an MCP client to this gateway: an entry in its configuration, and nothing else of it changed.',
    examples: [
      'palisade connect',
      'palisade connect claude-code',
      'palisade connect cursor --project --dry-run',
      'palisade connect codex --http',
      'palisade connect claude-desktop --wrap filesystem --workspace ~/work',
    ],
    load: async () => (await import('./verbs/connect.ts')).run,
  },
  {
    words: 'disconnect',
    args: ['CLIENT'],
    flags: [PROJECT, NAME, DRY_RUN, FILE],
    sentence: 'Take the entry out again, start wrapped servers as before, and revoke the token of the entry.',
    examples: ['palisade disconnect claude-code', 'palisade disconnect cursor --project --dry-run'],
    load: async () => (await import('./verbs/disconnect.ts')).run,
  },
];
