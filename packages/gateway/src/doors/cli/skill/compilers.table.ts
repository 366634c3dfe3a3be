import { posix } from 'node:path';
import type { ManifestBuild } from '../../../skills/manifest/manifest.ts';

/** One row per language of `palisade skill build`: its compiler and the arguments of it. */

export type Language = ManifestBuild['language'];

/** The paths in the arguments of a compiler: absolute, or relative to the folder of the skill. */
type BuildPlaces = {
  readonly source: string;
  /** Where the module is to be written. */
  readonly out: string;
  /** The folder of @palisade/guest. */
  readonly guest: string;
  /** The folder of packages that has @palisade/guest. */
  readonly packages: string;
  /** The WIT world of a component with all that it includes. */
  readonly wit: string;
  /** Whether the module is to say which lines it was made of, in sections or in a source map next to it. */
  readonly isDebug: boolean;
};

export type Compiler = {
  /** Its name in messages. */
  readonly name: string;
  /** A script of an npm package for node, or a program of the system with the programs that it starts. */
  readonly from:
    | { readonly package: string; readonly script: string }
    | { readonly program: string; readonly beside: readonly string[] };
  readonly install: string;
  /** What else is to be known to install it. */
  readonly note?: string;
  readonly words: (places: BuildPlaces) => readonly string[];
  /** Which of these folders it reads; no other is visible to it. */
  readonly reads: readonly ('guest' | 'packages')[];
  /** Whether it compiles for a WIT world. */
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
    words: ({ source, out, guest, packages, isDebug }) => [
      ...[source, '--config', `${guest}/asconfig.json`],
      // Names of functions, without which a trap says little; nothing else changes.
      ...['--debug', '--path', packages, '--outFile', out],
      ...(isDebug ? ['--sourceMap'] : []),
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
    words: ({ source, out, guest, isDebug }) => [
      ...['--target=wasm32', '-nostdlib', '-O2', '-mbulk-memory', '-I', `${guest}/include`],
      ...['-Wl,--no-entry', '-Wl,--stack-first', '-Wall', '-Wextra', '-Werror', source, '-o', out],
      ...(isDebug ? ['-g'] : []),
    ],
    reads: ['guest'],
    hasWorld: false,
    memoryBytes: 1024 * MIB,
    wallMs: 120_000,
  },
  go: {
    name: 'tinygo',
    from: { program: 'tinygo', beside: ['go'] },
    install: 'apt-get install golang-go ./tinygo.deb',
    note: 'tinygo.deb is a package from https://github.com/tinygo-org/tinygo/releases, of version 0.34 or newer.',
    words: ({ source, out, isDebug }) => [
      // Without a system below it, nothing of WASI is imported.
      ...['build', '-target=wasm-unknown', '-buildmode=c-shared', '-scheduler=none', '-gc=leaking'],
      ...[
        '-panic=trap',
        '-opt=z',
        ...(isDebug ? [] : ['-no-debug']),
        "-ldflags=-extldflags '-z stack-size=65536'",
      ],
      // It builds packages, which are folders.
      ...['-o', out, `./${posix.dirname(source)}`],
    ],
    // Its library is a package of the skill.
    reads: [],
    hasWorld: false,
    memoryBytes: 2048 * MIB,
    wallMs: 240_000,
  },
  javascript: {
    name: 'componentize-js',
    from: { package: '@bytecodealliance/componentize-js', script: 'src/cli.js' },
    install: 'npm install --save-dev @bytecodealliance/componentize-js @palisade/guest',
    words: ({ source, out, wit }) => [
      ...[source, '--wit', wit, '--world-name', 'skill'],
      // Each would import WASI for what the tool does not use, and so require a grant.
      ...['--disable', 'stdio', 'random', 'clocks', 'http', 'fetch-event', '-o', out],
    ],
    reads: [],
    hasWorld: true,
    // It starts the whole engine once and snapshots it.
    memoryBytes: 3072 * MIB,
    wallMs: 240_000,
  },
  python: {
    name: 'componentize-py',
    from: { program: 'componentize-py', beside: [] },
    install: 'pip install --prefix /usr/local componentize-py==0.19.3',
    note: 'A virtual environment of the skill is not searched: the program must be on process.search_path.',
    words: ({ source, out, wit }) => [
      ...['--wit-path', wit, '--world', 'skill', 'componentize'],
      // Its runtime imports files and sockets, which do not exist here.
      ...['--stub-wasi', '--python-path', posix.dirname(source), '--output', out],
      posix.basename(source, '.py'),
    ],
    reads: [],
    hasWorld: true,
    // It starts Python once and snapshots it.
    memoryBytes: 3072 * MIB,
    wallMs: 240_000,
  },
  rust: {
    name: 'rustc',
    from: { program: 'rustc', beside: ['wasm-ld'] },
    install: 'apt-get install rustc libstd-rust-dev-wasm32 lld',
    words: ({ source, out, isDebug }) => [
      ...['--edition', '2021', '--target', 'wasm32-unknown-unknown', '--crate-type', 'cdylib'],
      ...['-C', 'opt-level=s', '-C', 'lto=fat', '-C', 'panic=abort'],
      ...['-C', isDebug ? 'debuginfo=1' : 'strip=debuginfo'],
      ...['-D', 'warnings', '--crate-name', 'skill', source, '-o', out],
    ],
    // Its library is a file of the skill.
    reads: [],
    hasWorld: false,
    memoryBytes: 2048 * MIB,
    wallMs: 240_000,
  },
};
