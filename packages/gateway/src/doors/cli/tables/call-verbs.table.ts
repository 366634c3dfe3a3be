import type { Verb } from '../verb.ts';
import {
  ALLOW_HOST,
  AS,
  EMBEDDED,
  ENV,
  INPUT,
  OUT,
  RECEIPT,
  RUN,
  SANDBOX_TIER,
  SECRET,
  TIMEOUT,
  TIMEOUT_MS,
  WORKSPACE,
} from './shared-flags.ts';

/** The commands that call tools or look at them. */
export const CALL_VERBS: readonly Verb[] = [
  {
    words: 'call',
    args: ['TOOL'],
    flags: [INPUT, AS, RUN, TIMEOUT_MS, RECEIPT, EMBEDDED],
    sentence: 'Call a tool; prints its output and issues a signed receipt.',
    examples: [
      `palisade call palisade.echo --input '{"message":"hello"}'`,
      'palisade call palisade.sleep --input @input.json --as agent:ada --run build-7 --timeout 2000 --json',
    ],
    load: async () => (await import('../nouns/call.ts')).call,
  },
  {
    words: 'exec',
    args: [],
    rest: 'COMMAND [ARGS...]',
    flags: [
      SANDBOX_TIER,
      WORKSPACE,
      {
        name: 'cwd',
        value: 'DIR',
        sentence: 'The directory inside the workspace that the command starts in.',
      },
      ENV,
      {
        name: 'egress',
        value: 'MODE',
        sentence: 'How network access is enforced: strict (the default), preflight or none.',
      },
      ALLOW_HOST,
      SECRET,
      {
        name: 'limit',
        value: 'KEY=VALUE',
        repeats: true,
        sentence: 'A resource limit, as memory_bytes=512m or cpu_time_ms=10s; may be repeated.',
      },
      {
        name: 'stdin',
        value: null,
        sentence: 'Pass standard input to the command; without it the input is empty.',
      },
      TIMEOUT,
      { name: 'dry-run', value: null, sentence: 'Show what would be started and what the policies decide.' },
      { name: 'diff', value: null, sentence: 'List what the command changed in the workspace.' },
      AS,
      RUN,
      RECEIPT,
      EMBEDDED,
    ],
    sentence: 'Run a command in a sandbox; its output and exit status are passed through.',
    examples: [
      'palisade exec -- ls -l',
      'palisade exec --limit memory_bytes=512m --timeout 2m --diff -- make test',
      'palisade exec --allow-host api.example.com --secret github -- python3 release.py',
      'palisade exec --dry-run -- python3 build.py',
    ],
    load: async () => (await import('../nouns/exec.ts')).exec,
  },
  {
    words: 'tools list',
    args: [],
    flags: [
      { name: 'limit', value: 'N', sentence: 'How many to show (default: 100).' },
      { name: 'after', value: 'TOOL', sentence: 'Continue after this tool.' },
    ],
    sentence: 'List the tools that can be called, including those of installed skills.',
    examples: ['palisade tools list', 'palisade tools list --after palisade.sleep'],
    load: async () => (await import('../nouns/tools.ts')).list,
  },
  {
    words: 'tools show',
    args: ['TOOL'],
    flags: [],
    sentence: 'Show a tool with its schemas, risk, tier and limits.',
    examples: ['palisade tools show palisade.sleep'],
    load: async () => (await import('../nouns/tools.ts')).show,
  },
  {
    words: 'wasm run',
    args: ['FILE'],
    flags: [
      {
        name: 'tool',
        value: 'EXPORT',
        sentence:
          'The export to call, or the name that a component gives it (required); see docs/abi.md, docs/components.md.',
      },
      {
        name: 'input',
        value: 'JSON',
        sentence:
          'The input as JSON, @FILE, or - for standard input (default: standard input; {} on a terminal).',
      },
      { name: 'input-file', value: 'FILE', sentence: 'Read the input from this file.' },
      {
        name: 'grant',
        value: 'GRANT',
        repeats: true,
        sentence:
          'What it may use, as http=ENTRY, secret=NAME[:reveal][@HOST,…], storage=PREFIX[:ro], channel=NAME[:publish|:receive], log, clock, random or config:KEY=VALUE; may be repeated.',
      },
      {
        name: 'input-schema',
        value: 'FILE',
        sentence:
          'The JSON Schema of the input; an input that does not match is refused before anything runs.',
      },
      {
        name: 'output-schema',
        value: 'FILE',
        sentence: 'The JSON Schema of the output; an output that does not match is a failure.',
      },
      {
        name: 'no-record',
        value: null,
        sentence: 'Do not store what a replay of the call needs; the receipt says so.',
      },
      {
        name: 'fuel',
        value: 'N',
        sentence: 'The most fuel it may use (default and maximum: `limits.fuel` of palisade.toml).',
      },
      {
        name: 'memory',
        value: 'SIZE',
        sentence:
          'The most memory it may use, as 64k, 16m or 1g (default and maximum: `limits.memory_bytes`).',
      },
      TIMEOUT,
      { name: 'dry-run', value: null, sentence: 'Show what would be run and what the policies decide.' },
      AS,
      RUN,
      RECEIPT,
    ],
    sentence:
      'Call a tool of a WebAssembly module or component in a file, with the grants that you give and no others.',
    examples: [
      `palisade wasm run hello.wasm --tool greet --input '{"name":"Ada"}'`,
      'palisade wasm run notes.wasm --tool save --input-file note.json --grant storage=notes/ --grant log',
      'palisade wasm run weather.wasm --tool now --grant http=api.example.com --grant secret=weather@api.example.com --fuel 1000000 --dry-run',
    ],
    load: async () => (await import('../nouns/wasm-run.ts')).run,
  },
  {
    words: 'wasm inspect',
    args: ['FILE'],
    flags: [],
    sentence: 'Show what a WebAssembly module or component is and what an audit finds, without running it.',
    examples: ['palisade wasm inspect module.wasm', 'palisade wasm inspect - --json < module.wasm'],
    load: async () => (await import('../nouns/wasm-inspect.ts')).inspect,
  },
  {
    words: 'wasm meter',
    args: ['FILE'],
    flags: [
      { ...OUT, sentence: 'Write the metered module to this file (required; also -o FILE).' },
      {
        name: 'form',
        value: 'FORM',
        sentence: 'How the fuel count is passed between functions: local or thread (default: thread).',
      },
      { name: 'deterministic', value: null, sentence: 'Give NaNs one bit pattern on every machine.' },
      { name: 'fuel', value: 'N', sentence: 'The fuel of a new instance (default: 10000000).' },
    ],
    sentence: 'Rewrite a WebAssembly module so that it counts its work and stops when its fuel runs out.',
    examples: [
      'palisade wasm meter module.wasm -o metered.wasm',
      'palisade wasm meter module.wasm --out metered.wasm --form local --deterministic --fuel 1000000',
    ],
    load: async () => (await import('../nouns/wasm-meter.ts')).meter,
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
      { name: 'args', value: 'LIST', sentence: 'Its arguments, as in --args 1,2 or --args=-1,2.' },
      { name: 'seconds', value: 'N', sentence: 'How long to measure, 1 to 60 (default: 2).' },
      {
        name: 'fuel',
        value: 'N',
        sentence: 'The fuel of each call; Ctrl-C waits for its end (default: 10000000, at most 10000000000).',
      },
    ],
    sentence:
      'Measure a function of a WebAssembly module without imports; it runs in this process, limited by fuel.',
    examples: [
      'palisade wasm bench module.wasm',
      'palisade wasm bench module.wasm --export sum --args 1000 --seconds 5 --fuel 100000000',
    ],
    load: async () => (await import('../nouns/wasm-bench.ts')).bench,
  },
];
