import type { Verb } from '../verb.ts';

/** The commands that check an installation and show what palisade does. */
export const SETUP_VERBS: readonly Verb[] = [
  {
    words: 'doctor',
    args: [],
    flags: [
      {
        name: 'accept-clock',
        value: null,
        sentence: 'Accept the clock of the machine although the journal is ahead of it.',
      },
    ],
    sentence: 'Check the state directory, the keys, the policies, the journal and the sandbox tiers.',
    examples: ['palisade doctor'],
    load: async () => (await import('../nouns/doctor.ts')).doctor,
  },
  {
    words: 'config show',
    args: [],
    flags: [],
    sentence: 'Show every setting, its value and its source.',
    examples: ['palisade config show'],
    load: async () => (await import('../nouns/config.ts')).show,
  },
  {
    words: 'demo',
    args: [],
    flags: [
      {
        name: 'skill',
        value: 'DIR',
        sentence: 'Also show how this skill, whose modules are built, is installed, approved and called.',
      },
    ],
    sentence: 'Show an authorised, a refused and a verified call in a temporary state directory.',
    examples: ['palisade demo'],
    load: async () => (await import('../nouns/demo.ts')).demo,
  },
  {
    words: 'completion',
    args: ['bash|zsh|fish'],
    flags: [],
    sentence: 'Print the completion script of your shell.',
    examples: ['source <(palisade completion bash)'],
    load: async () => (await import('../completion.ts')).completion,
  },
];
