import { type Verb, verbs } from '../verb.ts';
import { CHANNEL, DEVICE } from './shared-flags.ts';

const NAME = { 'name NAME': 'The name of the entry in the file (default: palisade).' };
const PROJECT = { project: 'Use the file of the project in the current folder, instead of your own.' };
const FILE = { 'file PATH': 'Use this file, instead of the one that the client reads.' };
const DRY_RUN = { 'dry-run': 'Show what would change in the file, and write nothing.' };

/** The commands that connect agents, check an installation and show what palisade does. */
export const SETUP_VERBS: readonly Verb[] = verbs({
  init: {
    sentence:
      'Start here: make the state directory, check the machine, connect your agents, and make a first call.',
    flags: {
      yes: 'Connect every client that is found, without a question.',
      'client CLIENT...': 'Connect this client and no other; may be repeated.',
      'workspace DIR...': 'A directory in or below which commands of the clients may work; may be repeated.',
      demo: 'Show the demo at the end.',
    },
    examples: ['palisade init', 'palisade init --yes --client claude-code', 'palisade init --yes --demo'],
    load: async () => (await import('../connect/init.ts')).init,
  },
  'connect [CLIENT]': {
    sentence:
      'Connect an MCP client to this gateway: add an entry to its configuration and change nothing else.',
    flags: {
      http: 'Connect to the address of `palisade serve`, with a token of its own.',
      ...PROJECT,
      ...NAME,
      'as PRINCIPAL': 'The principal of the client: agent:NAME (default: agent:CLIENT).',
      ...DEVICE,
      ...CHANNEL,
      ...DRY_RUN,
      ...FILE,
      'wrap SERVER': 'Run this server of the file through the gateway, instead of adding an entry.',
      fetch:
        'With --wrap: fetch the package of the server first, if it was not fetched yet; on a terminal you are asked without the flag.',
      'workspace DIR...':
        'A directory in or below which commands of the client may work; may be repeated (default: that of --project, else where the client starts palisade, if that is in a project). With --wrap: the one directory that the server may write to.',
      list: 'List the clients, as without CLIENT.',
    },
    examples: [
      'palisade connect',
      'palisade connect claude-code',
      'palisade connect claude-desktop --workspace ~/projects/site',
      'palisade connect cursor --project --dry-run',
      'palisade connect codex --http',
      'palisade connect claude-desktop --wrap filesystem --fetch --workspace ~/work',
    ],
    load: async () => (await import('../connect/connect.ts')).run,
  },
  'disconnect CLIENT': {
    sentence:
      'Remove the entry, give wrapped servers their own command back, and revoke the token of the entry.',
    flags: { ...PROJECT, ...NAME, ...DRY_RUN, ...FILE },
    examples: ['palisade disconnect claude-code', 'palisade disconnect cursor --project --dry-run'],
    load: async () => (await import('../connect/disconnect.ts')).run,
  },
  doctor: {
    sentence: 'Check the state directory, the keys, the policies, the journal and the sandbox tiers.',
    flags: { 'accept-clock': 'Accept the clock of the machine although the journal is ahead of it.' },
    load: async () => (await import('../nouns/doctor.ts')).doctor,
  },
  'config show': {
    sentence: 'Show every setting, its value and its source.',
    load: async () => (await import('../nouns/config.ts')).show,
  },
  'docs [TOPIC]': {
    sentence: 'Print the address of the documentation, or of one page: of the daemon, else on this disk.',
    examples: ['palisade docs', 'palisade docs policy'],
    load: async () => (await import('../nouns/docs.ts')).docs,
  },
  demo: {
    sentence: 'Show an authorised, a refused and a verified call in a temporary state directory.',
    flags: {
      'skill DIR': 'Also show how this skill, whose modules are built, is installed, approved and called.',
    },
    load: async () => (await import('../nouns/demo.ts')).demo,
  },
  upgrade: {
    sentence:
      'Bring the state directory to this version after a backup; every command does so when it needs to.',
    flags: {
      check:
        'Try it on a copy and change nothing; exits with 1 where an upgrade waits, and with 2 where it would fail.',
      'restore BACKUP': 'Go back to this backup of --check; what is there now is kept as one, too.',
      yes: 'With --restore: do not ask for confirmation.',
    },
    examples: ['palisade upgrade --check', 'palisade upgrade'],
    load: async () => (await import('../nouns/upgrade.ts')).upgrade,
  },
  uninstall: {
    sentence:
      'Undo what init, connect, service install and completion install did: shows a plan first; the state directory stays, or its journal is exported.',
    flags: {
      yes: 'Do not ask for confirmation.',
      'dry-run': 'Show the plan, and change nothing.',
      'export FILE':
        'Export the journal to FILE and the public keys to FILE.keys, verify both, and remove the state directory.',
      purge: 'Remove the state directory without an export.',
      system: 'Also remove the service of the machine, as root.',
    },
    examples: [
      'palisade uninstall --dry-run',
      'palisade uninstall --export journal.jsonl',
      'palisade uninstall --purge --yes',
    ],
    load: async () => (await import('../uninstall/uninstall.ts')).uninstall,
  },
  'completion bash|zsh|fish': {
    sentence: 'Print the completion script of your shell.',
    examples: ['source <(palisade completion bash)'],
    load: async () => (await import('../completion.ts')).completion,
  },
  'completion install [SHELL]': {
    sentence:
      'Install the completion of the shells that are here (bash, zsh, fish), or of one, and the manual page.',
    flags: { 'root DIR': 'Write below this directory, where packages have them.' },
    examples: ['palisade completion install', 'palisade completion install zsh'],
    load: async () => (await import('../shell-files.ts')).install,
  },
  man: {
    sentence: 'Print the manual page.',
    examples: ['palisade man | man -l -'],
    load: async () => (await import('../man.ts')).man,
  },
});
