import type { Verb } from '../verb.ts';
import { AS, CURSOR, LIMIT, OUT, REASON, YES } from './shared-flags.ts';

const EXPIRES = {
  name: 'expires',
  value: 'WHEN',
  sentence: 'When the key expires: a date as 2027-01-31, or a duration as 12h, 90d or 52w (default: never).',
};

/** The commands of skill authors, and of the operators who decide which skills run and whose signatures count. */
export const SKILL_VERBS: readonly Verb[] = [
  {
    words: 'skill install',
    args: ['FILE'],
    flags: [
      {
        name: 'allow-downgrade',
        value: null,
        sentence: 'Accept a version that is older than one that was installed before.',
      },
      AS,
    ],
    sentence:
      'Install a signed package (a file, or - for standard input): it is verified, audited and put into quarantine.',
    examples: ['palisade skill install text-1.2.0.skill', 'palisade skill install - < text-1.2.0.skill'],
    load: async () => (await import('../nouns/skill-operate.ts')).install,
  },
  {
    words: 'skill list',
    args: [],
    flags: [
      {
        name: 'only',
        value: 'STATE',
        sentence: 'Only this state: ingested, audited, quarantined, approved, active, disabled or revoked.',
      },
      LIMIT,
      CURSOR,
    ],
    sentence: 'List the installed versions of skills with their states.',
    examples: ['palisade skill list', 'palisade skill list --only quarantined --json'],
    load: async () => (await import('../nouns/skill-read.ts')).list,
  },
  {
    words: 'skill show',
    args: ['ID[@VERSION]'],
    flags: [],
    sentence: 'Show a skill: its tools, what it requests, what of it is granted, and who decided.',
    examples: ['palisade skill show acme.text', 'palisade skill show acme.text@1.2.0 --json'],
    load: async () => (await import('../nouns/skill-read.ts')).show,
  },
  {
    words: 'skill diff',
    args: ['ID', '[FILE]'],
    flags: [
      { name: 'from', value: 'VERSION', sentence: 'The version to start from (default: the active one).' },
      {
        name: 'to',
        value: 'VERSION',
        sentence: 'The version to compare with (default: the newest other one).',
      },
    ],
    sentence:
      'Compare two versions, or a version and a package: capabilities, quotas, tools and description.',
    examples: [
      'palisade skill diff acme.text',
      'palisade skill diff acme.text text-1.3.0.skill',
      'palisade skill diff acme.text --from 1.1.0 --to 1.2.0',
    ],
    load: async () => (await import('../nouns/skill-read.ts')).diff,
  },
  {
    words: 'skill audit',
    args: ['[ID|FILE]'],
    flags: [
      { name: 'no-tests', value: null, sentence: 'Inspect only; do not run its test cases.' },
      { name: 'due', value: null, sentence: 'Audit every skill whose next audit is due.' },
      AS,
    ],
    sentence:
      'Audit a skill again, or a package (NAME.skill) without installing it; exits with 2 when the audit fails.',
    examples: [
      'palisade skill audit acme.text',
      'palisade skill audit text-1.2.0.skill --json',
      'palisade skill audit --due',
    ],
    load: async () => (await import('../nouns/skill-audit.ts')).audit,
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
          'Grant everything except this: http=ENTRY, secret=NAME, reveal=NAME, storage, storage:write, storage=PREFIX, channel=NAME[:publish|:receive] or all; may be repeated.',
      },
      { name: 'fuel', value: 'N', sentence: 'Less fuel per call than it requests.' },
      { name: 'memory', value: 'SIZE', sentence: 'Less memory than it requests, as 64k, 16m or 1g.' },
      { name: 'timeout', value: 'TIME', sentence: 'Less time than it requests, as 500ms, 10s or 2m.' },
      {
        name: 'config',
        value: 'KEY=VALUE',
        repeats: true,
        sentence: 'A value of its configuration; may be repeated.',
      },
      { name: 'no-enable', value: null, sentence: 'Approve it without enabling it.' },
      {
        name: 'accept-findings',
        value: null,
        sentence: 'Accept the warnings of the audit; required with --yes where there are any.',
      },
      REASON,
      { name: 'yes', value: null, sentence: 'Do not ask for confirmation; requires --reason.' },
      AS,
    ],
    sentence: 'Approve a version (its exact bytes) with a grant, and enable it.',
    examples: [
      'palisade skill approve acme.text',
      'palisade skill approve acme.text@1.2.0 --withhold http=api.example.com:443 --withhold storage:write --fuel 1000000',
      'palisade skill approve acme.text --yes --reason "reviewed in change 42"',
    ],
    load: async () => (await import('../nouns/skill-operate.ts')).approve,
  },
  {
    words: 'skill quarantine',
    args: ['ID[@VERSION]'],
    flags: [REASON, AS],
    sentence: 'Stop a skill and withdraw its approval until it is approved again.',
    examples: ['palisade skill quarantine acme.text --reason "odd requests"'],
    load: async () => (await import('../nouns/skill-change.ts')).quarantine,
  },
  {
    words: 'skill enable',
    args: ['ID[@VERSION]'],
    flags: [REASON, AS],
    sentence: 'Enable an approved version; the version that was active before is disabled.',
    examples: ['palisade skill enable acme.text', 'palisade skill enable acme.text@1.1.0'],
    load: async () => (await import('../nouns/skill-change.ts')).enable,
  },
  {
    words: 'skill disable',
    args: ['ID[@VERSION]'],
    flags: [REASON, AS],
    sentence: 'Disable a skill; its grant is kept.',
    examples: ['palisade skill disable acme.text --reason "not needed now"'],
    load: async () => (await import('../nouns/skill-change.ts')).disable,
  },
  {
    words: 'skill revoke',
    args: ['ID[@VERSION]'],
    flags: [REASON, YES, AS],
    sentence:
      'Revoke all versions of a skill, or one, for good and end their running calls; these bytes never run again.',
    examples: [
      'palisade skill revoke acme.text --reason "the publisher was taken over"',
      'palisade skill revoke acme.text@1.2.0 --reason "leaks its input"',
    ],
    load: async () => (await import('../nouns/skill-change.ts')).revoke,
  },
  {
    words: 'skill rollback',
    args: ['ID'],
    flags: [REASON, AS],
    sentence:
      'Return to the version before the newest one, with its grant; an update that is still pending is removed.',
    examples: ['palisade skill rollback acme.text --reason "1.2.0 is slow"'],
    load: async () => (await import('../nouns/skill-change.ts')).rollback,
  },
  {
    words: 'skill remove',
    args: ['ID[@VERSION]'],
    flags: [REASON, YES, AS],
    sentence: 'Delete a version that is not active, and its package.',
    examples: ['palisade skill remove acme.text@1.1.0'],
    load: async () => (await import('../nouns/skill-change.ts')).remove,
  },
  {
    words: 'skill export',
    args: ['ID[@VERSION]'],
    flags: [OUT],
    sentence: 'Export the exact bytes of an installed package, after its digest was checked.',
    examples: ['palisade skill export acme.text --out text.skill'],
    load: async () => (await import('../nouns/skill-read.ts')).exportSkill,
  },
  {
    words: 'skill new',
    args: ['DIR'],
    flags: [
      {
        name: 'language',
        value: 'LANGUAGE',
        sentence: 'The language: assemblyscript, c or javascript (required).',
      },
      {
        name: 'publisher',
        value: 'NAME',
        sentence: 'The publisher (default: your user name, or the publisher in --id).',
      },
      {
        name: 'id',
        value: 'ID',
        sentence: 'The id, as acme.text (default: the publisher and the name of DIR).',
      },
      { name: 'name', value: 'TEXT', sentence: 'The display name (default: the name of DIR).' },
    ],
    sentence: 'Create a working skill with two tools and tests, in a new or empty folder.',
    examples: [
      'palisade skill new text --language assemblyscript',
      'palisade skill new text --language c --id acme.text --name "Text tools"',
    ],
    load: async () => (await import('../nouns/skill-new.ts')).create,
  },
  {
    words: 'skill check',
    args: ['[DIR]'],
    flags: [],
    sentence:
      'Check the manifest, the description and the files of a skill; prints each problem with its line.',
    examples: ['palisade skill check', 'palisade skill check text --json'],
    load: async () => (await import('../nouns/skill-author.ts')).check,
  },
  {
    words: 'skill build',
    args: ['[DIR]'],
    flags: [
      {
        name: 'tools',
        value: 'FOLDER',
        sentence: 'Where the compiler is installed, if it is neither in DIR nor next to palisade.',
      },
      AS,
    ],
    sentence:
      'Build the modules of a skill; the compiler runs in a jail without network and writes to DIR only.',
    examples: ['palisade skill build', 'palisade skill build text --tools ~/compilers'],
    load: async () => (await import('../nouns/skill-build.ts')).build,
  },
  {
    words: 'skill test',
    args: ['[DIR|PACKAGE]'],
    flags: [
      {
        name: 'with-capabilities',
        value: null,
        sentence: 'Grant what it requests, except hosts and secrets, and also run the cases that need it.',
      },
      AS,
    ],
    sentence:
      'Run the test cases of a skill or a package without any capability; exits with 1 when one fails.',
    examples: ['palisade skill test', 'palisade skill test text-0.1.0.skill --with-capabilities'],
    load: async () => (await import('../nouns/skill-author.ts')).test,
  },
  {
    words: 'skill pack',
    args: ['[DIR]'],
    flags: [
      { ...OUT, sentence: 'Write the package to this file (also -o FILE; default: NAME-VERSION.skill).' },
    ],
    sentence: 'Pack a skill into one file; the same files always give the same bytes.',
    examples: ['palisade skill pack', 'palisade skill pack text --out text.skill'],
    load: async () => (await import('../nouns/skill-author.ts')).pack,
  },
  {
    words: 'skill sign',
    args: ['PACKAGE'],
    flags: [
      { name: 'key', value: 'FILE', sentence: 'The private key of the publisher (required).' },
      {
        name: 'new-key',
        value: null,
        sentence: 'Create that key first, and FILE.pub.json next to it for those who will trust it.',
      },
      {
        ...OUT,
        sentence: 'Write the signed package to this file instead of replacing PACKAGE (also -o FILE).',
      },
    ],
    sentence: 'Sign a package with the key of its publisher.',
    examples: [
      'palisade skill sign text-0.1.0.skill --key acme.key --new-key',
      'palisade skill sign text-0.1.0.skill --key acme.key --out signed.skill',
    ],
    load: async () => (await import('../nouns/skill-author.ts')).sign,
  },
  {
    words: 'skill inspect',
    args: ['PACKAGE'],
    flags: [],
    sentence: 'Show what a package contains and requests; nothing is run or stored.',
    examples: ['palisade skill inspect text-0.1.0.skill', 'palisade skill inspect text-0.1.0.skill --json'],
    load: async () => (await import('../nouns/skill-author.ts')).inspect,
  },
  {
    words: 'trust list',
    args: ['[PUBLISHER]'],
    flags: [],
    sentence: 'List the keys of publishers: their states, who added them, and when they expire.',
    examples: ['palisade trust list', 'palisade trust list acme --json'],
    load: async () => (await import('../nouns/trust.ts')).list,
  },
  {
    words: 'trust add',
    args: ['PUBLISHER', 'KEYFILE'],
    flags: [EXPIRES, YES, AS],
    sentence: 'Trust a public key to sign for a publisher, after you compared its fingerprint.',
    examples: [
      'palisade trust add acme acme.key.pub.json',
      'palisade trust add acme acme.key.pub.json --expires 52w --yes',
    ],
    load: async () => (await import('../nouns/trust.ts')).add,
  },
  {
    words: 'trust revoke',
    args: ['KEYID'],
    flags: [{ ...REASON, sentence: 'The reason, for the record (required).' }, AS],
    sentence:
      'Revoke a key (its id, or at least its first 8 digits) for good; the skills that it signed are quarantined.',
    examples: ['palisade trust revoke 3fa9c0d17be2 --reason "the laptop was stolen"'],
    load: async () => (await import('../nouns/trust.ts')).revoke,
  },
  {
    words: 'trust rotate',
    args: ['PUBLISHER', 'KEYFILE'],
    flags: [EXPIRES, YES, AS],
    sentence:
      'Trust a new key of a publisher; its earlier keys install nothing new, and what they signed keeps running.',
    examples: ['palisade trust rotate acme acme-2027.key.pub.json --expires 2028-01-31'],
    load: async () => (await import('../nouns/trust.ts')).rotate,
  },
];
