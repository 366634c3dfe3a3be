import { CONNECT_VERBS } from './connect-verbs.table.ts';
import { IDENTITY_VERBS } from './identity-verbs.table.ts';
import { MCP_VERBS } from './mcp-verbs.table.ts';
import { OPERATE_VERBS } from './operate-verbs.table.ts';
import { SERVE_VERBS } from './serve-verbs.table.ts';
import { AS } from './shared-flags.ts';
import { SKILL_VERBS } from './skill-verbs.table.ts';
import { UPSTREAM_VERBS } from './upstream-verbs.table.ts';
import type { Verb } from './verb.ts';

/** Every word the command line understands. Help, completion and the check of the documents are made from this table. */

const INPUT = {
  name: 'input',
  value: 'JSON',
  sentence: 'The input as JSON, @FILE, or - for standard input (default: {}).',
};
const TIMEOUT = { name: 'timeout', value: 'MS', sentence: 'The longest the call may take, in milliseconds.' };
const RUN = {
  name: 'run',
  value: 'ID',
  sentence: 'The run this call belongs to; budgets per run count it there.',
};
const EMBEDDED = {
  name: 'embedded',
  value: null,
  sentence: 'Make the call in this process, also where a daemon serves the state directory.',
};
const LIMIT = { name: 'limit', value: 'N', sentence: 'How many to show (default: 20).' };
const CURSOR = { name: 'cursor', value: 'CURSOR', sentence: 'Go on after the page that gave this cursor.' };
const KEY = {
  name: 'key',
  value: 'FILE',
  sentence: 'The public keys to trust, from `palisade keys export`.',
};
const NOTE = { name: 'note', value: 'TEXT', sentence: 'Why, for the record.' };
const SCOPE = {
  name: 'scope',
  value: 'SCOPE',
  sentence: 'Whose it is: global, tenant:NAME, principal:agent:NAME or skill:ID (default: global).',
};

export const VERBS: readonly Verb[] = [
  {
    words: 'call',
    args: ['TOOL'],
    flags: [
      INPUT,
      AS,
      RUN,
      TIMEOUT,
      { name: 'receipt', value: 'FILE', sentence: 'Write the signed receipt to this file.' },
      EMBEDDED,
    ],
    sentence: 'Call a tool and get its output and a signed receipt.',
    examples: [
      `palisade call palisade.echo --input '{"message":"hello"}'`,
      'palisade call palisade.sleep --input @input.json --as agent:ada --run build-7 --timeout 2000 --json',
    ],
    load: () => import('./verbs/call.ts'),
  },
  {
    words: 'exec',
    args: [],
    rest: 'COMMAND [ARGS...]',
    flags: [
      { name: 'tier', value: 'TIER', sentence: 'The sandbox: b (limits) or c (a jail; the default).' },
      {
        name: 'workspace',
        value: 'DIR',
        sentence: 'The one directory that the command may write to (default: where you are).',
      },
      { name: 'cwd', value: 'DIR', sentence: 'Where the command starts, inside the workspace.' },
      {
        name: 'env',
        value: 'NAME=VALUE',
        repeats: true,
        sentence: 'A variable of the command; may be repeated.',
      },
      {
        name: 'egress',
        value: 'MODE',
        sentence: 'How the network is held: strict (the default), preflight or none.',
      },
      {
        name: 'allow-host',
        value: 'ENTRY',
        repeats: true,
        sentence: 'All that it needs to reach, as api.example.com or *.example.com:443; may be repeated.',
      },
      {
        name: 'secret',
        value: 'NAME',
        repeats: true,
        sentence: 'A secret of palisade.toml that it uses without having it; may be repeated.',
      },
      {
        name: 'limit',
        value: 'KEY=VALUE',
        repeats: true,
        sentence: 'What it may use, as memory_bytes=512m or cpu_time_ms=10s; may be repeated.',
      },
      { name: 'stdin', value: null, sentence: 'Pass standard input on; without it the command has none.' },
      { name: 'timeout', value: 'TIME', sentence: 'The longest it may take, as 500ms, 10s or 2m.' },
      { name: 'dry-run', value: null, sentence: 'Show what would be started and what the policies say.' },
      { name: 'diff', value: null, sentence: 'List what it changed in the workspace.' },
      AS,
      RUN,
      { name: 'receipt', value: 'FILE', sentence: 'Write the signed receipt to this file.' },
      EMBEDDED,
    ],
    sentence: 'Run a command in a sandbox; its output and its exit status are passed through.',
    examples: [
      'palisade exec -- ls -l',
      'palisade exec --limit memory_bytes=512m --timeout 2m --diff -- make test',
      'palisade exec --allow-host api.example.com --secret github -- python3 release.py',
      'palisade exec --dry-run -- python3 build.py',
    ],
    load: () => import('./verbs/exec.ts'),
  },
  {
    words: 'tools list',
    args: [],
    flags: [
      { name: 'limit', value: 'N', sentence: 'Show at most so many (100).' },
      { name: 'after', value: 'TOOL', sentence: 'Go on after this tool.' },
    ],
    sentence: 'List the tools that can be called, those of installed skills too.',
    examples: ['palisade tools list', 'palisade tools list --after palisade.sleep'],
    load: () => import('./verbs/tools-list.ts'),
  },
  {
    words: 'tools show',
    args: ['TOOL'],
    flags: [],
    sentence: 'Show one tool with its schemas, risk, tier and limits.',
    examples: ['palisade tools show palisade.sleep'],
    load: () => import('./verbs/tools-show.ts'),
  },
  {
    words: 'policy list',
    args: [],
    flags: [],
    sentence: 'List the policies of the live set.',
    examples: ['palisade policy list'],
    load: () => import('./verbs/policy-list.ts'),
  },
  {
    words: 'policy check',
    args: ['[DIR]'],
    flags: [],
    sentence: 'Check the policy files (of the state directory, or of DIR) without activating them.',
    examples: ['palisade policy check', 'palisade policy check ./policies'],
    load: () => import('./verbs/policy-check.ts'),
  },
  {
    words: 'policy explain',
    args: ['TOOL'],
    flags: [INPUT, AS, RUN, TIMEOUT],
    sentence: 'Explain how the live policies decide a call, and what would have to be different.',
    examples: [`palisade policy explain palisade.sleep --input '{"ms":60000}' --as agent:ada`],
    load: () => import('./verbs/policy-explain.ts'),
  },
  {
    words: 'policy test',
    args: ['FILE'],
    flags: [],
    sentence: 'Run a file of cases against the live policies; exits 1 on a miss.',
    examples: ['palisade policy test cases.toml'],
    load: () => import('./verbs/policy-test.ts'),
  },
  {
    words: 'approvals list',
    args: [],
    flags: [
      { name: 'only', value: 'STATE', sentence: 'pending, approved, denied, used or expired.' },
      LIMIT,
      CURSOR,
    ],
    sentence: 'List approval requests, newest first.',
    examples: ['palisade approvals list'],
    load: () => import('./verbs/approvals-list.ts'),
  },
  {
    words: 'approvals show',
    args: ['ID'],
    flags: [],
    sentence: 'Show what an approval request asks for.',
    examples: ['palisade approvals show apr_01k'],
    load: () => import('./verbs/approvals-show.ts'),
  },
  {
    words: 'approvals approve',
    args: ['ID'],
    flags: [AS, NOTE],
    sentence: 'Approve one call, once.',
    examples: ['palisade approvals approve apr_01k --note "agreed in review"'],
    load: () => import('./verbs/approvals-approve.ts'),
  },
  {
    words: 'approvals deny',
    args: ['ID'],
    flags: [AS, NOTE],
    sentence: 'Deny a call.',
    examples: ['palisade approvals deny apr_01k'],
    load: () => import('./verbs/approvals-deny.ts'),
  },
  {
    words: 'budget list',
    args: [],
    flags: [],
    sentence: 'List the budget accounts: spent, held, left, and when they reset.',
    examples: ['palisade budget list'],
    load: () => import('./verbs/budget-list.ts'),
  },
  {
    words: 'journal tail',
    args: [],
    flags: [LIMIT, { name: 'follow', value: null, sentence: 'Go on with new records as they come.' }],
    sentence: 'Show the newest records.',
    examples: ['palisade journal tail', 'palisade journal tail --follow'],
    load: () => import('./verbs/journal-tail.ts'),
  },
  {
    words: 'journal show',
    args: ['SEQ|CALL'],
    flags: [],
    sentence: 'Show one record by its number, or all records of a call.',
    examples: ['palisade journal show 12', 'palisade journal show call_01k'],
    load: () => import('./verbs/journal-show.ts'),
  },
  {
    words: 'journal search',
    args: [],
    flags: [
      {
        name: 'kind',
        value: 'KIND',
        sentence: 'intent, ended, refused, approval-asked, approval-decided, policy-loaded, fault, …',
      },
      { name: 'principal', value: 'PRINCIPAL', sentence: 'Who asked, as agent:NAME.' },
      { name: 'tool', value: 'TOOL', sentence: 'Which tool.' },
      { name: 'call', value: 'CALL', sentence: 'Which call.' },
      { name: 'from', value: 'TIME', sentence: 'Not before this time (ISO 8601).' },
      { name: 'to', value: 'TIME', sentence: 'Not after this time (ISO 8601).' },
      { name: 'oldest-first', value: null, sentence: 'From the beginning instead of from the end.' },
      LIMIT,
      CURSOR,
    ],
    sentence: 'Search all of history.',
    examples: ['palisade journal search --kind refused --principal agent:ada --limit 50'],
    load: () => import('./verbs/journal-search.ts'),
  },
  {
    words: 'journal verify',
    args: [],
    flags: [
      { name: 'file', value: 'FILE', sentence: 'Verify this export instead of the state directory.' },
      KEY,
      {
        name: 'checkpoint',
        value: 'FILE',
        sentence: 'A checkpoint kept from before; the journal must be a continuation of it.',
      },
    ],
    sentence: 'Verify the journal, naming the first bad record.',
    examples: [
      'palisade journal verify',
      'palisade journal verify --checkpoint checkpoint.json',
      'palisade journal verify --file journal.ndjson --key keys.json',
    ],
    load: () => import('./verbs/journal-verify.ts'),
  },
  {
    words: 'journal export',
    args: [],
    flags: [
      { name: 'from', value: 'SEQ', sentence: 'Start at this record (default: 1).' },
      { name: 'out', value: 'FILE', sentence: 'Write to this file instead of standard output.' },
    ],
    sentence: 'Export the journal with a fresh signed checkpoint, for anyone to verify.',
    examples: ['palisade journal export --out journal.ndjson'],
    load: () => import('./verbs/journal-export.ts'),
  },
  {
    words: 'journal checkpoint',
    args: [],
    flags: [{ name: 'out', value: 'FILE', sentence: 'Write to this file instead of standard output.' }],
    sentence: 'Sign the journal as it is now, for you to keep elsewhere and to compare with later.',
    examples: ['palisade journal checkpoint --out checkpoint.json'],
    load: () => import('./verbs/journal-checkpoint.ts'),
  },
  {
    words: 'journal prove',
    args: ['SEQ|CALL'],
    flags: [{ name: 'out', value: 'FILE', sentence: 'Write to this file instead of standard output.' }],
    sentence: 'Prove that a record (or the ending of a call) is in the journal.',
    examples: ['palisade journal prove call_01k --out proof.json'],
    load: () => import('./verbs/journal-prove.ts'),
  },
  {
    words: 'egress explain',
    args: ['URL|HOST[:PORT]'],
    flags: [{ name: 'method', value: 'METHOD', sentence: 'The method of the request (default: GET).' }],
    sentence: 'Show what the egress allow-list says to a request; nothing is looked up and nothing is sent.',
    examples: ['palisade egress explain https://api.example.com/v1/users --method POST'],
    load: () => import('./verbs/egress-explain.ts'),
  },
  {
    words: 'secrets set',
    args: ['NAME'],
    flags: [
      SCOPE,
      { name: 'exact', value: null, sentence: 'Keep a line end at the end of standard input as well.' },
      AS,
    ],
    sentence:
      'Keep a secret; its value is asked for, or read from standard input, never from the command line.',
    examples: ['palisade secrets set github', 'palisade secrets set db --scope tenant:acme < password.txt'],
    load: () => import('./verbs/secrets-set.ts'),
  },
  {
    words: 'secrets list',
    args: [],
    flags: [AS],
    sentence: 'List the secrets: whose, which version, when set and when used; never a value.',
    examples: ['palisade secrets list', 'palisade secrets list --json'],
    load: () => import('./verbs/secrets-list.ts'),
  },
  {
    words: 'secrets rm',
    args: ['NAME'],
    flags: [SCOPE, AS],
    sentence: 'Remove a secret.',
    examples: ['palisade secrets rm db --scope tenant:acme'],
    load: () => import('./verbs/secrets-rm.ts'),
  },
  {
    words: 'secrets rotate',
    args: [],
    flags: [
      { name: 'to', value: 'LOCK', sentence: 'What to lock the vault with: passphrase or file.' },
      { name: 'lost', value: null, sentence: 'Remove every secret and start anew although the key is gone.' },
      AS,
    ],
    sentence: 'Seal every secret anew under a new key; the old key then opens nothing.',
    examples: ['palisade secrets rotate', 'palisade secrets rotate --to passphrase'],
    load: () => import('./verbs/secrets-rotate.ts'),
  },
  {
    words: 'keys list',
    args: [],
    flags: [],
    sentence: 'List the signing keys.',
    examples: ['palisade keys list'],
    load: () => import('./verbs/keys-list.ts'),
  },
  {
    words: 'keys rotate',
    args: [],
    flags: [
      AS,
      { name: 'lost', value: null, sentence: 'Start a new key although the current private key is gone.' },
    ],
    sentence: 'Retire the signing key and start a new one; old receipts stay verifiable.',
    examples: ['palisade keys rotate'],
    load: () => import('./verbs/keys-rotate.ts'),
  },
  {
    words: 'keys export',
    args: [],
    flags: [{ name: 'out', value: 'FILE', sentence: 'Write to this file instead of standard output.' }],
    sentence: 'Print the public keys for verifiers.',
    examples: ['palisade keys export --out keys.json'],
    load: () => import('./verbs/keys-export.ts'),
  },
  {
    words: 'receipt',
    args: ['CALL'],
    flags: [
      { name: 'out', value: 'FILE', sentence: 'Write to this file instead of standard output.' },
      { name: 'decode', value: null, sentence: 'Show the statement inside instead of the signed envelope.' },
    ],
    sentence: 'Print the signed receipt of a call.',
    examples: ['palisade receipt call_01k --out receipt.json'],
    load: () => import('./verbs/receipt.ts'),
  },
  {
    words: 'replay',
    args: ['CALL'],
    flags: [],
    sentence:
      'Run a recorded call of a WASM tool again (by its id, its receipt or an exported run) and compare output and fuel.',
    examples: ['palisade replay call_01k', 'palisade replay run.json'],
    load: () => import('./verbs/replay.ts'),
  },
  {
    words: 'export-run',
    args: ['CALL'],
    flags: [
      {
        name: 'out',
        value: 'FILE',
        sentence: 'Write to this new file, of mode 0600, instead of standard output.',
      },
      { name: 'force', value: null, sentence: 'Replace the file of --out.' },
    ],
    sentence: 'Write all that is needed to replay a call on another machine: receipt, recording and module.',
    examples: ['palisade export-run call_01k --out run.json'],
    load: () => import('./verbs/export-run.ts'),
  },
  {
    words: 'verify',
    args: ['FILE'],
    flags: [
      KEY,
      { name: 'input', value: 'FILE', sentence: 'The input (JSON) that the receipt must be of.' },
      { name: 'output', value: 'FILE', sentence: 'The output (JSON) that the receipt must be of.' },
      { name: 'proof', value: 'FILE', sentence: 'A proof that the receipt is in the journal.' },
    ],
    sentence: 'Verify a receipt, a proof, a key file or a journal export, offline.',
    examples: [
      'palisade verify receipt.json --key keys.json',
      'palisade verify receipt.json --key keys.json --proof proof.json',
    ],
    load: () => import('./verbs/verify.ts'),
  },
  {
    words: 'wasm inspect',
    args: ['FILE'],
    flags: [],
    sentence:
      'Show what a WebAssembly module or component is and what an audit would say, without running it.',
    examples: ['palisade wasm inspect module.wasm', 'palisade wasm inspect - --json < module.wasm'],
    load: () => import('./verbs/wasm-inspect.ts'),
  },
  {
    words: 'wasm meter',
    args: ['FILE'],
    flags: [
      {
        name: 'out',
        value: 'FILE',
        sentence: 'Write the metered module to this file (required; also -o FILE).',
      },
      {
        name: 'form',
        value: 'FORM',
        sentence: 'How the count travels between functions: local or thread (default: thread).',
      },
      { name: 'deterministic', value: null, sentence: 'Give NaNs one bit pattern, on every machine.' },
      { name: 'fuel', value: 'N', sentence: 'The fuel of a new instance (default: 10000000).' },
    ],
    sentence:
      'Write a WebAssembly module anew so that it counts its work and stops when its fuel is used up.',
    examples: [
      'palisade wasm meter module.wasm -o metered.wasm',
      'palisade wasm meter module.wasm --out metered.wasm --form local --deterministic --fuel 1000000',
    ],
    load: () => import('./verbs/wasm-meter.ts'),
  },
  {
    words: 'wasm bench',
    args: ['FILE'],
    flags: [
      {
        name: 'export',
        value: 'NAME',
        sentence: 'The function to call (default: the only one without parameters).',
      },
      {
        name: 'args',
        value: 'LIST',
        sentence: 'Its arguments, as in --args 1,2 or --args=-1,2.',
      },
      { name: 'seconds', value: 'N', sentence: 'How long to go on calling, 1 to 60 (default: 2).' },
      {
        name: 'fuel',
        value: 'N',
        sentence:
          'What bounds each call; Ctrl-C waits for it to end (default: 10000000, at most 10000000000).',
      },
    ],
    sentence:
      'Measure a function of a WebAssembly module that imports nothing; it runs in this process, bounded by fuel.',
    examples: [
      'palisade wasm bench module.wasm',
      'palisade wasm bench module.wasm --export sum --args 1000 --seconds 5 --fuel 100000000',
    ],
    load: () => import('./verbs/wasm-bench.ts'),
  },
  {
    words: 'wasm run',
    args: ['FILE'],
    flags: [
      {
        name: 'tool',
        value: 'EXPORT',
        sentence:
          'The export to call, or what a component calls it (required); docs/abi.md, docs/components.md.',
      },
      {
        name: 'input',
        value: 'JSON',
        sentence:
          'The input as JSON, @FILE, or - for standard input (default: standard input; {} on a terminal).',
      },
      { name: 'input-file', value: 'FILE', sentence: 'The same from a file.' },
      {
        name: 'grant',
        value: 'GRANT',
        repeats: true,
        sentence:
          'What it may do, as http=ENTRY, secret=NAME[:reveal][@HOST,…], storage=PREFIX[:ro], channel=NAME[:publish|:receive], log, clock, random or config:KEY=VALUE; may be repeated.',
      },
      {
        name: 'input-schema',
        value: 'FILE',
        sentence: 'The JSON Schema that the input has to fit; another is refused before anything runs.',
      },
      {
        name: 'output-schema',
        value: 'FILE',
        sentence: 'The JSON Schema that the output has to fit; another is no success.',
      },
      {
        name: 'no-record',
        value: null,
        sentence: 'Keep nothing to run the call again with; its receipt says so.',
      },
      {
        name: 'fuel',
        value: 'N',
        sentence: 'The most fuel it may use (default: `limits.fuel` of palisade.toml, and at most that).',
      },
      {
        name: 'memory',
        value: 'SIZE',
        sentence:
          'The most memory it may have, as 64k, 16m or 1g (default: `limits.memory_bytes`, and at most that).',
      },
      { name: 'timeout', value: 'TIME', sentence: 'The longest it may take, as 500ms, 10s or 2m.' },
      { name: 'dry-run', value: null, sentence: 'Show what would be run and what the policies say.' },
      AS,
      RUN,
      { name: 'receipt', value: 'FILE', sentence: 'Write the signed receipt to this file.' },
    ],
    sentence:
      'Run a tool of a WebAssembly module or component that is a file, like any other call; it has what you grant and nothing else.',
    examples: [
      `palisade wasm run hello.wasm --tool greet --input '{"name":"Ada"}'`,
      'palisade wasm run notes.wasm --tool save --input-file note.json --grant storage=notes/ --grant log',
      'palisade wasm run weather.wasm --tool now --grant http=api.example.com --grant secret=weather@api.example.com --fuel 1000000 --dry-run',
    ],
    load: () => import('./verbs/wasm-run.ts'),
  },
  ...SKILL_VERBS,
  ...OPERATE_VERBS,
  ...SERVE_VERBS,
  ...MCP_VERBS,
  ...UPSTREAM_VERBS,
  ...IDENTITY_VERBS,
  ...CONNECT_VERBS,
  {
    words: 'config show',
    args: [],
    flags: [],
    sentence: 'Show every setting, its value and where it came from.',
    examples: ['palisade config show'],
    load: () => import('./verbs/config-show.ts'),
  },
  {
    words: 'doctor',
    args: [],
    flags: [
      {
        name: 'accept-clock',
        value: null,
        sentence: 'The clock is right and the journal is ahead of it: go on from here.',
      },
    ],
    sentence: 'Check the state directory, the keys, the policies, the journal and the tiers.',
    examples: ['palisade doctor'],
    load: () => import('./verbs/doctor.ts'),
  },
  {
    words: 'demo',
    args: [],
    flags: [
      {
        name: 'skill',
        value: 'DIR',
        sentence: 'Show the life of this skill as well; its modules are built.',
      },
    ],
    sentence: 'See the whole line at work in a throw-away state directory.',
    examples: ['palisade demo'],
    load: () => import('./verbs/demo.ts'),
  },
  {
    words: 'completion',
    args: ['bash|zsh|fish'],
    flags: [],
    sentence: 'Print the completion script of your shell.',
    examples: ['source <(palisade completion bash)'],
    load: () => import('./verbs/completion.ts'),
  },
];
