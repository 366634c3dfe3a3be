import { type Verb, verbs } from '../verb.ts';
import {
  ALLOW_HOST,
  AS,
  CHANNEL,
  DEVICE,
  EMBEDDED,
  INPUT,
  LIMIT,
  READ_ONLY,
  RECEIPT,
  RUN,
  SANDBOX_TIER,
  SECRET,
  TIMEOUT,
  TIMEOUT_MS,
  TOOL_HOMES,
  WORKSPACE,
  WORKSPACES,
} from './shared-flags.ts';

/** The commands that call tools or look at them. */
export const CALL_VERBS: readonly Verb[] = verbs({
  'call TOOL': {
    sentence: 'Call a tool; prints its output and issues a signed receipt.',
    flags: {
      ...INPUT,
      ...WORKSPACES,
      ...READ_ONLY,
      ...TOOL_HOMES,
      ...AS,
      ...DEVICE,
      ...CHANNEL,
      ...RUN,
      ...TIMEOUT_MS,
      ...RECEIPT,
      ...EMBEDDED,
    },
    examples: [
      `palisade call palisade.echo --input '{"message":"hello"}'`,
      'palisade call palisade.sleep --input @input.json --as agent:ada --run build-7 --timeout 2000 --json',
    ],
    load: async () => (await import('../nouns/call.ts')).call,
  },
  'log CALL': {
    sentence: 'Print what the guest of a call logged, why host calls were denied, and where it trapped.',
    flags: AS,
    examples: ['palisade log call_0123', 'palisade log call_0123 --json'],
    load: async () => (await import('../nouns/call-log.ts')).log,
  },
  'exec -- COMMAND [ARGS...]': {
    sentence: 'Run a command in a sandbox; its output and exit status are passed through.',
    flags: {
      ...SANDBOX_TIER,
      ...WORKSPACE,
      ...READ_ONLY,
      ...TOOL_HOMES,
      'cwd DIR': 'The directory inside the workspace that the command starts in.',
      'env NAME=VALUE...': 'An environment variable for it; may be repeated.',
      'egress MODE': 'How network access is enforced: strict (the default), preflight or none.',
      ...ALLOW_HOST,
      ...SECRET,
      'allow-write ROW...':
        'Protected files that it may write, as git-hooks or ci (docs/sandbox.md lists them); may be repeated.',
      'port PORT...':
        'A port of the command that is reached on 127.0.0.1 while it runs, as 5173 or 8080:5173 (HOST:INSIDE), if process.ports grants it; may be repeated.',
      'limit KEY=VALUE...': 'A resource limit, as memory_bytes=512m or cpu_time_ms=10s; may be repeated.',
      'output-overflow WAY': 'What happens when it prints too much: cut (the default) or kill.',
      stdin: 'Pass standard input to the command; without it the input is empty.',
      ...TIMEOUT,
      detach:
        'Start it in the background of the daemon (`palisade serve`) and return; see docs/background.md.',
      'dry-run': 'Show what would be started and what the policies decide.',
      diff: 'List what the command changed in the workspace.',
      ...AS,
      ...DEVICE,
      ...CHANNEL,
      ...RUN,
      ...RECEIPT,
      ...EMBEDDED,
    },
    examples: [
      'palisade exec -- ls -l',
      'palisade exec --limit memory_bytes=512m --timeout 2m --diff -- make test',
      'palisade exec --allow-host api.example.com --secret github -- python3 release.py',
      'palisade exec --dry-run -- python3 build.py',
      'palisade exec --detach --port 5173 -- npm run dev',
    ],
    load: async () => (await import('../nouns/exec.ts')).exec,
  },
  'background list': {
    sentence: 'List the background runs of a principal in the daemon.',
    flags: AS,
    examples: ['palisade background list', 'palisade background list --as agent:ada'],
    load: async () => (await import('../nouns/background.ts')).list,
  },
  'background logs ID': {
    sentence: 'Print the end of what a background run printed, and whether it still runs.',
    flags: { 'since CURSOR': 'Only what was printed after the reading that gave this cursor.', ...AS },
    examples: ['palisade background logs call_0123', 'palisade background logs call_0123 --since 2048'],
    load: async () => (await import('../nouns/background.ts')).logs,
  },
  'background stop ID': {
    sentence: 'End a background run: SIGTERM, and five seconds later the end of all of its processes.',
    flags: AS,
    examples: ['palisade background stop call_0123'],
    load: async () => (await import('../nouns/background.ts')).stop,
  },
  'undo [CALL]': {
    sentence:
      'Take back what a command changed in its workspace; without an id, the last one that changed something.',
    flags: {
      list: 'List what can be undone, the newest first.',
      ...LIMIT,
      'dry-run': 'Show what would be done, and do nothing.',
      force: 'Also replace files that were changed after the command.',
      yes: 'Do not ask, without an id.',
      ...AS,
    },
    examples: [
      'palisade undo',
      'palisade undo --list',
      'palisade undo call_0123 --dry-run',
      'palisade undo call_0123 --force --json',
    ],
    load: async () => (await import('../nouns/undo.ts')).undo,
  },
  'tools list': {
    sentence: 'List the tools that can be called, including those of installed skills.',
    flags: { 'limit N': 'How many to show (default: 100).', 'after TOOL': 'Continue after this tool.' },
    examples: ['palisade tools list', 'palisade tools list --after palisade.sleep'],
    load: async () => (await import('../nouns/tools.ts')).list,
  },
  'tools show TOOL': {
    sentence: 'Show a tool with its schemas, risk, tier and limits.',
    examples: ['palisade tools show palisade.sleep'],
    load: async () => (await import('../nouns/tools.ts')).show,
  },
  'wasm run FILE': {
    sentence:
      'Call a tool of a WebAssembly module or component in a file, with the grants that you give and no others.',
    flags: {
      'tool EXPORT':
        'The export to call, or the name that a component gives it (required); see docs/abi.md, docs/components.md.',
      'input JSON':
        'The input as JSON, @FILE, or - for standard input (default: standard input; {} on a terminal).',
      'input-file FILE': 'Read the input from this file.',
      'grant GRANT...':
        'What it may use, as http=ENTRY, secret=NAME[:reveal][@HOST,…], storage=PREFIX[:ro], channel=NAME[:publish|:receive], log, clock, random or config:KEY=VALUE; may be repeated.',
      'input-schema FILE':
        'The JSON Schema of the input; an input that does not match is refused before anything runs.',
      'output-schema FILE': 'The JSON Schema of the output; an output that does not match is a failure.',
      'no-record': 'Do not store what a replay of the call needs; the receipt says so.',
      'fuel N': 'The most fuel it may use (default and maximum: `wasm.fuel` of palisade.toml).',
      'memory SIZE':
        'The most memory it may use, as 64k, 16m or 1g (default and maximum: `wasm.memory_bytes`).',
      ...TIMEOUT,
      'dry-run': 'Show what would be run and what the policies decide.',
      ...AS,
      ...RUN,
      ...RECEIPT,
    },
    examples: [
      `palisade wasm run hello.wasm --tool greet --input '{"name":"Ada"}'`,
      'palisade wasm run notes.wasm --tool save --input-file note.json --grant storage=notes/ --grant log',
      'palisade wasm run weather.wasm --tool now --grant http=api.example.com --grant secret=weather@api.example.com --fuel 1000000 --dry-run',
    ],
    load: async () => (await import('../nouns/wasm-run.ts')).run,
  },
  'wasm inspect FILE': {
    sentence: 'Show what a WebAssembly module or component is and what an audit finds, without running it.',
    examples: ['palisade wasm inspect module.wasm', 'palisade wasm inspect - --json < module.wasm'],
    load: async () => (await import('../nouns/wasm-inspect.ts')).inspect,
  },
  'wasm meter FILE': {
    sentence: 'Rewrite a WebAssembly module so that it counts its work and stops when its fuel runs out.',
    flags: {
      'out FILE': 'Write the metered module to this file (required; also -o FILE).',
      'form FORM': 'How the fuel count is passed between functions: local or thread (default: thread).',
      deterministic: 'Give NaNs one bit pattern on every machine.',
      'fuel N': 'The fuel of a new instance (default: 10000000).',
    },
    examples: [
      'palisade wasm meter module.wasm -o metered.wasm',
      'palisade wasm meter module.wasm --out metered.wasm --form local --deterministic --fuel 1000000',
    ],
    load: async () => (await import('../nouns/wasm-meter.ts')).meter,
  },
  'wasm bench FILE': {
    sentence:
      'Measure a function of a WebAssembly module without imports; it runs in this process, limited by fuel.',
    flags: {
      'export NAME': 'The function to call (default: the only one without parameters).',
      'args LIST': 'Its arguments, as in --args 1,2 or --args=-1,2.',
      'seconds N': 'How long to measure, 1 to 60 (default: 2).',
      'fuel N': 'The fuel of each call; Ctrl-C waits for its end (default: 10000000, at most 10000000000).',
    },
    examples: [
      'palisade wasm bench module.wasm',
      'palisade wasm bench module.wasm --export sum --args 1000 --seconds 5 --fuel 100000000',
    ],
    load: async () => (await import('../nouns/wasm-bench.ts')).bench,
  },
});
