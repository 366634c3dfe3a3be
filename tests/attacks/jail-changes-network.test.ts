import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type CommandEnd, sharedGateway } from '../fixtures/commands/index.ts';
import { type Answers, answersIn, tryInside } from '../fixtures/jail/index.ts';

const PROGRAM = 'changes-network.py';
const FIXTURES = fileURLToPath(new URL('../fixtures/jail/', import.meta.url));

/** The same attempts by the owner of a network namespace, without the filter. */
function tryAsOwner(directory: string): Answers {
  for (const name of ['attempt.py', PROGRAM]) copyFileSync(join(FIXTURES, name), join(directory, name));
  const words = ['--user', '--map-root-user', '--net', '/usr/bin/python3', '-B', PROGRAM];
  return answersIn(spawnSync('unshare', words, { cwd: directory, encoding: 'utf8' }).stdout);
}

describe('a command that asks the kernel for its interfaces', () => {
  const jail = sharedGateway('[process]\negress = "none"\n');
  const place = mkdtempSync('/var/tmp/palisade-network-');
  let end: CommandEnd;
  let inside: Answers = {};
  let owner: Answers = {};

  beforeAll(async () => {
    ({ end, answers: inside } = await tryInside(jail, PROGRAM, {}));
    owner = tryAsOwner(place);
  });
  afterAll(() => rmSync(place, { recursive: true, force: true }));

  test('sees those of its own network alone', () => {
    expect(end, end.message).toMatchObject({ code: 'ok', execution: { tier: 'c' } });
    expect(inside.interfaces).toBe('lo');
  });

  test('changes nothing, where an owner of the network could', () => {
    const changes = ({ interfaces: _, ...rest }: Answers) => rest;
    expect(new Set(Object.values(changes(owner)))).toEqual(new Set(['done']));
    expect(Object.keys(inside)).toEqual(Object.keys(owner));
    expect(new Set(Object.values(changes(inside)))).toEqual(new Set(['EPERM']));
  });

  test('is shown them by node, which servers in development ask', async () => {
    const script = 'console.log(Object.keys(require("node:os").networkInterfaces()).join())';
    const { code, output } = await jail.run({ command: 'node', args: ['-e', script], tier: 'c' });
    expect({ code, stdout: output?.stdout }).toEqual({ code: 'ok', stdout: 'lo\n' });
  });

  test('where its network is that of the host, is refused', async () => {
    const { answers } = await tryInside(jail, PROGRAM, {}, { egress: 'none' });
    expect(new Set(Object.values(answers))).toEqual(new Set(['EPERM']));
  });
});
