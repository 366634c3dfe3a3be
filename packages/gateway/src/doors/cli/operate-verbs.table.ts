import { AS } from './shared-flags.ts';
import type { Verb } from './verb.ts';

/** The words of those who decide which skills run and whose signatures count; a part of the table of verbs. */

const REASON = { name: 'reason', value: 'TEXT', sentence: 'Why, for the record.' };
const YES = { name: 'yes', value: null, sentence: 'Do not ask.' };
const EXPIRES = {
  name: 'expires',
  value: 'WHEN',
  sentence: 'When the key ends: a date as 2027-01-31, or a time as 12h, 90d or 52w (default: never).',
};

export const OPERATE_VERBS: readonly Verb[] = [
  {
    words: 'skill install',
    args: ['FILE'],
    flags: [
      {
        name: 'allow-downgrade',
        value: null,
        sentence: 'Take a version that is older than one that was installed before.',
      },
      AS,
    ],
    sentence:
      'Take in a signed package (a file, or - for standard input): it is verified, audited and put into quarantine.',
    examples: ['palisade skill install text-1.2.0.skill', 'palisade skill install - < text-1.2.0.skill'],
    load: () => import('./verbs/skill-install.ts'),
  },
  {
    words: 'skill list',
    args: [],
    flags: [
      {
        name: 'only',
        value: 'STATE',
        sentence: 'ingested, audited, quarantined, approved, active, disabled or revoked.',
      },
      { name: 'limit', value: 'N', sentence: 'How many to show (default: 20).' },
      { name: 'cursor', value: 'CURSOR', sentence: 'Go on after the page that gave this cursor.' },
    ],
    sentence: 'List the installed versions of skills with their states.',
    examples: ['palisade skill list', 'palisade skill list --only quarantined --json'],
    load: () => import('./verbs/skill-list.ts'),
  },
  {
    words: 'skill show',
    args: ['ID[@VERSION]'],
    flags: [],
    sentence: 'Show a skill: its tools, what it asks for, what of it is granted, and who decided so.',
    examples: ['palisade skill show acme.text', 'palisade skill show acme.text@1.2.0 --json'],
    load: () => import('./verbs/skill-show.ts'),
  },
  {
    words: 'skill audit',
    args: ['[ID|FILE]'],
    flags: [
      { name: 'no-tests', value: null, sentence: 'Only look; do not run its test cases.' },
      { name: 'due', value: null, sentence: 'Audit every skill whose next audit is due.' },
      AS,
    ],
    sentence:
      'Audit a skill again, or a package (NAME.skill) without installing it; exits 2 when it must not run.',
    examples: [
      'palisade skill audit acme.text',
      'palisade skill audit text-1.2.0.skill --json',
      'palisade skill audit --due',
    ],
    load: () => import('./verbs/skill-audit.ts'),
  },
  {
    words: 'skill diff',
    args: ['ID', '[FILE]'],
    flags: [
      { name: 'from', value: 'VERSION', sentence: 'The version to start from (default: the one that runs).' },
      {
        name: 'to',
        value: 'VERSION',
        sentence: 'The version to compare with (default: the newest other one).',
      },
    ],
    sentence:
      'Show what a version or a package has that another version does not: capabilities, quotas, tools and prose.',
    examples: [
      'palisade skill diff acme.text',
      'palisade skill diff acme.text text-1.3.0.skill',
      'palisade skill diff acme.text --from 1.1.0 --to 1.2.0',
    ],
    load: () => import('./verbs/skill-diff.ts'),
  },
  {
    words: 'skill approve',
    args: ['ID[@VERSION]'],
    flags: [
      {
        name: 'withhold',
        value: 'SPELLING',
        repeats: true,
        sentence:
          'Grant all but this: http=ENTRY, secret=NAME, reveal=NAME, storage, storage:write, storage=PREFIX, channel=NAME[:publish|:receive] or all; may be repeated.',
      },
      { name: 'fuel', value: 'N', sentence: 'Less fuel for a call than it asks for.' },
      { name: 'memory', value: 'SIZE', sentence: 'Less memory than it asks for, as 64k, 16m or 1g.' },
      { name: 'timeout', value: 'TIME', sentence: 'Less time than it asks for, as 500ms, 10s or 2m.' },
      {
        name: 'config',
        value: 'KEY=VALUE',
        repeats: true,
        sentence: 'A value of its configuration; may be repeated.',
      },
      { name: 'no-enable', value: null, sentence: 'Approve it without switching it on.' },
      {
        name: 'accept-findings',
        value: null,
        sentence: 'The warnings of the audit were read and are accepted; for --yes.',
      },
      REASON,
      { name: 'yes', value: null, sentence: 'Do not ask; a reason is required then.' },
      AS,
    ],
    sentence: 'Approve these very bytes with what is granted, and switch the skill on.',
    examples: [
      'palisade skill approve acme.text',
      'palisade skill approve acme.text@1.2.0 --withhold http=api.example.com:443 --withhold storage:write --fuel 1000000',
      'palisade skill approve acme.text --yes --reason "reviewed in change 42"',
    ],
    load: () => import('./verbs/skill-approve.ts'),
  },
  {
    words: 'skill quarantine',
    args: ['ID[@VERSION]'],
    flags: [REASON, AS],
    sentence: 'Take a skill out of use and its approval back, until somebody approves it again.',
    examples: ['palisade skill quarantine acme.text --reason "odd requests"'],
    load: () => import('./verbs/skill-quarantine.ts'),
  },
  {
    words: 'skill enable',
    args: ['ID[@VERSION]'],
    flags: [REASON, AS],
    sentence: 'Switch an approved version on, and the one that ran before off.',
    examples: ['palisade skill enable acme.text', 'palisade skill enable acme.text@1.1.0'],
    load: () => import('./verbs/skill-enable.ts'),
  },
  {
    words: 'skill disable',
    args: ['ID[@VERSION]'],
    flags: [REASON, AS],
    sentence: 'Switch a skill off; its grant is kept.',
    examples: ['palisade skill disable acme.text --reason "not needed now"'],
    load: () => import('./verbs/skill-disable.ts'),
  },
  {
    words: 'skill revoke',
    args: ['ID[@VERSION]'],
    flags: [REASON, YES, AS],
    sentence:
      'Take all versions of a skill, or one, out of use for good and end their running calls; these bytes never run again.',
    examples: [
      'palisade skill revoke acme.text --reason "the publisher was taken over"',
      'palisade skill revoke acme.text@1.2.0 --reason "leaks its input"',
    ],
    load: () => import('./verbs/skill-revoke.ts'),
  },
  {
    words: 'skill rollback',
    args: ['ID'],
    flags: [REASON, AS],
    sentence:
      'Go back to the version before the newest one, with the grant that it had; an update that still waits is removed.',
    examples: ['palisade skill rollback acme.text --reason "1.2.0 is slow"'],
    load: () => import('./verbs/skill-rollback.ts'),
  },
  {
    words: 'skill remove',
    args: ['ID[@VERSION]'],
    flags: [REASON, YES, AS],
    sentence: 'Forget a version that does not run, and its package.',
    examples: ['palisade skill remove acme.text@1.1.0'],
    load: () => import('./verbs/skill-remove.ts'),
  },
  {
    words: 'skill export',
    args: ['ID[@VERSION]'],
    flags: [{ name: 'out', value: 'FILE', sentence: 'Write to this file instead of standard output.' }],
    sentence: 'Give the very bytes of an installed package, compared with their digest first.',
    examples: ['palisade skill export acme.text --out text.skill'],
    load: () => import('./verbs/skill-export.ts'),
  },
  {
    words: 'trust list',
    args: ['[PUBLISHER]'],
    flags: [],
    sentence: 'List the keys of publishers: which count, since when, until when and on whose word.',
    examples: ['palisade trust list', 'palisade trust list acme --json'],
    load: () => import('./verbs/trust-list.ts'),
  },
  {
    words: 'trust add',
    args: ['PUBLISHER', 'KEYFILE'],
    flags: [EXPIRES, YES, AS],
    sentence: 'Trust a public key to sign for a publisher, after its fingerprint was compared.',
    examples: [
      'palisade trust add acme acme.key.pub.json',
      'palisade trust add acme acme.key.pub.json --expires 52w --yes',
    ],
    load: () => import('./verbs/trust-add.ts'),
  },
  {
    words: 'trust revoke',
    args: ['KEYID'],
    flags: [{ name: 'reason', value: 'TEXT', sentence: 'Why, for the record (required).' }, AS],
    sentence:
      'Take all trust from a key (its id, or the first 8 digits of it or more), for good; what it signed goes into quarantine.',
    examples: ['palisade trust revoke 3fa9c0d17be2 --reason "the laptop was stolen"'],
    load: () => import('./verbs/trust-revoke.ts'),
  },
  {
    words: 'trust rotate',
    args: ['PUBLISHER', 'KEYFILE'],
    flags: [EXPIRES, YES, AS],
    sentence:
      'Trust a new key of a publisher; those before install nothing new, and what they signed goes on.',
    examples: ['palisade trust rotate acme acme-2027.key.pub.json --expires 2028-01-31'],
    load: () => import('./verbs/trust-rotate.ts'),
  },
];
