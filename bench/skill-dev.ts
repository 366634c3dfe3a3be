import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type BenchOptions, compare, type Figure } from './measure.ts';

/* How long an author waits: from an edit of a source until it is built and tested again, next to the bare compiler. */

const BIN = join(process.cwd(), 'packages/gateway/bin/palisade.js');
const GUEST = join(process.cwd(), 'packages/guest');
const ASC = join(GUEST, 'tools/node_modules/assemblyscript/bin/asc.js');

const LANGUAGES = [
  {
    language: 'assemblyscript',
    source: 'src/skill.ts',
    bare: [process.execPath, ASC, 'src/skill.ts', '--config', join(GUEST, 'asconfig.json')].concat([
      ...['--path', join(process.cwd(), 'node_modules'), '--outFile', 'bare.wasm'],
    ]),
  },
  {
    language: 'c',
    source: 'src/skill.c',
    bare: [
      'clang',
      '--target=wasm32',
      '-nostdlib',
      '-O2',
      '-mbulk-memory',
      '-I',
      join(GUEST, 'include'),
    ].concat([...['-Wl,--no-entry', '-Wl,--stack-first', 'src/skill.c', '-o', 'bare.wasm']]),
  },
] as const;

export async function run({ quick, scratch }: BenchOptions): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const each of LANGUAGES) figures.push(...(await measure(each, scratch, quick ? 4 : 16)));
  return figures;
}

async function measure(
  { language, source, bare }: (typeof LANGUAGES)[number],
  scratch: string,
  rounds: number,
): Promise<Figure[]> {
  const folder = join(scratch, language);
  const state = join(scratch, `${language}-state`);
  mustRun(
    [process.execPath, BIN, 'skill', 'new', folder, '--language', language, '--id', 'acme.text'],
    scratch,
  );
  const path = join(folder, source);
  const text = readFileSync(path, 'utf8');
  const dev = new Dev([BIN, 'skill', 'dev', folder, '--state', state, '--json']);
  try {
    await dev.round();
    let edits = 0;
    const edit = async () => {
      edits += 1;
      writeFileSync(path, `${text}// ${edits}\n`);
      await dev.round();
    };
    // The bare compiler reads the same source in another folder, so that it changes nothing that is watched.
    const copy = join(scratch, `${language}-bare`);
    mustRun(['cp', '-r', folder, copy], scratch);
    const compile = () => mustRun(bare, copy);
    const { ours, bare: alone, ratio } = await compare(rounds, 1, edit, compile);
    const note = 'six test cases';
    return [
      {
        name: `${language}: edit until built and tested`,
        unit: 'ms',
        spread: ours,
        goal: { atMost: 1_000 },
        note,
      },
      { name: `${language}: the bare compiler`, unit: 'ms', spread: alone },
      { name: `${language}: edit until tested / the bare compiler`, unit: 'x', spread: ratio },
    ];
  } finally {
    await dev.end();
  }
}

function mustRun([program = '', ...words]: readonly string[], cwd: string): void {
  const { status, stderr } = spawnSync(program, words, { cwd, encoding: 'utf8' });
  if (status !== 0) throw new Error(`Cannot measure: ${program} ended with ${status}\n${stderr}`);
}

class Dev {
  readonly #child: ChildProcess;
  #done = 0;
  #awaited = 0;
  #wake: () => void = () => undefined;

  constructor(words: readonly string[]) {
    this.#child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'inherit'] });
    this.#child.stdout?.on('data', (chunk: Buffer) => {
      for (const line of chunk.toString().split('\n')) {
        if (!line.includes('"event":"done"')) continue;
        if (!line.includes('"code":"ok"')) throw new Error(`Cannot measure: ${line}`);
        this.#done += 1;
      }
      this.#wake();
    });
  }

  async round(): Promise<void> {
    this.#awaited += 1;
    while (this.#done < this.#awaited)
      await new Promise<void>((wake) => {
        this.#wake = wake;
      });
  }

  async end(): Promise<void> {
    const ended = once(this.#child, 'close');
    this.#child.kill('SIGINT');
    await ended;
  }
}
