import type { ManifestBuild } from '../../../skills/manifest/manifest.ts';

/** One row for each language that `palisade skill build` knows: what compiles it, and with which words. */

export type Language = ManifestBuild['language'];

/** What the words of a compiler are made of; paths are absolute, or relative to the folder of the skill. */
export type BuildPlaces = {
  readonly source: string;
  /** Where the module is to be written. */
  readonly out: string;
  /** The folder of @palisade/guest. */
  readonly guest: string;
  /** The folder that @palisade/guest is found in by its name. */
  readonly packages: string;
  /** The world of a component with all that it includes. */
  readonly wit: string;
};

export type Compiler = {
  /** What messages call it. */
  readonly name: string;
  /** A script of an npm package for node, or a program of the system with those that it starts itself. */
  readonly from:
    | { readonly package: string; readonly script: string }
    | { readonly program: string; readonly beside: readonly string[] };
  readonly install: string;
  readonly words: (places: BuildPlaces) => readonly string[];
  /** Which of these folders it reads itself; it is shown no other. */
  readonly reads: readonly ('guest' | 'packages')[];
  /** Whether it is given a world to compile for. */
  readonly hasWorld: boolean;
  readonly memoryBytes: number;
  readonly wallMs: number;
};

const MIB = 1024 * 1024;

export const COMPILERS: Readonly<Record<Language, Compiler>> = {
  assemblyscript: {
    name: 'asc',
    from: { package: 'assemblyscript', script: 'bin/asc.js' },
    install: 'npm install --save-dev assemblyscript @palisade/guest',
    words: ({ source, out, guest, packages }) => [
      ...[source, '--config', `${guest}/asconfig.json`],
      ...['--path', packages, '--outFile', out],
    ],
    reads: ['guest', 'packages'],
    hasWorld: false,
    memoryBytes: 2048 * MIB,
    wallMs: 120_000,
  },
  c: {
    name: 'clang',
    from: { program: 'clang', beside: ['wasm-ld'] },
    install: 'apt-get install clang lld',
    words: ({ source, out, guest }) => [
      ...['--target=wasm32', '-nostdlib', '-O2', '-mbulk-memory', '-I', `${guest}/include`],
      ...['-Wl,--no-entry', '-Wl,--stack-first', '-Wall', '-Wextra', '-Werror', source, '-o', out],
    ],
    reads: ['guest'],
    hasWorld: false,
    memoryBytes: 1024 * MIB,
    wallMs: 120_000,
  },
  javascript: {
    name: 'componentize-js',
    from: { package: '@bytecodealliance/componentize-js', script: 'src/cli.js' },
    install: 'npm install --save-dev @bytecodealliance/componentize-js @palisade/guest',
    words: ({ source, out, wit }) => [
      ...[source, '--wit', wit, '--world-name', 'skill'],
      // Each would import WASI for what the tool does not use, and so need a grant.
      ...['--disable', 'stdio', 'random', 'clocks', 'http', 'fetch-event', '-o', out],
    ],
    reads: [],
    hasWorld: true,
    // It starts the whole engine once, to keep what it looks like afterwards.
    memoryBytes: 3072 * MIB,
    wallMs: 240_000,
  },
};
