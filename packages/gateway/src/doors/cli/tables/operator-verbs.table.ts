import type { Verb } from '../verb.ts';
import { AS, CURSOR, INPUT, LIMIT, RUN, TIMEOUT_MS } from './shared-flags.ts';

const NOTE = { name: 'note', value: 'TEXT', sentence: 'A note, for the record.' };
const SCOPE = {
  name: 'scope',
  value: 'SCOPE',
  sentence: 'Who can use it: global, tenant:NAME, principal:agent:NAME or skill:ID (default: global).',
};

/** The commands by which operators decide: policies, approvals, budgets, the network and secrets. */
export const OPERATOR_VERBS: readonly Verb[] = [
  {
    words: 'policy list',
    args: [],
    flags: [],
    sentence: 'List the policies of the live set.',
    examples: ['palisade policy list'],
    load: async () => (await import('../nouns/policy.ts')).list,
  },
  {
    words: 'policy check',
    args: ['[DIR]'],
    flags: [],
    sentence: 'Check the policy files of the state directory, or of DIR, without activating them.',
    examples: ['palisade policy check', 'palisade policy check ./policies'],
    load: async () => (await import('../nouns/policy.ts')).check,
  },
  {
    words: 'policy explain',
    args: ['TOOL'],
    flags: [INPUT, AS, RUN, TIMEOUT_MS],
    sentence: 'Explain how the live policies decide a call, and what would change the decision.',
    examples: [`palisade policy explain palisade.sleep --input '{"ms":60000}' --as agent:ada`],
    load: async () => (await import('../nouns/policy.ts')).explain,
  },
  {
    words: 'policy test',
    args: ['FILE'],
    flags: [],
    sentence: 'Run a file of test cases against the live policies; exits with 1 when a case fails.',
    examples: ['palisade policy test cases.toml'],
    load: async () => (await import('../nouns/policy.ts')).test,
  },
  {
    words: 'approvals list',
    args: [],
    flags: [
      {
        name: 'only',
        value: 'STATE',
        sentence: 'Only this state: pending, approved, denied, used or expired.',
      },
      LIMIT,
      CURSOR,
    ],
    sentence: 'List approval requests, newest first.',
    examples: ['palisade approvals list', 'palisade approvals list --only pending'],
    load: async () => (await import('../nouns/approvals.ts')).list,
  },
  {
    words: 'approvals show',
    args: ['ID'],
    flags: [],
    sentence: 'Show an approval request: the caller, the tool, the input and the policies.',
    examples: ['palisade approvals show apr_01k'],
    load: async () => (await import('../nouns/approvals.ts')).show,
  },
  {
    words: 'approvals approve',
    args: ['ID'],
    flags: [AS, NOTE],
    sentence: 'Approve one call, once.',
    examples: ['palisade approvals approve apr_01k --note "agreed in review"'],
    load: async () => (await import('../nouns/approvals.ts')).approve,
  },
  {
    words: 'approvals deny',
    args: ['ID'],
    flags: [AS, NOTE],
    sentence: 'Deny a call.',
    examples: ['palisade approvals deny apr_01k'],
    load: async () => (await import('../nouns/approvals.ts')).deny,
  },
  {
    words: 'budget list',
    args: [],
    flags: [],
    sentence: 'List the budget accounts: spent, held, left, and when they reset.',
    examples: ['palisade budget list'],
    load: async () => (await import('../nouns/budget.ts')).list,
  },
  {
    words: 'egress explain',
    args: ['URL|HOST[:PORT]'],
    flags: [{ name: 'method', value: 'METHOD', sentence: 'The HTTP method of the request (default: GET).' }],
    sentence: 'Show how the egress allow-list decides a request; nothing is resolved and nothing is sent.',
    examples: ['palisade egress explain https://api.example.com/v1/users --method POST'],
    load: async () => (await import('../nouns/egress.ts')).explain,
  },
  {
    words: 'secrets set',
    args: ['NAME'],
    flags: [
      SCOPE,
      { name: 'exact', value: null, sentence: 'Keep a line end at the end of standard input.' },
      AS,
    ],
    sentence:
      'Store a secret; its value is typed at a prompt or read from standard input, never from the command line.',
    examples: ['palisade secrets set github', 'palisade secrets set db --scope tenant:acme < password.txt'],
    load: async () => (await import('../nouns/secrets.ts')).set,
  },
  {
    words: 'secrets list',
    args: [],
    flags: [AS],
    sentence: 'List the secrets: their scopes, versions, sizes and times; never a value.',
    examples: ['palisade secrets list', 'palisade secrets list --json'],
    load: async () => (await import('../nouns/secrets.ts')).list,
  },
  {
    words: 'secrets rm',
    args: ['NAME'],
    flags: [SCOPE, AS],
    sentence: 'Remove a secret.',
    examples: ['palisade secrets rm db --scope tenant:acme'],
    load: async () => (await import('../nouns/secrets.ts')).remove,
  },
  {
    words: 'secrets rotate',
    args: [],
    flags: [
      { name: 'to', value: 'LOCK', sentence: 'What locks the vault from now on: passphrase or file.' },
      { name: 'lost', value: null, sentence: 'Remove every secret and start over although the key is lost.' },
      AS,
    ],
    sentence: 'Encrypt every secret again under a new key; the old key then opens nothing.',
    examples: ['palisade secrets rotate', 'palisade secrets rotate --to passphrase'],
    load: async () => (await import('../nouns/secrets.ts')).rotate,
  },
];
