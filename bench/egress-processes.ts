import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { build } from 'esbuild';
import type { Question, Route } from './egress-child.ts';

type Answer = { readonly value: number } | { readonly error: string };
/** Far longer than any turn takes. */
const ANSWER_MS = 30_000;

type Role = 'client' | 'far' | 'pipe' | 'proxy';

/** A process of the bench with the port it listens on. */
export type Child = {
  readonly port: number;
  readonly ask: (question: Question) => Promise<number>;
  readonly end: () => Promise<void>;
};

/** A client, a far end, and the three ways between them; each is a process. */
export type Processes = {
  readonly client: Child;
  readonly proxy: Child;
  readonly routes: Readonly<Record<'direct' | 'pipe' | 'tunnel', Route>>;
  readonly end: () => Promise<void>;
};

export async function startProcesses(directory: string): Promise<Processes> {
  const file = await bundleChild(directory);
  const far = await start(file, 'far', 0);
  const client = await start(file, 'client', far.port);
  const pipe = await start(file, 'pipe', far.port);
  const proxy = await start(file, 'proxy', far.port);
  const all = [client, proxy, pipe, far];
  return {
    client,
    proxy,
    routes: {
      direct: { port: far.port, tunnelTo: null },
      pipe: { port: pipe.port, tunnelTo: null },
      tunnel: { port: proxy.port, tunnelTo: far.port },
    },
    end: async () => void (await Promise.all(all.map((each) => each.end()))),
  };
}

async function bundleChild(directory: string): Promise<string> {
  const outfile = join(directory, 'egress-child.mjs');
  await build({
    entryPoints: [join(process.cwd(), 'bench/egress-child.ts')],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    conditions: ['palisade-source'],
    logLevel: 'warning',
  });
  return outfile;
}

async function start(file: string, role: Role, farPort: number): Promise<Child> {
  const child = fork(file, [role, String(farPort)], { execArgv: ['--expose-gc'] });
  const ask = (question: Question) => {
    child.send(question);
    return answerOf(child, role);
  };
  const end = async () => {
    if (child.exitCode !== null) return;
    child.disconnect();
    await once(child, 'exit');
  };
  return { port: await answerOf(child, role), ask, end };
}

function answerOf(child: ChildProcess, role: Role): Promise<number> {
  return new Promise((resolve, reject) => {
    const fail = (what: string) => reject(new Error(`Cannot go on: the ${role} ${what}, expected an answer`));
    const onExit = () => fail('ended');
    const late = setTimeout(() => fail(`said nothing for ${ANSWER_MS} ms`), ANSWER_MS);
    child.once('exit', onExit);
    child.once('message', (answer: Answer) => {
      clearTimeout(late);
      child.off('exit', onExit);
      if ('error' in answer) reject(new Error(answer.error));
      else resolve(answer.value);
    });
  });
}
