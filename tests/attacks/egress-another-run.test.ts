import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { openEgressWorld, startServer } from '../fixtures/egress/index.ts';
import { PATIENT, runScript } from '../fixtures/egress/inside.ts';
import { asNobody } from '../fixtures/jail/index.ts';

const HOME = '127.0.0.1';
const STATUS = "curl -s -o /dev/null -w '%{http_code}'";

/** The words of all processes on the machine, in which any user reads. */
function allArguments(): string {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => read(`/proc/${pid}/cmdline`))
    .join('\n');
}

/** All that another user reads of processes; where the tests cannot be one, what every user reads. */
function readAsAnother(): string {
  const ids = asNobody();
  if (ids.uid === undefined) return allArguments();
  const words = ['-c', 'cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2> /dev/null; true'];
  return execFileSync('/bin/sh', words, { ...ids, encoding: 'latin1', maxBuffer: 64 * 1024 * 1024 });
}

function read(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    // It has ended.
    return '';
  }
}

describe.each(['c', 'b'])('two runs at once in tier %s', (tier) => {
  test('have a proxy each, and the token of one is worth nothing at that of the other', async () => {
    const [ofFirst, ofSecond] = [await startServer(), await startServer()];
    const urls = {
      first: `http://first.test:${ofFirst.port}/`,
      second: `http://second.test:${ofSecond.port}/`,
    };
    const world = await openEgressWorld({
      entries: [
        ...[`first.test:${ofFirst.port}`, `second.test:${ofSecond.port}`],
        ...[ofFirst.port, ofSecond.port].map((port) => `${HOME}:${port}`),
      ],
      names: { 'first.test': [HOME], 'second.test': [HOME] },
    });
    const hosts = (host: string, port: number) => ({
      ...{ tier, egress_hosts: [`${host}:${port}`, `${HOME}:${port}`], limits: { wall_ms: 30_000 } },
    });
    // One gives its token away through the workspace that both have, and waits; the other tries it.
    const first = world.shell(
      `echo $HTTP_PROXY > first.tmp; mv first.tmp first; until [ -e second ]; do sleep 0.05; done; ${STATUS} ${urls.first}`,
      hosts('first.test', ofFirst.port),
    );
    const token = '$(cat first)';
    const second = await runScript(
      world,
      [
        'until [ -e first ]; do sleep 0.05; done',
        `echo stolen $(${STATUS} -x ${token} ${urls.first}) $(${STATUS} -x ${token} ${urls.second})`,
        `echo none $(${STATUS} -x http://127.0.0.1:3128 ${urls.second})`,
        `echo wrong $(${STATUS} -x http://run:${'x'.repeat(32)}@127.0.0.1:3128 ${urls.second})`,
        `echo user $(${STATUS} -x "$(echo $HTTP_PROXY | sed 's/run:/root:/')" ${urls.second})`,
        `echo own $(${STATUS} -x $HTTP_PROXY ${urls.first}) $(${STATUS} -x $HTTP_PROXY ${urls.second})`,
        'echo $HTTP_PROXY > own',
        'for name in own first; do cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2> /dev/null | grep -qaF -f $name && echo sees $name; done',
        'touch second',
      ],
      hosts('second.test', ofSecond.port),
    );
    expect(second.code, second.message).toBe('ok');
    const { output, egress } = await first;
    expect(second.output?.stdout.split('\n')).toEqual([
      ...['stolen 407 407', 'none 407', 'wrong 407', 'user 407', 'own 403 200', 'sees own', ''],
    ]);
    expect(second.egress).toMatchObject({ unauthorized: 5, denied: 1, requests: 2 });
    // The first was called by nobody but itself.
    expect([output?.stdout, egress.connections, egress.unauthorized]).toEqual(['200', 1, 0]);
    expect([ofFirst.asked.length, ofSecond.asked.length]).toEqual([1, 1]);
  });

  test('show their tokens in no arguments, and their variables to no other user', async () => {
    const { port } = await startServer();
    const world = await openEgressWorld({ entries: [`${HOME}:${port}`] });
    const abort = new AbortController();
    const line = 'echo $HTTP_PROXY > proxy.tmp; mv proxy.tmp proxy; until [ -e done ]; do sleep 0.05; done';
    const running = world.run(
      { command: '/bin/sh', args: ['-c', line, 'marker-of-the-run'], tier },
      abort.signal,
    );
    await expect.poll(() => read(`${world.workspace}/proxy`), PATIENT).toMatch(/^http/);
    const token = /run:([^@]+)@/.exec(read(`${world.workspace}/proxy`))?.[1] ?? '';
    expect(token).toMatch(/^[\w-]{32}$/);
    expect(allArguments()).toContain('marker-of-the-run');
    expect(allArguments()).not.toContain(token);
    const seen = readAsAnother();
    expect(seen).toContain('marker-of-the-run');
    expect(seen).not.toContain(token);
    abort.abort();
    await running;
  });
});

test('a run that comes after another in a sandbox that stood ready has a token of its own', async () => {
  const { port, asked } = await startServer();
  const world = await openEgressWorld({ entries: [`${HOME}:${port}`], isLasting: true });
  const url = `http://127.0.0.1:${port}/`;
  const line = `[ -e proxy ] && ${STATUS} --noproxy '' -x "$(cat proxy)" ${url}; ${STATUS} --noproxy '' -x $HTTP_PROXY ${url}; echo $HTTP_PROXY > proxy`;
  const starts: unknown[] = [];
  const observed: unknown[] = [];
  // A sandbox takes a moment to stand ready.
  while (!starts.includes('warm') && starts.length < 30) {
    const { output, execution } = await world.shell(line);
    starts.push(execution?.isolation.started);
    observed.push(output?.stdout);
  }
  expect(starts.at(-1)).toBe('warm');
  expect(observed).toEqual(['200', ...Array(starts.length - 1).fill('407200')]);
  expect(asked).toHaveLength(starts.length);
});
