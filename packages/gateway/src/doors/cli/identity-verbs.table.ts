import { AS } from './shared-flags.ts';
import type { Verb } from './verb.ts';

/** The words of those who let others in; a part of the table of verbs. */
export const IDENTITY_VERBS: readonly Verb[] = [
  {
    words: 'token create',
    args: [],
    flags: [
      {
        name: 'principal',
        value: 'PRINCIPAL',
        sentence: 'Who whoever has the token is: agent:NAME, user:NAME or service:NAME (required).',
      },
      {
        name: 'scopes',
        value: 'LIST',
        sentence:
          'What it is good for, as call,read: call, read, approve, skills, policy, secrets, admin (default: call). For an agent call and read at most.',
      },
      {
        name: 'expires',
        value: 'WHEN',
        sentence:
          'When it ends: a date as 2027-01-31, or a time as 12h, 30d or 52w, at most 366 days (default: 30d).',
      },
      { name: 'tenant', value: 'TENANT', sentence: 'Whose calls it makes (default: gateway.tenant).' },
      {
        name: 'approver',
        value: 'PRINCIPAL',
        sentence: 'The person behind the client, as user:NAME, who may be asked there to approve calls.',
      },
      { name: 'label', value: 'TEXT', sentence: 'What it is for, in lists and in the journal.' },
      AS,
    ],
    sentence: 'Make a token for the HTTP door; it is shown once and cannot be shown again.',
    examples: [
      'palisade token create --principal agent:ada',
      'palisade token create --principal user:grace --scopes call,read,approve --expires 12h --label "grace at her desk"',
      'palisade token create --principal service:ci --scopes call,skills --tenant acme --expires 2027-01-31 --json',
    ],
    load: () => import('./verbs/token-create.ts'),
  },
  {
    words: 'token list',
    args: [],
    flags: [
      { name: 'tenant', value: 'TENANT', sentence: 'Only those of this tenant.' },
      { name: 'limit', value: 'N', sentence: 'How many to show (default: 20).' },
      { name: 'cursor', value: 'CURSOR', sentence: 'Go on after the page that gave this cursor.' },
    ],
    sentence: 'List the tokens: whose, good for what and until when; never a token itself.',
    examples: ['palisade token list', 'palisade token list --tenant acme --json'],
    load: () => import('./verbs/token-list.ts'),
  },
  {
    words: 'token revoke',
    args: ['ID'],
    flags: [AS],
    sentence: 'Revoke a token for good; it counts from the next request on.',
    examples: ['palisade token revoke tok_01k3v9m2x7q4w8e5r6t0y1p3z'],
    load: () => import('./verbs/token-revoke.ts'),
  },
];
