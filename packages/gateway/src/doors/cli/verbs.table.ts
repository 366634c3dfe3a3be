import { CALL_VERBS } from './tables/call-verbs.table.ts';
import { OPERATOR_VERBS } from './tables/operator-verbs.table.ts';
import { RECORD_VERBS } from './tables/record-verbs.table.ts';
import { SERVER_VERBS } from './tables/server-verbs.table.ts';
import { SETUP_VERBS } from './tables/setup-verbs.table.ts';
import { SKILL_VERBS } from './tables/skill-verbs.table.ts';
import { type Flag, flags, type Verb } from './verb.ts';

/** Every command, in the groups of the help. Parsing, help, completion and docs/cli.md are made from these tables. */

type VerbGroup = { readonly title: string; readonly verbs: readonly Verb[] };

export const VERB_GROUPS: readonly VerbGroup[] = [
  { title: 'Set up', verbs: SETUP_VERBS },
  { title: 'Call tools', verbs: CALL_VERBS },
  { title: 'Decide what may run', verbs: OPERATOR_VERBS },
  { title: 'Skills and their publishers', verbs: SKILL_VERBS },
  { title: 'Receipts, journal and keys', verbs: RECORD_VERBS },
  { title: 'Servers, MCP and tokens', verbs: SERVER_VERBS },
];

export const VERBS: readonly Verb[] = VERB_GROUPS.flatMap(({ verbs }) => verbs);

/** The words that commands begin with. */
export const FIRST_WORDS: readonly string[] = [
  ...new Set(VERBS.map(({ words }) => words.replace(/ .*/, ''))),
];

/** What people do first, in this order, on top of the help. */
export const FIRST_COMMANDS: readonly (readonly [command: string, what: string])[] = [
  ['init', 'Set everything up: state directory, agents, a first call.'],
  ['connect', 'Connect an agent: Claude Code, Cursor, Codex and others.'],
  ['exec -- COMMAND', 'Run a command in a sandbox.'],
  ['call TOOL', 'Call a tool and get a receipt.'],
  ['approvals list', 'See and decide the calls that wait for an approval.'],
  ['skill install FILE', 'Install a skill.'],
  ['verify FILE', 'Verify a receipt.'],
  ['doctor', 'Check this installation.'],
];

export const COMMON_FLAGS: readonly Flag[] = flags({
  'state DIR': 'The state directory (default: PALISADE_STATE, else the XDG state directory).',
  json: 'Print one JSON document.',
  'no-color': 'Print without colours (also NO_COLOR=1).',
  help: 'Show the help of a command (also -h).',
});
