import { AS } from './shared-flags.ts';
import type { Verb } from './verb.ts';

/** The words about skills and about whom to trust with them; a part of the table of verbs. */

const OUT = { name: 'out', value: 'FILE', sentence: 'Write to this file (also -o FILE).' };

export const SKILL_VERBS: readonly Verb[] = [
  {
    words: 'skill new',
    args: ['DIR'],
    flags: [
      {
        name: 'language',
        value: 'LANGUAGE',
        sentence: 'What it is written in: assemblyscript, c or javascript (required).',
      },
      { name: 'publisher', value: 'NAME', sentence: 'Who publishes it (default: you, or the one in --id).' },
      {
        name: 'id',
        value: 'ID',
        sentence: 'Its id, as acme.text (default: the publisher and the name of DIR).',
      },
      { name: 'name', value: 'TEXT', sentence: 'What people call it (default: the name of DIR).' },
    ],
    sentence: 'Make a skill that works, with two tools and tests, in a new or empty folder.',
    examples: [
      'palisade skill new text --language assemblyscript',
      'palisade skill new text --language c --id acme.text --name "Text tools"',
    ],
    load: () => import('./verbs/skill-new.ts'),
  },
  {
    words: 'skill check',
    args: ['[DIR]'],
    flags: [],
    sentence:
      'Check the manifest, the prose and the files of a skill (of DIR, or where you are): every problem with its line.',
    examples: ['palisade skill check', 'palisade skill check text --json'],
    load: () => import('./verbs/skill-check.ts'),
  },
  {
    words: 'skill build',
    args: ['[DIR]'],
    flags: [
      {
        name: 'tools',
        value: 'FOLDER',
        sentence: 'Where the compiler is installed, if it is neither in DIR nor beside palisade.',
      },
      AS,
    ],
    sentence:
      'Build the modules of a skill; the compiler runs in a jail without a network and writes to DIR alone.',
    examples: ['palisade skill build', 'palisade skill build text --tools ~/compilers'],
    load: () => import('./verbs/skill-build.ts'),
  },
  {
    words: 'skill test',
    args: ['[DIR|PACKAGE]'],
    flags: [
      {
        name: 'with-capabilities',
        value: null,
        sentence: 'Give it what it asks for, but for hosts and secrets, and run the cases that need it, too.',
      },
      AS,
    ],
    sentence:
      'Run the test cases of a skill or of a package, without any capability; exits 1 when one fails.',
    examples: ['palisade skill test', 'palisade skill test text-0.1.0.skill --with-capabilities'],
    load: () => import('./verbs/skill-test.ts'),
  },
  {
    words: 'skill pack',
    args: ['[DIR]'],
    flags: [OUT],
    sentence: 'Make one package of a skill: the same files always give the same bytes.',
    examples: ['palisade skill pack', 'palisade skill pack text --out text.skill'],
    load: () => import('./verbs/skill-pack.ts'),
  },
  {
    words: 'skill sign',
    args: ['PACKAGE'],
    flags: [
      { name: 'key', value: 'FILE', sentence: 'The private key of the publisher (required).' },
      {
        name: 'new-key',
        value: null,
        sentence: 'Make that key first, and FILE.pub.json beside it for those who are to trust it.',
      },
      { name: 'out', value: 'FILE', sentence: 'Write the signed package here instead of over the old one.' },
    ],
    sentence: 'Sign a package with the key of its publisher.',
    examples: [
      'palisade skill sign text-0.1.0.skill --key acme.key --new-key',
      'palisade skill sign text-0.1.0.skill --key acme.key --out signed.skill',
    ],
    load: () => import('./verbs/skill-sign.ts'),
  },
  {
    words: 'skill inspect',
    args: ['PACKAGE'],
    flags: [],
    sentence: 'Show what is in a package and what it asks for; nothing of it is run and nothing is kept.',
    examples: ['palisade skill inspect text-0.1.0.skill', 'palisade skill inspect text-0.1.0.skill --json'],
    load: () => import('./verbs/skill-inspect.ts'),
  },
];
