import { type Verb, verbs } from '../verb.ts';

/** The commands that check an installation and show what palisade does. */
export const SETUP_VERBS: readonly Verb[] = verbs({
  doctor: {
    sentence: 'Check the state directory, the keys, the policies, the journal and the sandbox tiers.',
    flags: {
      'accept-clock': 'Accept the clock of the machine although the journal is ahead of it.',
    },
    load: async () => (await import('../nouns/doctor.ts')).doctor,
  },
  'config show': {
    sentence: 'Show every setting, its value and its source.',
    load: async () => (await import('../nouns/config.ts')).show,
  },
  demo: {
    sentence: 'Show an authorised, a refused and a verified call in a temporary state directory.',
    flags: {
      'skill DIR': 'Also show how this skill, whose modules are built, is installed, approved and called.',
    },
    load: async () => (await import('../nouns/demo.ts')).demo,
  },
  'completion bash|zsh|fish': {
    sentence: 'Print the completion script of your shell.',
    examples: ['source <(palisade completion bash)'],
    load: async () => (await import('../completion.ts')).completion,
  },
});
