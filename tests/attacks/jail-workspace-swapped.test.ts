import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { beginExchanges } from '../fixtures/commands/exchanger.ts';
import { type CommandEnd, openCommandGateway } from '../fixtures/commands/index.ts';
import { volume } from '../volume/volume.ts';

const ROUNDS = volume(12, 4);

/** A gateway for the projects below one root, with a secret beside that root. */
async function gatewayWithRoots(config: (base: string) => string) {
  const base = mkdtempSync('/var/tmp/palisade-swapped-');
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  const [workspace, secret] = [join(base, 'root/project'), join(base, 'secret')];
  mkdirSync(workspace, { recursive: true });
  mkdirSync(secret);
  for (const path of [base, secret]) chmodSync(path, 0o777);
  writeFileSync(join(secret, 'canary'), 'a secret', { mode: 0o666 });
  const { run } = await openCommandGateway(`[process]\n${config(base)}\n`);
  const sh = (script: string, directories: string) =>
    run({ command: 'sh', args: ['-c', script], workspace: directories, tier: 'c' });
  return { base, workspace, secret, run, sh };
}

const oneRoot = (base: string) => `workspaces = ["${base}/root"]`;

describe('a workspace that becomes a link to a secret directory', () => {
  test('is refused, or is the directory that was judged, however often it changes meanwhile', async () => {
    const { workspace, base, secret, sh } = await gatewayWithRoots(oneRoot);
    const link = join(base, 'link');
    symlinkSync(secret, link);
    const exchanger = await beginExchanges(workspace, link);
    const ends: CommandEnd[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      ends.push(await sh('ls; cat canary; echo harmed > canary; echo made > made', workspace));
      await exchanger.untilBothSeen();
    }
    await exchanger.stop();
    for (const { output, message } of ends) expect(output?.stdout ?? '', message).not.toContain('a secret');
    expect(readdirSync(secret)).toEqual(['canary']);
    expect(readFileSync(join(secret, 'canary'), 'utf8')).toBe('a secret');
  });

  test('is refused when a run before has made it one', async () => {
    const { workspace, base, secret, sh } = await gatewayWithRoots(oneRoot);
    const planted = await sh(`mkdir p; rmdir p; ln -s ${secret} p`, workspace);
    expect(planted, planted.message).toMatchObject({ code: 'ok' });
    expect(await sh('cat canary', join(workspace, 'p'))).toMatchObject({
      code: 'runner/invalid-workspace',
      output: null,
    });
    expect(readFileSync(join(workspace, 'p/canary'), 'utf8')).toBe('a secret');
    expect(await sh('true', join(base, 'root'))).toMatchObject({ code: 'ok' });
  });

  test('is refused when it is a root itself, in a workspace around it', async () => {
    const { workspace, secret, base, sh } = await gatewayWithRoots(
      (directories) => `workspaces = ["${directories}/root", "${directories}/root/project"]`,
    );
    await sh(`mv project away; ln -s ${secret} project`, join(base, 'root'));
    const end = await sh('cat canary; echo harmed > canary', workspace);
    expect(end.output?.stdout ?? '').not.toContain('a secret');
    expect(readFileSync(join(secret, 'canary'), 'utf8')).toBe('a secret');
  });

  test('is not shown to later runs through a read-only path that leads over it', async () => {
    const { workspace, secret, sh } = await gatewayWithRoots((base) => {
      mkdirSync(join(base, 'library'));
      symlinkSync(join(base, 'library'), join(base, 'root/project/library'));
      return `${oneRoot(base)}\nread_only = ["${base}/root/project/library"]`;
    });
    const planted = await sh(`rm library; ln -s ${secret} library`, workspace);
    expect(planted, planted.message).toMatchObject({ code: 'ok' });
    const end = await sh(`cat ${secret}/canary`, workspace);
    expect(end.output?.stdout ?? '').not.toContain('a secret');
  });

  test.each(['the state directory', 'a directory around it', 'a link to it'])(
    'is refused as %s',
    async (what) => {
      const { run, stateDir, workspace } = await openCommandGateway(
        (base) => `[process]\nworkspaces = ["${base}"]\n`,
      );
      const beside = join(dirname(stateDir), 'beside');
      mkdirSync(beside);
      const link = join(workspace, 'to-state');
      symlinkSync(stateDir, link);
      const requested = {
        'the state directory': stateDir,
        'a directory around it': dirname(stateDir),
        'a link to it': link,
      }[what];
      const end = await run({
        command: 'sh',
        args: ['-c', 'echo x > palisade.toml'],
        workspace: requested,
        tier: 'c',
      });
      expect(end).toMatchObject({ code: 'runner/invalid-workspace', output: null });
      // The control: another directory below the same root is a workspace.
      const other = await run({
        command: 'sh',
        args: ['-c', 'echo x > made'],
        workspace: beside,
        tier: 'c',
      });
      expect(other, other.message).toMatchObject({ code: 'ok' });
      expect(existsSync(join(beside, 'made'))).toBe(true);
    },
  );
});
