import { type Verb, verbs } from '../verb.ts';
import { AS, CHANNEL, CURSOR, DEVICE, INPUT, LIMIT, RUN, TIMEOUT_MS, YES } from './shared-flags.ts';

const SCOPE = {
  'scope SCOPE': 'Who can use it: global, tenant:NAME, principal:agent:NAME or skill:ID (default: global).',
};
const TENANT = { 'tenant TENANT': 'Of this tenant (default: gateway.tenant).' };
const NOTE = { 'note TEXT': 'A note, for the record.' };

/** The commands by which operators decide: policies, approvals, budgets, the network, secrets, channels and storage. */
export const OPERATOR_VERBS: readonly Verb[] = verbs({
  'policy list': {
    sentence: 'List the policies of the live set.',
    load: async () => (await import('../nouns/policy.ts')).list,
  },
  'policy check [DIR]': {
    sentence: 'Check the policy files of the state directory, or of DIR, without activating them.',
    examples: ['palisade policy check', 'palisade policy check ./policies'],
    load: async () => (await import('../nouns/policy.ts')).check,
  },
  'policy explain TOOL': {
    sentence: 'Explain how the live policies decide a call, and what would change the decision.',
    flags: {
      ...INPUT,
      ...AS,
      ...DEVICE,
      ...CHANNEL,
      'session ID': 'The session of the call (default: the one that such a call would be in).',
      ...RUN,
      ...TIMEOUT_MS,
    },
    examples: [
      `palisade policy explain palisade.sleep --input '{"ms":60000}' --as agent:ada`,
      'palisade policy explain palisade.echo --as agent:ada --device build-7 --channel nightly',
    ],
    load: async () => (await import('../nouns/policy.ts')).explain,
  },
  'policy test FILE': {
    sentence: 'Run a file of test cases against the live policies; exits with 1 when a case fails.',
    examples: ['palisade policy test cases.toml'],
    load: async () => (await import('../nouns/policy.ts')).test,
  },
  'approvals list': {
    sentence: 'List approval requests, newest first.',
    flags: {
      'only STATE': 'Only this state: pending, approved, denied, used or expired.',
      ...LIMIT,
      ...CURSOR,
    },
    examples: ['palisade approvals list', 'palisade approvals list --only pending'],
    load: async () => (await import('../nouns/approvals.ts')).list,
  },
  'approvals show ID': {
    sentence: 'Show an approval request: the caller, the tool, the input and the policies.',
    examples: ['palisade approvals show apr_01k'],
    load: async () => (await import('../nouns/approvals.ts')).show,
  },
  'approvals approve ID': {
    sentence: 'Approve one call, once, or every identical call for a while.',
    flags: {
      ...AS,
      ...NOTE,
      'for TIME|run': 'Approve every identical call for a time, at most 24h, or in the same run.',
    },
    examples: [
      'palisade approvals approve apr_01k --note "agreed in review"',
      'palisade approvals approve apr_01k --for 1h',
    ],
    load: async () => (await import('../nouns/approvals.ts')).approve,
  },
  'approvals allow ID': {
    sentence: 'Write a policy that permits such calls for a while; shows it and asks before it is written.',
    flags: {
      'for TIME': 'How long: minutes or hours, at most 24h (default: 1h).',
      'any FIELD...': 'A field of the input that may have any value; may be repeated.',
      yes: 'Write it without asking.',
      ...AS,
    },
    examples: ['palisade approvals allow apr_01k', 'palisade approvals allow apr_01k --for 8h --any message'],
    load: async () => (await import('../nouns/approvals.ts')).allow,
  },
  'approvals deny ID': {
    sentence: 'Deny a call, or withdraw an approval that lasts.',
    flags: { ...AS, ...NOTE },
    examples: ['palisade approvals deny apr_01k'],
    load: async () => (await import('../nouns/approvals.ts')).deny,
  },
  'budget list': {
    sentence: 'List the budget accounts: spent, held, left, and when they reset.',
    load: async () => (await import('../nouns/budget.ts')).list,
  },
  'session list': {
    sentence: 'List the sessions, which budgets per run count by, the newest first.',
    flags: { 'only STATE': 'Only those in this state: open or ended.', ...LIMIT, ...CURSOR },
    examples: ['palisade session list', 'palisade session list --only open'],
    load: async () => (await import('../nouns/session.ts')).list,
  },
  'session show ID': {
    sentence: 'Show a session, and what it has used of the budgets per run.',
    examples: ['palisade session show ses_01k'],
    load: async () => (await import('../nouns/session.ts')).show,
  },
  'session end ID': {
    sentence: 'End a session: the next call of its caller begins a new one, with new budgets per run.',
    flags: AS,
    examples: ['palisade session end ses_01k'],
    load: async () => (await import('../nouns/session.ts')).end,
  },
  'egress explain URL|HOST[:PORT]': {
    sentence: 'Show how the egress allow-list decides a request; nothing is resolved and nothing is sent.',
    flags: { 'method METHOD': 'The HTTP method of the request (default: GET).' },
    examples: ['palisade egress explain https://api.example.com/v1/users --method POST'],
    load: async () => (await import('../nouns/egress.ts')).explain,
  },
  'secrets set NAME': {
    sentence:
      'Store a secret; its value is typed at a prompt or read from standard input, never from the command line.',
    flags: { ...SCOPE, exact: 'Keep a line end at the end of standard input.', ...AS },
    examples: ['palisade secrets set github', 'palisade secrets set db --scope tenant:acme < password.txt'],
    load: async () => (await import('../nouns/secrets.ts')).set,
  },
  'secrets list': {
    sentence: 'List the secrets: their scopes, versions, sizes and times; never a value.',
    flags: AS,
    examples: ['palisade secrets list', 'palisade secrets list --json'],
    load: async () => (await import('../nouns/secrets.ts')).list,
  },
  'secrets rm NAME': {
    sentence: 'Remove a secret.',
    flags: { ...SCOPE, ...AS },
    examples: ['palisade secrets rm db --scope tenant:acme'],
    load: async () => (await import('../nouns/secrets.ts')).remove,
  },
  'storage list': {
    sentence: 'List what skills have stored, by tenant: how many keys and bytes; never a value.',
    flags: {
      'skill ID': 'Only of this skill.',
      'tenant TENANT': 'Only of this tenant.',
      ...LIMIT,
      ...CURSOR,
      ...AS,
    },
    examples: ['palisade storage list', 'palisade storage list --skill acme.notes'],
    load: async () => (await import('../nouns/storage.ts')).list,
  },
  'storage show SKILL [KEY]': {
    sentence: 'List the keys that a skill has stored; with KEY, show its value.',
    flags: {
      'prefix PREFIX': 'Only keys at and beneath this prefix, as notes/.',
      ...TENANT,
      ...LIMIT,
      ...CURSOR,
      ...AS,
    },
    examples: [
      'palisade storage show acme.notes --prefix drafts/',
      'palisade storage show acme.notes drafts/a',
    ],
    load: async () => (await import('../nouns/storage.ts')).show,
  },
  'storage delete SKILL [KEY]': {
    sentence: 'Delete a key, the keys beneath a prefix, or all that a skill has stored; asks before it does.',
    flags: {
      'prefix PREFIX': 'The keys at and beneath this prefix.',
      all: 'All of them.',
      ...TENANT,
      ...YES,
      ...AS,
    },
    examples: [
      'palisade storage delete acme.notes drafts/a',
      'palisade storage delete acme.notes --prefix drafts/',
      'palisade storage delete acme.notes --all --yes',
    ],
    load: async () => (await import('../nouns/storage.ts')).remove,
  },
  'channel list': {
    sentence: 'List the channels that have subscribers now, in all processes of the state directory.',
    flags: { ...TENANT, ...AS },
    load: async () => (await import('../nouns/channels.ts')).list,
  },
  'channel publish NAME': {
    sentence: 'Publish a message on a channel, to skills and to those who listen; its digest is recorded.',
    flags: {
      'message TEXT': 'The message: a text, @FILE, or - for standard input.',
      ...TENANT,
      ...AS,
    },
    examples: [
      'palisade channel publish jobs --message "begin"',
      'palisade channel publish jobs --message - < job.json',
    ],
    load: async () => (await import('../nouns/channels.ts')).publish,
  },
  'channel listen NAME': {
    sentence: 'Print the messages on a channel until Ctrl-C.',
    flags: { 'count N': 'End after this many messages.', ...TENANT, ...AS },
    examples: ['palisade channel listen jobs', 'palisade channel listen jobs --count 1 --json'],
    load: async () => (await import('../nouns/channels.ts')).listen,
  },
  'secrets rotate': {
    sentence: 'Encrypt every secret again under a new key; the old key then opens nothing.',
    flags: {
      'to LOCK': 'What locks the vault from now on: passphrase or file.',
      lost: 'Remove every secret and start over although the key is lost.',
      ...AS,
    },
    examples: ['palisade secrets rotate', 'palisade secrets rotate --to passphrase'],
    load: async () => (await import('../nouns/secrets.ts')).rotate,
  },
});
